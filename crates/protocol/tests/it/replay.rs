//! Messages played again: new envelopes with the old payload, valid by the strictest reading, marked in
//! every dialect.

use interwire_protocol::dialect::aee::Aee;
use interwire_protocol::dialect::aep::Aep;
use interwire_protocol::dialect::uai::build::{Agent, Handoff, Heading, Message};
use interwire_protocol::replay::{Replay, compose};
use interwire_protocol::{
    AeePolicy, Code, Fault, Header, Mode, Party, Rules, Timestamp, decode, json,
};

const THEN: Timestamp = Timestamp::from_millis(1_772_274_600_000);
const NOW: Timestamp = Timestamp::from_millis(1_782_907_200_000);

fn read(envelope: &str, rules: Rules) -> Header {
    let (header, _) = decode(envelope.as_bytes(), &rules).into_result().unwrap();
    header
}

fn replay(envelope: &str, header: &Header, cause: Option<&str>) -> Result<String, Fault> {
    let (from, to) = (Party::parse("service:replay"), Party::parse("agent:test"));
    let replay = Replay {
        id: "replay-run-000001",
        from: &from,
        to: &to,
        conversation: "replay-run",
        cause,
        at: NOW,
        of: "0000001a-1-30",
        accepted_at: THEN,
    };
    compose(envelope.as_bytes(), header, &replay)
}

/// The replay of an envelope, and what it reads as.
fn played(envelope: &str, cause: Option<&str>) -> (String, Header) {
    let original = read(envelope, Rules::at(THEN));
    let text = replay(envelope, &original, cause).unwrap();
    let strict = Rules {
        mode: Mode::Strict,
        aee_policy: AeePolicy::Both,
        ..Rules::at(NOW)
    };
    let reading = decode(text.as_bytes(), &strict);
    let faults: Vec<_> = reading
        .faults
        .iter()
        .filter(|fault| fault.code != Code::IdForm)
        .collect();
    assert!(faults.is_empty(), "{faults:?} {text}");
    let header = read(&text, Rules::at(NOW));
    assert_eq!(&*header.id, "replay-run-000001");
    assert_eq!(header.sender.as_str(), "service:replay");
    assert_eq!(header.recipients, [Party::parse("agent:test")]);
    assert_eq!(header.conversation.as_deref(), Some("replay-run"));
    assert_eq!(header.kind, original.kind);
    assert_eq!(header.replay_of.as_deref(), Some("0000001a-1-30"));
    assert!(header.step.is_none() && header.flow.is_none() && header.settles.is_none());
    assert!(header.topics.is_empty() && header.session.is_none());
    (text, header)
}

/// One member of both, byte for byte.
fn same(original: &str, replay: &str, member: &str) {
    let member_of = |text: &str| {
        let document = json::read(text.as_bytes(), json::Limits::default()).unwrap();
        document.root().get(member).unwrap().raw().to_owned()
    };
    assert_eq!(member_of(original), member_of(replay));
}

#[test]
fn an_aee_task_keeps_its_payload_and_everything_it_asks_for() {
    let task = Aee::task("human.adam", "agent.sentinel", "quox.security.scan")
        .corr("CONV_0001")
        .reply_to("message-0")
        .requires("{\"timeout_ms\": 30000}")
        .payload_json("{\"n\": 1.50,  \"text\": \"\\u00fc\"}")
        .sig_json("{\"alg\":\"ed25519\",\"value\":\"x\"}")
        .build("message-1", THEN);
    let task = task.replace("{\"v\":", "{\"x_note\": [1,  2],\"v\":");
    let (text, header) = played(&task, Some("replay-run-000000"));
    for member in ["payload", "requires", "priority", "intent", "x_note"] {
        same(&task, &text, member);
    }
    assert_eq!(header.cause.as_deref(), Some("replay-run-000000"));
    assert!(text.contains("\"sig\":null"), "{text}");
    let (without, _) = played(&task, None);
    assert!(without.contains("\"reply_to\":null"), "{without}");
}

#[test]
fn an_aee_result_whose_cause_is_not_played_still_says_what_it_answers() {
    let task = Aee::task("human.adam", "agent.sentinel", "quox.security.scan")
        .corr("CONV_0001")
        .build("message-1", THEN);
    let result = Aee::result_of(&read(&task, Rules::at(THEN))).build("message-2", THEN);
    let (_, header) = played(&result, None);
    assert_eq!(header.cause.as_deref(), Some("message-1"));
}

#[test]
fn an_aep_event_loses_its_session_topic_and_cost_and_keeps_its_payload() {
    let event = Aep::event("task.submitted", "agent:planner")
        .target("agent:worker")
        .topic("ops")
        .session("s-1")
        .conversation("conv_1")
        .correlation("corr_1")
        .cause("evt_0")
        .task("task_1")
        .expires_at(THEN.plus_millis(5_000))
        .member("tenant_id", "t")
        .member("budget_id", "b")
        .member_json("budget_cost", "3")
        .delivery("at_least_once", Some(1), None)
        .payload_json("{\"description\":  \"x\", \"n\":1.0}")
        .build("evt_1", THEN);
    let (text, header) = played(&event, Some("replay-run-000000"));
    for member in ["payload", "type", "task_id", "delivery"] {
        same(&event, &text, member);
    }
    assert!(!text.contains("budget_cost"), "{text}");
    assert_eq!(header.deadline, Some(NOW.plus_millis(5_000)));
    // A broadcast without any of them gets what it needs.
    let plain = Aep::event("memory.fact.added", "memory:main")
        .payload_json("{\"fact_id\":\"f\",\"value\":1}")
        .build("evt_2", THEN);
    let (text, _) = played(&plain, None);
    same(&plain, &text, "payload");
}

#[test]
fn a_uai_body_is_the_same_and_a_handoff_names_its_new_recipient() {
    let heading = || Heading {
        id: "msg_1".into(),
        issued_at: THEN,
        source: Agent::new("agent", "manager"),
        target: Agent::new("agent", "worker1"),
        conversation: "grp_1".into(),
    };
    let message = Message::new("directive", "Check every partition: \u{fc}.")
        .envelope(heading())
        .also_to(Agent::new("agent", "worker2"))
        .expires_at(THEN.plus_millis(60_000))
        .write()
        .unwrap();
    let (text, header) = played(&message, Some("replay-run-000000"));
    same(&message, &text, "body");
    assert_eq!(header.deadline, Some(NOW.plus_millis(60_000)));
    let handoff = Handoff::new("task_42", "All of it.", "parallelization", "Begin.")
        .envelope(heading())
        .write()
        .unwrap();
    let (text, _) = played(&handoff, None);
    assert!(text.contains("\"target_agent_id\":\"test\""), "{text}");
    assert!(
        text.contains("\"context_summary\":\"All of it.\""),
        "{text}"
    );
}

#[test]
fn the_replay_of_a_replay_has_one_mark() {
    let task = Aee::task("human.adam", "agent.sentinel", "quox.security.scan")
        .corr("CONV_0001")
        .build("message-1", THEN);
    let (once, _) = played(&task, None);
    let (twice, _) = played(&once, None);
    assert_eq!(twice.matches("interwire_replay").count(), 1, "{twice}");
}

#[test]
fn what_can_never_be_delivered_is_not_played() {
    let record = r#"{"v":"1","id":"01JFX7K2M4N8P1Q3R5S7T9V0W2","type":"event","from":"agent.a","intent":"ops.backup.check"}"#;
    let rules = Rules {
        aee_policy: AeePolicy::Log,
        ..Rules::at(THEN)
    };
    let fault = replay(record, &read(record, rules), None).unwrap_err();
    assert_eq!(fault.code, Code::LogTierOnly);
}
