//! A snapshot and the records after it give the state that all records give.

use crate::world::{Message, World, filter, sequences};
use interwire_exchange::{
    DeliveryId, DeliverySettings, Exchange, Lease, LoopLimits, Order, Outcome, PlaceName, Settings,
    Settle,
};
use proptest::prelude::*;
use protocol::{Card, DialectName, Party, Priority, Retry, Rules, dialect};

const PARTIES: [&str; 4] = ["agent:b", "agent:c", "bus:ops", "human:h"];
const NAMES: [&str; 2] = ["s1", "s2"];

/// What a message may have besides recipients.
#[derive(Clone, Copy, Debug)]
struct Extras {
    key: Option<u8>,
    conversation: Option<u8>,
    urgent: bool,
    life_ms: Option<i64>,
    attempts: Option<u32>,
    origin: Option<u8>,
    cause: Option<u8>,
}

#[derive(Clone, Debug)]
enum Step {
    Publish(u8, Vec<usize>, Extras),
    /// An event of an AEP task.
    Task(u8, &'static str),
    Subscribe(usize, Option<usize>),
    Unsubscribe(usize),
    Configure(usize, bool, u32),
    Pause(usize, bool),
    Pull(usize, usize),
    Settle(prop::sample::Index, Settle),
    Pass(i64),
    Redrive(prop::sample::Index),
    DropDead(prop::sample::Index),
    PutCard(usize, u8),
    /// What an agent announces, or takes back.
    Announce(usize, Option<u8>),
    RemoveCards(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let index = any::<prop::sample::Index>;
    let maybe = |weight, max: u8| prop::option::weighted(weight, 0..max);
    let extras = (
        maybe(0.3, 3),
        maybe(0.6, 3),
        any::<bool>(),
        prop::option::weighted(0.2, prop::sample::select(vec![10_i64, 2_000])),
        prop::option::weighted(0.2, 1..4_u32),
        maybe(0.1, 20),
        maybe(0.6, 20),
    )
        .prop_map(
            |(key, conversation, urgent, life_ms, attempts, origin, cause)| Extras {
                key,
                conversation,
                urgent,
                life_ms,
                attempts,
                origin,
                cause,
            },
        );
    let whom = prop::sample::subsequence((0..PARTIES.len()).collect::<Vec<_>>(), 0..=3);
    let reason = || Box::from("because");
    let how = prop_oneof![
        2 => Just(Settle::Ack),
        3 => prop::option::of(prop::sample::select(vec![1_i64, 700]))
            .prop_map(move |retry_after_ms| Settle::Nack { retry_after_ms, reason: reason() }),
        1 => Just(Settle::Reject { reason: "no".into() }),
    ];
    let state = prop::sample::select(vec![
        "accepted",
        "started",
        "progress",
        "completed",
        "cancelled",
    ]);
    let place = 0..PARTIES.len() + NAMES.len();
    prop_oneof![
        8 => (0..20_u8, whom, extras).prop_map(|(id, whom, extras)| Step::Publish(id, whom, extras)),
        2 => (0..3_u8, state).prop_map(|(task, state)| Step::Task(task, state)),
        1 => (0..NAMES.len(), prop::option::of(0..2_usize)).prop_map(|(name, to)| Step::Subscribe(name, to)),
        1 => (0..NAMES.len()).prop_map(Step::Unsubscribe),
        1 => (place.clone(), any::<bool>(), 1..3_u32)
            .prop_map(|(place, ordered, attempts)| Step::Configure(place, ordered, attempts)),
        1 => (place.clone(), any::<bool>()).prop_map(|(place, paused)| Step::Pause(place, paused)),
        6 => (place, 1..5_usize).prop_map(|(place, max)| Step::Pull(place, max)),
        6 => (index(), how).prop_map(|(lease, how)| Step::Settle(lease, how)),
        3 => prop::sample::select(vec![50, 600, 3_000]).prop_map(Step::Pass),
        1 => index().prop_map(Step::Redrive),
        1 => index().prop_map(Step::DropDead),
        1 => (0..PARTIES.len(), 0..3_u8).prop_map(|(party, tag)| Step::PutCard(party, tag)),
        1 => (0..PARTIES.len(), prop::option::of(0..3_u8))
            .prop_map(|(party, tag)| Step::Announce(party, tag)),
        1 => (0..PARTIES.len()).prop_map(Step::RemoveCards),
    ]
}

fn message(id: u8, whom: &[usize], extras: Extras, world: &World) -> Message {
    let recipients: Vec<_> = whom.iter().map(|at| PARTIES[*at]).collect();
    Message::new(&format!("m{id}"), &recipients).with(|header| {
        header.dialect = DialectName::Uai;
        header.idempotency_key = extras.key.map(|key| format!("k{key}").into());
        header.cause = extras.cause.map(|id| format!("m{id}").into());
        header.origin = extras.origin.map(|id| format!("m{id}").into());
        header.conversation = extras.conversation.map(|at| format!("c{at}").into());
        header.priority = if extras.urgent {
            Priority::Urgent
        } else {
            Priority::Normal
        };
        header.deadline = extras.life_ms.map(|life| world.now.plus_millis(life));
        header.retry = extras.attempts.map(|attempts| {
            Box::new(Retry {
                max_attempts: Some(attempts),
                ..Retry::default()
            })
        });
    })
}

fn task_event(task: u8, state: &str, world: &World) -> Option<Message> {
    let (kind, rest) = match state {
        "accepted" => ("submitted", r#","description":"x""#),
        "completed" => ("completed", r#","summary":"x","result":{}"#),
        other => (other, ""),
    };
    let id = world.next_sequence();
    let text = format!(
        r#"{{"spec_version":"0.2","id":"e{id}","type":"task.{kind}","source":"agent:a","target":"agent:b",
        "created_at":"2026-02-28T10:30:00Z","task_id":"t{task}","payload":{{"task_id":"t{task}","state":"{state}"{rest}}}}}"#
    );
    let reading = dialect::decode_as(text.as_bytes(), DialectName::Aep, &Rules::at(world.now));
    Some(Message {
        header: reading.header?,
        envelope: text.into_bytes().into(),
    })
}

fn place_name(at: usize) -> PlaceName {
    match PARTIES.get(at) {
        Some(party) => PlaceName::Inbox(Party::parse(party)),
        None => PlaceName::Subscription(NAMES[at - PARTIES.len()].into()),
    }
}

/// A world in which much has happened.
fn lived(steps: Vec<Step>) -> World {
    let delivery = DeliverySettings {
        lease_ms: 1_000,
        max_attempts: 2,
        ..DeliverySettings::default()
    };
    let mut world = World::with(Settings {
        // Loops are met, and forgotten.
        loops: LoopLimits {
            hops_max: 4,
            pair_turns_max: 2,
            conversation_turns_max: 3,
            memory_max: 6,
            ..LoopLimits::default()
        },
        delivery,
        ..Settings::default()
    });
    let mut leases: Vec<DeliveryId> = Vec::new();
    for step in steps {
        let outcome = match step {
            Step::Publish(id, whom, extras) => {
                let message = message(id, &whom, extras, &world);
                drop(world.try_publish(message));
                Outcome::default()
            }
            Step::Task(task, state) => {
                if let Some(event) = task_event(task, state, &world) {
                    drop(world.try_publish(event));
                }
                Outcome::default()
            }
            Step::Subscribe(name, to) => {
                let to = to.map(|at| Party::parse(PARTIES[at]));
                let wanted = filter([("source", "agent:a")]);
                let put = world
                    .exchange
                    .put_subscription(NAMES[name], wanted, to, None);
                let records = put
                    .ok()
                    .and_then(|(_, record)| record)
                    .into_iter()
                    .collect();
                Outcome {
                    records,
                    ..Outcome::default()
                }
            }
            Step::Unsubscribe(name) => {
                let removed = world.exchange.remove_subscription(NAMES[name]);
                Outcome {
                    records: removed.into_iter().collect(),
                    ..Outcome::default()
                }
            }
            Step::Configure(at, ordered, max_attempts) => {
                let order = if ordered {
                    Order::Conversation
                } else {
                    Order::None
                };
                let settings = DeliverySettings {
                    order,
                    max_attempts,
                    ..delivery
                };
                world
                    .exchange
                    .configure(&place_name(at), settings)
                    .unwrap_or_default()
            }
            Step::Pause(at, is_paused) => world
                .exchange
                .pause(&place_name(at), is_paused)
                .unwrap_or_default(),
            Step::Pull(at, max) => {
                if let Some(place) = world.exchange.place(&place_name(at)) {
                    let pulled = world.pull(place, max);
                    leases.extend(pulled.iter().map(Lease::id));
                }
                Outcome::default()
            }
            Step::Settle(lease, how) => {
                if !leases.is_empty() {
                    world.settle(&[*lease.get(&leases)], how);
                }
                Outcome::default()
            }
            Step::Pass(millis) => {
                world.pass(millis);
                Outcome::default()
            }
            Step::PutCard(party, tag) => {
                let (now, party) = (world.now, Party::parse(PARTIES[party]));
                let card = Card::restore(&format!(r#"{{"tags":["t{tag}"]}}"#)).unwrap();
                let put = world.exchange.put_card(now, &party, card);
                put.map(|(_, outcome)| outcome).unwrap_or_default()
            }
            Step::Announce(party, tag) => {
                let id = world.next_sequence();
                let agents = match tag {
                    Some(tag) => format!(r#""announce","agents":[{{"tags":["t{tag}"]}}]"#),
                    None => r#""withdraw""#.into(),
                };
                let text = format!(r#"{{"body":{{"operation":{agents}}}}}"#);
                let message = Message::new(&format!("a{id}"), &[]).bytes(&text);
                drop(
                    world.try_publish(message.from(PARTIES[party]).with(|header| {
                        header.dialect = DialectName::Uai;
                        header.kind = "uai.agent.discovery.v1".into();
                    })),
                );
                Outcome::default()
            }
            Step::RemoveCards(party) => world
                .exchange
                .remove_cards(world.now, &Party::parse(PARTIES[party]))
                .unwrap_or_default(),
            Step::Redrive(which) | Step::DropDead(which) => {
                let dead = world.exchange.dead_letters(None, None, usize::MAX);
                let chosen = (!dead.is_empty()).then(|| which.get(&dead).clone());
                let now = world.now;
                let outcome = chosen.and_then(|letter| match step {
                    Step::Redrive(_) => world.exchange.redrive(now, letter.place, letter.sequence),
                    _ => world
                        .exchange
                        .drop_dead_letter(now, letter.place, letter.sequence),
                });
                outcome.unwrap_or_default()
            }
        };
        world.append_all(&outcome.records);
    }
    world
}

/// What an exchange says about itself, and everything it hands out.
fn told(world: &mut World) -> Vec<String> {
    let exchange = &world.exchange;
    let mut told = vec![
        format!("{:?} {:?}", exchange.counts(), exchange.aep_stats()),
        format!("{:?}", exchange.subscriptions()),
        format!("{:?}", exchange.dead_letters(None, None, usize::MAX)),
        format!(
            "{:?} {:?}",
            exchange.oldest_owed(),
            exchange.next_deadline()
        ),
    ];
    for at in 0..PARTIES.len() + NAMES.len() {
        let name = place_name(at);
        told.push(format!("{:?}", world.exchange.place_view(&name)));
        let Some(place) = world.exchange.place(&name) else {
            continue;
        };
        for sequence in 0..world.next_sequence() {
            told.push(format!(
                "{:?}",
                world.exchange.delivery_state(place, sequence)
            ));
        }
        told.push(format!("{:?}", sequences(&world.pull(place, 2))));
        world.pass(5_000);
        told.push(format!("{:?}", sequences(&world.pull(place, usize::MAX))));
    }
    let next = Message::new("next", &["agent:new", "agent:b"]);
    told.push(format!("{:?}", world.publish(next).wake));
    told
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_snapshot_at_any_moment_and_the_records_after_it_give_the_state_of_all(
        steps in prop::collection::vec(step(), 1..80),
        cut in any::<prop::sample::Index>(),
    ) {
        let world = lived(steps);
        let records = world.journal.len();
        let cut = cut.index(records + 1);
        let mut before = Exchange::new(world.settings.clone());
        world.apply(&mut before, 0..cut);
        let snapshot = before.snapshot();
        let mut restored = Exchange::restore(world.settings.clone(), &snapshot).unwrap();
        prop_assert_eq!(restored.snapshot(), snapshot);
        world.apply(&mut restored, cut..records);
        let mut whole = world.rebuilt();
        prop_assert_eq!(restored.snapshot(), whole.exchange.snapshot());
        let mut restored = world.after_restart(restored);
        prop_assert_eq!(told(&mut restored), told(&mut whole));
    }

    #[test]
    fn damage_gives_an_error_or_a_state_that_can_be_written(
        steps in prop::collection::vec(step(), 1..60),
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        length in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let world = lived(steps);
        let mut bytes = world.rebuilt().exchange.snapshot();
        for (place, value) in places {
            let at = place.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(length) = length {
            bytes.truncate(length.index(bytes.len()));
        }
        match Exchange::restore(world.settings.clone(), &bytes) {
            Ok(exchange) => {
                let again = Exchange::restore(world.settings.clone(), &exchange.snapshot());
                prop_assert_eq!(again.unwrap().snapshot(), exchange.snapshot());
                let mut world = world.after_restart(exchange);
                world.apply(&mut Exchange::new(world.settings.clone()), 0..0);
                told(&mut world);
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}

#[test]
fn keys_that_are_stored_elsewhere_are_not_in_a_snapshot() {
    let mut world = World::new();
    for n in 0..4 {
        world.publish(Message::new(&format!("m{n}"), &[]));
    }
    let whole = world.rebuilt().exchange.snapshot().len();
    let mut rebuilt = world.rebuilt().exchange;
    rebuilt.forget_keys(2);
    let part = rebuilt.snapshot();
    assert_eq!(part.len(), whole - 2 * 33);
    let restored = Exchange::restore(world.settings.clone(), &part).unwrap();
    assert_eq!(restored.keys_covered(), 2);
    assert_eq!(restored.counts().dedupe_entries, 2);
}

#[test]
fn a_snapshot_of_another_version_names_what_it_cannot_read() {
    let bytes = World::new().exchange.snapshot();
    let error = |at: usize, value| {
        let mut bytes = bytes.clone();
        bytes[at] = value;
        Exchange::restore(Settings::default(), &bytes)
            .err()
            .unwrap()
    };
    assert_eq!(error(0, 9).part, "frame");
    assert_eq!(error(1, 9).part, "keys");
    assert_eq!(error(2, 9).part, "keys");
    let longer = [&bytes[..], &[0]].concat();
    let error = Exchange::restore(Settings::default(), &longer)
        .err()
        .unwrap();
    assert_eq!(error.to_string(), "the snapshot's frame: expected the end");
}

#[test]
fn a_snapshot_of_before_there_were_claims_is_still_read() {
    let bytes = World::new().exchange.snapshot();
    // The part of no claims: its tag and version, its length, and two empty lists.
    let (older, claims) = bytes.split_at(bytes.len() - 12);
    assert_eq!(claims, [8, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let older = [&[2], &older[1..]].concat();
    let restored = Exchange::restore(Settings::default(), &older).unwrap();
    assert_eq!(restored.snapshot(), bytes);
    // A directory of nobody: the version before has no such part.
    let oldest = [&[1], &older[1..older.len() - 11]].concat();
    let restored = Exchange::restore(Settings::default(), &oldest).unwrap();
    assert_eq!(restored.snapshot(), bytes);
}
