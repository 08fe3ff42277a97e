#![allow(missing_docs)]
// Signatures to build to; this file goes away as the real modules take over.
use bytes::Bytes;
use std::io;
use std::sync::Arc;

/// A folder of files, the seam under the journal. Paths are plain names.
pub trait Disk: Send + Sync + 'static {
    fn list(&self) -> io::Result<Vec<String>>;
    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>>;
    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>>;
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Makes creations, renames and removals durable.
    fn sync_folder(&self) -> io::Result<()>;
}

pub trait DiskFile: Send + Sync {
    fn len(&self) -> io::Result<u64>;
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    fn truncate(&self, len: u64) -> io::Result<()>;
    /// fdatasync.
    fn sync(&self) -> io::Result<()>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    Fsync,
    Os,
    Memory,
}

#[derive(Clone, Debug)]
pub struct Options {
    pub segment_bytes: u64,
    pub durability: Durability,
    /// Random bits that name a new journal; unused when one exists.
    pub lineage: u64,
    pub now_ms: i64,
}

/// Epoch + sequence; the text is opaque outside. `sequence` 0 = before the first record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cursor {
    pub lineage: u64,
    pub epoch: u32,
    pub sequence: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorFault {
    /// Not a cursor, or ahead of the journal.
    Unknown,
    /// Another exchange's.
    Foreign,
    /// This journal, another epoch.
    EpochChanged,
    /// Older than the first kept record.
    Expired,
}

#[derive(Debug)]
pub struct Record {
    pub sequence: u64,
    pub kind: u8,
    pub body: Bytes,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("segment {segment} is damaged at byte {offset}: {what}")]
    Corrupt {
        segment: String,
        offset: u64,
        what: &'static str,
    },
    #[error("an earlier write failed; restart to continue")]
    Poisoned,
    #[error("the look-up index: {0}")]
    Index(#[from] rusqlite::Error),
}

pub struct Journal {}
impl Journal {
    pub fn open(disk: Arc<dyn Disk>, options: Options) -> Result<Self, Error> {
        let _ = (disk, options);
        Err(Error::Poisoned)
    }
    /// The sequence the next [`append`](Self::append) will get; the first record is 1.
    pub fn next_sequence(&self) -> u64 {
        0
    }
    /// Buffers one record made of `parts` laid end to end; returns its sequence. Nothing is durable yet.
    pub fn append(&mut self, kind: u8, parts: &[&[u8]]) -> u64 {
        let _ = (kind, parts);
        0
    }
    /// Makes all appended records durable with one write and one sync, then visible to readers.
    pub fn commit(&mut self) -> Result<(), Error> {
        Err(Error::Poisoned)
    }
    pub fn reader(&self) -> Reader {
        Reader {}
    }
    pub fn close(self) -> Result<(), Error> {
        Ok(())
    }
}

#[derive(Clone, Debug)]
pub struct Reader {}
impl Reader {
    /// Records with sequence >= `from`, at most `records_max` and about `bytes_max` (at least one if any exists).
    pub fn read(
        &self,
        from: u64,
        records_max: usize,
        bytes_max: usize,
    ) -> Result<Vec<Record>, Error> {
        let _ = (from, records_max, bytes_max);
        Ok(Vec::new())
    }
    /// First kept and last durable sequence; (1, 0) when empty.
    pub fn range(&self) -> (u64, u64) {
        (1, 0)
    }
    pub fn cursor(&self, sequence: u64) -> Cursor {
        Cursor {
            lineage: 0,
            epoch: 0,
            sequence,
        }
    }
    /// The sequence behind a cursor's text (read from sequence + 1).
    pub fn resolve(&self, text: &str) -> Result<u64, CursorFault> {
        let _ = text;
        Err(CursorFault::Unknown)
    }
}

pub struct RealDisk {}
impl RealDisk {
    pub fn open(path: &std::path::Path) -> io::Result<Self> {
        let _ = path;
        Ok(Self {})
    }
}
#[derive(Default)]
pub struct MemoryDisk {}
macro_rules! stub {
    ($t:ty) => {
        impl Disk for $t {
            fn list(&self) -> io::Result<Vec<String>> {
                Ok(Vec::new())
            }
            fn open(&self, _: &str) -> io::Result<Arc<dyn DiskFile>> {
                Err(io::ErrorKind::NotFound.into())
            }
            fn create(&self, _: &str) -> io::Result<Arc<dyn DiskFile>> {
                Err(io::ErrorKind::NotFound.into())
            }
            fn rename(&self, _: &str, _: &str) -> io::Result<()> {
                Ok(())
            }
            fn remove(&self, _: &str) -> io::Result<()> {
                Ok(())
            }
            fn sync_folder(&self) -> io::Result<()> {
                Ok(())
            }
        }
    };
}
stub!(RealDisk);
stub!(MemoryDisk);
impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.epoch, self.sequence)
    }
}
