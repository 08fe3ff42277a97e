//! One place: what waits, what is held, what rests after a nack.
//!
//! First attempts go out in journal order. What came back goes out before them, also in journal
//! order. A waiting delivery costs 8 bytes, up to 16 with the queue's slack; what is held, rests or
//! came back costs more. This file knows no clock but the moments it is given.

use protocol::{Party, Timestamp};
use std::collections::{BTreeMap, VecDeque};

/// A durable place that messages wait in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PlaceName {
    /// A party's inbox.
    Inbox(Party),
    /// A named subscription.
    Subscription(Box<str>),
}

/// Small number of a place, stable across restarts and never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlaceId(pub u32);

/// A delivery that a reader holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) fence: u32,
    pub(crate) attempt: u32,
    pub(crate) until: Timestamp,
}

/// A delivery that waits out its delay.
#[derive(Clone, Copy, Debug)]
struct Resting {
    attempts: u32,
    until: Timestamp,
}

/// When held and resting deliveries of all places become ready again.
pub(crate) type Deadlines = std::collections::BTreeSet<(Timestamp, PlaceId, u64)>;

#[derive(Debug)]
pub(crate) struct Place {
    id: PlaceId,
    name: PlaceName,
    /// Never handed out, ascending.
    ready: VecDeque<u64>,
    /// Ready again, with the attempts so far.
    again: BTreeMap<u64, u32>,
    held: BTreeMap<u64, Held>,
    resting: BTreeMap<u64, Resting>,
}

/// A queue shorter than this keeps its memory.
const SHRINK_FROM: usize = 1_024;

impl Place {
    pub(crate) fn new(id: PlaceId, name: PlaceName) -> Self {
        Self {
            id,
            name,
            ready: VecDeque::new(),
            again: BTreeMap::new(),
            held: BTreeMap::new(),
            resting: BTreeMap::new(),
        }
    }

    pub(crate) fn name(&self) -> &PlaceName {
        &self.name
    }

    pub(crate) fn waiting(&self) -> usize {
        self.ready.len() + self.again.len() + self.resting.len()
    }

    pub(crate) fn held_count(&self) -> usize {
        self.held.len()
    }

    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty() || !self.again.is_empty()
    }

    /// A new message, later than all before it.
    pub(crate) fn push(&mut self, sequence: u64) {
        self.ready.push_back(sequence);
    }

    /// Hands out the next ready delivery.
    pub(crate) fn lease(
        &mut self,
        fence: impl FnOnce() -> u32,
        until: Timestamp,
        deadlines: &mut Deadlines,
    ) -> Option<(u64, Held)> {
        let (sequence, attempts) = match self.again.pop_first() {
            Some(returned) => returned,
            None => (self.pop_ready()?, 0),
        };
        let held = Held {
            fence: fence(),
            attempt: attempts.saturating_add(1),
            until,
        };
        self.held.insert(sequence, held);
        deadlines.insert((until, self.id, sequence));
        Some((sequence, held))
    }

    /// The delivery, when this fence still holds it at `now`.
    pub(crate) fn held(&self, sequence: u64, fence: u32, now: Timestamp) -> Option<Held> {
        self.held
            .get(&sequence)
            .copied()
            .filter(|held| held.fence == fence && held.until > now)
    }

    /// Ends a hold and its deadline.
    pub(crate) fn release(&mut self, sequence: u64, deadlines: &mut Deadlines) {
        if let Some(held) = self.held.remove(&sequence) {
            deadlines.remove(&(held.until, self.id, sequence));
        }
    }

    /// Moves the end of a hold.
    pub(crate) fn extend(&mut self, sequence: u64, until: Timestamp, deadlines: &mut Deadlines) {
        if let Some(held) = self.held.get_mut(&sequence) {
            deadlines.remove(&(held.until, self.id, sequence));
            held.until = until;
            deadlines.insert((until, self.id, sequence));
        }
    }

    /// Lets a delivery wait until a moment before it is ready again.
    pub(crate) fn rest(
        &mut self,
        sequence: u64,
        attempts: u32,
        until: Timestamp,
        deadlines: &mut Deadlines,
    ) {
        self.resting.insert(sequence, Resting { attempts, until });
        deadlines.insert((until, self.id, sequence));
    }

    /// A deadline passed: the delivery is ready again.
    pub(crate) fn ready_again(&mut self, sequence: u64) {
        let attempts = match (self.held.remove(&sequence), self.resting.remove(&sequence)) {
            (Some(held), _) => held.attempt,
            (None, Some(resting)) => resting.attempts,
            (None, None) => return,
        };
        self.again.insert(sequence, attempts);
    }

    /// The message is done here, in whatever state it is.
    pub(crate) fn forget(&mut self, sequence: u64, deadlines: &mut Deadlines) {
        if let Ok(at) = self.ready.binary_search(&sequence) {
            self.ready.remove(at);
            self.shrink();
        }
        self.again.remove(&sequence);
        self.release(sequence, deadlines);
        if let Some(resting) = self.resting.remove(&sequence) {
            deadlines.remove(&(resting.until, self.id, sequence));
        }
    }

    /// Takes every deadline of this place away, before the place goes.
    pub(crate) fn clear(&self, deadlines: &mut Deadlines) {
        let held = self
            .held
            .iter()
            .map(|(sequence, held)| (held.until, *sequence));
        let resting = self
            .resting
            .iter()
            .map(|(sequence, resting)| (resting.until, *sequence));
        for (until, sequence) in held.chain(resting) {
            deadlines.remove(&(until, self.id, sequence));
        }
    }

    fn pop_ready(&mut self) -> Option<u64> {
        let sequence = self.ready.pop_front()?;
        self.shrink();
        Some(sequence)
    }

    /// Gives memory back after a backlog. Halving keeps the cost per delivery constant.
    fn shrink(&mut self) {
        if self.ready.capacity() > SHRINK_FROM && self.ready.len() < self.ready.capacity() / 4 {
            self.ready.shrink_to(self.ready.capacity() / 2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Place, PlaceId, PlaceName};

    #[test]
    fn a_waiting_delivery_costs_at_most_16_bytes_and_a_drained_queue_little() {
        let mut place = Place::new(PlaceId(0), PlaceName::Subscription("s".into()));
        for sequence in 0..100_000 {
            place.push(sequence);
            assert!(
                sequence < 16
                    || place.ready.capacity() * size_of::<u64>() <= 16 * (sequence as usize + 1)
            );
        }
        while place.pop_ready().is_some() {}
        assert!(place.ready.capacity() <= super::SHRINK_FROM);
    }
}
