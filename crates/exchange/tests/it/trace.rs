//! Traces: what belongs to one, what is under what, what is missing, what became of it.

use crate::library::{
    Library, correlation, full, json_of, message, query, sequences, shape, task, text, world,
};
use crate::world::{Message, World, filter};
use interwire_exchange::trace::{By, Candidate, Found, Query};
use interwire_exchange::{PlaceName, Record, Settle};
use proptest::prelude::*;
use protocol::{DialectName, Header, Party, json};

#[test]
fn three_dialects_in_one_conversation_are_one_tree() {
    let dialect = |message: Message, dialect| message.with(|header| header.dialect = dialect);
    let world = world(vec![
        dialect(
            task(
                message("m-task", "human:adam", &["agent:p"], "C", ""),
                "m-task",
            ),
            DialectName::Aee,
        ),
        dialect(
            message("m-other", "agent:x", &["agent:y"], "D", ""),
            DialectName::Aee,
        ),
        // UAI-1 in a conversation of its own, which names the first as its correlation.
        dialect(
            correlation(
                message("u-handoff", "agent:p", &["agent:w"], "grp_1", "m-task"),
                "C",
            ),
            DialectName::Uai,
        ),
        // AEP with a task and no conversation.
        task(
            message("e-progress", "agent:w", &["agent:p"], "", ""),
            "m-task",
        ),
        task(
            message("e-done", "agent:w", &["agent:p"], "", "u-handoff"),
            "m-task",
        ),
        dialect(
            message("m-result", "agent:p", &["human:adam"], "C", "m-task"),
            DialectName::Aee,
        ),
    ]);
    let expected = [
        "m-task",
        ".u-handoff",
        "..e-done",
        ".m-result",
        "e-progress",
    ];
    for name in ["C", "m-task", "u-handoff", "e-done", "m-result"] {
        assert_eq!(shape(&full(&world, name)), expected, "{name}");
    }
}

#[test]
fn a_cause_that_nobody_has_seen_is_shown_as_missing_with_all_its_effects() {
    let world = world(vec![
        message("a", "agent:a", &["agent:b"], "C", "gone"),
        message("b", "agent:b", &["agent:a"], "C", ""),
        message("c", "agent:b", &["agent:a"], "C", "gone"),
        message("d", "agent:a", &["agent:b"], "C", "also-gone"),
    ]);
    let trace = full(&world, "C");
    assert_eq!(trace.gaps(), 2);
    assert_eq!(
        shape(&trace),
        ["?gone", ".a", ".c", "b", "?also-gone", ".d"]
    );
    assert!(text(&trace).contains("4 messages"), "{}", text(&trace));
    assert!(text(&trace).contains("2 missing"), "{}", text(&trace));
}

#[test]
fn an_id_that_several_used_means_the_one_of_the_same_conversation_or_the_same_parties() {
    let world = world(vec![
        message("1", "agent:x", &["agent:y"], "D", ""),
        message("1", "agent:a", &["agent:b"], "C", ""),
        message("2", "agent:b", &["agent:a"], "C", "1"),
        // No conversation: only who wrote to whom can tell.
        message("3", "agent:y", &["agent:z"], "", "1"),
    ]);
    assert_eq!(shape(&full(&world, "C")), ["1", ".2"]);
    assert_eq!(shape(&full(&world, "3")), ["1", ".3"]);
    assert_eq!(sequences(&full(&world, "3")), [1, 4]);
}

#[test]
fn what_cannot_be_told_apart_is_listed_and_not_guessed() {
    let world = world(vec![
        message("1", "agent:x", &["agent:y"], "D", ""),
        message("1", "agent:z", &["agent:y"], "E", ""),
        message("2", "agent:y", &[], "", "1"),
    ]);
    let trace = full(&world, "2");
    assert_eq!(shape(&trace), ["?1", ".2"]);
    assert_eq!(trace.gaps(), 0);
    assert!(text(&trace).contains("ambiguous: used by agent:x, agent:z"));
    let json = json_of(&trace);
    let absent = json::read(json.as_bytes(), json::Limits::default()).unwrap();
    let absent = absent.root().get("absent").unwrap().items().next().unwrap();
    assert_eq!(absent.get("state").unwrap().as_str().unwrap(), "ambiguous");
    assert_eq!(absent.get("candidates").unwrap().items().count(), 2);
}

#[test]
fn causes_in_a_circle_end() {
    let world = world(vec![
        message("a", "agent:a", &["agent:b"], "C", "c"),
        message("b", "agent:b", &["agent:a"], "C", "a"),
        message("c", "agent:a", &["agent:b"], "C", "b"),
        message("self", "agent:a", &["agent:b"], "C", "self"),
        message("tail", "agent:a", &["agent:b"], "C", "b"),
    ]);
    let trace = full(&world, "C");
    let shown = text(&trace);
    assert!(
        shown.contains("names c as its cause, which is its effect"),
        "{shown}"
    );
    assert_eq!(trace.len(), 5);
    assert!(
        shown.contains("├─ agent.ready") && shown.contains("? self  missing"),
        "{shown}"
    );
}

#[test]
fn a_task_that_other_conversations_also_name_relates_them_and_does_not_mix_them() {
    let world = world(vec![
        task(message("a", "agent:a", &["agent:b"], "C", ""), "task_42"),
        task(message("b", "agent:x", &["agent:y"], "D", ""), "task_42"),
        task(message("c", "agent:b", &["agent:a"], "", ""), "task_42"),
    ]);
    let trace = full(&world, "C");
    assert_eq!(sequences(&trace), [1, 3]);
    assert!(text(&trace).contains("related: conversation D shares task_42"));
    // Asked for by the task's name, which conversation is meant is not guessed ...
    let library = Library::of(&world);
    let Found::Several(several) = library.find(query("task_42")) else {
        panic!("expected several");
    };
    let found: Vec<_> = several
        .iter()
        .map(
            |Candidate {
                 by, conversation, ..
             }| (*by, conversation.as_deref()),
        )
        .collect();
    assert_eq!(
        found,
        [
            (By::Task, Some("C")),
            (By::Task, Some("D")),
            (By::Task, None)
        ]
    );
    // ... unless the task itself is meant.
    let by_task = Query {
        by: Some(By::Task),
        ..query("task_42")
    };
    assert_eq!(sequences(&library.trace(by_task)), [1, 2, 3]);
}

#[test]
fn an_id_of_two_senders_needs_the_sender() {
    let world = world(vec![
        message("1", "agent:a", &["agent:b"], "C", ""),
        message("1", "agent:x", &["agent:y"], "D", ""),
    ]);
    let library = Library::of(&world);
    assert!(matches!(library.find(query("1")), Found::Several(several) if several.len() == 2));
    let of_x = Query {
        sender: Some(Party::parse("agent.x")),
        ..query("1")
    };
    assert_eq!(sequences(&library.trace(of_x)), [2]);
    assert!(matches!(library.find(query("nothing")), Found::Nothing));
    let wrong_kind = Query {
        by: Some(By::Task),
        ..query("1")
    };
    assert!(matches!(library.find(wrong_kind), Found::Nothing));
}

#[test]
fn a_conversation_named_after_a_message_has_that_message() {
    let world = world(vec![
        message("order-7", "human:h", &["agent:a"], "C", ""),
        message("x", "agent:a", &["agent:b"], "order-7", ""),
        message("y", "agent:b", &["agent:a"], "order-7", "x"),
    ]);
    for name in ["order-7", "x", "C"] {
        let shape = shape(&full(&world, name));
        assert_eq!(shape, ["order-7", "x", ".y"], "{name}");
    }
}

#[test]
fn causes_and_effects_are_followed_through_other_conversations() {
    let world = world(vec![
        message("root", "agent:a", &["agent:b"], "A", ""),
        message("root-sibling", "agent:a", &["agent:b"], "A", ""),
        message("middle", "agent:b", &["agent:c"], "B", "root"),
        message("leaf", "agent:c", &["agent:d"], "C", "middle"),
        message("after", "agent:d", &["agent:c"], "D", "leaf"),
        // Before its cause, as a slow sender may be.
        message("early", "agent:d", &["agent:c"], "E", "late"),
        message("late", "agent:c", &["agent:d"], "C", "leaf"),
    ]);
    let expected = [
        "root",
        ".middle",
        "..leaf",
        "...after",
        "...late",
        "....early",
    ];
    assert_eq!(shape(&full(&world, "C")), expected);
    assert_eq!(shape(&full(&world, "B")), expected);
    let mut whole = expected.to_vec();
    whole.push("root-sibling");
    assert_eq!(shape(&full(&world, "A")), whole);
}

#[test]
fn pages_follow_the_journal_and_know_what_is_on_another() {
    let mut messages = vec![message("m-0", "agent:a", &["agent:b"], "C", "")];
    for n in 1..10 {
        let cause = format!("m-{}", n - 1);
        let id = format!("m-{n}");
        messages.push(message(&id, "agent:a", &["agent:b"], "C", &cause));
    }
    let library = Library::of(&world(messages));
    let page = |after, limit| {
        library.trace(Query {
            after,
            limit,
            ..query("C")
        })
    };
    let first = page(0, 4);
    assert_eq!(sequences(&first), [1, 2, 3, 4]);
    assert!(json_of(&first).contains("\"next\":\"4\""));
    assert!(text(&first).contains("there is more"));
    let second = page(4, 4);
    assert_eq!(sequences(&second), [5, 6, 7, 8]);
    assert_eq!(shape(&second)[0], "…m-3");
    let last = page(8, 4);
    assert_eq!(sequences(&last), [9, 10]);
    assert!(json_of(&last).contains("\"next\":null"));
    assert!(page(10, 4).is_empty());
    assert_eq!(page(10, 4).gaps(), 0);
}

#[test]
fn what_became_of_a_message_is_told_attempt_by_attempt() {
    let mut world = World::new();
    world.subscribe("audit", filter([("type", "agent.ready")]), None);
    world.publish(message("m", "agent:a", &["agent:b", "agent:c"], "C", ""));
    let place = world.inbox("agent:b").unwrap();
    let busy = Settle::Nack {
        retry_after_ms: None,
        reason: "busy\n".into(),
    };
    let leases = world.pull(place, 1);
    world.settle(&[leases[0].id()], busy);
    world.pass(5_000);
    let leases = world.pull(place, 1);
    world.ack(&leases);
    let place = world.inbox("agent:c").unwrap();
    let never = Settle::Reject {
        reason: "not mine".into(),
    };
    let leases = world.pull(place, 1);
    world.settle(&[leases[0].id()], never);
    let dead = text(&full(&world, "C"));
    assert!(
        dead.contains("subscription audit waiting; agent:b acked +5.000 s, 1 failed attempt; agent:c dead +5.000 s (rejected), 1 failed attempt"),
        "{dead}"
    );
    assert!(
        dead.contains("! attempt 1 at agent:b nacked +0 ms: busy\u{FFFD}"),
        "{dead}"
    );
    assert!(
        dead.contains("! attempt 1 at agent:c rejected +5.000 s: not mine"),
        "{dead}"
    );
    let outcome = world.exchange.redrive(world.now, place, 2).unwrap();
    outcome
        .records
        .iter()
        .for_each(|record| world.append(record));
    world.pull(place, 1);
    let again = text(&full(&world, "C"));
    assert!(again.contains("agent:c delivered"), "{again}");
    assert!(again.contains("redriven to agent:c +5.000 s"), "{again}");
    world.unsubscribe("audit");
    let gone = text(&full(&world, "C"));
    assert!(gone.contains("removed"), "{gone}");
}

#[derive(Clone, Debug)]
struct Draft {
    sender: usize,
    to: usize,
    id: usize,
    conversation: usize,
    cause: usize,
    task: usize,
    correlation: usize,
}

fn draft() -> impl Strategy<Value = Draft> {
    (
        0..4_usize,
        0..4_usize,
        0..12_usize,
        0..4_usize,
        0..16_usize,
        0..6_usize,
        0..6_usize,
    )
        .prop_map(
            |(sender, to, id, conversation, cause, task, correlation)| Draft {
                sender,
                to,
                id,
                conversation,
                cause,
                task,
                correlation,
            },
        )
}

fn drafted(drafts: &[Draft]) -> World {
    let mut world = World::new();
    for Draft {
        sender,
        to,
        id,
        conversation,
        cause,
        task: of,
        correlation: with,
    } in drafts
    {
        // Few names, so that ids, conversations and tasks run into each other; the last are absent.
        let name = |n: usize, max: usize| (n < max).then(|| format!("n{n}").into());
        let draft = Message::new(&format!("n{id}"), &[&format!("agent:{to}")])
            .from(&format!("agent:{sender}"))
            .with(|header: &mut Header| {
                header.conversation = name(*conversation, 3);
                header.cause = name(*cause, 12);
                header.task = name(*of, 3);
                header.correlation = name(*with, 3);
            });
        // The same id of the same sender is a duplicate or a conflict.
        drop(world.try_publish(draft));
    }
    world
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_message_of_the_conversation_is_in_the_tree_once(drafts in prop::collection::vec(draft(), 1..40)) {
        let world = drafted(&drafts);
        let library = Library::of(&world);
        let conversation = Query { by: Some(By::Conversation), ..query("n0") };
        let Found::Trace(trace) = library.find(conversation) else { return Ok(()) };
        let found = sequences(&trace);
        for (record, sequence) in library.records.iter().zip(1..) {
            if let Record::Published { header, .. } = record
                && header.conversation.as_deref() == Some("n0")
            {
                prop_assert!(found.contains(&sequence));
            }
        }
        let shown = text(&trace);
        let lines = shown.lines().filter(|line| line.contains(" → ")).count();
        prop_assert_eq!(lines, trace.len());
    }
}

#[test]
fn a_place_that_is_gone_keeps_its_number() {
    let mut world = World::new();
    world.subscribe("s", filter([("type", "agent.ready")]), None);
    world.publish(message("m", "agent:a", &[], "C", ""));
    assert_eq!(
        world.exchange.place(&PlaceName::Subscription("s".into())),
        Some(interwire_exchange::PlaceId(0))
    );
    world.unsubscribe("s");
    let shown = text(&full(&world, "C"));
    assert!(shown.contains("place 0 removed"), "{shown}");
}
