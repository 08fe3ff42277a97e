//! Parents, deadlines, and what leaves memory.

use super::world::{
    NOW, World, aee, ask, failed, final_report, handoff, heading, id_of, report, submit,
};
use crate::dialect::aee::Aee;
use crate::dialect::uai::build::Ack;
use crate::task::SERVICE;
use crate::task::TaskState::{Accepted, Cancelled, Completed, Submitted, TimedOut};
use crate::{Code, Rules, decode};

#[test]
fn a_parent_ends_after_its_children_unless_it_is_cancelled_and_takes_them_along() {
    let mut world = World::default();
    world.publish(&submit("p", None, "{}")).unwrap();
    world.publish(&report("p", "started")).unwrap();
    world.publish(&submit("c", Some("p"), "{}")).unwrap();
    world.publish(&submit("g", Some("c"), "{}")).unwrap();
    for word in ["completed", "failed", "timed_out"] {
        assert_eq!(world.refused(&report("p", word)).0, Code::ChildTasksOpen);
    }
    assert_eq!(&*world.tasks.get("p").unwrap().children, [Box::from("c")]);
    let cancelled = report("p", "cancelled");
    world.publish(&cancelled).unwrap();
    let spoken = world.expire(NOW);
    assert_eq!(spoken.len(), 2);
    let first = decode(spoken[0].as_bytes(), &Rules::at(NOW))
        .header
        .unwrap();
    assert_eq!(
        (first.sender.as_str(), first.cause.as_deref()),
        (SERVICE, Some(&*id_of(&cancelled)))
    );
    assert_eq!(
        (world.state("c"), world.state("g")),
        (Some(Cancelled), Some(Cancelled))
    );
    // The worker may still say so, once.
    world.publish(&report("g", "cancelled")).unwrap();
    assert_eq!(
        world.refused(&report("g", "cancelled")).0,
        Code::IllegalTransition
    );
    assert_eq!(
        world.refused(&report("c", "completed")).0,
        Code::IllegalTransition
    );
    assert_eq!(world.expire(NOW.plus_millis(1 << 40)), [""; 0]);
    assert_eq!(world.history("g"), [Submitted, Cancelled]);
}

#[test]
fn a_task_that_names_itself_or_a_stranger_as_parent_can_still_end() {
    let mut world = World::default();
    world.publish(&submit("t", Some("t"), "{}")).unwrap();
    world
        .publish(&submit("u", Some("never seen"), "{}"))
        .unwrap();
    for task in ["t", "u"] {
        world.publish(&report(task, "started")).unwrap();
        world.publish(&report(task, "completed")).unwrap();
    }
}

#[test]
fn a_deadline_fires_once_in_the_dialect_of_the_request() {
    let mut world = World::default();
    world
        .publish(&submit("t", None, r#"{"timeout_ms":1000}"#))
        .unwrap();
    let asked = ask("human.adam", "agent.w").requires(r#"{"timeout_ms":2000}"#);
    world.publish(&asked.build("aee-task-1", NOW)).unwrap();
    let work = handoff("T1", "manager", &["w1", "w2"]).expires_at(NOW.plus_millis(3000));
    world.publish(&work.write().unwrap()).unwrap();
    assert_eq!(world.tasks.next_due(), Some(NOW.plus_millis(1000)));
    assert_eq!(world.expire(NOW.plus_millis(999)), [""; 0]);
    let spoken = world.expire(NOW.plus_millis(60_000));
    assert_eq!(spoken.len(), 3);
    assert!(spoken[0].contains(r#""type":"task.timed_out""#) && spoken[0].contains("task_timeout"));
    assert!(
        spoken[1].contains(r#""code":"E_TIMEOUT""#) && spoken[1].contains(r#""to":"human.adam""#)
    );
    assert!(
        spoken[2].contains("uai.agent.task-status.v1")
            && spoken[2].contains(r#""state":"expired""#)
    );
    for id in ["t", "aee-task-1", "T1"] {
        assert_eq!(world.state(id), Some(TimedOut), "{id}");
    }
    assert_eq!(world.expire(NOW.plus_millis(1 << 40)), [""; 0]);
    assert_eq!(world.rebuilt().next_due(), None);
}

#[test]
fn a_deadline_of_a_parent_ends_its_children_first() {
    let mut world = World::default();
    world
        .publish(&submit("p", None, r#"{"timeout_ms":1000}"#))
        .unwrap();
    world.publish(&submit("c", Some("p"), "{}")).unwrap();
    world.publish(&submit("g", Some("c"), "{}")).unwrap();
    let spoken = world.expire(NOW.plus_millis(1000));
    assert_eq!(spoken.len(), 3);
    let states = ["c", "p", "g"].map(|id| world.state(id).unwrap());
    assert_eq!(states, [Cancelled, TimedOut, Cancelled]);
}

#[test]
fn the_same_word_spoken_again_has_the_same_bytes() {
    let mut world = World::default();
    world
        .publish(&submit("t", None, r#"{"timeout_ms":1000}"#))
        .unwrap();
    let first = world.rebuilt().expire(NOW.plus_millis(5000));
    let again = world.rebuilt().expire(NOW.plus_millis(900_000));
    assert_eq!((first.len(), &first), (1, &again));
}

#[test]
fn what_left_memory_is_asked_for_and_never_ends_twice() {
    let mut world = World::bounded(2, 1);
    let task = ask("human.adam", "agent.w").build("aee-task-1", NOW);
    world.publish(&task).unwrap();
    world
        .publish(&aee(Aee::result_of, &task, "agent.w"))
        .unwrap();
    let work = handoff("T1", "manager", &["w1"]).write().unwrap();
    world.publish(&work).unwrap();
    for n in 0..4 {
        world
            .publish(&submit(&format!("t{n}"), None, "{}"))
            .unwrap();
        world.publish(&report(&format!("t{n}"), "failed")).unwrap();
        world
            .publish(&submit(&format!("open{n}"), None, "{}"))
            .unwrap();
    }
    assert_eq!(
        (world.tasks.open_count(), world.tasks.finished_count()),
        (2, 1)
    );
    assert!(world.tasks.get("aee-task-1").is_none() && world.tasks.get("T1").is_none());
    assert_eq!(
        world.refused(&aee(failed, &task, "agent.w")).0,
        Code::IllegalTransition
    );
    assert_eq!(
        world.refused(&submit("t0", None, "{}")).0,
        Code::DuplicateTask
    );
    assert_eq!(
        world.refused(&report("t1", "completed")).0,
        Code::IllegalTransition
    );
    // One that was open is open still, also under the id of its message.
    let ack = Ack::new(&id_of(&work), "accepted", NOW).envelope(heading("w1", "manager"));
    world.publish(&ack.write().unwrap()).unwrap();
    assert_eq!(world.state("T1"), Some(Accepted));
    world
        .publish(&final_report("T1", "completed", "w1"))
        .unwrap();
    assert_eq!(world.history("T1"), [Submitted, Accepted, Completed]);
    assert_eq!(
        world.refused(&final_report("T1", "completed", "w1")).0,
        Code::IllegalTransition
    );
}

#[test]
fn tasks_that_something_depends_on_stay_and_when_all_do_no_more_are_taken() {
    let mut world = World::bounded(2, 1);
    world.publish(&submit("p", None, "{}")).unwrap();
    world.publish(&submit("c", Some("p"), "{}")).unwrap();
    assert_eq!(world.refused(&submit("x", None, "{}")).0, Code::Overloaded);
    world.publish(&report("c", "failed")).unwrap();
    world.publish(&submit("x", None, "{}")).unwrap();
    world.publish(&submit("y", None, "{}")).unwrap();
    assert_eq!(world.tasks.open_count(), 2);
}

#[test]
fn ids_that_no_filter_can_name_open_no_task() {
    let mut world = World::default();
    assert_eq!(
        world.refused(&submit(&"x".repeat(256), None, "{}")).0,
        Code::TooLong
    );
    world
        .publish(&submit(&"x".repeat(255), None, "{}"))
        .unwrap();
}
