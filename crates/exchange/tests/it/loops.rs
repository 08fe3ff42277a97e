//! Agents that answer each other for ever are stopped; work that is long is not.

use crate::library::{message, task};
use crate::world::{Message, World, filter};
use interwire_exchange::{
    LoopLimit, LoopLimits, Outcome, PlaceId, PlaceName, Publication, RecipientState, Settings, Stop,
};
use protocol::{Act, Code, DialectName, Header, Rules, Timestamp, dialect};

fn limited(loops: LoopLimits) -> World {
    World::with(Settings {
        loops,
        ..Settings::default()
    })
}

fn hops(hops_max: u32) -> LoopLimits {
    LoopLimits {
        hops_max,
        ..LoopLimits::default()
    }
}

/// Round and round: each agent answers what it was sent. Gives the first publication that is stopped
/// and how many went through.
fn round(
    world: &mut World,
    agents: &[&str],
    answer: impl Fn(Message) -> Message,
) -> (Publication, usize) {
    for n in 0..1_000 {
        let (from, to) = (agents[n % agents.len()], agents[(n + 1) % agents.len()]);
        let cause = n.checked_sub(1).map_or(String::new(), |n| format!("m-{n}"));
        let next = message(&format!("m-{n}"), from, &[to], "C", &cause);
        let publication = world.publish(answer(next));
        if publication.stop.is_some() {
            return (publication, n);
        }
    }
    panic!("nothing was stopped");
}

fn stop(publication: &Publication) -> &Stop {
    publication.stop.as_ref().expect("stopped")
}

#[test]
fn a_triangle_stops_at_the_hop_limit_and_its_last_message_goes_to_nobody() {
    let mut world = limited(hops(8));
    let (last, passed) = round(&mut world, &["agent:a", "agent:b", "agent:c"], |one| one);
    assert_eq!(passed, 8, "the task and seven answers");
    assert_eq!(stop(&last).limit, LoopLimit::Hops);
    let path: Vec<&str> = stop(&last).path.iter().map(|step| &*step.id).collect();
    assert_eq!(
        path,
        [
            "m-0", "m-1", "m-2", "m-3", "m-4", "m-5", "m-6", "m-7", "m-8"
        ]
    );
    assert!(
        last.recipients
            .iter()
            .all(|(_, state)| *state == RecipientState::Dead),
        "{:?}",
        last.recipients
    );
    assert!(last.wake.is_empty());
    let letters = world.exchange.dead_letters(None, None, 9);
    assert_eq!(letters.len(), 1);
    assert_eq!(
        (letters[0].sequence, &*letters[0].reason),
        (last.sequence, "hop_limit")
    );
    // m-2, m-5 and m-8 go from c to a.
    assert_eq!(world.pull_inbox("agent:a"), [3, 6]);
}

#[test]
fn what_is_stopped_can_be_redriven_by_somebody_who_looked_at_it() {
    let mut world = limited(hops(2));
    let (last, _) = round(&mut world, &["agent:a", "agent:b"], |one| one);
    let place = world.inbox("agent:b").or(world.inbox("agent:a")).unwrap();
    let places: Vec<PlaceId> = [world.inbox("agent:a"), world.inbox("agent:b")]
        .into_iter()
        .flatten()
        .collect();
    let now = world.now;
    let redriven: Vec<Outcome> = places
        .iter()
        .filter_map(|place| world.exchange.redrive(now, *place, last.sequence))
        .collect();
    assert_eq!(redriven.len(), 1, "{place:?}");
    assert_eq!(redriven[0].wake.len(), 1);
}

#[test]
fn a_human_begins_a_new_chain_and_a_message_without_a_cause_too() {
    let mut world = limited(hops(3));
    for n in 0..30 {
        let agents = ["agent:a", "agent:b", "human:h"];
        let cause = if n % 6 == 0 {
            String::new()
        } else {
            format!("m-{}", n - 1)
        };
        let (from, to) = (agents[n % 3], agents[(n + 1) % 3]);
        let publication = world.publish(message(&format!("m-{n}"), from, &[to], "C", &cause));
        assert!(publication.stop.is_none(), "m-{n}: {:?}", publication.stop);
    }
}

#[test]
fn long_work_is_no_loop_however_long() {
    let mut world = World::new();
    world.publish(message("task", "agent:a", &["agent:b"], "C", ""));
    for n in 0..5_000 {
        let progress = message(&format!("p-{n}"), "agent:b", &["agent:a"], "C", "task");
        let ack = message(
            &format!("a-{n}"),
            "agent:a",
            &["agent:b"],
            "C",
            &format!("p-{n}"),
        );
        for one in [progress, ack] {
            assert!(world.publish(one).stop.is_none(), "{n}");
        }
        world.pass(1);
    }
}

#[test]
fn acknowledgements_of_acknowledgements_are_stopped_by_the_budget_of_the_pair() {
    let mut world = limited(LoopLimits {
        hops_max: 0,
        pair_turns_max: 10,
        ..LoopLimits::default()
    });
    let acknowledge = |one: Message| one.with(|header| header.act = Act::Ack);
    let (last, passed) = round(&mut world, &["agent:a", "agent:b"], acknowledge);
    assert_eq!(stop(&last).limit, LoopLimit::Pair);
    assert_eq!(passed, 12, "the first, its ack, and ten acks of acks");
    // Other pairs have their own budget, and in the next window so does this one.
    let other = message("x", "agent:b", &["agent:c"], "C", "m-3");
    assert!(world.publish(other).stop.is_none());
    let again = |id: &str| message(id, "agent:b", &["agent:a"], "C", "m-3");
    assert!(world.publish(again("y")).stop.is_some());
    world.pass(60_000);
    assert!(world.publish(again("z")).stop.is_none());
}

#[test]
fn a_storm_in_one_conversation_is_stopped_by_its_budget() {
    let mut world = limited(LoopLimits {
        hops_max: 0,
        conversation_turns_max: 100,
        ..LoopLimits::default()
    });
    world.publish(message("0", "agent:a", &["bus:all"], "C", ""));
    world.publish(message("1", "agent:b", &["bus:all"], "C", "0"));
    let mut stopped = 0;
    for n in 2..300 {
        let from = format!("agent:{n}");
        let publication = world.publish(message(&n.to_string(), &from, &["bus:all"], "C", "1"));
        stopped += usize::from(publication.stop.is_some());
    }
    assert_eq!(stopped, 198);
    let elsewhere = world.publish(message("d", "agent:a", &["bus:all"], "D", "1"));
    assert!(elsewhere.stop.is_none());
}

#[test]
fn an_id_that_somebody_else_used_in_a_loop_stops_nobody() {
    let mut world = limited(hops(4));
    let (_, passed) = round(&mut world, &["agent:a", "agent:b"], |one| one);
    assert_eq!(passed, 4);
    // The same ids in an honest conversation of others: its own first message has no cause.
    world.publish(message("root", "agent:x", &["agent:y"], "D", ""));
    let first = message("m-3", "agent:y", &["agent:x"], "D", "root");
    assert!(world.publish(first).stop.is_none());
    let answer = message("answer", "agent:x", &["agent:y"], "D", "m-3");
    assert!(world.publish(answer).stop.is_none());
}

#[test]
fn a_loop_that_changes_its_conversation_at_every_turn_is_still_a_loop() {
    let mut world = limited(hops(5));
    let (last, passed) = round(&mut world, &["agent:a", "agent:b"], |one| {
        one.with(|header| header.conversation = Some(format!("C-{}", header.id).into()))
    });
    assert_eq!((passed, stop(&last).limit), (5, LoopLimit::Hops));
}

#[test]
fn the_sender_is_told_once_in_a_chain_and_an_answer_to_that_is_stopped_in_silence() {
    let mut world = limited(hops(3));
    let (last, _) = round(&mut world, &["agent:a", "agent:b"], |one| one);
    let told = read(&last);
    assert_eq!(told.sender.as_str(), "service:interwire");
    // The exchange publishes its words like anybody's.
    world.publish(Message {
        header: told.clone(),
        envelope: last.then.speak[0].clone(),
    });
    let mut cause = told.id.to_string();
    for n in 0..5 {
        let from = last.recipients[0].0.clone();
        let reply = message(
            &format!("r-{n}"),
            from.as_str(),
            &["service:interwire"],
            "C",
            &cause,
        );
        let publication = world.publish(reply);
        assert!(publication.stop.is_some());
        assert!(publication.then.speak.is_empty(), "answer {n}");
        cause = format!("r-{n}");
    }
    // Trying again under another id is no reason to be told again, either.
    let again = message("again", "agent:b", &["agent:a"], "C", "m-2");
    let publication = world.publish(again);
    assert!(publication.stop.is_some() && publication.then.speak.is_empty());
}

fn read(publication: &Publication) -> Header {
    let [words] = publication.then.speak.as_slice() else {
        panic!("one error: {:?}", publication.then.speak);
    };
    let rules = Rules::at(Timestamp::from_millis(1_772_274_600_000));
    let (header, _) = protocol::decode(words, &rules).into_result().unwrap();
    header
}

#[test]
fn the_error_is_in_the_dialect_of_the_stopped_message_with_the_code_and_the_path() {
    for dialect in [DialectName::Aee, DialectName::Aep, DialectName::Uai] {
        let mut world = limited(hops(3));
        let (last, _) = round(&mut world, &["agent:a", "agent:b"], |one| {
            task(one, "task-1").with(|header| {
                header.dialect = dialect;
                header.intent = Some("quox.security.scan".into());
                header.correlation = Some("correlation-1".into());
                header.session = (dialect == DialectName::Aep).then(|| "s-1".into());
                // AEE wants ids of eight characters.
                header.conversation = Some("CONV_0001".into());
                header.id = format!("message-{}", header.id).into();
                header.cause = header
                    .cause
                    .as_ref()
                    .map(|id| format!("message-{id}").into());
            })
        });
        let told = read(&last);
        assert_eq!(told.dialect, dialect);
        assert_eq!(told.cause.as_deref(), Some("message-m-3"), "{dialect:?}");
        assert_eq!(told.conversation.as_deref(), Some("CONV_0001"));
        assert_eq!(told.recipients.len(), 1);
        assert_eq!(told.recipients[0].as_str(), "agent:b");
        let words = std::str::from_utf8(&last.then.speak[0]).unwrap();
        assert!(words.contains("\"code\":\"hop_limit\""), "{words}");
        for step in ["message-m-0", "message-m-1", "message-m-2", "message-m-3"] {
            assert!(words.contains(step), "{step}: {words}");
        }
        // Valid by the dialect's own strictest reading.
        let strict = Rules {
            mode: protocol::Mode::Strict,
            aee_policy: protocol::AeePolicy::Both,
            ..Rules::at(Timestamp::from_millis(1_772_274_600_000))
        };
        let reading = dialect::decode(words.as_bytes(), &strict);
        let faults: Vec<_> = reading
            .faults
            .iter()
            .filter(|fault| fault.code != Code::IdForm)
            .collect();
        assert!(faults.is_empty(), "{dialect:?} {faults:?} {words}");
    }
}

#[test]
fn a_loop_that_nobody_ends_costs_the_same_at_every_turn() {
    let mut world = World::new();
    let mut spoken = 0;
    for n in 0..10_000 {
        let cause = if n == 0 {
            String::new()
        } else {
            format!("m-{}", n - 1)
        };
        let id = format!("m-{n}");
        let publication = world.publish(message(&id, "agent:a", &["agent:b"], "C", &cause));
        assert_eq!(publication.stop.is_some(), n >= 64);
        if let Some(stop) = &publication.stop {
            assert_eq!(stop.path.len(), 65);
        }
        spoken += publication.then.speak.len();
    }
    assert_eq!(spoken, 1);
}

#[test]
fn what_is_played_again_is_no_reaction_and_reaches_nobody_who_only_subscribed() {
    let mut world = limited(hops(3));
    world.subscribe("audit", filter([("type", "agent.ready")]), None);
    let replay = |one: Message| one.with(|header| header.replay_of = Some("0000001a-1-1".into()));
    for n in 0..20 {
        let cause = if n == 0 {
            String::new()
        } else {
            format!("r-{}", n - 1)
        };
        let one = message(
            &format!("r-{n}"),
            "agent:a",
            &["agent:b"],
            "replay-1",
            &cause,
        );
        let publication = world.publish(replay(one));
        assert!(publication.stop.is_none());
        assert_eq!(publication.wake, [world.inbox("agent:b").unwrap()]);
    }
    let audit = PlaceName::Subscription("audit".into());
    assert_eq!(world.exchange.place_view(&audit).unwrap().waiting, 0);
    // Still so after a restart.
    let rebuilt = world.rebuilt();
    assert_eq!(rebuilt.exchange.place_view(&audit).unwrap().waiting, 0);
}

#[test]
fn a_rebuilt_exchange_stops_the_same_message_and_keeps_the_same_dead_letters() {
    let mut world = limited(hops(4));
    world.subscribe("audit", filter([("type", "agent.ready")]), None);
    for n in 0..4 {
        let cause = if n == 0 {
            String::new()
        } else {
            format!("m-{}", n - 1)
        };
        world.publish(message(
            &format!("m-{n}"),
            "agent:a",
            &["agent:b"],
            "C",
            &cause,
        ));
    }
    let mut rebuilt = world.rebuilt();
    let last = message("m-4", "agent:a", &["agent:b", "bus:x"], "C", "m-3");
    for world in [&mut world, &mut rebuilt] {
        let publication = world.publish(last.clone());
        assert_eq!(stop(&publication).limit, LoopLimit::Hops);
        let again = world.publish(last.clone());
        assert!(again.duplicate && again.stop.is_none());
    }
    let letters = |world: &World| world.exchange.dead_letters(None, None, 9);
    assert_eq!(letters(&world).len(), 2, "the inbox and the subscription");
    let after = world.rebuilt();
    let keys = |world: &World| -> Vec<_> {
        let letters = letters(world).into_iter();
        letters
            .map(|one| (one.place, one.sequence, one.reason))
            .collect()
    };
    assert_eq!(keys(&after), keys(&world));
    assert_eq!(
        world.exchange.counts().waiting,
        after.exchange.counts().waiting
    );
}

#[test]
fn memory_is_bounded_and_what_is_forgotten_counts_as_a_beginning() {
    let mut world = limited(LoopLimits {
        hops_max: 4,
        memory_max: 10,
        ..LoopLimits::default()
    });
    let mut cause = String::new();
    for n in 0..40 {
        // Others react twenty times between two turns of the loop.
        for other in 0..20 {
            let id = format!("o-{n}-{other}");
            world.publish(message(&id, "agent:x", &["agent:y"], "D", "somebody"));
        }
        let id = format!("m-{n}");
        let turn = world.publish(message(&id, "agent:a", &["agent:b"], "C", &cause));
        assert!(turn.stop.is_none());
        cause = id;
    }
}
