//! One place: what waits, what is held, what rests after a failed attempt, what is dead.
//!
//! This file knows no clock but the moments it is given, and no records: who calls it writes down
//! what must survive a restart.

mod come_back;
mod conversations;
mod hand_out;
mod lanes;
mod snapshot;

pub(crate) use lanes::Candidate;

use crate::delivery_settings::{DeliverySettings, Order};
use conversations::Conversations;
use foldhash::fast::FixedState;
use lanes::Lanes;
use protocol::{Party, Priority, Retry, Timestamp};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
    since: Timestamp,
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
    /// What `conversations` keeps now. A pull says what it should keep; before the first, nothing.
    order: Order,
    conversations: Conversations,
    held: BTreeMap<u64, Held>,
    /// How many each consumer holds.
    holding: HashMap<Consumer, usize, FixedState>,
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
            order: Order::None,
            conversations: Conversations::default(),
            held: BTreeMap::new(),
            holding: HashMap::default(),
            resting: BTreeMap::new(),
            dead: BTreeMap::new(),
            retries: BTreeMap::new(),
            expiring: BTreeMap::new(),
        }
    }

    pub(crate) fn id(&self) -> PlaceId {
        self.id
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
        !self.is_paused && (self.lanes.count() > 0 || self.summoned().next().is_some())
    }

    /// Who has something to pull that nobody else may have.
    pub(crate) fn summoned(&self) -> impl Iterator<Item = &Consumer> {
        self.conversations.summoned()
    }

    /// How many deliveries are ready, for somebody.
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

    pub(crate) fn dead(&self) -> &BTreeMap<u64, Dead> {
        &self.dead
    }

    pub(crate) fn pause(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
    }

    pub(crate) fn configure(&mut self, settings: DeliverySettings) {
        self.settings = Some(Box::new(settings));
    }

    /// Whether its message is too old to be handed out again.
    pub(crate) fn is_expired(&self, sequence: u64, now: Timestamp) -> bool {
        self.expiring.get(&sequence).is_some_and(|at| *at <= now)
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
        let parked = || self.conversations.tries(sequence);
        let tries = self.lanes.tries(sequence).or_else(parked)?;
        Some(DeliveryState::Waiting {
            attempts: tries.attempts,
        })
    }

    /// The oldest message that is owed or dead here.
    pub(crate) fn oldest(&self) -> Option<u64> {
        let first = [
            self.lanes.oldest(),
            self.conversations.oldest(),
            self.held.first_key_value().map(|(at, _)| *at),
            self.resting.first_key_value().map(|(at, _)| *at),
            self.dead.first_key_value().map(|(at, _)| *at),
        ];
        first.into_iter().flatten().min()
    }

    /// The first `max` messages from a sequence on that are owed here and not dead, in order. What is
    /// parked is in no order by sequence, so of that only the least are kept.
    pub(crate) fn owed_from(&self, first: u64, max: usize) -> Vec<u64> {
        let mut parked = BinaryHeap::new();
        for one in self.conversations.iter() {
            if one.sequence >= first {
                parked.push(one.sequence);
                if parked.len() > max {
                    parked.pop();
                }
            }
        }
        let mut owed = parked.into_vec();
        owed.extend(self.lanes.from(first, max));
        let held = self.held.range(first..).map(|(sequence, _)| *sequence);
        owed.extend(held.take(max));
        let resting = self.resting.range(first..).map(|(sequence, _)| *sequence);
        owed.extend(resting.take(max));
        owed.sort_unstable();
        owed.truncate(max);
        owed
    }

    /// The messages before `first` that are owed or dead here.
    pub(crate) fn owed_before(&self, first: u64) -> Vec<u64> {
        let parked = self.conversations.iter().map(|one| one.sequence);
        let mut owed: Vec<u64> = parked.filter(|sequence| *sequence < first).collect();
        owed.extend(self.lanes.before(first));
        owed.extend(self.held.range(..first).map(|(sequence, _)| *sequence));
        owed.extend(self.resting.range(..first).map(|(sequence, _)| *sequence));
        owed.extend(self.dead.range(..first).map(|(sequence, _)| *sequence));
        owed
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
}
