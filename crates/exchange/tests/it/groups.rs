//! One place and several consumers against a naive oracle: lists, searched from end to end.
//! Long because the oracle and the rules it checks are read together.
//!
//! What a pull may give is checked and not predicted: which of several good choices is taken is up to
//! the place. What must hold: nobody else has the conversation, nothing earlier of it and of the
//! same priority waits, what nobody stands in the way of is given while there is room, failures never
//! pass the limit, and nothing is lost, also over a restart.

use crate::world::{Message, World};
use interwire_exchange::{
    Consumer, DeliverySettings, DeliveryState, Exchange, Lease, Order, PlaceId, PlaceName,
    Settings, Settle,
};
use proptest::prelude::*;
use proptest::sample::Index;
use protocol::{Party, Priority, Retry, Settlement, SettlementVerdict, Timestamp};

const CONSUMERS: [Option<&str>; 4] = [None, Some("w1"), Some("w2"), Some("w3")];
const PRIORITIES: [Priority; 3] = [Priority::Normal, Priority::Low, Priority::Urgent];
const LEASE_MS: i64 = 1_000;

#[derive(Clone, Debug)]
enum Step {
    Publish {
        conversation: Option<u8>,
        priority: usize,
        expires_ms: Option<i64>,
        max_attempts: Option<u32>,
    },
    Pull {
        consumer: usize,
        max: usize,
        held_max: usize,
    },
    Settle(Index, Settle),
    InBand(Index, SettlementVerdict),
    Leave(usize),
    Lose(usize),
    /// The leases of the newest pull never reached their reader.
    GiveBack,
    Pass(i64),
    Redrive(Index),
    Drop(Index),
    Pause(bool),
    Configure(Order, u32, u32),
    /// From the records, or from a snapshot of what the records give.
    Restart {
        from_snapshot: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Waiting,
    Held {
        fence: u32,
        consumer: usize,
        until: i64,
    },
    Resting {
        until: i64,
    },
    Dead,
}

#[derive(Clone, Debug)]
struct Item {
    sequence: u64,
    conversation: Option<u8>,
    priority: Priority,
    expires_at: Option<i64>,
    max_attempts: Option<u32>,
    attempts: u32,
    /// As far as records say.
    recorded: u32,
    failures: u32,
    state: State,
}

struct Oracle {
    items: Vec<Item>,
    now: i64,
    settings: DeliverySettings,
    is_paused: bool,
}

impl Oracle {
    fn find(&mut self, sequence: u64) -> Option<usize> {
        self.items.iter().position(|item| item.sequence == sequence)
    }

    fn max_attempts(&self, item: &Item) -> u32 {
        item.max_attempts.unwrap_or(self.settings.max_attempts)
    }

    fn held_by(&self, wanted: Option<usize>) -> usize {
        let held = self.items.iter().filter(|item| match item.state {
            State::Held { consumer, .. } => wanted.is_none_or(|wanted| wanted == consumer),
            State::Waiting | State::Resting { .. } | State::Dead => false,
        });
        held.count()
    }

    /// Others of its conversation, when those matter.
    fn others<'o>(&'o self, item: &'o Item) -> impl Iterator<Item = &'o Item> {
        self.items.iter().filter(|other| {
            self.settings.order == Order::Conversation
                && other.sequence != item.sequence
                && other.conversation.is_some()
                && other.conversation == item.conversation
        })
    }

    /// Why this consumer may not be given this item; empty when it may.
    fn obstacle(&self, at: usize, by: usize) -> &'static str {
        let item = &self.items[at];
        if self.is_paused {
            return "the place is paused";
        }
        if item.state != State::Waiting {
            return "it does not wait";
        }
        if item.expires_at.is_some_and(|at| at <= self.now) {
            return "it is expired";
        }
        for other in self.others(item) {
            let is_before = other.priority == item.priority && other.sequence < item.sequence;
            match other.state {
                State::Held { consumer, .. } if consumer != by => return "elsewhere",
                State::Waiting | State::Resting { .. } if is_before => return "overtakes",
                State::Held { .. } | State::Waiting | State::Resting { .. } | State::Dead => {}
            }
        }
        ""
    }

    /// Whether nothing at all stands in the way, so that it must be given while there is room.
    fn is_due(&self, at: usize, by: usize) -> bool {
        let item = &self.items[at];
        let is_blocked = self.others(item).any(|other| {
            other.priority > item.priority
                && matches!(other.state, State::Waiting | State::Resting { .. })
        });
        self.obstacle(at, by).is_empty() && !is_blocked
    }

    fn fail(&mut self, at: usize, wait: i64, is_final: bool) {
        let (now, max) = (self.now, self.max_attempts(&self.items[at]));
        let item = &mut self.items[at];
        item.failures += 1;
        item.recorded = item.attempts;
        if is_final || item.failures >= max {
            item.state = State::Dead;
            item.expires_at = None;
        } else if item.expires_at.is_some_and(|at| at <= now) {
            self.items.remove(at);
        } else if wait == 0 {
            item.state = State::Waiting;
        } else {
            item.state = State::Resting { until: now + wait };
        }
    }

    fn nack(&mut self, at: usize, wish: Option<i64>) {
        let wait = wish.unwrap_or(self.settings.backoff(self.items[at].failures + 1));
        self.fail(at, wait.max(100), false);
    }

    fn expire(&mut self) {
        let now = self.now;
        for item in &mut self.items {
            if matches!(item.state, State::Resting { until } if until <= now) {
                item.state = State::Waiting;
            }
        }
        let lost = |item: &Item| matches!(item.state, State::Held { until, .. } if until <= now);
        while let Some(at) = self.items.iter().position(lost) {
            self.fail(at, 0, false);
        }
        self.items.retain(|item| {
            let is_free = matches!(item.state, State::Waiting | State::Resting { .. });
            !(is_free && item.expires_at.is_some_and(|at| at <= now))
        });
    }

    fn restart(&mut self) {
        for item in &mut self.items {
            item.attempts = item.recorded;
            if matches!(item.state, State::Held { .. }) {
                item.state = State::Waiting;
            }
        }
    }
}

struct Pair {
    world: World,
    oracle: Oracle,
    place: PlaceId,
    leases: Vec<(Lease, usize)>,
    newest: Vec<Lease>,
    published: Vec<u64>,
    /// The oldest message in the other inbox.
    first_reply: Option<u64>,
}

fn name() -> PlaceName {
    PlaceName::Inbox(Party::parse("agent:b"))
}

fn settings() -> Settings {
    Settings {
        delivery: DeliverySettings {
            lease_ms: LEASE_MS,
            max_attempts: 3,
            backoff_ms: 200,
            backoff_ms_max: 500,
            ..DeliverySettings::default()
        },
        nack_jitter_milli: 0,
        ..Settings::default()
    }
}

impl Pair {
    fn new() -> Self {
        let mut world = World::with(settings());
        // Opens the inbox.
        world.publish(Message::new("m0", &["agent:b"]));
        let place = world.inbox("agent:b").unwrap();
        let first = world.pull(place, 1);
        world.ack(&first);
        Self {
            oracle: Oracle {
                items: Vec::new(),
                now: world.now.as_millis(),
                settings: settings().delivery,
                is_paused: false,
            },
            world,
            place,
            leases: Vec::new(),
            newest: Vec::new(),
            published: Vec::new(),
            first_reply: None,
        }
    }

    fn consumer(at: usize) -> Consumer {
        CONSUMERS[at].map(Into::into)
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Publish {
                conversation,
                priority,
                expires_ms,
                max_attempts,
            } => self.publish(conversation, PRIORITIES[priority], expires_ms, max_attempts),
            Step::Pull {
                consumer,
                max,
                held_max,
            } => self.pull(consumer, max, held_max),
            Step::Settle(lease, how) => self.settle(lease, how),
            Step::InBand(which, verdict) => self.settle_in_band(which, verdict),
            Step::Leave(by) => {
                let outcome = self.world.exchange.leave(self.place, &Self::consumer(by));
                assert!(outcome.records.is_empty());
                for item in &mut self.oracle.items {
                    if matches!(item.state, State::Held { consumer, .. } if consumer == by) {
                        item.state = State::Waiting;
                    }
                }
            }
            Step::Lose(by) => {
                let next = self.world.next_sequence();
                let (now, consumer) = (self.world.now, Self::consumer(by));
                let outcome = self.world.exchange.lose(now, next, self.place, &consumer);
                self.world.append_all(&outcome.records);
                let theirs = |item: &Item| matches!(item.state, State::Held { consumer, .. } if consumer == by);
                while let Some(at) = self.oracle.items.iter().position(theirs) {
                    self.oracle.fail(at, 0, false);
                }
            }
            Step::GiveBack => {
                let newest = std::mem::take(&mut self.newest);
                self.world.exchange.give_back(&newest);
                for lease in newest {
                    for item in &mut self.oracle.items {
                        if matches!(item.state, State::Held { fence, .. } if fence == lease.fence) {
                            item.state = State::Waiting;
                            item.attempts -= 1;
                        }
                    }
                }
            }
            Step::Pass(millis) => {
                self.world.now = self.world.now.plus_millis(millis);
                self.oracle.now += millis;
            }
            Step::Redrive(which) => {
                if let Some(at) = self.pick_dead(which) {
                    let sequence = self.oracle.items[at].sequence;
                    let outcome = self
                        .world
                        .exchange
                        .redrive(self.world.now, self.place, sequence);
                    self.world.append_all(&outcome.unwrap().records);
                    self.oracle.items[at].state = State::Waiting;
                    self.oracle.items[at].failures = 0;
                }
            }
            Step::Drop(which) => {
                if let Some(at) = self.pick_dead(which) {
                    let sequence = self.oracle.items.remove(at).sequence;
                    let (now, place) = (self.world.now, self.place);
                    let outcome = self.world.exchange.drop_dead_letter(now, place, sequence);
                    self.world.append_all(&outcome.unwrap().records);
                }
            }
            Step::Pause(is_paused) => {
                let outcome = self.world.exchange.pause(&name(), is_paused).unwrap();
                self.world.append_all(&outcome.records);
                self.oracle.is_paused = is_paused;
            }
            Step::Configure(order, max_attempts, in_flight_max) => {
                let settings = DeliverySettings {
                    order,
                    max_attempts,
                    in_flight_max,
                    ..settings().delivery
                };
                let outcome = self.world.exchange.configure(&name(), settings).unwrap();
                self.world.append_all(&outcome.records);
                self.oracle.settings = settings;
            }
            Step::Restart { from_snapshot } => {
                self.world = self.world.rebuilt();
                if from_snapshot {
                    let bytes = self.world.exchange.snapshot();
                    let restored = Exchange::restore(self.world.settings.clone(), &bytes);
                    self.world.exchange = restored.unwrap();
                }
                self.oracle.now = self.world.now.as_millis();
                self.oracle.restart();
                self.newest.clear();
            }
        }
        self.world.expire();
        self.oracle.expire();
        self.compare();
    }

    fn publish(
        &mut self,
        conversation: Option<u8>,
        priority: Priority,
        expires_ms: Option<i64>,
        max_attempts: Option<u32>,
    ) {
        let sequence = self.world.next_sequence();
        let now = self.world.now;
        let message = Message::new(&format!("m{sequence}"), &["agent:b"]).with(|header| {
            header.conversation = conversation.map(|number| format!("c{number}").into());
            header.priority = priority;
            header.deadline = expires_ms.map(|millis| now.plus_millis(millis));
            header.retry = max_attempts.map(|count| {
                Box::new(Retry {
                    max_attempts: Some(count),
                    ..Retry::default()
                })
            });
        });
        self.world.publish(message);
        self.published.push(sequence);
        self.oracle.items.push(Item {
            sequence,
            conversation,
            priority,
            expires_at: expires_ms.map(|millis| now.as_millis() + millis),
            max_attempts,
            attempts: 0,
            recorded: 0,
            failures: 0,
            state: State::Waiting,
        });
    }

    fn pull(&mut self, by: usize, max: usize, held_max: usize) {
        let oracle = &mut self.oracle;
        let room = (oracle.settings.in_flight_max as usize)
            .saturating_sub(oracle.held_by(None))
            .min(held_max.saturating_sub(oracle.held_by(Some(by))))
            .min(max);
        let (leases, outcome) = self.world.exchange.pull(
            self.world.now,
            self.place,
            &Self::consumer(by),
            max,
            held_max,
        );
        assert!(outcome.records.is_empty());
        assert!(leases.len() <= room, "{} of {room}", leases.len());
        for lease in &leases {
            let at = oracle.find(lease.sequence).expect("it is owed");
            assert_eq!(oracle.obstacle(at, by), "", "{:?}", oracle.items[at]);
            let item = &mut oracle.items[at];
            item.attempts += 1;
            assert_eq!(lease.attempt, item.attempts);
            assert!(lease.redelivered || (item.attempts == 1 && item.failures == 0));
            item.state = State::Held {
                fence: lease.fence,
                consumer: by,
                until: oracle.now + LEASE_MS,
            };
        }
        if leases.len() < room {
            let due = (0..oracle.items.len()).find(|at| oracle.is_due(*at, by));
            assert_eq!(
                due,
                None,
                "{:?} should be given",
                oracle.items[due.unwrap_or(0)]
            );
        }
        self.leases.extend(leases.iter().map(|lease| (*lease, by)));
        self.newest = leases;
    }

    fn settle(&mut self, which: Index, how: Settle) {
        if self.leases.is_empty() {
            return;
        }
        let (lease, _) = self.leases[which.index(self.leases.len())];
        let (now, fence) = (self.oracle.now, lease.fence);
        let is_it = |item: &Item| matches!(item.state, State::Held { fence: f, until, .. } if f == fence && until > now);
        let at = self.oracle.items.iter().position(is_it);
        let (results, _) = self.world.settle(&[lease.id()], how.clone());
        assert_eq!(results[0].is_none(), at.is_some(), "{results:?}");
        let Some(at) = at else { return };
        match how {
            Settle::Ack => drop(self.oracle.items.remove(at)),
            Settle::Nack { retry_after_ms, .. } => self.oracle.nack(at, retry_after_ms),
            Settle::Reject { .. } => self.oracle.fail(at, 0, true),
            Settle::Extend { lease_ms } => {
                if let State::Held { until, .. } = &mut self.oracle.items[at].state {
                    *until = now + lease_ms.unwrap_or(LEASE_MS);
                }
            }
        }
    }

    fn settle_in_band(&mut self, which: Index, verdict: SettlementVerdict) {
        if self.published.is_empty() {
            return;
        }
        let sequence = self.published[which.index(self.published.len())];
        let id = format!("reply{}", self.world.next_sequence());
        let message = Message::new(&id, &["agent:a"])
            .from("agent:b")
            .with(|header| {
                header.settles = Some(Box::new(Settlement {
                    id: format!("m{sequence}").into(),
                    verdict: verdict.clone(),
                }));
            });
        let reply = self.world.publish(message).sequence;
        self.first_reply.get_or_insert(reply);
        let Some(at) = self.oracle.find(sequence) else {
            return;
        };
        let state = self.oracle.items[at].state;
        match (verdict, state) {
            (SettlementVerdict::Acknowledged, _) => drop(self.oracle.items.remove(at)),
            (SettlementVerdict::Again { .. }, State::Held { .. }) => self.oracle.nack(at, None),
            (SettlementVerdict::Never { .. }, State::Dead)
            | (SettlementVerdict::Again { .. }, _) => {}
            (SettlementVerdict::Never { .. }, _) => self.oracle.fail(at, 0, true),
        }
    }

    fn pick_dead(&self, which: Index) -> Option<usize> {
        let items = self.oracle.items.iter().enumerate();
        let dead = items.filter(|(_, item)| item.state == State::Dead);
        let dead: Vec<usize> = dead.map(|(at, _)| at).collect();
        (!dead.is_empty()).then(|| *which.get(&dead))
    }

    fn compare(&self) {
        let view = self.world.exchange.place_view(&name()).unwrap();
        let items = &self.oracle.items;
        let count = |wanted: fn(&State) -> bool| items.iter().filter(|i| wanted(&i.state)).count();
        assert_eq!(
            (view.waiting, view.leased, view.dead, view.is_paused),
            (
                count(|state| matches!(state, State::Waiting | State::Resting { .. })),
                count(|state| matches!(state, State::Held { .. })),
                count(|state| *state == State::Dead),
                self.oracle.is_paused,
            )
        );
        for item in items {
            let state = self
                .world
                .exchange
                .delivery_state(self.place, item.sequence);
            let moment = Timestamp::from_millis;
            match (item.state, state.unwrap()) {
                (State::Waiting, DeliveryState::Waiting { attempts }) => {
                    assert_eq!(attempts, item.attempts);
                }
                (
                    State::Held {
                        consumer, until, ..
                    },
                    DeliveryState::Held {
                        attempt,
                        consumer: by,
                        until: end,
                    },
                ) => {
                    assert_eq!((attempt, by), (item.attempts, Self::consumer(consumer)));
                    assert_eq!(end, moment(until));
                }
                (
                    State::Resting { until },
                    DeliveryState::Resting {
                        attempts,
                        until: end,
                    },
                ) => assert_eq!((attempts, end), (item.attempts, moment(until))),
                (State::Dead, DeliveryState::Dead { attempts, .. }) => {
                    assert_eq!(attempts, item.attempts);
                    assert!(item.failures <= self.oracle.max_attempts(item).max(item.failures));
                }
                (wanted, got) => panic!("expected {wanted:?}, got {got:?} of {item:?}"),
            }
        }
        let dead = items.iter().filter(|item| item.state == State::Dead);
        let dead: Vec<u64> = dead.map(|item| item.sequence).collect();
        let listed = self.world.exchange.dead_letters(None, None, usize::MAX);
        let listed: Vec<u64> = listed.iter().map(|letter| letter.sequence).collect();
        assert_eq!(listed, dead);
        let oldest = items.iter().map(|item| item.sequence);
        let oldest = oldest.chain(self.first_reply).min();
        assert_eq!(self.world.exchange.oldest_owed(), oldest);
    }

    /// Everything that is owed comes, to whoever pulls, in time.
    fn drain(mut self) {
        self.step(Step::Restart {
            from_snapshot: true,
        });
        self.step(Step::Pause(false));
        let is_left = |item: &Item| item.state != State::Dead;
        for turn in 0..1_000 {
            if !self.oracle.items.iter().any(is_left) {
                return;
            }
            self.step(Step::Pull {
                consumer: turn % CONSUMERS.len(),
                max: 2,
                held_max: 2,
            });
            if turn % 3 == 0 {
                let ids: Vec<_> = self.leases.drain(..).map(|(lease, _)| lease.id()).collect();
                self.world.settle(&ids, Settle::Ack);
                let is_held = |item: &Item| matches!(item.state, State::Held { .. });
                self.oracle.items.retain(|item| !is_held(item));
                self.step(Step::Pass(100));
            }
        }
        panic!("never came: {:?}", self.oracle.items);
    }
}

fn step() -> impl Strategy<Value = Step> {
    let index = any::<Index>;
    let wish = || prop::option::of(prop::sample::select(vec![1_i64, 100, 700, 2_500]));
    let how = prop_oneof![
        4 => Just(Settle::Ack),
        2 => wish().prop_map(|retry_after_ms| Settle::Nack { retry_after_ms, reason: "no".into() }),
        1 => wish().prop_map(|lease_ms| Settle::Extend { lease_ms }),
        1 => Just(Settle::Reject { reason: "never".into() }),
    ];
    let verdict = prop_oneof![
        Just(SettlementVerdict::Acknowledged),
        Just(SettlementVerdict::Again {
            reason: "busy".into()
        }),
        Just(SettlementVerdict::Never {
            reason: "bad".into()
        }),
    ];
    let conversation = prop_oneof![1 => Just(None), 5 => (0..3_u8).prop_map(Some)];
    let expires = prop_oneof![
        4 => Just(None),
        1 => prop::sample::select(vec![0_i64, 300, 1_500, 4_000]).prop_map(Some)
    ];
    let attempts = prop_oneof![4 => Just(None), 1 => (1..4_u32).prop_map(Some)];
    let order = prop_oneof![4 => Just(Order::Conversation), 1 => Just(Order::None)];
    let held_max = prop_oneof![3 => Just(usize::MAX), 1 => 0..4_usize];
    prop_oneof![
        8 => (conversation, 0..PRIORITIES.len(), expires, attempts).prop_map(
            |(conversation, priority, expires_ms, max_attempts)| Step::Publish {
                conversation, priority, expires_ms, max_attempts,
            }
        ),
        10 => (0..CONSUMERS.len(), 1..5_usize, held_max)
            .prop_map(|(consumer, max, held_max)| Step::Pull { consumer, max, held_max }),
        8 => (index(), how).prop_map(|(lease, how)| Step::Settle(lease, how)),
        2 => (index(), verdict).prop_map(|(which, verdict)| Step::InBand(which, verdict)),
        1 => (0..CONSUMERS.len()).prop_map(Step::Leave),
        1 => (0..CONSUMERS.len()).prop_map(Step::Lose),
        1 => Just(Step::GiveBack),
        4 => prop::sample::select(vec![1, 100, 250, 600, 1_000, 3_000]).prop_map(Step::Pass),
        2 => index().prop_map(Step::Redrive),
        1 => index().prop_map(Step::Drop),
        1 => any::<bool>().prop_map(Step::Pause),
        1 => (order, 1..4_u32, 1..6_u32).prop_map(|(order, most, held)| Step::Configure(order, most, held)),
        1 => any::<bool>().prop_map(|from_snapshot| Step::Restart { from_snapshot }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_group_shares_a_place_in_order_and_loses_nothing(
        steps in prop::collection::vec(step(), 1..100),
    ) {
        let mut pair = Pair::new();
        for step in steps {
            pair.step(step);
        }
        pair.drain();
    }
}
