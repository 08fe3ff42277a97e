//! A map of bounded size that forgets what was put in first.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Longest key kept as it is, in bytes.
pub const KEY_BYTES_MAX: usize = 128;

/// A key of bounded size.
pub type Key = Arc<str>;

const DIGEST_PREFIX: &str = "sha256 ";

/// The key of an id: itself, or its digest when it is long. An id that looks like such a digest is
/// digested too, so that nobody can write the key of another's id.
pub fn key(id: &str) -> Key {
    if id.len() <= KEY_BYTES_MAX && !id.starts_with(DIGEST_PREFIX) {
        return id.into();
    }
    format!("{DIGEST_PREFIX}{}", crate::digest(id.as_bytes()).to_hex()).into()
}

/// At most `max` entries; the one inserted longest ago goes first.
#[derive(Debug)]
pub struct Recent<V> {
    max: usize,
    next: u64,
    entries: BTreeMap<Key, (u64, V)>,
    order: BTreeMap<u64, Key>,
}

impl<V> Recent<V> {
    pub fn bounded(max: usize) -> Self {
        Self {
            max: max.max(1),
            next: 0,
            entries: BTreeMap::new(),
            order: BTreeMap::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Every entry, the one inserted longest ago first.
    pub fn iter(&self) -> impl Iterator<Item = (&Key, &V)> {
        self.order.values().filter_map(|key| {
            let (_, value) = self.entries.get(key)?;
            Some((key, value))
        })
    }

    pub fn get(&self, key: &str) -> Option<&V> {
        self.entries.get(key).map(|(_, value)| value)
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut V> {
        self.entries.get_mut(key).map(|(_, value)| value)
    }

    /// Puts an entry in as the newest. Gives back the oldest when there is one too many.
    pub fn insert(&mut self, key: Key, value: V) -> Option<(Key, V)> {
        self.remove(&key);
        self.order.insert(self.next, key.clone());
        self.entries.insert(key, (self.next, value));
        self.next += 1;
        if self.entries.len() <= self.max {
            return None;
        }
        let (_, oldest) = self.order.pop_first()?;
        let (_, value) = self.entries.remove(&oldest)?;
        Some((oldest, value))
    }

    pub fn remove(&mut self, key: &str) -> Option<V> {
        let (age, value) = self.entries.remove(key)?;
        self.order.remove(&age);
        Some(value)
    }
}
