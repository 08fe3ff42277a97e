//! Reading what the index points at, and what it has not seen yet.

use crate::find::records;
use crate::handle::Shared;
use crate::turn::storage_failed;
use journal::Index;
use protocol::Rejection;

/// Records in one read of neighbours.
const READ_MAX: usize = 4_096;
/// Bytes in one read of neighbours.
const READ_BYTES_MAX: usize = 1 << 20;

impl Shared {
    /// Sequences that the index finds and the journal still has, and the sequence up to which the
    /// index has seen the journal.
    pub(crate) fn candidates(
        &self,
        look_up: impl FnOnce(&Index) -> Result<Vec<u64>, journal::Error>,
    ) -> Result<(Vec<u64>, u64), Rejection> {
        let (first, _) = self.reader.range();
        let index = self.index.lock();
        // Read `applied` first: rows that arrive in between are then looked up twice, not missed.
        let applied = index.applied();
        let mut sequences = look_up(&index).map_err(|error| {
            tracing::error!(%error, "the index cannot be read");
            storage_failed()
        })?;
        sequences.retain(|sequence| (first..=applied).contains(sequence));
        Ok((sequences, applied))
    }

    /// Sequences of the records about deliveries of a message, ascending, as far as the index has seen
    /// the journal, and how far that is.
    pub(crate) fn facts(&self, message: u64) -> Result<(Vec<u64>, u64), Rejection> {
        let index = self.index.lock();
        let applied = index.applied();
        let facts = index.facts(message).map_err(|error| {
            tracing::error!(%error, "the index cannot be read");
            storage_failed()
        })?;
        let records = facts.into_iter().map(|fact| fact.record);
        let mut records: Vec<u64> = records.filter(|record| *record <= applied).collect();
        records.dedup();
        Ok((records, applied))
    }

    /// Every record after `after` up to `until`, in order, as far as it is still kept; until one is
    /// answered with no.
    pub(crate) fn each_between(
        &self,
        after: u64,
        until: u64,
        mut with: impl FnMut(&journal::Record) -> Result<bool, Rejection>,
    ) -> Result<(), Rejection> {
        let mut position = after;
        while position < until {
            let (first, _) = self.reader.range();
            position = position.max(first.saturating_sub(1));
            let wanted = usize::try_from(until - position).unwrap_or(READ_MAX);
            let read = records(
                &self.reader,
                position + 1,
                wanted.min(READ_MAX),
                READ_BYTES_MAX,
            )?;
            let Some(end) = read.last() else { break };
            position = end.sequence;
            self.meter.recalled.inc_by(read.len() as u64);
            for record in &read {
                // When what was asked for is no longer kept, what follows is read.
                if record.sequence > until || !with(record)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The records with these sequences, ascending, as far as they are still kept. Neighbours are
    /// read together, and nothing but what was asked for.
    pub(crate) fn each_at(
        &self,
        sequences: &[u64],
        mut with: impl FnMut(&journal::Record) -> Result<bool, Rejection>,
    ) -> Result<(), Rejection> {
        for run in sequences.chunk_by(|one, next| one + 1 == *next) {
            if let (Some(first), Some(last)) = (run.first(), run.last()) {
                self.each_between(first - 1, *last, &mut with)?;
            }
        }
        Ok(())
    }
}
