//! The exchange against a model that is too slow and too simple to be wrong.

use crate::world::{Message, World, sequences};
use interwire_exchange::{
    DeliveryId, DeliverySettings, Lease, PlaceId, PlaceName, Settings, Settle,
};
use proptest::prelude::*;
use protocol::{Code, Filter, Header, Party};
use std::collections::BTreeMap;

const IN_FLIGHT_MAX: usize = 3;
const PARTIES: [&str; 4] = ["agent:b", "agent:c", "bus:ops", "human:h"];
const NAMES: [&str; 3] = ["s1", "s2", "s3"];
const FILTERS: [(&str, &str); 4] = [
    ("target", "agent:b"),
    ("topic", "t.*"),
    ("type", "*"),
    ("target", "bus.*"),
];

#[derive(Clone, Debug)]
enum Step {
    /// Id, which bytes, whom, whether with a topic.
    Publish(u8, bool, Vec<usize>, bool),
    Subscribe(usize, usize, Option<usize>),
    Unsubscribe(usize),
    Pull(prop::sample::Index, usize),
    /// Which of all leases ever handed out, and how.
    Settle(prop::sample::Index, Settle),
    Pass(i64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Ready,
    Held { lease: usize, until: i64 },
    Resting { until: i64 },
}

#[derive(Debug)]
struct Item {
    sequence: u64,
    attempts: u32,
    state: State,
}

/// Lists, searched from end to end.
#[derive(Default)]
struct Model {
    seen: Vec<(String, bool, u64)>,
    places: BTreeMap<PlaceName, Vec<Item>>,
    subscriptions: BTreeMap<&'static str, (Filter, Option<Party>)>,
    leases: usize,
    now: i64,
}

impl Model {
    /// First sequence and whether it is a repeat; `None` for a conflict.
    fn publish(&mut self, header: &Header, variant: bool, sequence: u64) -> Option<(u64, bool)> {
        if let Some((_, bytes, first)) = self.seen.iter().find(|(id, ..)| **id == *header.id) {
            return (*bytes == variant).then_some((*first, true));
        }
        self.seen.push((header.id.to_string(), variant, sequence));
        let direct = header.recipients.iter().filter(|party| !party.is_channel());
        let mut places: Vec<PlaceName> = direct.cloned().map(PlaceName::Inbox).collect();
        for (name, (filter, deliver_to)) in &self.subscriptions {
            if filter.matches(header) {
                let own = PlaceName::Subscription((*name).into());
                places.push(deliver_to.clone().map_or(own, PlaceName::Inbox));
            }
        }
        for at in 0..places.len() {
            if !places[..at].contains(&places[at]) {
                let item = Item {
                    sequence,
                    attempts: 0,
                    state: State::Ready,
                };
                self.places
                    .entry(places[at].clone())
                    .or_default()
                    .push(item);
            }
        }
        Some((sequence, false))
    }

    fn pull(&mut self, place: &PlaceName, max: usize) -> Vec<(u64, u32)> {
        let items = self.places.get_mut(place).unwrap();
        let held = items
            .iter()
            .filter(|item| matches!(item.state, State::Held { .. }))
            .count();
        let mut ready: Vec<_> = items
            .iter_mut()
            .filter(|item| item.state == State::Ready)
            .collect();
        ready.sort_by_key(|item| (item.attempts == 0, item.sequence));
        let mut pulled = Vec::new();
        for item in ready.into_iter().take(max.min(IN_FLIGHT_MAX - held)) {
            item.attempts += 1;
            item.state = State::Held {
                lease: self.leases,
                until: self.now + 1_000,
            };
            self.leases += 1;
            pulled.push((item.sequence, item.attempts));
        }
        pulled
    }

    /// False when the lease is lost.
    fn settle(&mut self, lease: usize, how: &Settle) -> bool {
        let now = self.now;
        for items in self.places.values_mut() {
            let is_it = |item: &Item| matches!(item.state, State::Held { lease: l, until } if l == lease && until > now);
            let Some(at) = items.iter().position(is_it) else {
                continue;
            };
            match how {
                Settle::Ack => drop(items.remove(at)),
                Settle::Nack { retry_after_ms, .. } => {
                    items[at].state = State::Resting {
                        until: now + retry_after_ms.unwrap_or(0).max(100),
                    };
                }
                Settle::Reject { .. } => unreachable!(),
                Settle::Extend { lease_ms } => {
                    items[at].state = State::Held {
                        lease,
                        until: now + lease_ms.unwrap_or(1_000),
                    };
                }
            }
            return true;
        }
        false
    }

    fn pass(&mut self, millis: i64) {
        self.now += millis;
        for item in self.places.values_mut().flatten() {
            if let State::Held { until, .. } | State::Resting { until } = item.state
                && until <= self.now
            {
                item.state = State::Ready;
            }
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    let index = any::<prop::sample::Index>;
    let wish = || prop::option::of(prop::sample::select(vec![1_i64, 100, 700, 2_500]));
    let how = prop_oneof![
        3 => Just(Settle::Ack),
        1 => wish().prop_map(|retry_after_ms| Settle::Nack { retry_after_ms, reason: "".into() }),
        1 => wish().prop_map(|lease_ms| Settle::Extend { lease_ms }),
    ];
    let whom = prop::sample::subsequence((0..PARTIES.len()).collect::<Vec<_>>(), 0..=3);
    prop_oneof![
        5 => (0..24_u8, prop::bool::weighted(0.1), whom, any::<bool>())
            .prop_map(|(id, variant, whom, topic)| Step::Publish(id, variant, whom, topic)),
        2 => (0..NAMES.len(), 0..FILTERS.len(), prop::option::of(0..2_usize))
            .prop_map(|(name, filter, to)| Step::Subscribe(name, filter, to)),
        1 => (0..NAMES.len()).prop_map(Step::Unsubscribe),
        4 => (index(), 1..5_usize).prop_map(|(place, max)| Step::Pull(place, max)),
        4 => (index(), how).prop_map(|(lease, how)| Step::Settle(lease, how)),
        2 => prop::sample::select(vec![50, 100, 600, 1_000, 3_000]).prop_map(Step::Pass),
    ]
}

/// Both at once, compared after every step.
struct Pair {
    world: World,
    model: Model,
    leases: Vec<DeliveryId>,
}

fn message(id: u8, variant: bool, whom: &[usize], topic: bool) -> Message {
    let whom: Vec<&str> = whom.iter().map(|at| PARTIES[*at]).collect();
    let message = Message::new(&format!("m{id}"), &whom).with(|header| {
        if topic {
            header.topics.push("t.x".into());
        }
    });
    // What else a repeat says does not matter when its fingerprint is the same.
    message.bytes(&format!("{id} {variant}"))
}

impl Pair {
    fn place(&self, name: &PlaceName) -> PlaceId {
        self.world
            .exchange
            .place(name)
            .unwrap_or_else(|| panic!("{name:?} should be there"))
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Publish(id, variant, whom, topic) => {
                self.publish(message(id, variant, &whom, topic), variant);
            }
            Step::Subscribe(name, filter, to) => self.subscribe(NAMES[name], FILTERS[filter], to),
            Step::Unsubscribe(name) => match self.model.subscriptions.remove(NAMES[name]) {
                Some(_) => {
                    self.model
                        .places
                        .remove(&PlaceName::Subscription(NAMES[name].into()));
                    self.world.unsubscribe(NAMES[name]);
                }
                None => assert!(
                    self.world
                        .exchange
                        .remove_subscription(NAMES[name])
                        .is_err()
                ),
            },
            Step::Pull(place, max) => {
                let names: Vec<_> = self.model.places.keys().cloned().collect();
                if !names.is_empty() {
                    let name = place.get(&names);
                    let pulled = self.world.pull(self.place(name), max);
                    let seen: Vec<_> = pulled
                        .iter()
                        .map(|lease| (lease.sequence, lease.attempt))
                        .collect();
                    assert_eq!(seen, self.model.pull(name, max));
                    self.leases.extend(pulled.iter().map(Lease::id));
                }
            }
            Step::Settle(lease, how) => {
                if !self.leases.is_empty() {
                    let at = lease.index(self.leases.len());
                    let wanted = if self.model.settle(at, &how) {
                        None
                    } else {
                        Some(Code::LeaseLost)
                    };
                    assert_eq!(self.world.settle(&[self.leases[at]], how).0, [wanted]);
                }
            }
            Step::Pass(millis) => {
                self.model.pass(millis);
                self.world.pass(millis);
            }
        }
        self.compare();
    }

    fn publish(&mut self, message: Message, variant: bool) {
        let wanted = self
            .model
            .publish(&message.header, variant, self.world.next_sequence());
        let got = match self.world.try_publish(message) {
            Ok(publication) => Some((publication.sequence, publication.duplicate)),
            Err(refusal) => {
                assert_eq!(refusal.code(), Code::IdConflict);
                None
            }
        };
        assert_eq!(got, wanted);
    }

    fn subscribe(&mut self, name: &'static str, filter: (&str, &str), to: Option<usize>) {
        let filter = Filter::from_pairs([filter]).unwrap();
        let to = to.map(|at| Party::parse(PARTIES[at]));
        let wanted = self
            .model
            .subscriptions
            .entry(name)
            .or_insert((filter.clone(), to.clone()));
        let is_same = *wanted == (filter.clone(), to.clone());
        match self
            .world
            .exchange
            .put_subscription(name, filter, to.clone(), None)
        {
            Ok((_, record)) => {
                assert!(is_same);
                self.model
                    .places
                    .entry(PlaceName::Subscription(name.into()))
                    .or_default();
                if let Some(party) = to {
                    self.model
                        .places
                        .entry(PlaceName::Inbox(party))
                        .or_default();
                }
                record.iter().for_each(|record| self.world.append(record));
            }
            Err(refusal) => assert!(!is_same && refusal.code() == Code::SubscriptionConflict),
        }
    }

    fn compare(&self) {
        let counts = self.world.exchange.counts();
        let items = || self.model.places.values().flatten();
        let leased = items()
            .filter(|item| matches!(item.state, State::Held { .. }))
            .count();
        assert_eq!(
            (counts.leased, counts.waiting),
            (leased, items().count() - leased)
        );
        let until = |item: &Item| match item.state {
            State::Ready => None,
            State::Held { until, .. } | State::Resting { until } => Some(until),
        };
        let start = World::new().now;
        assert_eq!(
            self.world.exchange.next_deadline(),
            items()
                .filter_map(until)
                .min()
                .map(|t| start.plus_millis(t))
        );
        assert_eq!(counts.dedupe_entries, self.model.seen.len());
        assert_eq!(
            counts.inboxes + counts.subscriptions,
            self.model.places.len()
        );
    }

    /// The state after a restart owes the same and knows the same.
    fn compare_rebuilt(&self) {
        let mut rebuilt = self.world.rebuilt();
        // Waits survive a restart; here they are over.
        rebuilt.pass(86_400_000);
        for (name, items) in &self.model.places {
            let place = self.place(name);
            assert_eq!(rebuilt.exchange.place(name), Some(place));
            let mut owed: Vec<u64> = items.iter().map(|item| item.sequence).collect();
            owed.sort_unstable();
            let mut got = Vec::new();
            loop {
                let leases = rebuilt.pull(place, usize::MAX);
                if leases.is_empty() {
                    break;
                }
                got.extend(sequences(&leases));
                rebuilt.ack(&leases);
            }
            assert_eq!(got, owed, "{name:?}");
        }
        let shape = |world: &World| -> Vec<_> {
            let views = world.exchange.subscriptions().into_iter();
            views
                .map(|view| (view.id, view.name, view.filter, view.deliver_to))
                .collect()
        };
        assert_eq!(shape(&rebuilt), shape(&self.world));
        for (id, variant, sequence) in &self.model.seen {
            let id: u8 = id[1..].parse().unwrap();
            let again = rebuilt.publish(message(id, *variant, &[], false));
            assert_eq!((again.duplicate, again.sequence), (true, *sequence));
            assert_eq!(
                rebuilt.refusal(message(id, !variant, &[], false)).0,
                Code::IdConflict
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_exchange_does_what_the_model_does_and_comes_back_equal(
        steps in prop::collection::vec(step(), 1..80),
    ) {
        let settings = Settings { delivery: DeliverySettings { lease_ms: 1_000, in_flight_max: IN_FLIGHT_MAX as u32, max_attempts: 1_000_000, backoff_ms: 0, ..DeliverySettings::default() }, nack_jitter_milli: 0, ..Settings::default() };
        let mut pair = Pair { world: World::with(settings), model: Model::default(), leases: Vec::new() };
        for step in steps {
            pair.step(step);
        }
        pair.compare_rebuilt();
    }
}
