//! Who waits for news of one message's deliveries.
//!
//! A watcher is told that something changed, not what: it reads the state again. So it costs the
//! same however much changes, and a slow one misses nothing that still matters.

use exchange::Record;
use std::collections::HashMap;
use tokio::sync::watch;

/// Fewer watchers than this are not worth a sweep.
const SWEEP_MIN: usize = 64;

/// Watchers by the message's sequence.
#[derive(Default)]
pub(crate) struct Watchers {
    by_sequence: HashMap<u64, watch::Sender<u64>>,
    /// Those who left are swept when there are more than this.
    sweep_above: usize,
    touched: Vec<u64>,
}

impl Watchers {
    /// Sees every change that is durable after this call.
    pub(crate) fn watch(&mut self, sequence: u64) -> watch::Receiver<u64> {
        if self.by_sequence.len() > self.sweep_above {
            self.by_sequence
                .retain(|_, sender| sender.receiver_count() > 0);
            self.sweep_above = self.by_sequence.len() * 2 + SWEEP_MIN;
        }
        let sender = self.by_sequence.entry(sequence);
        sender.or_insert_with(|| watch::Sender::new(0)).subscribe()
    }

    /// Notes that these messages' deliveries changed; told by [`Self::tell`].
    pub(crate) fn touch(&mut self, sequences: impl Iterator<Item = u64>) {
        if !self.by_sequence.is_empty() {
            let watched = sequences.filter(|sequence| self.by_sequence.contains_key(sequence));
            self.touched.extend(watched);
        }
    }

    /// As [`Self::touch`], for what a record changes.
    pub(crate) fn touch_record(&mut self, record: &Record) {
        match record {
            Record::Acked { sequences, .. } | Record::Ended { sequences, .. } => {
                self.touch(sequences.iter().copied());
            }
            Record::Failed { deliveries, .. } => {
                self.touch(deliveries.iter().map(|failed| failed.sequence));
            }
            Record::Redriven { sequence, .. } => self.touch(std::iter::once(*sequence)),
            Record::Published { .. }
            | Record::SubscriptionPut { .. }
            | Record::SubscriptionRemoved { .. }
            | Record::PlaceConfigured { .. }
            | Record::PlacePaused { .. }
            | Record::CardPut { .. }
            | Record::CardRemoved { .. } => {}
        }
    }

    /// Wakes the watchers of what changed, once it is durable.
    pub(crate) fn tell(&mut self) {
        for sequence in self.touched.drain(..) {
            if let Some(sender) = self.by_sequence.get(&sequence) {
                sender.send_modify(|turn| *turn += 1);
            }
        }
    }
}
