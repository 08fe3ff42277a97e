//! The delivery tracker: which tracked events still wait for their acknowledgement (AEP 6).
//!
//! Unknown and already settled ids are never refused and move no counter. Only pending events are
//! remembered.

use super::Stats;
use super::recent::{Key, Recent};
use super::snapshot::{put_recent, recent_from};
use crate::wire::{Reader, WireError, put_varint};

#[derive(Debug)]
struct Pending {
    sequence: u64,
    attempts: u32,
}

#[derive(Debug)]
pub struct Deliveries {
    pending: Recent<Pending>,
    stats: Stats,
}

impl Deliveries {
    pub fn bounded(max: usize) -> Self {
        Self {
            pending: Recent::bounded(max),
            stats: Stats::default(),
        }
    }

    pub fn track(&mut self, event: Key) {
        self.stats.total_sequences += 1;
        let sequence = self.stats.total_sequences;
        self.pending.insert(
            event,
            Pending {
                sequence,
                attempts: 1,
            },
        );
    }

    pub fn acknowledge(&mut self, event: &str) {
        if let Some(pending) = self.pending.remove(event) {
            self.stats.acknowledged += 1;
            self.stats.last_acknowledged = pending.sequence;
        }
    }

    pub fn redeliver(&mut self, event: &str) {
        if let Some(pending) = self.pending.get_mut(event) {
            pending.attempts = pending.attempts.saturating_add(1);
        }
    }

    pub fn give_up(&mut self, event: &str) {
        if self.pending.remove(event).is_some() {
            self.stats.dead_lettered += 1;
        }
    }

    pub fn encode(&self, out: &mut Vec<u8>) {
        for counter in [
            self.stats.total_sequences,
            self.stats.acknowledged,
            self.stats.dead_lettered,
            self.stats.last_acknowledged,
        ] {
            put_varint(out, counter);
        }
        put_recent(out, &self.pending, |out, pending| {
            put_varint(out, pending.sequence);
            put_varint(out, u64::from(pending.attempts));
        });
    }

    pub fn decode(&mut self, reader: &mut Reader<'_>) -> Result<(), WireError> {
        self.stats = Stats {
            total_sequences: reader.varint()?,
            acknowledged: reader.varint()?,
            dead_lettered: reader.varint()?,
            last_acknowledged: reader.varint()?,
            pending: 0,
        };
        recent_from(reader, &mut self.pending, |reader| {
            Ok(Pending {
                sequence: reader.varint()?,
                attempts: reader.small()?,
            })
        })
    }

    pub fn attempts(&self, event: &str) -> Option<u32> {
        self.pending.get(event).map(|pending| pending.attempts)
    }

    pub fn stats(&self) -> Stats {
        Stats {
            pending: self.pending.len() as u64,
            ..self.stats
        }
    }
}
