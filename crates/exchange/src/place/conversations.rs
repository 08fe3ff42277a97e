//! Keeps one conversation on one consumer at a time, and in order.
//!
//! A conversation is known here only while one of its deliveries is out, rests, came back, or waits
//! behind another; a backlog that nobody reads costs nothing. What came back or may not go yet is
//! parked with its conversation. The first of it, the heir, is among what is ready while nobody has
//! the conversation; while somebody has it, its owner is summoned, and the heir is ready when the
//! owner pulls. So a long conversation costs the same per delivery as a short one, and an owner who
//! waits for the next message of a conversation before it settles the last one gets it.
//!
//! Higher priorities go first, also past a delivery that waits for its next attempt; within one
//! priority nothing overtakes.

use super::lanes::Candidate;
use super::{Consumer, OrderKey, Tries};
use foldhash::fast::FixedState;
use protocol::Priority;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Where a delivery stands in its conversation: the least goes first.
type Rank = (Reverse<Priority>, u64);

#[derive(Debug, Default)]
pub(crate) struct Conversations {
    busy: HashMap<OrderKey, Busy, FixedState>,
    /// Conversations that have something for their owner.
    summons: BTreeMap<Consumer, BTreeSet<OrderKey>>,
    parked: usize,
}

#[derive(Debug, Default)]
struct Busy {
    /// Who holds its deliveries, and how many. Several only after a time without order.
    owners: Vec<(Consumer, u32)>,
    is_summoning: bool,
    resting: BTreeSet<Rank>,
    /// The one that came back or waited and is among what is ready.
    heir: Option<Rank>,
    /// The rest of those. Most were never tried, so their tries are boxed.
    parked: BTreeMap<Rank, Option<Box<Tries>>>,
}

/// A change among what is ready.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Election {
    /// Ready from now on.
    pub(crate) heir: Candidate,
    /// Ready no more: take it out and [`park`](Conversations::park) it.
    pub(crate) deposed: Option<u64>,
}

impl Conversations {
    /// How many deliveries wait behind their conversation.
    pub(crate) fn parked(&self) -> usize {
        self.parked
    }

    /// Whether this delivery may go to this consumer now.
    pub(crate) fn admits(&self, candidate: &Candidate, consumer: &Consumer) -> bool {
        self.busy.get(&candidate.key).is_none_or(|busy| {
            let mut owners = busy.owners.iter();
            owners.all(|(owner, _)| owner == consumer) && !busy.has_before(candidate.rank())
        })
    }

    /// Sets a delivery aside until its turn comes.
    pub(crate) fn park(&mut self, candidate: Candidate) {
        let rank = candidate.rank();
        let busy = self.busy.entry(candidate.key).or_default();
        if busy.heir == Some(rank) {
            busy.heir = None;
        }
        let tries = (candidate.tries != Tries::default()).then(|| Box::new(candidate.tries));
        let known = busy.parked.insert(rank, tries);
        self.parked += usize::from(known.is_none());
    }

    /// Lets the first parked delivery of a conversation be ready, or its owner be summoned, unless
    /// something goes before it. Call it after every other change.
    pub(crate) fn elect(&mut self, key: OrderKey) -> Option<Election> {
        let busy = self.busy.get_mut(&key)?;
        if busy.next().is_none() {
            if busy.is_idle() {
                self.busy.remove(&key);
            }
            return None;
        }
        match busy.owners.as_slice() {
            [] => return self.promote(key),
            [(owner, _)] if !busy.is_summoning => {
                let keys = self.summons.entry(owner.clone()).or_default();
                keys.insert(key);
                busy.is_summoning = true;
            }
            [_, ..] => {}
        }
        None
    }

    /// What its conversations have for this consumer, now that it pulls.
    pub(crate) fn answer(&mut self, consumer: &Consumer) -> Vec<Election> {
        let keys = self.summons.remove(consumer).unwrap_or_default();
        let answered = keys.into_iter().filter_map(|key| {
            self.busy.get_mut(&key)?.is_summoning = false;
            self.promote(key)
        });
        answered.collect()
    }

    /// Who is summoned.
    pub(crate) fn summoned(&self) -> impl Iterator<Item = &Consumer> {
        self.summons.keys()
    }

    fn promote(&mut self, key: OrderKey) -> Option<Election> {
        let busy = self.busy.get_mut(&key)?;
        let next = busy.next()?;
        let tries = busy.parked.remove(&next)?;
        self.parked -= 1;
        let deposed = busy.heir.replace(next).map(|(_, sequence)| sequence);
        Some(Election {
            heir: candidate(key, next, tries),
            deposed,
        })
    }

    /// A delivery was handed out.
    pub(crate) fn go_out(&mut self, candidate: &Candidate, consumer: &Consumer) {
        let busy = self.busy.entry(candidate.key).or_default();
        match busy.owners.iter_mut().find(|(owner, _)| owner == consumer) {
            Some((_, count)) => *count += 1,
            None => busy.owners.push((consumer.clone(), 1)),
        }
        if busy.heir == Some(candidate.rank()) {
            busy.heir = None;
        }
    }

    /// A delivery that this consumer held is no longer out.
    pub(crate) fn come_in(&mut self, key: OrderKey, consumer: &Consumer) {
        let Some(busy) = self.busy.get_mut(&key) else {
            return;
        };
        for (_, count) in busy
            .owners
            .iter_mut()
            .filter(|(owner, _)| owner == consumer)
        {
            *count -= 1;
        }
        let owners_before = busy.owners.len();
        busy.owners.retain(|(_, count)| *count > 0);
        if busy.is_summoning && busy.owners.len() < owners_before {
            busy.is_summoning = false;
            if let Some(keys) = self.summons.get_mut(consumer) {
                keys.remove(&key);
                if keys.is_empty() {
                    self.summons.remove(consumer);
                }
            }
        }
    }

    /// A delivery begins to wait for its next attempt.
    pub(crate) fn begin_rest(&mut self, key: OrderKey, priority: Priority, sequence: u64) {
        let busy = self.busy.entry(key).or_default();
        busy.resting.insert((Reverse(priority), sequence));
    }

    /// That wait is over.
    pub(crate) fn end_rest(&mut self, key: OrderKey, priority: Priority, sequence: u64) {
        if let Some(busy) = self.busy.get_mut(&key) {
            busy.resting.remove(&(Reverse(priority), sequence));
        }
    }

    /// A delivery is no longer among what is ready.
    pub(crate) fn forget_ready(&mut self, candidate: &Candidate) {
        if let Some(busy) = self.busy.get_mut(&candidate.key)
            && busy.heir == Some(candidate.rank())
        {
            busy.heir = None;
        }
    }

    /// Takes a parked delivery out.
    pub(crate) fn unpark(&mut self, sequence: u64) -> Option<Candidate> {
        let (key, rank) = self.find(sequence)?;
        let tries = self.busy.get_mut(&key)?.parked.remove(&rank)?;
        self.parked -= 1;
        Some(candidate(key, rank, tries))
    }

    /// The way so far of a parked delivery.
    pub(crate) fn tries(&self, sequence: u64) -> Option<Tries> {
        let (key, rank) = self.find(sequence)?;
        let tries = self.busy.get(&key)?.parked.get(&rank)?;
        Some(tries.as_deref().cloned().unwrap_or_default())
    }

    /// Everything that is parked.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Candidate> {
        let busy = self.busy.iter();
        busy.flat_map(|(key, busy)| {
            let parked = busy.parked.iter();
            parked.map(|(rank, tries)| candidate(*key, *rank, tries.clone()))
        })
    }

    /// The oldest delivery that is parked.
    pub(crate) fn oldest(&self) -> Option<u64> {
        let busy = self.busy.values();
        busy.flat_map(|busy| busy.parked.keys().map(|(_, sequence)| *sequence))
            .min()
    }

    /// Ends all order: returns what was parked.
    pub(crate) fn dissolve(&mut self) -> Vec<Candidate> {
        let parked = self.iter().collect();
        *self = Self::default();
        parked
    }

    /// Where a parked delivery is. Looks at every conversation that is known here, which is about as
    /// many as there are deliveries out.
    fn find(&self, sequence: u64) -> Option<(OrderKey, Rank)> {
        const PRIORITIES: [Priority; 4] = [
            Priority::Normal,
            Priority::High,
            Priority::Urgent,
            Priority::Low,
        ];
        if self.parked == 0 {
            return None;
        }
        let ranks = PRIORITIES.map(|priority| (Reverse(priority), sequence));
        self.busy.iter().find_map(|(key, busy)| {
            let mut ranks = ranks.iter();
            let rank = ranks.find(|rank| busy.parked.contains_key(rank))?;
            Some((*key, *rank))
        })
    }
}

impl Busy {
    /// The first that is parked, when nothing goes before it.
    fn next(&self) -> Option<Rank> {
        let (first, _) = self.parked.first_key_value()?;
        Some(*first).filter(|first| !self.has_before(*first))
    }

    /// Whether something that waits, in whatever way, goes before `rank`.
    fn has_before(&self, rank: Rank) -> bool {
        let first_parked = self.parked.first_key_value().map(|(rank, _)| rank);
        let first_resting = self.resting.first();
        let waiting = [first_parked, first_resting, self.heir.as_ref()];
        waiting.into_iter().flatten().any(|first| *first < rank)
    }

    fn is_idle(&self) -> bool {
        self.owners.is_empty()
            && self.resting.is_empty()
            && self.heir.is_none()
            && self.parked.is_empty()
    }
}

impl Candidate {
    fn rank(&self) -> Rank {
        (Reverse(self.priority), self.sequence)
    }
}

fn candidate(key: OrderKey, rank: Rank, tries: Option<Box<Tries>>) -> Candidate {
    let (Reverse(priority), sequence) = rank;
    Candidate {
        sequence,
        priority,
        key,
        tries: tries.map_or_else(Tries::default, |tries| *tries),
    }
}
