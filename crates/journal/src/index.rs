//! stub until the index lands
use crate::Error;
/// One line of the look-up index.
#[derive(Clone, Debug)]
pub struct IndexRow {
    pub sequence: u64,
    pub id: String,
    pub sender: String,
    pub conversation: Option<String>,
    pub task: Option<String>,
    pub at_ms: i64,
}

/// id, conversation, task -> sequences, in SQLite (WAL, synchronous=NORMAL). Rebuildable, never the truth.
#[derive(Debug)]
pub struct Index {}
impl Index {
    /// `None` = in memory. An index of another lineage/epoch, or one it cannot read, is thrown away and begun again.
    pub fn open(path: Option<&std::path::Path>, lineage: u64, epoch: u32) -> Result<Self, Error> {
        let _ = (path, lineage, epoch);
        Ok(Self {})
    }
    /// Another connection, for look-ups beside the writer.
    pub fn reader(&self) -> Result<Self, Error> {
        Ok(Self {})
    }
    /// Everything up to and including this sequence is in the index.
    pub fn applied(&self) -> u64 {
        0
    }
    /// Adds rows and moves `applied` in one transaction.
    pub fn apply(&mut self, rows: &[IndexRow], applied: u64) -> Result<(), Error> {
        let _ = (rows, applied);
        Ok(())
    }
    pub fn by_id(&self, id: &str) -> Result<Vec<IndexRow>, Error> {
        let _ = id;
        Ok(Vec::new())
    }
    /// In journal order, those after `after`, at most `limit`.
    pub fn by_conversation(
        &self,
        id: &str,
        after: u64,
        limit: usize,
    ) -> Result<Vec<IndexRow>, Error> {
        let _ = (id, after, limit);
        Ok(Vec::new())
    }
    pub fn by_task(&self, id: &str, after: u64, limit: usize) -> Result<Vec<IndexRow>, Error> {
        let _ = (id, after, limit);
        Ok(Vec::new())
    }
}
