//! Which messages were seen before: exact for as long as the journal holds them, in bounded memory.
//!
//! A message takes one key for its id and, when it says under which key it is the same message
//! again, one for each recipient. The newest keys are in a table here. When that is full it is
//! frozen and, once somebody has stored it where the caller's [`Older`] finds it, dropped. So a
//! message that is not in memory costs one question to `Older`, and no key is ever forgotten while
//! its message is kept.
//!
//! Keys and fingerprints are the first 16 bytes of SHA-256 digests. Two different messages share a
//! key with a chance of about 2^-64 after four billion messages; nobody can build such a pair with
//! less than about 2^64 hashes. The receipt of the first publish is not kept here; the journal has it.

mod repeat;
mod snapshot;
mod table;

pub(crate) use repeat::{Standing, known_from};

use protocol::{Digest, Party, digest};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use table::Table;

/// What two publishes of one message have in common: a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(pub [u8; 16]);

/// The first publish under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct First {
    /// Where it is in the journal.
    pub sequence: u64,
    /// Half of the digest of what must be equal.
    pub fingerprint: [u8; 16],
}

/// Finds the first publish under a key among those that are no longer in memory. It answers for
/// everything up to what [`Exchange::forget_keys`](crate::Exchange::forget_keys) was told.
pub type Older = Box<dyn Fn(Key) -> Result<Option<First>, OlderUnreadable> + Send>;

/// Nobody knows whether a key is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OlderUnreadable;

/// Keys that are complete and wait to be stored.
#[derive(Debug)]
pub struct FrozenKeys {
    table: Table,
    /// They answer for every record after this one...
    pub after: u64,
    /// ...up to this one.
    pub last: u64,
}

impl FrozenKeys {
    /// The keys in the order their messages came. Of equal ones the last counts.
    pub fn iter(&self) -> impl Iterator<Item = (Key, First)> {
        self.table.iter().map(|entry| (entry.key, entry.first))
    }
}

impl Key {
    /// The key that a message takes for its id.
    pub(crate) fn of_id(sender: &Party, id: &str) -> Self {
        Self::of(1, &[sender.as_str(), id])
    }

    /// The key it takes for one recipient under its idempotency key.
    pub(crate) fn of_recipient(sender: &Party, recipient: &str, key: &str) -> Self {
        Self::of(2, &[sender.as_str(), recipient, key])
    }

    /// The key that the copy of a message for one recipient takes.
    pub(crate) fn of_copy(sender: &Party, recipient: &str, origin: &str) -> Self {
        Self::of(3, &[sender.as_str(), recipient, origin])
    }

    fn of(kind: u8, texts: &[&str]) -> Self {
        let length: usize = texts.iter().map(|text| 8 + text.len()).sum();
        let mut bytes = Vec::with_capacity(1 + length);
        bytes.push(kind);
        for text in texts {
            // The length in front keeps "a" + "bc" from being "ab" + "c".
            bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
        Self(half(digest(&bytes)))
    }

    /// Bits that choose a place.
    fn spread(self) -> u64 {
        let Self([.., a, b, c, d, e, f, g, h]) = self;
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }

    /// Other bits, which tell apart what shares a place.
    fn tag(self) -> u64 {
        let Self([a, b, c, d, ..]) = self;
        u64::from(u32::from_le_bytes([a, b, c, d]))
    }
}

impl First {
    pub(crate) fn new(sequence: u64, fingerprint: Digest) -> Self {
        Self {
            sequence,
            fingerprint: half(fingerprint),
        }
    }

    /// Whether a publish with this fingerprint repeats the first.
    pub(crate) fn is_repeated_by(&self, fingerprint: Digest) -> bool {
        self.fingerprint == half(fingerprint)
    }
}

fn half(Digest(bytes): Digest) -> [u8; 16] {
    bytes.first_chunk().copied().unwrap_or_default()
}

/// All keys of one space.
#[derive(Default)]
pub(crate) struct Dedupe {
    recent: Table,
    /// Full tables, oldest first, until they are stored.
    frozen: VecDeque<Arc<FrozenKeys>>,
    /// The last record that a frozen table, or `older`, answers for.
    frozen_to: u64,
    /// The last record that `older` answers for.
    covered: u64,
    /// The first record that is kept; keys of messages before it are free.
    kept_from: u64,
    older: Option<Older>,
}

impl fmt::Debug for Dedupe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dedupe")
            .field("recent", &self.recent.count())
            .field("frozen", &self.frozen.len())
            .field("covered", &self.covered)
            .finish_non_exhaustive()
    }
}

impl Dedupe {
    /// The first publish under a key, if its message is kept.
    pub(crate) fn first(&self, key: Key) -> Result<Option<First>, OlderUnreadable> {
        let found = match (self.in_memory(key), &self.older) {
            (None, Some(older)) if self.covered >= self.kept_from => older(key)?,
            (found, _) => found,
        };
        Ok(found.filter(|first| first.sequence >= self.kept_from))
    }

    fn in_memory(&self, key: Key) -> Option<First> {
        self.recent.get(key).or_else(|| {
            let mut frozen = self.frozen.iter().rev();
            frozen.find_map(|frozen| frozen.table.get(key))
        })
    }

    /// Remembers a publish, unless the key is taken.
    pub(crate) fn remember(&mut self, key: Key, first: First) {
        let is_taken = |taken: First| taken.sequence >= self.kept_from;
        if first.sequence > self.covered && !self.in_memory(key).is_some_and(is_taken) {
            self.recent.insert(key, first);
        }
    }

    /// How many keys are in memory.
    pub(crate) fn count(&self) -> usize {
        let frozen = self.frozen.iter().map(|frozen| frozen.table.count());
        self.recent.count() + frozen.sum::<usize>()
    }

    pub(crate) fn recent_count(&self) -> usize {
        self.recent.count()
    }

    pub(crate) fn frozen_count(&self) -> usize {
        self.frozen.len()
    }

    pub(crate) fn set_older(&mut self, older: Older) {
        self.older = Some(older);
    }

    /// Ends the table of the newest keys; all of them belong to records up to `last`.
    pub(crate) fn freeze(&mut self, last: u64) -> Arc<FrozenKeys> {
        let next = Table::for_as_many_as(&self.recent);
        let frozen = Arc::new(FrozenKeys {
            table: std::mem::replace(&mut self.recent, next),
            after: self.frozen_to,
            last,
        });
        self.frozen_to = self.frozen_to.max(last);
        self.frozen.push_back(Arc::clone(&frozen));
        frozen
    }

    /// From now on `older` answers for every record up to `covered`.
    pub(crate) fn forget(&mut self, covered: u64) {
        self.covered = self.covered.max(covered);
        self.frozen_to = self.frozen_to.max(covered);
        while self
            .frozen
            .front()
            .is_some_and(|frozen| frozen.last <= self.covered)
        {
            self.frozen.pop_front();
        }
        let newest = self.recent.newest();
        if newest.is_some_and(|newest| newest <= self.covered) {
            self.recent = Table::default();
        }
    }

    /// Frees the keys of messages before `first`.
    pub(crate) fn keep_from(&mut self, first: u64) {
        self.kept_from = self.kept_from.max(first);
    }

    /// The last record that `older` answers for.
    pub(crate) fn covered(&self) -> u64 {
        self.covered
    }

    /// What `older` does not answer for and is kept, in the order of the records.
    fn owned(&self) -> impl Iterator<Item = (Key, First)> {
        let frozen = self.frozen.iter().flat_map(|frozen| frozen.iter());
        let recent = self.recent.iter().map(|entry| (entry.key, entry.first));
        let from = self.kept_from.max(self.covered.saturating_add(1));
        frozen
            .chain(recent)
            .filter(move |(_, first)| first.sequence >= from)
    }
}
