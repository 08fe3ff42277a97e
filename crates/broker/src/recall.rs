//! Reading what the index points at, and what it has not seen yet.

use crate::handle::Shared;
use crate::turn::storage_failed;
use journal::Index;
use protocol::Rejection;

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
}
