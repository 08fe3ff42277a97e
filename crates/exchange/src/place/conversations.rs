//! Keeps one conversation on one consumer at a time, and in order.
//!
//! A conversation is known here only while one of its deliveries is out, rests, or waits behind
//! another; a backlog that nobody reads costs nothing. What may not go yet is parked with its
//! conversation, and when that becomes free only the first parked delivery gets ready again, so a
//! long conversation costs the same per delivery as a short one.

use super::lanes::Candidate;
use super::{Consumer, OrderKey};
use foldhash::fast::FixedState;
use protocol::Priority;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

#[derive(Debug, Default)]
pub(crate) struct Conversations {
    busy: HashMap<OrderKey, Busy, FixedState>,
    parked: usize,
}

#[derive(Debug, Default)]
struct Busy {
    /// Who holds its deliveries, while `out` is not zero.
    owner: Consumer,
    out: u32,
    resting: u32,
    /// The parked delivery that was made ready when the conversation became free.
    heir: Option<u64>,
    parked: BTreeMap<(Reverse<Priority>, u64), Candidate>,
}

impl Conversations {
    /// How many deliveries wait behind their conversation.
    pub(crate) fn parked(&self) -> usize {
        self.parked
    }

    /// Whether this delivery may go to this consumer now.
    pub(crate) fn admits(&self, candidate: &Candidate, consumer: &Consumer) -> bool {
        let Some(busy) = self
            .busy
            .get(&candidate.key)
            .filter(|_| candidate.key.is_some())
        else {
            return true;
        };
        let is_elsewhere = busy.out > 0 && busy.owner != *consumer;
        let is_overtaking =
            !candidate.came_back && (!busy.parked.is_empty() || busy.heir.is_some());
        !is_elsewhere && busy.resting == 0 && !is_overtaking
    }

    /// Sets a delivery aside until its conversation is free.
    pub(crate) fn park(&mut self, candidate: Candidate) {
        let busy = self.busy.entry(candidate.key).or_default();
        if busy.heir == Some(candidate.sequence) {
            busy.heir = None;
        }
        let place = (Reverse(candidate.priority), candidate.sequence);
        let known = busy.parked.insert(place, candidate);
        self.parked += usize::from(known.is_none());
    }

    /// The next parked delivery of a conversation that this consumer has.
    pub(crate) fn next_of(&mut self, key: OrderKey, consumer: &Consumer) -> Option<Candidate> {
        let busy = self.busy.get_mut(&key).filter(|_| key.is_some())?;
        let is_theirs = busy.out > 0 && busy.owner == *consumer;
        if !is_theirs || busy.resting > 0 || busy.heir.is_some() {
            return None;
        }
        let (_, candidate) = busy.parked.pop_first()?;
        self.parked -= 1;
        Some(candidate)
    }

    /// A delivery was handed out.
    pub(crate) fn go_out(&mut self, key: OrderKey, sequence: u64, consumer: &Consumer) {
        if key.is_some() {
            let busy = self.busy.entry(key).or_default();
            busy.owner.clone_from(consumer);
            busy.out += 1;
            if busy.heir == Some(sequence) {
                busy.heir = None;
            }
        }
    }

    /// A delivery that was out is no longer; returns what is ready now because of that.
    pub(crate) fn come_in(&mut self, key: OrderKey) -> Option<Candidate> {
        if let Some(busy) = self.busy.get_mut(&key) {
            busy.out = busy.out.saturating_sub(1);
        }
        self.settle(key)
    }

    /// A delivery begins to wait for its next attempt.
    pub(crate) fn begin_rest(&mut self, key: OrderKey) {
        if key.is_some() {
            self.busy.entry(key).or_default().resting += 1;
        }
    }

    /// That wait is over. The delivery itself is ready now, so nothing behind it is.
    pub(crate) fn end_rest(&mut self, key: OrderKey, sequence: u64) {
        if let Some(busy) = self.busy.get_mut(&key) {
            busy.resting = busy.resting.saturating_sub(1);
            if busy.resting == 0 && busy.out == 0 && busy.heir.is_none() && !busy.parked.is_empty()
            {
                busy.heir = Some(sequence);
            }
        }
        self.sweep(key);
    }

    /// A delivery left for good that was ready, parked, or rested; returns what is ready now.
    pub(crate) fn forget(&mut self, key: OrderKey, sequence: u64) -> Option<Candidate> {
        if let Some(busy) = self.busy.get_mut(&key)
            && busy.heir == Some(sequence)
        {
            busy.heir = None;
        }
        self.settle(key)
    }

    /// A delivery left for good while it rested.
    pub(crate) fn forget_rest(&mut self, key: OrderKey, sequence: u64) -> Option<Candidate> {
        if let Some(busy) = self.busy.get_mut(&key) {
            busy.resting = busy.resting.saturating_sub(1);
        }
        self.forget(key, sequence)
    }

    /// Takes a parked delivery out.
    pub(crate) fn unpark(&mut self, sequence: u64) -> Option<Candidate> {
        if self.parked == 0 {
            return None;
        }
        let found = self.busy.iter().find_map(|(key, busy)| {
            let (place, _) = busy.parked.iter().find(|((_, at), _)| *at == sequence)?;
            Some((*key, *place))
        });
        let (key, place) = found?;
        let candidate = self.busy.get_mut(&key)?.parked.remove(&place)?;
        self.parked -= 1;
        self.sweep(key);
        Some(candidate)
    }

    /// Everything that is parked.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Candidate> {
        self.busy.values().flat_map(|busy| busy.parked.values())
    }

    /// Ends all order: returns what was parked.
    pub(crate) fn dissolve(&mut self) -> Vec<Candidate> {
        self.parked = 0;
        let busy = std::mem::take(&mut self.busy);
        busy.into_values()
            .flat_map(|busy| busy.parked.into_values())
            .collect()
    }

    fn settle(&mut self, key: OrderKey) -> Option<Candidate> {
        let busy = self.busy.get_mut(&key)?;
        let mut heir = None;
        if busy.out == 0 && busy.resting == 0 && busy.heir.is_none() {
            heir = busy.parked.pop_first().map(|(_, candidate)| candidate);
            if let Some(candidate) = &mut heir {
                candidate.came_back = true;
                busy.heir = Some(candidate.sequence);
                self.parked -= 1;
            }
        }
        self.sweep(key);
        heir
    }

    fn sweep(&mut self, key: OrderKey) {
        if self.busy.get(&key).is_some_and(|busy| {
            busy.out == 0 && busy.resting == 0 && busy.heir.is_none() && busy.parked.is_empty()
        }) {
            self.busy.remove(&key);
        }
    }
}
