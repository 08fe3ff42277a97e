//! What one batch adds, and the hash behind a look-up.

use super::integer;
use rusqlite::Connection;
use std::hash::{DefaultHasher, Hasher};

/// What became of a message in a place, as one record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fact {
    /// The message's sequence.
    pub message: u64,
    /// The number of the place.
    pub place: u32,
    /// The sequence of the record that says it.
    pub record: u64,
    /// What became of it; the writer's own number.
    pub kind: u8,
}

/// A batch of rows in the making.
#[derive(Debug)]
pub struct Rows {
    lineage: u64,
    entries: Vec<(i64, i64)>,
    facts: Vec<Fact>,
}

/// What a text is to a message.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Id,
    Mention,
}

impl Rows {
    pub(super) fn new(lineage: u64) -> Self {
        Self {
            lineage,
            entries: Vec::new(),
            facts: Vec::new(),
        }
    }

    /// The message at `sequence` bears this id.
    pub fn id(&mut self, sequence: u64, id: &str) {
        self.entries
            .push((key(self.lineage, Kind::Id, id), integer(sequence)));
    }

    /// The message at `sequence` mentions this text. The same text again costs nothing.
    pub fn mention(&mut self, sequence: u64, text: &str) {
        self.entries
            .push((key(self.lineage, Kind::Mention, text), integer(sequence)));
    }

    /// Something became of a message.
    pub fn fact(&mut self, fact: Fact) {
        self.facts.push(fact);
    }

    /// What was collected.
    pub(super) fn take(&mut self) -> (Vec<(i64, i64)>, Vec<Fact>) {
        (
            std::mem::take(&mut self.entries),
            std::mem::take(&mut self.facts),
        )
    }

    /// Collects into this memory again.
    pub(super) fn give_back(&mut self, mut entries: Vec<(i64, i64)>, mut facts: Vec<Fact>) {
        entries.clear();
        facts.clear();
        (self.entries, self.facts) = (entries, facts);
    }

    pub(super) fn write(
        &mut self,
        connection: &mut Connection,
        applied: u64,
    ) -> rusqlite::Result<()> {
        // In key order a batch walks each tree once, and touches each page once.
        self.entries.sort_unstable();
        self.entries.dedup();
        self.facts.sort_unstable();
        self.facts.dedup();
        let transaction = connection.transaction()?;
        {
            let mut insert = transaction.prepare_cached("INSERT INTO entry VALUES (?1, ?2)")?;
            for entry in &self.entries {
                insert.execute(*entry)?;
            }
            let mut insert =
                transaction.prepare_cached("INSERT INTO fact VALUES (?1, ?2, ?3, ?4)")?;
            for fact in &self.facts {
                insert.execute((
                    integer(fact.message),
                    fact.place,
                    integer(fact.record),
                    fact.kind,
                ))?;
            }
            transaction
                .prepare_cached("UPDATE meta SET applied = ?1")?
                .execute([integer(applied)])?;
        }
        transaction.commit()?;
        self.entries.clear();
        self.facts.clear();
        Ok(())
    }
}

/// The hash behind a look-up. The lineage keeps senders from choosing texts that collide. `std` may
/// change the function with a compiler; `meta.hash` notices, and the index is begun again.
pub(super) fn key(lineage: u64, kind: Kind, text: &str) -> i64 {
    let mut hasher = DefaultHasher::new();
    hasher.write_u64(lineage);
    hasher.write_u8(match kind {
        Kind::Id => 1,
        Kind::Mention => 2,
    });
    hasher.write(text.as_bytes());
    hasher.finish().cast_signed()
}
