//! What a place may hand out next: one lane per priority, what came back before what is new.
//!
//! A higher lane goes first, but not for ever: a lane that was passed over [`PATIENCE`] times gets
//! its turn. A new delivery costs 16 bytes, up to 32 with the queue's slack.

use super::{OrderKey, Tries};
use protocol::Priority;
use std::collections::{BTreeMap, VecDeque};

/// How often a waiting lane is passed over before it gets a turn.
const PATIENCE: u8 = 8;
/// A queue shorter than this keeps its memory.
const SHRINK_FROM: usize = 1_024;

/// A delivery that may be handed out, with its way so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) sequence: u64,
    pub(crate) priority: Priority,
    pub(crate) key: OrderKey,
    pub(crate) tries: Tries,
}

#[derive(Clone, Copy, Debug)]
struct Fresh {
    sequence: u64,
    key: OrderKey,
}

#[derive(Debug, Default)]
struct Lane {
    /// Never handed out, ascending.
    fresh: VecDeque<Fresh>,
    /// Ready again.
    again: BTreeMap<u64, (OrderKey, Tries)>,
    passed: u8,
}

/// From the highest to the lowest.
const PRIORITIES: [Priority; 4] = [
    Priority::Urgent,
    Priority::High,
    Priority::Normal,
    Priority::Low,
];

#[derive(Debug, Default)]
pub(crate) struct Lanes {
    lanes: [Lane; PRIORITIES.len()],
    count: usize,
}

impl Lanes {
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// A new message, later than all before it.
    pub(crate) fn push(&mut self, sequence: u64, priority: Priority, key: OrderKey) {
        if let Some(lane) = self.lanes.get_mut(rank(priority)) {
            lane.fresh.push_back(Fresh { sequence, key });
            self.count += 1;
        }
    }

    pub(crate) fn put_back(&mut self, candidate: Candidate) {
        if let Some(lane) = self.lanes.get_mut(rank(candidate.priority)) {
            let known = lane
                .again
                .insert(candidate.sequence, (candidate.key, candidate.tries));
            self.count += usize::from(known.is_none());
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Candidate> {
        let at = self.choose()?;
        let priority = *PRIORITIES.get(at)?;
        let lane = self.lanes.get_mut(at)?;
        self.count -= 1;
        // What came back is older than what is new, except after a restart, which forgets who was out.
        let next_fresh = lane.fresh.front().map_or(u64::MAX, |fresh| fresh.sequence);
        let again = lane.again.first_entry();
        if let Some(first) = again.filter(|first| *first.key() < next_fresh) {
            let (sequence, (key, tries)) = first.remove_entry();
            return Some(Candidate {
                sequence,
                priority,
                key,
                tries,
            });
        }
        let fresh = lane.fresh.pop_front()?;
        lane.shrink();
        Some(fresh.candidate(priority))
    }

    /// Takes one delivery out, wherever it waits.
    pub(crate) fn remove(&mut self, sequence: u64) -> Option<Candidate> {
        for (lane, priority) in self.lanes.iter_mut().zip(PRIORITIES) {
            if let Some((key, tries)) = lane.again.remove(&sequence) {
                self.count -= 1;
                return Some(Candidate {
                    sequence,
                    priority,
                    key,
                    tries,
                });
            }
            if let Ok(at) = lane
                .fresh
                .binary_search_by_key(&sequence, |one| one.sequence)
                && let Some(fresh) = lane.fresh.remove(at)
            {
                self.count -= 1;
                lane.shrink();
                return Some(fresh.candidate(priority));
            }
        }
        None
    }

    /// The way so far of a delivery that waits here.
    pub(crate) fn tries(&self, sequence: u64) -> Option<Tries> {
        self.lanes.iter().find_map(|lane| {
            let again = lane.again.get(&sequence).map(|(_, tries)| tries.clone());
            again.or_else(|| {
                let found = lane
                    .fresh
                    .binary_search_by_key(&sequence, |one| one.sequence);
                found.ok().map(|_| Tries::default())
            })
        })
    }

    /// Takes out everything that is ready again and belongs to a conversation.
    pub(crate) fn take_again(&mut self) -> Vec<Candidate> {
        let mut taken = Vec::new();
        for (lane, priority) in self.lanes.iter_mut().zip(PRIORITIES) {
            let again = lane.again.extract_if(.., |_, (key, _)| key.is_some());
            taken.extend(again.map(|(sequence, (key, tries))| Candidate {
                sequence,
                priority,
                key,
                tries,
            }));
        }
        self.count -= taken.len();
        taken
    }

    /// The oldest delivery that waits here.
    pub(crate) fn oldest(&self) -> Option<u64> {
        let oldest = |lane: &Lane| {
            let fresh = lane.fresh.front().map(|fresh| fresh.sequence);
            let again = lane.again.first_key_value().map(|(sequence, _)| *sequence);
            [fresh, again].into_iter().flatten().min()
        };
        self.lanes.iter().filter_map(oldest).min()
    }

    /// What waits here of messages before `first`.
    pub(crate) fn before(&self, first: u64) -> impl Iterator<Item = u64> {
        self.lanes.iter().flat_map(move |lane| {
            let fresh = lane.fresh.iter().map(|fresh| fresh.sequence);
            let again = lane.again.range(..first).map(|(sequence, _)| *sequence);
            fresh
                .take_while(move |sequence| *sequence < first)
                .chain(again)
        })
    }

    /// Of each lane at most `max` of what waits of messages from `first` on: never handed out, and ready
    /// again.
    pub(crate) fn from(&self, first: u64, max: usize) -> impl Iterator<Item = u64> {
        self.lanes.iter().flat_map(move |lane| {
            let start = lane.fresh.partition_point(|one| one.sequence < first);
            let fresh = lane.fresh.range(start..).map(|one| one.sequence);
            let again = lane.again.range(first..).map(|(sequence, _)| *sequence);
            fresh.take(max).chain(again.take(max))
        })
    }

    /// The deliveries of one lane that were never handed out, ascending.
    pub(crate) fn fresh(
        &self,
        priority: Priority,
    ) -> impl ExactSizeIterator<Item = (u64, OrderKey)> {
        let [first, ..] = &self.lanes;
        let lane = self.lanes.get(rank(priority)).unwrap_or(first);
        lane.fresh.iter().map(|one| (one.sequence, one.key))
    }

    /// What is ready again, in all lanes.
    pub(crate) fn again(&self) -> impl Iterator<Item = Candidate> {
        let lanes = self.lanes.iter().zip(PRIORITIES);
        lanes.flat_map(|(lane, priority)| {
            lane.again
                .iter()
                .map(move |(sequence, (key, tries))| Candidate {
                    sequence: *sequence,
                    priority,
                    key: *key,
                    tries: tries.clone(),
                })
        })
    }

    /// The lane whose turn it is.
    fn choose(&mut self) -> Option<usize> {
        let waits = |lane: &Lane| !lane.fresh.is_empty() || !lane.again.is_empty();
        let highest = self.lanes.iter().position(waits)?;
        let patient = |lane: &Lane| lane.passed >= PATIENCE && waits(lane);
        let chosen = self.lanes.iter().position(patient).unwrap_or(highest);
        for (at, lane) in self.lanes.iter_mut().enumerate() {
            if at == chosen {
                lane.passed = 0;
            } else if at > chosen && waits(lane) {
                lane.passed += 1;
            }
        }
        Some(chosen)
    }
}

impl Fresh {
    fn candidate(self, priority: Priority) -> Candidate {
        Candidate {
            sequence: self.sequence,
            priority,
            key: self.key,
            tries: Tries::default(),
        }
    }
}

impl Lane {
    /// Gives memory back after a backlog. Halving keeps the cost per delivery constant.
    fn shrink(&mut self) {
        if self.fresh.capacity() > SHRINK_FROM && self.fresh.len() < self.fresh.capacity() / 4 {
            self.fresh.shrink_to(self.fresh.capacity() / 2);
        }
    }
}

fn rank(priority: Priority) -> usize {
    match priority {
        Priority::Urgent => 0,
        Priority::High => 1,
        Priority::Normal => 2,
        Priority::Low => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::{Fresh, Lanes, SHRINK_FROM};
    use crate::place::OrderKey;
    use protocol::Priority;

    #[test]
    fn a_waiting_delivery_costs_at_most_32_bytes_and_a_drained_queue_little() {
        let mut lanes = Lanes::default();
        for sequence in 0..100_000 {
            lanes.push(sequence, Priority::Normal, OrderKey::default());
            let capacity = lanes.lanes[2].fresh.capacity();
            assert!(sequence < 16 || capacity * size_of::<Fresh>() <= 32 * (sequence as usize + 1));
        }
        while lanes.pop().is_some() {}
        assert!(lanes.lanes[2].fresh.capacity() <= SHRINK_FROM);
        assert_eq!(lanes.count(), 0);
    }

    #[test]
    fn urgent_goes_first_and_low_is_not_starved() {
        let mut lanes = Lanes::default();
        for sequence in 0..30 {
            lanes.push(sequence, Priority::Low, OrderKey::default());
        }
        for sequence in 100..200 {
            lanes.push(sequence, Priority::Urgent, OrderKey::default());
        }
        let first: Vec<u64> = (0..18)
            .filter_map(|_| lanes.pop())
            .map(|one| one.sequence)
            .collect();
        let expected: Vec<u64> = (100..108).chain([0]).chain(108..116).chain([1]).collect();
        assert_eq!(first, expected);
    }
}
