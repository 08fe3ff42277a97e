//! AEP task events move a state machine, once each, also after a restart.

use crate::world::{Message, World};
use protocol::{Code, DialectName, Rules, dialect};

/// A real task event; `None` when this build reads no AEP at all.
fn task_event(id: &str, kind: &str, payload: &str) -> Option<Message> {
    let text = format!(
        r#"{{"spec_version":"0.2","id":"{id}","type":"{kind}","source":"agent:a","target":"agent:b",
        "created_at":"2026-02-28T10:30:00Z","task_id":"t1","payload":{payload}}}"#
    );
    let world = World::new();
    let reading = dialect::decode_as(text.as_bytes(), DialectName::Aep, &Rules::at(world.now));
    assert_eq!(reading.faults, [], "{kind} should be valid");
    let header = reading.header?;
    Some(Message {
        header,
        envelope: text.into_bytes().into(),
    })
}

#[test]
fn a_repeated_task_event_is_a_duplicate_and_an_illegal_one_is_refused_also_after_a_restart() {
    let submit = r#"{"task_id":"t1","state":"accepted","description":"x"}"#;
    let complete = r#"{"task_id":"t1","state":"completed","summary":"x","result":{}}"#;
    let events = (
        task_event("e1", "task.submitted", submit),
        task_event("e2", "task.submitted", submit),
        task_event("e3", "task.completed", complete),
    );
    let (Some(submitted), Some(second), Some(completed)) = events else {
        println!("skipped: this build reads no AEP events");
        return;
    };
    let mut world = World::new();
    assert!(!world.publish(submitted.clone()).duplicate);
    for mut world in [world.rebuilt(), world] {
        assert!(world.publish(submitted.clone()).duplicate);
        assert_eq!(world.refusal(second.clone()).0, Code::DuplicateTask);
        assert_eq!(world.exchange.counts().dedupe_entries, 1);
        assert_eq!(world.refusal(completed.clone()).0, Code::IllegalTransition);
    }
}
