//! Who gets what: choosing, holding, and giving back what did not fail.

use super::{Candidate, Consumer, Held, Moments, OrderKey, Place};
use crate::delivery_settings::Order;
use protocol::Timestamp;
use std::collections::BTreeSet;

impl Place {
    /// The next delivery for this consumer.
    pub(crate) fn choose(&mut self, consumer: &Consumer, order: Order) -> Option<Candidate> {
        self.keep(order);
        if self.is_paused {
            return None;
        }
        for election in self.conversations.answer(consumer) {
            self.enthrone(election);
        }
        while let Some(candidate) = self.lanes.pop() {
            if !self.keeps(candidate.key) || self.conversations.admits(&candidate, consumer) {
                return Some(candidate);
            }
            let key = candidate.key;
            self.conversations.park(candidate);
            // Its owner may have it.
            self.elect(key);
        }
        None
    }

    /// Hands a chosen delivery out.
    pub(crate) fn hold(
        &mut self,
        candidate: Candidate,
        fence: u32,
        consumer: &Consumer,
        until: Timestamp,
        moments: &mut Moments,
    ) -> &Held {
        if self.keeps(candidate.key) {
            self.conversations.go_out(&candidate, consumer);
        }
        let Candidate {
            sequence,
            priority,
            key,
            mut tries,
        } = candidate;
        // It may have more of the conversation for the same consumer.
        self.elect(key);
        tries.attempts = tries.attempts.saturating_add(1);
        moments.leases.insert((until, self.id, sequence));
        *self.holding.entry(consumer.clone()).or_default() += 1;
        self.held.entry(sequence).or_insert(Held {
            fence,
            until,
            consumer: consumer.clone(),
            priority,
            key,
            tries,
        })
    }

    /// The delivery, when this fence still holds it at `now`.
    pub(crate) fn held(&self, sequence: u64, fence: u32, now: Timestamp) -> Option<&Held> {
        self.held
            .get(&sequence)
            .filter(|held| held.fence == fence && held.until > now)
    }

    /// The sequences that a consumer holds.
    pub(crate) fn held_by(&self, consumer: &Consumer) -> Vec<u64> {
        let theirs = self
            .held
            .iter()
            .filter(|(_, held)| held.consumer == *consumer);
        theirs.map(|(sequence, _)| *sequence).collect()
    }

    /// How many deliveries a consumer holds.
    pub(crate) fn held_count_of(&self, consumer: &Consumer) -> usize {
        self.holding.get(consumer).copied().unwrap_or_default()
    }

    pub(crate) fn is_held(&self, sequence: u64) -> bool {
        self.held.contains_key(&sequence)
    }

    /// Moves the end of a hold.
    pub(crate) fn extend(&mut self, sequence: u64, until: Timestamp, moments: &mut Moments) {
        if let Some(held) = self.held.get_mut(&sequence) {
            moments.leases.remove(&(held.until, self.id, sequence));
            held.until = until;
            moments.leases.insert((until, self.id, sequence));
        }
    }

    /// Gives a held delivery back as if it had not failed: its consumer left.
    pub(crate) fn give_back(&mut self, sequence: u64, moments: &mut Moments) {
        if let Some(candidate) = self.take_held(sequence, moments) {
            self.expect_expiry(sequence, moments);
            self.come_back(candidate);
        }
    }

    /// As [`Self::give_back`], for a delivery that nobody has seen.
    pub(crate) fn never_went(&mut self, sequence: u64, fence: u32, moments: &mut Moments) {
        let is_it = |held: &&Held| held.fence == fence;
        if self.held.get(&sequence).filter(is_it).is_none() {
            return;
        }
        if let Some(mut candidate) = self.take_held(sequence, moments) {
            candidate.tries.attempts = candidate.tries.attempts.saturating_sub(1);
            self.expect_expiry(sequence, moments);
            self.come_back(candidate);
        }
    }

    /// Takes a held delivery out, before anything else is ready.
    pub(super) fn take_held(&mut self, sequence: u64, moments: &mut Moments) -> Option<Candidate> {
        let held = self.held.remove(&sequence)?;
        moments.leases.remove(&(held.until, self.id, sequence));
        if let Some(count) = self.holding.get_mut(&held.consumer) {
            *count -= 1;
            if *count == 0 {
                self.holding.remove(&held.consumer);
            }
        }
        if self.keeps(held.key) {
            self.conversations.come_in(held.key, &held.consumer);
        }
        Some(Candidate {
            sequence,
            priority: held.priority,
            key: held.key,
            tries: held.tries,
        })
    }

    /// The moment at which a held message expires may have come and gone meanwhile.
    fn expect_expiry(&self, sequence: u64, moments: &mut Moments) {
        if let Some(moment) = self.expiring.get(&sequence) {
            moments.expiries.insert((*moment, self.id, sequence));
        }
    }

    /// Whether deliveries with this key are kept in order now.
    pub(super) fn keeps(&self, key: OrderKey) -> bool {
        self.order == Order::Conversation && key.is_some()
    }

    /// Makes `order` what is kept from now on.
    fn keep(&mut self, order: Order) {
        if self.order == order {
            return;
        }
        self.order = order;
        match order {
            Order::None => {
                for candidate in self.conversations.dissolve() {
                    self.lanes.put_back(candidate);
                }
            }
            Order::Conversation => self.group(),
        }
    }

    /// Finds the conversations of everything that is or was out.
    fn group(&mut self) {
        for (sequence, held) in self.held.iter().filter(|(_, held)| held.key.is_some()) {
            let candidate = Candidate {
                sequence: *sequence,
                priority: held.priority,
                key: held.key,
                tries: held.tries.clone(),
            };
            self.conversations.go_out(&candidate, &held.consumer);
        }
        let resting = self.resting.iter();
        for (sequence, resting) in resting.filter(|(_, resting)| resting.key.is_some()) {
            let (key, priority) = (resting.key, resting.priority);
            self.conversations.begin_rest(key, priority, *sequence);
        }
        let mut keys = BTreeSet::new();
        for candidate in self.lanes.take_again() {
            keys.insert(candidate.key);
            self.conversations.park(candidate);
        }
        for key in keys {
            self.elect(key);
        }
    }
}
