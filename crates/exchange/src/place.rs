//! One place: what waits, what is held, what rests after a failed attempt, what is dead.
//!
//! This file knows no clock but the moments it is given, and no records: who calls it writes down
//! what must survive a restart.

mod conversations;
mod lanes;

pub(crate) use lanes::Candidate;

use crate::delivery_settings::{DeliverySettings, Order};
use crate::record::FailedDelivery;
use conversations::Conversations;
use lanes::Lanes;
use protocol::{Party, Priority, Retry, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::Arc;

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

/// Who pulls from a place that several read; `None` for everybody who gives no name.
pub type Consumer = Option<Arc<str>>;

/// Stands for the conversation of a delivery; empty for none. Two conversations may share a key;
/// then they keep together, which costs speed and nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct OrderKey(pub(crate) Option<NonZeroU32>);

impl OrderKey {
    pub(crate) fn is_some(self) -> bool {
        self.0.is_some()
    }
}

/// The way of a delivery so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tries {
    /// How often it was handed out.
    pub(crate) attempts: u32,
    /// The journal's records of its failed attempts.
    pub(crate) failures: Vec<u64>,
}

impl Tries {
    pub(crate) fn failed(&self) -> u32 {
        u32::try_from(self.failures.len()).unwrap_or(u32::MAX)
    }
}

/// A delivery that a consumer holds.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) fence: u32,
    pub(crate) until: Timestamp,
    pub(crate) consumer: Consumer,
    priority: Priority,
    key: OrderKey,
    pub(crate) tries: Tries,
}

/// A delivery that waits out its delay.
#[derive(Clone, Debug)]
struct Resting {
    until: Timestamp,
    priority: Priority,
    key: OrderKey,
    tries: Tries,
}

/// A delivery that nobody will be given again by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dead {
    pub(crate) at: Timestamp,
    pub(crate) reason: Box<str>,
    pub(crate) priority: Priority,
    pub(crate) key: OrderKey,
    pub(crate) tries: Tries,
}

/// Where a delivery of a place stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryState {
    /// Nobody holds it; handed out so often before.
    Waiting {
        /// How often.
        attempts: u32,
    },
    /// A consumer holds it.
    Held {
        /// Which attempt this is.
        attempt: u32,
        /// Who.
        consumer: Consumer,
        /// Until when.
        until: Timestamp,
    },
    /// It waits for its next attempt.
    Resting {
        /// How often it was handed out.
        attempts: u32,
        /// Until when.
        until: Timestamp,
    },
    /// It is a dead letter.
    Dead {
        /// How often it was handed out.
        attempts: u32,
        /// Since when.
        at: Timestamp,
        /// Why.
        reason: Box<str>,
    },
}

/// When held and resting deliveries of all places become ready again.
pub(crate) type Deadlines = BTreeSet<(Timestamp, PlaceId, u64)>;

/// The two sets of moments that all places share.
#[derive(Debug, Default)]
pub(crate) struct Moments {
    /// Leases that run out and waits that end.
    pub(crate) leases: Deadlines,
    /// Messages that nobody needs any more.
    pub(crate) expiries: Deadlines,
}

#[derive(Debug)]
pub(crate) struct Place {
    id: PlaceId,
    name: PlaceName,
    /// Its own settings, when it has some.
    pub(crate) settings: Option<Box<DeliverySettings>>,
    is_paused: bool,
    lanes: Lanes,
    conversations: Conversations,
    held: BTreeMap<u64, Held>,
    resting: BTreeMap<u64, Resting>,
    dead: BTreeMap<u64, Dead>,
    /// What messages ask of their own retries.
    retries: BTreeMap<u64, Box<Retry>>,
    expiring: BTreeMap<u64, Timestamp>,
}

/// A new delivery.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival<'m> {
    pub(crate) sequence: u64,
    pub(crate) priority: Priority,
    pub(crate) key: OrderKey,
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) retry: Option<&'m Retry>,
}

impl Place {
    pub(crate) fn new(id: PlaceId, name: PlaceName) -> Self {
        Self {
            id,
            name,
            settings: None,
            is_paused: false,
            lanes: Lanes::default(),
            conversations: Conversations::default(),
            held: BTreeMap::new(),
            resting: BTreeMap::new(),
            dead: BTreeMap::new(),
            retries: BTreeMap::new(),
            expiring: BTreeMap::new(),
        }
    }

    pub(crate) fn name(&self) -> &PlaceName {
        &self.name
    }

    pub(crate) fn waiting(&self) -> usize {
        self.lanes.count() + self.conversations.parked() + self.resting.len()
    }

    pub(crate) fn held_count(&self) -> usize {
        self.held.len()
    }

    pub(crate) fn dead_count(&self) -> usize {
        self.dead.len()
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Whether something could be handed out, to somebody.
    pub(crate) fn has_ready(&self) -> bool {
        self.lanes.count() > 0 && !self.is_paused
    }

    /// How many deliveries are ready.
    pub(crate) fn ready_count(&self) -> usize {
        self.lanes.count()
    }

    /// The settings for one delivery: the message's wishes over the place's own over `defaults`.
    pub(crate) fn settings_for(
        &self,
        sequence: u64,
        defaults: DeliverySettings,
    ) -> DeliverySettings {
        let own = self.settings.as_deref().copied().unwrap_or(defaults);
        match self.retries.get(&sequence) {
            Some(retry) => own.with(retry),
            None => own,
        }
    }

    /// A new message, later than all before it.
    pub(crate) fn push(&mut self, arrival: Arrival<'_>, moments: &mut Moments) {
        let Arrival {
            sequence,
            priority,
            key,
            expires_at,
            retry,
        } = arrival;
        self.lanes.push(sequence, priority, key);
        if let Some(moment) = expires_at {
            self.expiring.insert(sequence, moment);
            moments.expiries.insert((moment, self.id, sequence));
        }
        if let Some(retry) = retry {
            self.retries.insert(sequence, Box::new(*retry));
        }
    }

    /// The next delivery for this consumer; after one of a conversation the rest of it first.
    pub(crate) fn choose(
        &mut self,
        consumer: &Consumer,
        order: Order,
        last: OrderKey,
    ) -> Option<Candidate> {
        if self.is_paused {
            return None;
        }
        if order == Order::None {
            let mut candidate = self.lanes.pop()?;
            candidate.key = OrderKey::default();
            return Some(candidate);
        }
        if let Some(next) = self.conversations.next_of(last, consumer) {
            return Some(next);
        }
        while let Some(candidate) = self.lanes.pop() {
            if self.conversations.admits(&candidate, consumer) {
                return Some(candidate);
            }
            self.conversations.park(candidate);
        }
        None
    }

    /// Hands a chosen delivery out.
    pub(crate) fn hold(
        &mut self,
        candidate: Candidate,
        fence: u32,
        consumer: Consumer,
        until: Timestamp,
        moments: &mut Moments,
    ) -> &Held {
        let Candidate {
            sequence,
            priority,
            key,
            mut tries,
            ..
        } = candidate;
        tries.attempts = tries.attempts.saturating_add(1);
        self.conversations.go_out(key, sequence, &consumer);
        moments.leases.insert((until, self.id, sequence));
        self.held.entry(sequence).or_insert(Held {
            fence,
            until,
            consumer,
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
            let key = candidate.key;
            self.lanes.put_back(candidate);
            self.come_in(key);
        }
    }

    /// As [`Self::give_back`], for a delivery that nobody has seen.
    pub(crate) fn never_went(&mut self, sequence: u64, moments: &mut Moments) {
        if let Some(mut candidate) = self.take_held(sequence, moments) {
            candidate.tries.attempts = candidate.tries.attempts.saturating_sub(1);
            let key = candidate.key;
            self.lanes.put_back(candidate);
            self.come_in(key);
        }
    }

    /// A held delivery failed, as the record `failure` says; it is ready again at `until`.
    pub(crate) fn fail(
        &mut self,
        sequence: u64,
        failure: u64,
        until: Timestamp,
        moments: &mut Moments,
    ) {
        let Some(mut candidate) = self.take_held(sequence, moments) else {
            return;
        };
        candidate.tries.failures.push(failure);
        let key = candidate.key;
        self.rest(candidate, until, moments);
        self.come_in(key);
    }

    /// As [`Self::fail`] when state is rebuilt: nothing is held then.
    pub(crate) fn failed_before(
        &mut self,
        failed: &FailedDelivery,
        failure: u64,
        moments: &mut Moments,
    ) {
        if let Some(mut candidate) = self.take(failed.sequence, moments) {
            candidate.tries.attempts = failed.attempt;
            candidate.tries.failures.push(failure);
            self.rest(candidate, failed.again_at, moments);
        }
    }

    /// How often a held delivery has failed before.
    pub(crate) fn failures_of(&self, sequence: u64) -> u32 {
        self.held
            .get(&sequence)
            .map_or(0, |held| held.tries.failed())
    }

    /// Which attempt a held delivery is.
    pub(crate) fn attempt_of(&self, sequence: u64) -> Option<u32> {
        self.held.get(&sequence).map(|held| held.tries.attempts)
    }

    pub(crate) fn is_held(&self, sequence: u64) -> bool {
        self.held.contains_key(&sequence)
    }

    /// Whether its message is too old to be handed out again.
    pub(crate) fn is_expired(&self, sequence: u64, now: Timestamp) -> bool {
        self.expiring.get(&sequence).is_some_and(|at| *at <= now)
    }

    fn rest(&mut self, candidate: Candidate, until: Timestamp, moments: &mut Moments) {
        let Candidate {
            sequence,
            priority,
            key,
            tries,
            ..
        } = candidate;
        self.conversations.begin_rest(key);
        moments.leases.insert((until, self.id, sequence));
        self.resting.insert(
            sequence,
            Resting {
                until,
                priority,
                key,
                tries,
            },
        );
    }

    /// Whether a delivery waits for its next attempt.
    pub(crate) fn is_resting(&self, sequence: u64) -> bool {
        self.resting.contains_key(&sequence)
    }

    /// The wait of a delivery is over.
    pub(crate) fn ready_again(&mut self, sequence: u64) {
        if let Some(resting) = self.resting.remove(&sequence) {
            self.lanes.put_back(Candidate {
                sequence,
                priority: resting.priority,
                key: resting.key,
                tries: resting.tries,
                came_back: true,
            });
            self.conversations.end_rest(resting.key, sequence);
        }
    }

    /// The message is done here, in whatever state it is; true when it was owed or dead.
    pub(crate) fn forget(&mut self, sequence: u64, moments: &mut Moments) -> bool {
        self.retries.remove(&sequence);
        if let Some(moment) = self.expiring.remove(&sequence) {
            moments.expiries.remove(&(moment, self.id, sequence));
        }
        self.take(sequence, moments).is_some() || self.dead.remove(&sequence).is_some()
    }

    /// Nobody is given this delivery again by itself.
    pub(crate) fn bury(
        &mut self,
        sequence: u64,
        at: Timestamp,
        reason: &str,
        moments: &mut Moments,
    ) {
        if let Some(moment) = self.expiring.remove(&sequence) {
            moments.expiries.remove(&(moment, self.id, sequence));
        }
        if let Some(candidate) = self.take(sequence, moments) {
            self.dead.insert(
                sequence,
                Dead {
                    at,
                    reason: reason.into(),
                    priority: candidate.priority,
                    key: candidate.key,
                    tries: candidate.tries,
                },
            );
        }
    }

    /// A dead letter is ready again, with all its attempts before it.
    pub(crate) fn redrive(&mut self, sequence: u64) -> bool {
        let Some(dead) = self.dead.remove(&sequence) else {
            return false;
        };
        self.lanes.put_back(Candidate {
            sequence,
            priority: dead.priority,
            key: dead.key,
            tries: Tries {
                attempts: dead.tries.attempts,
                failures: Vec::new(),
            },
            came_back: true,
        });
        true
    }

    pub(crate) fn dead(&self) -> &BTreeMap<u64, Dead> {
        &self.dead
    }

    pub(crate) fn pause(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
    }

    pub(crate) fn configure(&mut self, settings: DeliverySettings) {
        if settings.order == Order::None {
            for candidate in self.conversations.dissolve() {
                self.lanes.put_back(candidate);
            }
        }
        self.settings = Some(Box::new(settings));
    }

    /// Where one of its deliveries stands.
    pub(crate) fn state_of(&self, sequence: u64) -> Option<DeliveryState> {
        if let Some(held) = self.held.get(&sequence) {
            return Some(DeliveryState::Held {
                attempt: held.tries.attempts,
                consumer: held.consumer.clone(),
                until: held.until,
            });
        }
        if let Some(resting) = self.resting.get(&sequence) {
            return Some(DeliveryState::Resting {
                attempts: resting.tries.attempts,
                until: resting.until,
            });
        }
        if let Some(dead) = self.dead.get(&sequence) {
            return Some(DeliveryState::Dead {
                attempts: dead.tries.attempts,
                at: dead.at,
                reason: dead.reason.clone(),
            });
        }
        let parked = || {
            let mut parked = self.conversations.iter();
            parked
                .find(|one| one.sequence == sequence)
                .map(|one| one.tries.clone())
        };
        let tries = self.lanes.tries(sequence).or_else(parked)?;
        Some(DeliveryState::Waiting {
            attempts: tries.attempts,
        })
    }

    /// The oldest message that is owed or dead here.
    pub(crate) fn oldest(&self) -> Option<u64> {
        let first = [
            self.lanes.oldest(),
            self.conversations.iter().map(|one| one.sequence).min(),
            self.held.first_key_value().map(|(at, _)| *at),
            self.resting.first_key_value().map(|(at, _)| *at),
            self.dead.first_key_value().map(|(at, _)| *at),
        ];
        first.into_iter().flatten().min()
    }

    /// Takes every moment of this place away, before the place goes.
    pub(crate) fn clear(&self, moments: &mut Moments) {
        let held = self.held.iter().map(|(at, held)| (held.until, *at));
        let resting = self
            .resting
            .iter()
            .map(|(at, resting)| (resting.until, *at));
        for (until, sequence) in held.chain(resting) {
            moments.leases.remove(&(until, self.id, sequence));
        }
        for (sequence, moment) in &self.expiring {
            moments.expiries.remove(&(*moment, self.id, *sequence));
        }
    }

    fn come_in(&mut self, key: OrderKey) {
        if let Some(heir) = self.conversations.come_in(key) {
            self.lanes.put_back(heir);
        }
    }

    fn take_held(&mut self, sequence: u64, moments: &mut Moments) -> Option<Candidate> {
        let held = self.held.remove(&sequence)?;
        moments.leases.remove(&(held.until, self.id, sequence));
        Some(Candidate {
            sequence,
            priority: held.priority,
            key: held.key,
            tries: held.tries,
            came_back: true,
        })
    }

    /// Takes a delivery out of wherever it is, except from among the dead.
    fn take(&mut self, sequence: u64, moments: &mut Moments) -> Option<Candidate> {
        if let Some(candidate) = self.take_held(sequence, moments) {
            self.come_in(candidate.key);
            return Some(candidate);
        }
        let heir;
        let taken = if let Some(resting) = self.resting.remove(&sequence) {
            moments.leases.remove(&(resting.until, self.id, sequence));
            heir = self.conversations.forget_rest(resting.key, sequence);
            Candidate {
                sequence,
                priority: resting.priority,
                key: resting.key,
                tries: resting.tries,
                came_back: true,
            }
        } else if let Some(candidate) = self.lanes.remove(sequence) {
            heir = self.conversations.forget(candidate.key, sequence);
            candidate
        } else {
            return self.conversations.unpark(sequence);
        };
        if let Some(heir) = heir {
            self.lanes.put_back(heir);
        }
        Some(taken)
    }
}
