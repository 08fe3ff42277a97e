//! What the index has not seen yet, in the same form: names and facts of the end of the journal.
//!
//! Made for one trace, which looks up thousands of names, and thrown away with it. A name costs eight
//! bytes, so the longest lag that the index allows itself costs some tens of megabytes.

use crate::handle::Shared;
use crate::indexer::mentions;
use exchange::Record;
use protocol::{Code, Fault, Rejection};
use std::hash::{DefaultHasher, Hasher};

/// Records that are read for this. The index is never that far behind unless it cannot be written.
const RECORDS_MAX: u64 = 4_000_000;

/// The end of the journal, to look names up in.
pub(crate) struct Recent {
    /// The sequence before the first.
    after: u64,
    /// Half of a hash, and how far after `after` its message is; ascending.
    names: Vec<(u32, u32)>,
    /// Records that say what became of messages.
    pub facts: Vec<u64>,
}

#[derive(Clone, Copy)]
enum Kind {
    Id,
    Mention,
}

impl Recent {
    /// Reads the records after `applied` up to `last`.
    ///
    /// # Errors
    /// `overloaded` when there are too many, `storage_failed`.
    pub(crate) fn read(shared: &Shared, applied: u64, last: u64) -> Result<Self, Rejection> {
        let lag = last.saturating_sub(applied);
        if lag > RECORDS_MAX {
            let detail = format!(
                "expected a look-up index that is at most {RECORDS_MAX} records behind, got {lag}; \
                 it is being built, try again later"
            );
            return Err(Fault::new(Code::Overloaded, "", "ARCHITECTURE 5", detail).into());
        }
        let mut names = Vec::new();
        let mut facts = Vec::new();
        shared.each_between(applied, last, |record| {
            if Record::is_of_deliveries(record.kind) {
                facts.push(record.sequence);
            }
            let Some(entry) = crate::Entry::from_record(record)? else {
                return Ok(true);
            };
            // At most RECORDS_MAX.
            let offset = (record.sequence - applied) as u32;
            names.push((key(Kind::Id, &entry.header.id), offset));
            let mentions = mentions(&entry.header).map(|text| (key(Kind::Mention, text), offset));
            names.extend(mentions);
            Ok(true)
        })?;
        names.sort_unstable();
        names.dedup();
        Ok(Self {
            after: applied,
            names,
            facts,
        })
    }

    /// Sequences of messages that may bear this id.
    pub(crate) fn named(&self, id: &str) -> impl Iterator<Item = u64> {
        self.find(Kind::Id, id)
    }

    /// Sequences of messages that may mention this text.
    pub(crate) fn mentioning(&self, text: &str) -> impl Iterator<Item = u64> {
        self.find(Kind::Mention, text)
    }

    fn find(&self, kind: Kind, text: &str) -> impl Iterator<Item = u64> {
        let key = key(kind, text);
        let from = self.names.partition_point(|(found, _)| *found < key);
        let found = self.names.iter().skip(from);
        let found = found.take_while(move |(found, _)| *found == key);
        found.map(|(_, offset)| self.after + u64::from(*offset))
    }
}

/// Two texts of one key cost a read and nothing else: what is found is compared.
fn key(kind: Kind, text: &str) -> u32 {
    let mut hasher = DefaultHasher::new();
    hasher.write_u8(match kind {
        Kind::Id => 1,
        Kind::Mention => 2,
    });
    hasher.write(text.as_bytes());
    (hasher.finish() >> 32) as u32
}
