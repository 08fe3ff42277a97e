//! Which messages were seen before: exact, for as long as the journal holds them.
//!
//! Key and fingerprint are the first 16 bytes of SHA-256 digests. Two different messages share a key
//! with a chance of about 2^-64 after four billion messages; nobody can build such a pair with less
//! than about 2^64 hashes. An entry is 40 bytes, in a table at most 94 with the table's slack. The
//! receipt of the first publish is not kept here; the journal has it.

use foldhash::fast::FixedState;
use protocol::{Digest, Party, digest};
use std::collections::HashMap;

/// Tables grow one at a time, so that no single publish pays for moving all entries.
const SHARDS: usize = 256;

/// What two publishes of one message have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key([u8; 16]);

/// The first publish under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct First {
    pub(crate) sequence: u64,
    fingerprint: [u8; 16],
}

impl First {
    /// Whether a publish with this fingerprint repeats the first.
    pub(crate) fn is_repeated_by(&self, fingerprint: Digest) -> bool {
        self.fingerprint == half(fingerprint)
    }
}

#[derive(Debug)]
pub(crate) struct Dedupe {
    shards: Vec<HashMap<Key, First, FixedState>>,
    count: usize,
}

impl Default for Dedupe {
    fn default() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| HashMap::default()).collect(),
            count: 0,
        }
    }
}

impl Key {
    pub(crate) fn new(sender: &Party, dedupe_key: &str) -> Self {
        let sender = sender.as_str();
        let mut text = Vec::with_capacity(8 + sender.len() + dedupe_key.len());
        // The length in front keeps "a" + "bc" from being "ab" + "c".
        text.extend_from_slice(&(sender.len() as u64).to_le_bytes());
        text.extend_from_slice(sender.as_bytes());
        text.extend_from_slice(dedupe_key.as_bytes());
        Self(half(digest(&text)))
    }

    fn shard(self) -> usize {
        let Self([first, ..]) = self;
        usize::from(first)
    }
}

impl Dedupe {
    pub(crate) fn first(&self, key: Key) -> Option<First> {
        self.shards.get(key.shard())?.get(&key).copied()
    }

    /// Remembers a publish, unless the key is taken.
    pub(crate) fn remember(&mut self, key: Key, sequence: u64, fingerprint: Digest) {
        let Some(shard) = self.shards.get_mut(key.shard()) else {
            return;
        };
        if let std::collections::hash_map::Entry::Vacant(entry) = shard.entry(key) {
            entry.insert(First {
                sequence,
                fingerprint: half(fingerprint),
            });
            self.count += 1;
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }
}

fn half(Digest(bytes): Digest) -> [u8; 16] {
    bytes.first_chunk().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Dedupe, First, Key};
    use protocol::{Party, digest};

    fn key(sender: &str, key: &str) -> Key {
        Key::new(&Party::parse(sender), key)
    }

    #[test]
    fn the_first_publish_is_kept() {
        let mut dedupe = Dedupe::default();
        assert_eq!(dedupe.first(key("agent:a", "1")), None);
        dedupe.remember(key("agent:a", "1"), 5, digest(b"x"));
        dedupe.remember(key("agent:a", "1"), 6, digest(b"y"));
        let first = dedupe.first(key("agent:a", "1")).unwrap();
        assert_eq!(first.sequence, 5);
        assert!(first.is_repeated_by(digest(b"x")) && !first.is_repeated_by(digest(b"y")));
        assert_eq!(dedupe.count(), 1);
    }

    #[test]
    fn senders_and_keys_do_not_run_together() {
        assert_ne!(key("a", "bc"), key("ab", "c"));
        assert_ne!(key("a\0b", "c"), key("a", "b\0c"));
        assert_ne!(key("a", "1"), key("b", "1"));
        assert_eq!(key("agent.a", "1"), key("agent:a", "1"));
    }

    #[test]
    fn an_entry_costs_at_most_120_bytes() {
        let mut dedupe = Dedupe::default();
        for n in 0..60_000_u64 {
            dedupe.remember(key("agent:a", &n.to_string()), n, digest(b"x"));
            if n % 1_000 == 999 {
                let slot = size_of::<(Key, First)>() + 1;
                // A table of capacity c has the next power of two above 8/7 c slots.
                let slots = |capacity: usize| (capacity * 8 / 7).next_power_of_two();
                let bytes: usize = dedupe
                    .shards
                    .iter()
                    .map(|shard| slots(shard.capacity()) * slot)
                    .sum();
                assert!(
                    n < 9_999 || bytes / dedupe.count() <= 120,
                    "{bytes} bytes for {n}"
                );
            }
        }
    }
}
