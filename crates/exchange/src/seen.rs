//! Keys of older messages: in memory up to a bound, asked for elsewhere beyond it.
//!
//! The caller watches [`Exchange::recent_keys`]. When there are many it freezes them, stores what it
//! gets where [`Older`] finds it, and then says so. Nothing is forgotten before that.

use crate::dedupe::{Dedupe, FrozenKeys, Older, known_from};
use crate::exchange::Exchange;
use crate::record::Record;
use std::sync::Arc;

impl Exchange {
    /// Where to look for keys that are no longer in memory.
    pub fn look_for_older_keys_with(&mut self, older: Older) {
        self.dedupe.set_older(older);
    }

    /// Keys in memory that are not frozen.
    #[must_use]
    pub fn recent_keys(&self) -> usize {
        self.dedupe.recent_count()
    }

    /// Frozen keys that were not forgotten yet, in tables.
    #[must_use]
    pub fn frozen_keys(&self) -> usize {
        self.dedupe.frozen_count()
    }

    /// Gives the keys of all records up to `last`, which must be durable and the newest, to be
    /// stored. They stay in memory until [`Self::forget_keys`].
    pub fn freeze_keys(&mut self, last: u64) -> Arc<FrozenKeys> {
        self.dedupe.freeze(last)
    }

    /// From now on [`Older`] answers for all records up to `covered`.
    pub fn forget_keys(&mut self, covered: u64) {
        self.dedupe.forget(covered);
    }

    /// The last record that [`Older`] must answer for.
    #[must_use]
    pub fn keys_covered(&self) -> u64 {
        self.dedupe.covered()
    }

    /// Records before `first` are no longer kept: their messages may come again as new ones.
    pub fn keep_from(&mut self, first: u64) {
        self.dedupe.keep_from(first);
    }
}

/// Collects the keys that records took, and nothing else: when they were stored and are lost.
#[derive(Debug, Default)]
pub struct KeyGatherer(Dedupe);

impl KeyGatherer {
    /// Collects the keys of records after `after`.
    #[must_use]
    pub fn after(after: u64) -> Self {
        let mut dedupe = Dedupe::default();
        dedupe.forget(after);
        Self(dedupe)
    }

    /// Adds the keys of one record.
    pub fn add(&mut self, sequence: u64, record: &Record) {
        if let Record::Published {
            header, recipients, ..
        } = record
        {
            let known = known_from(recipients);
            self.0.remember_message(header, &known, sequence);
        }
    }

    /// How many keys there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.recent_count()
    }

    /// Gives the keys of all records up to `last`, and begins again after it.
    pub fn take(&mut self, last: u64) -> Arc<FrozenKeys> {
        let frozen = self.0.freeze(last);
        self.0.forget(last);
        frozen
    }
}
