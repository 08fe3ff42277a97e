//! Tasks end once, in time, and are known after a restart.

use crate::world::{Message, World, filter};
use interwire_exchange::{Exchange, Record, Settings};
use protocol::dialect::aee::Aee;
use protocol::dialect::aep::Aep;
use protocol::dialect::uai::build::{Ack, Agent, Handoff, Heading};
use protocol::task::{Limits, SERVICE};
use protocol::{Code, Party, TaskState, Timestamp};

fn now() -> Timestamp {
    World::new().now
}

fn event(id: &str, kind: &str, task: &str, payload: &str) -> Message {
    let (from, to) = if kind == "task.submitted" {
        ("agent:a", "agent:b")
    } else {
        ("agent:b", "agent:a")
    };
    let event = Aep::event(kind, from).target(to).task(task);
    Message::read(&event.payload_json(payload).build(id, now()), now())
}

fn submitted(id: &str, task: &str) -> Message {
    event(id, "task.submitted", task, "{}")
}

fn state(world: &World, task: &str) -> Option<TaskState> {
    world.exchange.task(task).map(|view| view.state)
}

#[test]
fn a_repeated_task_event_is_a_duplicate_and_an_illegal_one_is_refused_also_after_a_restart() {
    let mut world = World::new();
    world.publish(submitted("e1", "t1"));
    for mut world in [world.rebuilt(), world] {
        assert!(world.publish(submitted("e1", "t1")).duplicate);
        assert_eq!(world.refusal(submitted("e2", "t1")).0, Code::DuplicateTask);
        let early = event("e3", "task.completed", "t1", "{}");
        assert_eq!(world.refusal(early).0, Code::IllegalTransition);
        assert_eq!(world.exchange.counts().dedupe_entries, 1);
        assert_eq!(state(&world, "t1"), Some(TaskState::Submitted));
    }
}

#[test]
fn a_deadline_is_spoken_of_once_to_both_parties_also_when_it_passed_while_nobody_ran() {
    let mut world = World::new();
    world.publish(event(
        "e1",
        "task.submitted",
        "t1",
        r#"{"timeout_ms":5000}"#,
    ));
    world.publish(event("e2", "task.started", "t1", "{}"));
    assert_eq!(
        world.exchange.next_deadline(),
        Some(world.now.plus_millis(5_000))
    );
    let mut later = world.rebuilt();
    for world in [&mut world, &mut later] {
        world.pass(60_000);
        assert_eq!(state(world, "t1"), Some(TaskState::TimedOut));
        assert_eq!(world.journal.len(), 3);
        let (kind, body) = world.journal.last().unwrap();
        let Record::Published {
            header, recipients, ..
        } = Record::decode(*kind, body).unwrap()
        else {
            panic!("expected a message");
        };
        assert_eq!(
            (header.sender.as_str(), &*header.kind),
            (SERVICE, "task.timed_out")
        );
        let told: Vec<_> = recipients.iter().map(|(party, _)| party.as_str()).collect();
        assert_eq!(told, ["agent:a", "agent:b"]);
        assert_eq!(
            world.refusal(event("e3", "task.completed", "t1", "{}")).0,
            Code::IllegalTransition
        );
        let mut again = world.rebuilt();
        assert_eq!(again.exchange.next_deadline(), None);
        again.pass(1 << 40);
        assert_eq!(again.journal.len(), 3);
        let inbox = again.inbox("agent:b").unwrap();
        assert_eq!(again.pull(inbox, 9).len(), 2);
    }
}

/// Both ways to the state after a restart, by a clock that was set back by two hours.
fn two_hours_back(world: &World) -> [World; 2] {
    let restored = Exchange::restore(world.settings.clone(), &world.rebuilt().exchange.snapshot());
    [world.rebuilt(), world.after_restart(restored.unwrap())].map(|mut world| {
        world.now = world.now.plus_millis(-7_200_001);
        let last = world.next_sequence() - 1;
        world.exchange.recovered(world.now, last);
        world
    })
}

#[test]
fn a_clock_set_back_over_a_restart_gives_no_task_more_time_than_it_asked_for() {
    let mut world = World::new();
    let submit = |id: &str, payload: &str, expires_in_ms: Option<i64>| {
        let event = Aep::event("task.submitted", "agent:a").target("agent:b");
        let event = event.task(id).payload_json(payload);
        let event = match expires_in_ms {
            Some(ms) => event.expires_at(now().plus_millis(ms)),
            None => event,
        };
        Message::read(&event.build(&format!("e-{id}"), now()), now())
    };
    world.publish(submit("length", r#"{"timeout_ms":5000}"#, None));
    world.publish(submit("both", r#"{"timeout_ms":7000}"#, Some(3_000)));
    world.publish(submit("moment", "{}", Some(4_000)));
    let aee = Aee::task("human.adam", "agent.b", "ops.check.run");
    let aee = aee.requires(r#"{"timeout_ms":6000}"#).build("aee-1", now());
    world.publish(Message::read(&aee, now()));
    world.pass(1_000);
    for mut world in two_hours_back(&world) {
        let deadline = |world: &World, id: &str| world.exchange.task(id).unwrap().deadline;
        let left = [("length", 5_000), ("aee-1", 6_000), ("both", 7_000)];
        for (id, ms) in left {
            assert_eq!(deadline(&world, id), Some(world.now.plus_millis(ms)));
        }
        assert_eq!(deadline(&world, "moment"), Some(now().plus_millis(4_000)));
        for (id, wait) in [("length", 5_000), ("aee-1", 1_000), ("both", 1_000)] {
            world.pass(wait - 1);
            assert_eq!(state(&world, id), Some(TaskState::Submitted), "{id}");
            world.pass(1);
            assert_eq!(state(&world, id), Some(TaskState::TimedOut), "{id}");
        }
        // The moment that was named is that moment.
        let left = now().plus_millis(4_000).as_millis() - world.now.as_millis();
        world.pass(left - 1);
        assert_eq!(state(&world, "moment"), Some(TaskState::Submitted));
        world.pass(1);
        assert_eq!(state(&world, "moment"), Some(TaskState::TimedOut));
        assert_eq!(ends_told(&world), 4);
        let mut again = world.rebuilt();
        again.pass(1 << 40);
        assert_eq!(ends_told(&again), 4);
    }
}

/// How often the exchange itself said something of a task.
fn ends_told(world: &World) -> usize {
    let told = |(kind, body): &&(u8, bytes::Bytes)| match Record::decode(*kind, body).unwrap() {
        Record::Published { header, .. } => header.sender.as_str() == SERVICE,
        _ => false,
    };
    world.journal.iter().filter(told).count()
}

#[test]
fn a_clock_set_back_over_a_restart_leaves_a_child_no_longer_without_its_parent() {
    let mut world = World::new();
    let child = Aep::event("task.submitted", "agent:b")
        .target("agent:c")
        .task("c")
        .parent_task("p");
    world.publish(submitted("e1", "p"));
    world.publish(Message::read(&child.build("e2", now()), now()));
    world.publish(event("e3", "task.cancelled", "p", "{}"));
    for mut world in two_hours_back(&world) {
        world.pass(0);
        assert_eq!(state(&world, "c"), Some(TaskState::Cancelled));
    }
}

#[test]
fn a_clock_set_forward_over_a_restart_changes_no_deadline() {
    let mut world = World::new();
    world.publish(event(
        "e1",
        "task.submitted",
        "t1",
        r#"{"timeout_ms":5000}"#,
    ));
    let mut world = world.rebuilt();
    let deadline = now().plus_millis(5_000);
    world.now = now().plus_millis(4_999);
    world.exchange.recovered(world.now, 1);
    assert_eq!(world.exchange.next_deadline(), Some(deadline));
    world.pass(0);
    assert_eq!(state(&world, "t1"), Some(TaskState::Submitted));
    world.pass(1);
    assert_eq!(state(&world, "t1"), Some(TaskState::TimedOut));
}

#[test]
fn children_are_cancelled_with_their_parent_by_the_exchange() {
    let mut world = World::new();
    let child = Aep::event("task.submitted", "agent:b")
        .target("agent:c")
        .task("c")
        .parent_task("p");
    world.publish(submitted("e1", "p"));
    world.publish(Message::read(&child.build("e2", now()), now()));
    world.publish(event("e3", "task.cancelled", "p", "{}"));
    // A crash in between costs nothing: the child is still owed its end.
    for mut world in [world.rebuilt(), world] {
        world.pass(0);
        assert_eq!(state(&world, "c"), Some(TaskState::Cancelled));
        let inbox = world.inbox("agent:c").unwrap();
        assert_eq!(world.pull(inbox, 9).len(), 2);
    }
}

#[test]
fn an_acknowledgement_that_names_no_task_is_found_under_it() {
    let mut world = World::new();
    let place = world.subscribe("t", filter([("task", "T1")]), None);
    let heading = |id: &str, from: &str, to: &str| Heading {
        id: id.into(),
        issued_at: now(),
        source: Agent::new("agent", from),
        target: Agent::new("agent", to),
        conversation: "conv_1".into(),
    };
    let handoff =
        Handoff::new("T1", "context", "reason", "do it").envelope(heading("m1", "a", "b"));
    let ack = Ack::new("m1", "accepted", now()).envelope(heading("m2", "b", "a"));
    world.publish(Message::read(&handoff.write().unwrap(), now()));
    world.publish(Message::read(&ack.write().unwrap(), now()));
    for mut world in [world.rebuilt(), world] {
        assert_eq!(state(&world, "T1"), Some(TaskState::Accepted));
        assert_eq!(world.pull(place, 9).len(), 2);
    }
}

#[test]
fn what_left_memory_is_asked_of_the_journal_and_ends_once_still() {
    let settings = Settings {
        tasks: Limits {
            open_max: 1,
            finished_max: 1,
        },
        ..Settings::default()
    };
    let mut world = World::with(settings);
    let task = Aee::task("human.adam", "agent.b", "ops.check.run").build("aee-task-1", now());
    let task = Message::read(&task, now());
    let reply = |id: &str| {
        let result = Aee::result_of(&task.header).build(id, now());
        Message::read(&result, now())
    };
    world.publish(task.clone());
    world.publish(reply("aee-reply-1"));
    for n in 0..3 {
        world.publish(submitted(&format!("open {n}"), &format!("o{n}")));
        world.publish(submitted(&format!("e{n}"), &format!("t{n}")));
        world.publish(event(
            &format!("f{n}"),
            "task.failed",
            &format!("t{n}"),
            "{}",
        ));
    }
    for mut world in [world.rebuilt(), world] {
        let counts = world.exchange.counts();
        assert!(counts.tasks_open <= 1 && counts.tasks_finished == 1);
        assert_eq!(state(&world, "aee-task-1"), None);
        assert_eq!(
            world.refusal(reply("aee-reply-2")).0,
            Code::IllegalTransition
        );
        assert_eq!(
            world.refusal(submitted("again", "t0")).0,
            Code::DuplicateTask
        );
        world.publish(event("start", "task.started", "o0", "{}"));
        assert_eq!(state(&world, "o0"), Some(TaskState::Started));
        let view = world.exchange.task("o0").unwrap();
        assert_eq!(view.requester, Party::parse("agent:a"));
    }
}

#[test]
fn a_snapshot_at_any_moment_and_the_records_after_it_give_the_same_tasks() {
    let settings = Settings {
        tasks: Limits {
            open_max: 4,
            finished_max: 2,
        },
        ..Settings::default()
    };
    let mut world = World::with(settings.clone());
    let child = Aep::event("task.submitted", "agent:b").target("agent:c");
    let child = child.task("c").parent_task("p");
    world.publish(submitted("e1", "p"));
    world.publish(Message::read(&child.build("e2", now()), now()));
    let timed = r#"{"timeout_ms":5000}"#;
    world.publish(event("e3", "task.submitted", "timed", timed));
    for (id, to) in [("aee-task-1", "agent.b"), ("aee-task-2", "bus.ops")] {
        let task = Aee::task("human.adam", to, "ops.check.run").corr("CONV_0001");
        let task = Message::read(&task.build(id, now()), now());
        world.publish(task.clone());
        let reply = Aee::result_of(&task.header).from("agent.b");
        world.publish(Message::read(
            &reply.build(&format!("{id}-reply"), now()),
            now(),
        ));
    }
    world.publish(event("e4", "task.cancelled", "p", "{}"));
    world.pass(0);
    world.pass(5_000);
    let whole = world.rebuilt();
    assert_eq!(state(&whole, "timed"), Some(TaskState::TimedOut));
    for cut in 0..=world.journal.len() {
        let mut before = Exchange::new(settings.clone());
        world.apply(&mut before, 0..cut);
        let snapshot = before.snapshot();
        let mut restored = Exchange::restore(settings.clone(), &snapshot).unwrap();
        assert!(restored.snapshot() == snapshot, "at {cut}");
        assert_eq!(restored.next_deadline(), before.next_deadline(), "at {cut}");
        world.apply(&mut restored, cut..world.journal.len());
        assert!(
            restored.snapshot() == whole.exchange.snapshot(),
            "from {cut}"
        );
    }
}
