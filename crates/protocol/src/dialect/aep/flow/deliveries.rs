//! The delivery tracker: which tracked events still wait for their acknowledgement (AEP 6).
//!
//! Unknown and already settled ids are never refused and move no counter. Only pending events are
//! remembered.

use super::Stats;
use super::recent::{Key, Recent};

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
