use super::TaskState::{
    self, Accepted, Blocked, Cancelled, Completed, Failed, Output, Progress, Started, Submitted,
    TimedOut,
};
use super::{Limits, SERVICE, Tasks, history};
use crate::dialect::aee::{Aee, Builder};
use crate::dialect::aep::Aep;
use crate::dialect::uai::build::{
    Ack, Agent, Envelope, FinalReport, Handoff, Heading, Message, TaskStatus,
};
use crate::{Code, Fault, Header, Rules, Timestamp, decode};

const NOW: Timestamp = Timestamp::from_millis(1_782_907_200_000);

/// A journal of envelopes and the tasks they make.
#[derive(Default)]
struct World {
    tasks: Tasks,
    journal: Vec<(Timestamp, u64, Header)>,
}

impl World {
    fn bounded(open_max: usize, finished_max: usize) -> Self {
        let limits = Limits {
            open_max,
            finished_max,
        };
        Self {
            tasks: Tasks::bounded(limits),
            ..Self::default()
        }
    }

    /// Publishes as an exchange does: asks the journal first, then judges, labels and moves.
    fn publish(&mut self, text: &str) -> Result<(), Fault> {
        self.publish_at(NOW, text)
    }

    fn publish_at(&mut self, at: Timestamp, text: &str) -> Result<(), Fault> {
        let reading = decode(text.as_bytes(), &Rules::at(NOW));
        assert_eq!(reading.faults, [], "{text}");
        let mut header = reading.header.unwrap();
        for id in self.tasks.missing(&header) {
            self.recall(&id);
        }
        let verdict = self.tasks.judge(&header)?;
        if let Some(label) = self.tasks.label(&header, &verdict) {
            header.task = Some(label);
        }
        let sequence = self.journal.len() as u64 + 1;
        self.tasks.perform(at, sequence, &header, verdict);
        self.journal.push((at, sequence, header));
        Ok(())
    }

    fn rows(&self, id: &str) -> Vec<(Timestamp, u64, &Header)> {
        let speaks = |header: &Header| header.task.as_deref() == Some(id) || *header.id == *id;
        let rows = self.journal.iter().filter(|(_, _, header)| speaks(header));
        rows.map(|(at, sequence, header)| (*at, *sequence, header))
            .collect()
    }

    fn recall(&mut self, id: &str) {
        let mut tasks = std::mem::take(&mut self.tasks);
        let mut id = Some(Box::from(id));
        while let Some(next) = id {
            id = tasks.recall(&next, self.rows(&next));
        }
        self.tasks = tasks;
    }

    fn expire(&mut self, at: Timestamp) -> Vec<String> {
        let mut spoken = Vec::new();
        while self.tasks.next_due().is_some_and(|due| due <= at) {
            for text in self.tasks.expire(at) {
                self.publish_at(at, &text).unwrap();
                spoken.push(text);
            }
        }
        spoken
    }

    fn refused(&mut self, text: &str) -> (Code, String) {
        let fault = self.publish(text).unwrap_err();
        (fault.code, fault.detail)
    }

    fn state(&mut self, id: &str) -> Option<TaskState> {
        if self.tasks.is_missing(id) {
            self.recall(id);
        }
        self.tasks.get(id).map(|view| view.state)
    }

    fn history(&self, id: &str) -> Vec<TaskState> {
        let history = history(id, self.rows(id)).unwrap();
        history.lines.into_iter().map(|line| line.state).collect()
    }

    fn rebuilt(&self) -> Tasks {
        let mut tasks = Tasks::bounded(self.tasks.limits);
        for (at, sequence, header) in &self.journal {
            tasks.accept(*at, *sequence, header).unwrap();
        }
        tasks
    }
}

/// Every envelope gets an id of its own.
fn fresh(prefix: &str) -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("{prefix}-{:08}", NEXT.fetch_add(1, Ordering::Relaxed))
}

fn submit(task: &str, parent: Option<&str>, payload: &str) -> String {
    let event = Aep::event("task.submitted", "agent:a")
        .target("agent:w")
        .task(task);
    let event = match parent {
        Some(parent) => event.parent_task(parent),
        None => event,
    };
    event.payload_json(payload).build(&fresh("evt"), NOW)
}

fn report(task: &str, word: &str) -> String {
    let event = Aep::event(&format!("task.{word}"), "agent:w").target("agent:a");
    event.task(task).build(&fresh("evt"), NOW)
}

fn ask(from: &str, to: &str) -> Builder {
    Aee::task(from, to, "ops.check.run").corr("CONV_0001")
}

fn aee(kind: fn(&Header) -> Builder, request: &str, from: &str) -> String {
    let header = decode(request.as_bytes(), &Rules::at(NOW)).header.unwrap();
    kind(&header).from(from).build(&fresh("aee-reply"), NOW)
}

fn failed(cause: &Header) -> Builder {
    Aee::error_of(cause, "E_INTERNAL", "it broke")
}

fn agent(id: &str) -> Agent {
    Agent::new("agent", id)
}

fn heading(from: &str, to: &str) -> Heading {
    Heading {
        id: fresh("msg"),
        issued_at: NOW,
        source: agent(from),
        target: agent(to),
        conversation: "conv_1".into(),
    }
}

fn handoff(task: &str, from: &str, to: &[&str]) -> Envelope {
    let (first, others) = to.split_first().unwrap();
    let mut envelope =
        Handoff::new(task, "context", "reason", "do it").envelope(heading(from, first));
    for other in others {
        envelope = envelope.also_to(agent(other));
    }
    envelope
}

fn id_of(text: &str) -> String {
    decode(text.as_bytes(), &Rules::at(NOW)).id.unwrap()
}

fn final_report(task: &str, outcome: &str, from: &str) -> String {
    let report = FinalReport::new(task, outcome, "all of the work is done", "urn:evidence:1");
    report.envelope(heading(from, "manager")).write().unwrap()
}

fn parts(world: &World, id: &str) -> Vec<(String, TaskState)> {
    let view = world.tasks.get(id).unwrap();
    let part = |part: super::PartView| {
        (
            part.party.map_or("-".into(), |party| party.to_string()),
            part.state,
        )
    };
    view.parts.into_iter().map(part).collect()
}

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
    let asked = Aee::event("human.adam", "agent.w", super::CANCEL_INTENT).reply_to("aee-task-1");
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
