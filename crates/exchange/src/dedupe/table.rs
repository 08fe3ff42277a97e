//! Keys in memory: entries in the order they came, and a table of numbers to find them.
//!
//! An entry is 40 bytes and never moves; the table has 8 bytes a slot and is at most half full. Half
//! of a slot is a part of the key, so that looking for a key that is not there rarely touches an
//! entry. The order of the entries is the order of the records, which is what a snapshot needs.

use super::{First, Key};

/// Entries allocated at once; a longer list never moves.
const CHUNK: usize = 4_096;
const SLOTS_MIN: usize = 1_024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) key: Key,
    pub(super) first: First,
}

/// A table of keys. Of one key the entry that came last counts.
#[derive(Debug, Default)]
pub(super) struct Table {
    chunks: Vec<Vec<Entry>>,
    count: usize,
    /// Zero, or a part of the key and the entry's number from 1.
    slots: Vec<u64>,
}

impl Table {
    /// An empty table that holds as many entries as another without growing its slots.
    pub(super) fn for_as_many_as(other: &Self) -> Self {
        Self {
            slots: vec![0; other.slots.len()],
            ..Self::default()
        }
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn get(&self, key: Key) -> Option<First> {
        let slot = self.slots.get(self.slot_of(key)?)?;
        self.entry(*slot).map(|entry| entry.first)
    }

    /// The sequence of the entry that came last.
    pub(super) fn newest(&self) -> Option<u64> {
        let chunk = self.chunks.last()?;
        chunk.last().map(|entry| entry.first.sequence)
    }

    /// All entries in the order they came.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.chunks.iter().flatten()
    }

    /// Adds an entry, in front of an older one with its key.
    pub(super) fn insert(&mut self, key: Key, first: First) {
        if self.slots.len() < (self.count + 1) * 2 {
            self.grow();
        }
        if self.count.is_multiple_of(CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        let Some(chunk) = self.chunks.last_mut() else {
            return;
        };
        chunk.push(Entry { key, first });
        self.count += 1;
        self.point(key, self.count as u64);
    }

    fn grow(&mut self) {
        let length = (self.slots.len() * 2).max(SLOTS_MIN);
        self.slots = vec![0; length];
        for at in 0..self.count {
            if let Some(key) = self.at(at).map(|entry| entry.key) {
                self.point(key, at as u64 + 1);
            }
        }
    }

    /// Lets the slot of a key name the entry `number`.
    fn point(&mut self, key: Key, number: u64) {
        if let Some(at) = self.slot_of(key)
            && let Some(slot) = self.slots.get_mut(at)
        {
            *slot = key.tag() << 32 | number;
        }
    }

    /// Where a key is, or would be.
    fn slot_of(&self, key: Key) -> Option<usize> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut at = key.spread() as usize & mask;
        loop {
            let slot = *self.slots.get(at)?;
            if slot == 0 {
                return Some(at);
            }
            if slot >> 32 == key.tag() && self.entry(slot).is_some_and(|entry| entry.key == key) {
                return Some(at);
            }
            at = (at + 1) & mask;
        }
    }

    fn entry(&self, slot: u64) -> Option<&Entry> {
        let number = (slot & u64::from(u32::MAX)) as usize;
        self.at(number.checked_sub(1)?)
    }

    fn at(&self, at: usize) -> Option<&Entry> {
        self.chunks.get(at / CHUNK)?.get(at % CHUNK)
    }
}

#[cfg(test)]
mod tests {
    use super::{CHUNK, Entry, Table};
    use crate::dedupe::{First, Key};
    use protocol::{Party, digest};

    fn key(n: u64) -> Key {
        Key::of_id(&Party::parse("agent:a"), &n.to_string())
    }

    fn first(sequence: u64) -> First {
        First::new(sequence, digest(b"x"))
    }

    #[test]
    fn every_key_is_found_while_the_table_grows() {
        let mut table = Table::default();
        assert_eq!(table.get(key(0)), None);
        for n in 0..20_000 {
            table.insert(key(n), first(n));
        }
        assert!((0..20_000).all(|n| table.get(key(n)) == Some(first(n))));
        assert!((20_000..40_000).all(|n| table.get(key(n)).is_none()));
        let order: Vec<_> = table.iter().map(|entry| entry.first.sequence).collect();
        assert!(order.is_sorted() && order.len() == 20_000);
    }

    #[test]
    fn the_entry_that_came_last_counts() {
        let mut table = Table::default();
        table.insert(key(1), first(1));
        table.insert(key(1), first(2));
        assert_eq!(table.get(key(1)), Some(first(2)));
        assert_eq!(table.iter().count(), 2);
        let mut next = Table::for_as_many_as(&table);
        assert_eq!((next.get(key(1)), next.count()), (None, 0));
        next.insert(key(1), first(3));
        assert_eq!(next.get(key(1)), Some(first(3)));
    }

    #[test]
    fn an_entry_costs_at_most_80_bytes_once_there_are_many() {
        let mut table = Table::default();
        for n in 0..60_000 {
            table.insert(key(n), first(n));
            let entries = table.chunks.len() * CHUNK * size_of::<Entry>();
            let bytes = entries + table.slots.len() * size_of::<u64>();
            let count = n as usize + 1;
            assert!(
                count < 8 * CHUNK || bytes <= 80 * count,
                "{bytes} for {count}"
            );
        }
    }
}
