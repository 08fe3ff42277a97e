//! The hot ring: the newest durable messages, so that live readers do not touch the file.

use crate::Entry;
use parking_lot::RwLock;
use std::collections::VecDeque;
use std::sync::Arc;

/// A window over the end of the journal, by sequence. Records that are not messages leave a hole.
#[derive(Debug)]
pub(crate) struct Ring {
    inside: RwLock<Inside>,
    bytes_max: usize,
}

#[derive(Debug, Default)]
struct Inside {
    first: u64,
    slots: VecDeque<Option<Arc<Entry>>>,
    bytes: usize,
}

impl Ring {
    /// A ring that begins with sequence `first`.
    pub(crate) fn new(first: u64, bytes_max: usize) -> Self {
        Self {
            inside: RwLock::new(Inside {
                first,
                ..Inside::default()
            }),
            bytes_max,
        }
    }

    /// Adds the next sequences, in order.
    pub(crate) fn extend(&self, entries: impl Iterator<Item = Option<Arc<Entry>>>) {
        let mut inside = self.inside.write();
        for entry in entries {
            inside.bytes += entry.as_ref().map_or(0, |entry| entry.bytes());
            inside.slots.push_back(entry);
        }
        while inside.bytes > self.bytes_max {
            let Some(slot) = inside.slots.pop_front() else {
                break;
            };
            inside.first += 1;
            inside.bytes -= slot.map_or(0, |entry| entry.bytes());
        }
    }

    /// The entries of `sequences` as far as the ring holds them, about `bytes_max` bytes but at least
    /// one; stops at the first it does not hold.
    pub(crate) fn get(&self, sequences: &[u64], bytes_max: usize, into: &mut Vec<Arc<Entry>>) {
        let inside = self.inside.read();
        let mut bytes = 0;
        for sequence in sequences {
            let slot = sequence
                .checked_sub(inside.first)
                .and_then(|offset| inside.slots.get(usize::try_from(offset).ok()?))
                .cloned();
            match slot {
                Some(Some(entry)) => {
                    bytes += entry.envelope.len();
                    into.push(entry);
                    if bytes >= bytes_max {
                        return;
                    }
                }
                // A hole is not a message; nobody asks for it, but it must not stop the rest.
                Some(None) => {}
                None => return,
            }
        }
    }

    /// Every message after `sequence`, when the ring reaches back that far.
    pub(crate) fn after(&self, sequence: u64, max: usize) -> Option<Vec<Arc<Entry>>> {
        let inside = self.inside.read();
        let skip = (sequence + 1).checked_sub(inside.first)?;
        let skip = usize::try_from(skip).ok()?;
        Some(
            inside
                .slots
                .iter()
                .skip(skip)
                .flatten()
                .take(max)
                .cloned()
                .collect(),
        )
    }
}
