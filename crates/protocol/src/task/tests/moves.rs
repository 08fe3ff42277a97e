//! Which envelope moves which task, in every dialect.

use super::world::{
    NOW, World, aee, ask, failed, final_report, fresh, handoff, heading, id_of, parts, report,
    submit,
};
use crate::dialect::aee::Aee;
use crate::dialect::uai::build::{Ack, Message, TaskStatus};
use crate::task::CANCEL_INTENT;
use crate::task::TaskState::{
    Accepted, Blocked, Cancelled, Completed, Failed, Output, Progress, Started, Submitted,
};
use crate::{Code, Rules, decode};

#[test]
fn an_aep_task_walks_its_table_and_ends_once() {
    let mut world = World::default();
    world.publish(&submit("t", None, "{}")).unwrap();
    assert_eq!(world.state("t"), Some(Submitted));
    let (code, detail) = world.refused(&report("t", "completed"));
    assert_eq!(code, Code::IllegalTransition);
    assert!(
        detail.contains("which is submitted, to become accepted, started,"),
        "{detail}"
    );
    assert!(detail.ends_with("got completed"), "{detail}");
    assert_eq!(
        world.refused(&submit("t", None, "{}")).0,
        Code::DuplicateTask
    );
    for word in [
        "started",
        "progress",
        "output",
        "blocked",
        "started",
        "completed",
    ] {
        world.publish(&report("t", word)).unwrap();
    }
    for word in ["completed", "failed", "progress", "cancel.requested"] {
        let (code, detail) = world.refused(&report("t", word));
        assert_eq!(code, Code::IllegalTransition);
        assert!(detail.contains("\"t\", which is completed"), "{detail}");
    }
    assert_eq!(
        world.refused(&submit("t", None, "{}")).0,
        Code::DuplicateTask
    );
    assert_eq!(
        world.refused(&report("never", "failed")).0,
        Code::UnknownTask
    );
    assert_eq!(
        world.history("t"),
        [
            Submitted, Started, Progress, Output, Blocked, Started, Completed
        ]
    );
}

#[test]
fn an_aee_result_straight_after_its_task_completes_it() {
    let mut world = World::default();
    let task = ask("human.adam", "agent.w").build("aee-task-1", NOW);
    world.publish(&task).unwrap();
    world
        .publish(&aee(Aee::stream_of, &task, "agent.w"))
        .unwrap();
    world
        .publish(&aee(Aee::result_of, &task, "agent.w"))
        .unwrap();
    assert_eq!(world.state("aee-task-1"), Some(Completed));
    let (code, detail) = world.refused(&aee(failed, &task, "agent.w"));
    assert_eq!(code, Code::IllegalTransition);
    assert!(
        detail.contains("which is completed, got failed"),
        "{detail}"
    );
    assert_eq!(
        world.history("aee-task-1"),
        [Submitted, Progress, Completed]
    );
    // What speaks of a task that was never seen here is carried.
    let other = ask("human.adam", "agent.w").build("aee-task-2", NOW);
    world
        .publish(&aee(Aee::result_of, &other, "agent.w"))
        .unwrap();
}

#[test]
fn an_aee_stream_without_a_cause_is_of_the_one_task_its_sender_works_on() {
    let mut world = World::default();
    let stream = |from: &str| {
        let event = Aee::stream_of(
            &decode(
                ask("human.adam", from).build("aee-task-9", NOW).as_bytes(),
                &Rules::at(NOW),
            )
            .header
            .unwrap(),
        );
        let text = event.from(from).build(&fresh("aee-stream"), NOW);
        text.replace("\"reply_to\":\"aee-task-9\"", "\"reply_to\":null")
    };
    world
        .publish(&ask("human.adam", "agent.w").build("aee-task-1", NOW))
        .unwrap();
    world
        .publish(&ask("agent.w", "agent.v").build("aee-task-2", NOW))
        .unwrap();
    world.publish(&stream("agent.v")).unwrap();
    assert_eq!(
        (world.state("aee-task-1"), world.state("aee-task-2")),
        (Some(Submitted), Some(Progress))
    );
    world
        .publish(&ask("human.eve", "agent.w").build("aee-task-3", NOW))
        .unwrap();
    world.publish(&stream("agent.w")).unwrap();
    assert_eq!(
        (world.state("aee-task-1"), world.state("aee-task-3")),
        (Some(Submitted), Some(Submitted))
    );
}

#[test]
fn two_senders_may_use_one_id_and_each_reply_finds_its_own() {
    let mut world = World::default();
    let ones = ask("human.adam", "agent.w").build("aee-task-1", NOW);
    let twos = ask("human.eve", "agent.w").build("aee-task-1", NOW);
    world.publish(&ones).unwrap();
    world.publish(&twos).unwrap();
    world.publish(&aee(failed, &twos, "agent.w")).unwrap();
    assert_eq!(world.state("aee-task-1"), Some(Submitted));
    assert_eq!(world.state("aee-task-1@human:eve"), Some(Failed));
    world
        .publish(&aee(Aee::result_of, &ones, "agent.w"))
        .unwrap();
    assert_eq!(world.state("aee-task-1"), Some(Completed));
    assert_eq!(
        world.refused(&aee(Aee::result_of, &twos, "agent.w")).0,
        Code::IllegalTransition
    );
    assert_eq!(
        world.rebuilt().get("aee-task-1@human:eve").unwrap().state,
        Failed
    );
}

#[test]
fn an_aee_error_can_say_that_a_task_was_cancelled_and_an_event_can_ask_for_it() {
    let mut world = World::default();
    let task = ask("human.adam", "agent.w").build("aee-task-1", NOW);
    world.publish(&task).unwrap();
    let asked = Aee::event("human.adam", "agent.w", CANCEL_INTENT).reply_to("aee-task-1");
    world
        .publish(&asked.build(&fresh("aee-cancel"), NOW))
        .unwrap();
    assert!(world.tasks.get("aee-task-1").unwrap().cancel_requested);
    world
        .publish(&aee(
            |cause| Aee::error_of(cause, "E_CANCELLED", "as asked"),
            &task,
            "agent.w",
        ))
        .unwrap();
    assert_eq!(world.state("aee-task-1"), Some(Cancelled));
}

#[test]
fn whoever_answers_a_channel_first_ends_the_task_and_the_others_are_carried() {
    let mut world = World::default();
    let task = ask("human.adam", "bus.ops").build("aee-task-1", NOW);
    world.publish(&task).unwrap();
    world
        .publish(&aee(Aee::result_of, &task, "agent.one"))
        .unwrap();
    world.publish(&aee(failed, &task, "agent.two")).unwrap();
    assert_eq!(world.state("aee-task-1"), Some(Completed));
    assert_eq!(
        world.refused(&aee(failed, &task, "agent.one")).0,
        Code::IllegalTransition
    );
}

#[test]
fn a_handoff_to_several_is_complete_when_all_have_reported() {
    let mut world = World::default();
    let envelope = handoff("T1", "manager", &["w1", "w2"]).write().unwrap();
    world.publish(&envelope).unwrap();
    let ack = |from: &str, status: &str| {
        let ack = Ack::new(&id_of(&envelope), status, NOW);
        ack.envelope(heading(from, "manager")).write().unwrap()
    };
    world.publish(&ack("w1", "received")).unwrap();
    assert_eq!(world.state("T1"), Some(Submitted));
    world.publish(&ack("w1", "accepted")).unwrap();
    world
        .publish(&final_report("T1", "completed", "w1"))
        .unwrap();
    let expected = [
        ("agent:w1".to_owned(), Completed),
        ("agent:w2".to_owned(), Submitted),
    ];
    assert_eq!(parts(&world, "T1"), expected);
    assert_eq!(world.state("T1"), Some(Submitted));
    assert_eq!(
        world.refused(&final_report("T1", "failed", "w1")).0,
        Code::IllegalTransition
    );
    // A late acceptance tells nothing new.
    let running = TaskStatus::running("T1", 40, "half of it").envelope(heading("w2", "manager"));
    world.publish(&running.write().unwrap()).unwrap();
    world.publish(&ack("w2", "accepted")).unwrap();
    assert_eq!(world.state("T1"), Some(Progress));
    world.publish(&final_report("T1", "partial", "w2")).unwrap();
    assert_eq!(world.state("T1"), Some(Completed));
    assert_eq!(
        world.refused(&final_report("T1", "completed", "w2")).0,
        Code::IllegalTransition
    );
}

#[test]
fn one_failure_among_several_fails_the_whole() {
    let mut world = World::default();
    world
        .publish(&handoff("T1", "manager", &["w1", "w2"]).write().unwrap())
        .unwrap();
    world.publish(&final_report("T1", "failed", "w1")).unwrap();
    world
        .publish(&final_report("T1", "completed", "w2"))
        .unwrap();
    assert_eq!(world.state("T1"), Some(Failed));
}

#[test]
fn a_task_is_handed_on_by_those_who_have_to_do_with_it() {
    let mut world = World::default();
    world
        .publish(&handoff("T1", "manager", &["w1"]).write().unwrap())
        .unwrap();
    assert_eq!(
        world
            .refused(&handoff("T1", "stranger", &["w9"]).write().unwrap())
            .0,
        Code::DuplicateTask
    );
    let second = handoff("T1", "w1", &["w2"]).write().unwrap();
    world.publish(&second).unwrap();
    let ack = Ack::new(&id_of(&second), "accepted", NOW).envelope(heading("w2", "w1"));
    world.publish(&ack.write().unwrap()).unwrap();
    assert_eq!(
        parts(&world, "T1").last().unwrap(),
        &("agent:w2".to_owned(), Accepted)
    );
    world
        .publish(&final_report("T1", "completed", "w2"))
        .unwrap();
    world
        .publish(&final_report("T1", "completed", "w1"))
        .unwrap();
    assert_eq!(world.state("T1"), Some(Completed));
    assert_eq!(
        world
            .refused(&handoff("T1", "manager", &["w1"]).write().unwrap())
            .0,
        Code::DuplicateTask
    );
}

#[test]
fn an_acknowledgement_of_a_report_is_no_report() {
    let mut world = World::default();
    world
        .publish(&handoff("T1", "manager", &["w1"]).write().unwrap())
        .unwrap();
    let report = final_report("T1", "completed", "w1");
    world.publish(&report).unwrap();
    let ack = Ack::new(&id_of(&report), "accepted", NOW).envelope(heading("manager", "w1"));
    world.publish(&ack.task_ref("T1").write().unwrap()).unwrap();
    assert_eq!(world.state("T1"), Some(Completed));
}

#[test]
fn a_question_ends_with_its_answer_and_work_does_not() {
    let mut world = World::default();
    let say =
        |kind: &str, from: &str, to: &str| Message::new(kind, "text").envelope(heading(from, to));
    let question = say("query", "a", "w").write().unwrap();
    let id = id_of(&question);
    world.publish(&question).unwrap();
    world
        .publish(&say("response", "w", "a").reply_to(&id).write().unwrap())
        .unwrap();
    assert_eq!(world.state(&id), Some(Completed));
    assert_eq!(world.history(&id), [Submitted, Completed]);
    let work = handoff("T1", "a", &["w"]).write().unwrap();
    world.publish(&work).unwrap();
    world
        .publish(
            &say("response", "w", "a")
                .reply_to(&id_of(&work))
                .write()
                .unwrap(),
        )
        .unwrap();
    assert_eq!(world.state("T1"), Some(Output));
    // What is said about a task does not move it.
    world
        .publish(&say("directive", "a", "w").task_ref("T1").write().unwrap())
        .unwrap();
    world
        .publish(&say("inform", "a", "w").task_ref("T1").write().unwrap())
        .unwrap();
    assert_eq!(world.state("T1"), Some(Output));
}

#[test]
fn a_dialect_may_report_on_the_task_of_another() {
    let mut world = World::default();
    world
        .publish(&handoff("T1", "manager", &["w"]).write().unwrap())
        .unwrap();
    world.publish(&report("T1", "accepted")).unwrap();
    assert_eq!(
        world.refused(&report("T1", "completed")).0,
        Code::IllegalTransition
    );
    world.publish(&report("T1", "started")).unwrap();
    world
        .publish(&final_report("T1", "completed", "w"))
        .unwrap();
    assert_eq!(
        world.refused(&report("T1", "failed")).0,
        Code::IllegalTransition
    );
    assert_eq!(
        world.history("T1"),
        [Submitted, Accepted, Started, Completed]
    );
}

#[test]
fn a_reply_of_another_dialect_to_the_event_of_a_task_is_about_the_task() {
    for bound in [9, 1] {
        let mut world = World::bounded(bound, bound);
        let submitted = submit("t", None, "{}");
        world.publish(&submitted).unwrap();
        // With room for one it has left memory by now.
        world.publish(&submit("other", None, "{}")).unwrap();
        let reply = |to: &str| {
            Aee::event("agent.w", to, "task.started")
                .corr("CONV_0001")
                .reply_to(&id_of(&submitted))
                .build(&fresh("aee-reply"), NOW)
        };
        // An event's id is its sender's own.
        world.publish(&reply("agent.x")).unwrap();
        assert_eq!(world.state("t"), Some(Submitted));
        world.publish(&reply("agent.a")).unwrap();
        assert_eq!(world.state("t"), Some(Started));
        // It is no task's id: another may have it.
        let same = submit(&id_of(&submitted), None, "{}");
        world.publish(&same).unwrap();
        assert_eq!(world.state(&id_of(&submitted)), Some(Submitted));
        assert_eq!(world.history("t"), [Submitted, Started]);
    }
}
