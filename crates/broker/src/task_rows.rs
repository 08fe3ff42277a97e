//! What the journal holds of one task: the envelopes that move it, by the look-up index and, for what
//! the index has not seen yet, from memory or the end of the file.

use crate::ring::Ring;
use crate::turn::{Turn, storage_failed};
use crate::{Entry, find};
use journal::{Index, Reader};
use protocol::{Header, Rejection, Timestamp};
use std::collections::BTreeSet;
use std::sync::Arc;

/// When an envelope was accepted, where it stands, what it says.
pub(crate) type Row = (Timestamp, u64, Arc<Header>);

/// The envelopes of the task `id` and those whose own id that is, in order, up to `until`.
///
/// Reads `applied` before the rows: what arrives in between is then looked at twice, not missed.
pub(crate) fn rows(
    index: &Index,
    reader: &Reader,
    ring: &Ring,
    id: &str,
    until: u64,
) -> Result<Vec<Row>, Rejection> {
    let applied = index.applied();
    let mut sequences = BTreeSet::new();
    for found in [index.mentioning(id, 0, usize::MAX), index.named(id)] {
        sequences.extend(found.map_err(|error| {
            tracing::error!(%error, "the index cannot be read");
            storage_failed()
        })?);
    }
    let mut rows = Vec::new();
    for sequence in sequences.range(..=applied) {
        // What mentions the id may mean something else by it.
        let entry = find::entry(reader, ring, *sequence)?.filter(|entry| is_of(&entry.header, id));
        rows.extend(entry.map(|entry| row(&entry)));
    }
    let last = reader.range().1.min(until);
    if applied < last {
        let wanted = |header: &Header| is_of(header, id);
        let newer = find::newer(reader, ring, applied, last, &wanted)?;
        rows.extend(newer.iter().map(|entry| row(entry)));
    }
    Ok(rows)
}

fn is_of(header: &Header, id: &str) -> bool {
    header.task.as_deref() == Some(id) || *header.id == *id
}

fn row(entry: &Entry) -> Row {
    (entry.at, entry.sequence, Arc::clone(&entry.header))
}

/// Rows as the machine takes them.
pub(crate) fn borrowed(rows: &[Row]) -> impl Iterator<Item = (Timestamp, u64, &Header)> {
    rows.iter()
        .map(|(at, sequence, header)| (*at, *sequence, &**header))
}

impl Turn {
    /// Before a message is judged: tells the exchange what the journal knows of the tasks that the
    /// message speaks of and that have left memory.
    pub(crate) fn recall_tasks(&mut self, header: &Header) -> Result<(), Rejection> {
        for id in self.exchange.missing_tasks(header) {
            let mut next = Some(id);
            while let Some(id) = next {
                let until = self.exchange.forgotten_until();
                let mut rows = rows(&self.index, &self.reader, &self.ring, &id, until)?;
                // What this batch has not committed yet.
                let fresh = self.batch.entries.iter().flatten();
                rows.extend(
                    fresh
                        .filter(|entry| is_of(&entry.header, &id))
                        .map(|entry| row(entry)),
                );
                next = self.exchange.recall_task(&id, borrowed(&rows));
            }
        }
        Ok(())
    }
}
