//! One event by itself: every rule, its code and its pointer.

use interwire_protocol::dialect::aep::{Aep, look_alike};
use interwire_protocol::json::{self, Limits};
use interwire_protocol::task::Step;
use interwire_protocol::{
    Act, Code, DialectName, Header, Party, Priority, Reading, Rules, Timestamp, decode, digest,
};

use super::{NOW, lenient, strict};

const BASE: &str = r#"{"spec_version":"0.2","id":"e","type":"task.progress","source":"agent:a","created_at":"2026-07-14T10:00:00Z","task_id":"t","payload":{}}"#;

fn read(text: &str, rules: &Rules) -> Reading {
    decode(text.as_bytes(), rules)
}

fn faults(text: &str, rules: &Rules) -> Vec<(Code, String)> {
    read(text, rules)
        .faults
        .into_iter()
        .map(|fault| (fault.code, fault.pointer))
        .collect()
}

fn header(text: &str) -> Header {
    let reading = read(text, &strict());
    assert!(reading.is_valid(), "{:?}", reading.faults);
    reading.header.unwrap()
}

/// The base event with more members in front of its payload.
fn with(members: &str) -> String {
    BASE.replace(r#""payload""#, &format!(r#"{members},"payload""#))
}

fn of_type(kind: &str, payload: &str) -> String {
    BASE.replace("task.progress", kind).replace("{}", payload)
}

#[test]
fn an_event_gives_the_facts_that_an_exchange_acts_on() {
    let text = Aep::event("task.submitted", "agent:planner")
        .target("tool:crawler")
        .topic("tasks.t1")
        .session("s1")
        .conversation("c1")
        .task("t1")
        .correlation("k1")
        .cause("e0")
        .expires_at(NOW.plus_millis(5))
        .delivery("at_least_once", Some(7), Some("x:7"))
        .payload_json(r#"{"priority":"critical"}"#)
        .build("e1", NOW);
    let found = header(&text);
    assert_eq!(found.dialect, DialectName::Aep);
    assert_eq!(
        (&*found.id, found.dedupe_key(), &*found.kind),
        ("e1", "e1", "task.submitted")
    );
    assert_eq!(found.sender, Party::parse("agent:planner"));
    assert_eq!(found.act, Act::Request);
    assert_eq!(found.recipients, [Party::parse("tool:crawler")]);
    assert_eq!(found.topics, [Box::from("tasks.t1")]);
    assert_eq!(found.session.as_deref(), Some("s1"));
    assert_eq!(found.conversation.as_deref(), Some("c1"));
    assert_eq!(found.correlation.as_deref(), Some("k1"));
    assert_eq!(found.cause.as_deref(), Some("e0"));
    assert_eq!(found.task.as_deref(), Some("t1"));
    assert_eq!(found.priority, Priority::Urgent);
    assert_eq!(found.deadline, Some(NOW.plus_millis(5)));
    assert_eq!(found.fingerprint, digest(text.as_bytes()));
    assert!(matches!(found.step, Some(Step::Open(_))));
}

#[test]
fn a_correlation_stands_in_for_a_conversation_and_empty_text_for_nothing() {
    let found = header(&with(
        r#""correlation_id":"k","target":"","topic":"","session_id":"""#,
    ));
    assert_eq!(found.conversation.as_deref(), Some("k"));
    assert_eq!(
        (found.recipients.len(), found.topics.len(), found.session),
        (0, 0, None)
    );
}

#[test]
fn only_task_events_take_their_task_from_the_payload() {
    let bare = BASE.replace(r#""task_id":"t","#, "");
    let task = |kind: &str| {
        header(
            &bare
                .replace("task.progress", kind)
                .replace("{}", r#"{"task_id":"p"}"#),
        )
        .task
    };
    assert_eq!(task("task.progress").as_deref(), Some("p"));
    assert_eq!(task("agent.message.sent"), None);
}

#[test]
fn acts_and_steps_follow_the_type() {
    for (kind, act, moves) in [
        ("task.started", Act::Start, true),
        ("task.cancel.requested", Act::CancelRequest, true),
        ("task.timed_out", Act::TimeOut, true),
        ("tool.call.completed", Act::Complete, false),
        ("query.response", Act::Answer, false),
        ("event.acknowledged", Act::Ack, false),
        ("event.rejected", Act::Reject, false),
        ("subscription.rejected", Act::Control, false),
        ("interruption.acknowledged", Act::Inform, false),
        ("session.heartbeat", Act::Control, false),
    ] {
        let found = header(&of_type(kind, "{}"));
        assert_eq!((found.act, found.step.is_some()), (act, moves), "{kind}");
    }
    assert!(
        header(&of_type("session.heartbeat", "{}").replace(
            r#""payload""#,
            r#""delivery":{"mode":"best_effort"},"payload""#
        ))
        .flow
        .is_some()
    );
}

#[test]
fn required_members_are_reported_in_the_order_of_the_table_after_what_is_there() {
    assert_eq!(
        faults(r#"{"source":5,"spec_version":"0.2"}"#, &lenient()),
        [
            (Code::TypeMismatch, "/source".into()),
            (Code::MissingField, "/id".into()),
            (Code::MissingField, "/type".into()),
            (Code::MissingField, "/created_at".into()),
            (Code::MissingField, "/payload".into()),
        ]
    );
}

#[test]
fn faults_come_in_document_order_whatever_rule_found_them() {
    let text = r#"{"payload":{"context_key":7},"expires_at":"soon","type":"context.invalidated","created_at":"July 2026","spec_version":"9.9","id":"","source":"a"}"#;
    assert_eq!(
        faults(text, &lenient()),
        [
            (Code::TypeMismatch, "/payload/context_key".into()),
            (Code::TimestampMalformed, "/expires_at".into()),
            (Code::TimestampMalformed, "/created_at".into()),
            (Code::UnsupportedVersion, "/spec_version".into()),
            (Code::TooShort, "/id".into()),
        ]
    );
}

#[test]
fn every_constraint_of_the_envelope_has_its_code_and_pointer() {
    for (member, code, pointer) in [
        (r#""target":null"#, Code::NullNotAllowed, "/target"),
        (r#""topic":1"#, Code::TypeMismatch, "/topic"),
        (r#""delivery":[]"#, Code::TypeMismatch, "/delivery"),
        (
            r#""delivery":{"mode":"twice"}"#,
            Code::EnumUnknown,
            "/delivery/mode",
        ),
        (
            r#""delivery":{"sequence":-1}"#,
            Code::OutOfRange,
            "/delivery/sequence",
        ),
        (
            r#""delivery":{"sequence":1.5}"#,
            Code::TypeMismatch,
            "/delivery/sequence",
        ),
        (
            r#""delivery":{"cursor":1}"#,
            Code::TypeMismatch,
            "/delivery/cursor",
        ),
        (
            r#""belief_status":"certain""#,
            Code::EnumUnknown,
            "/belief_status",
        ),
        (r#""confidence":1.01"#, Code::OutOfRange, "/confidence"),
        (r#""stale_after":"""#, Code::TooShort, "/stale_after"),
        (
            r#""valid_until":"2026-02-30T00:00:00Z""#,
            Code::TimestampMalformed,
            "/valid_until",
        ),
        (
            r#""evidence_chain":[{"source":"a"}]"#,
            Code::MissingField,
            "/evidence_chain/0/id",
        ),
        (
            r#""attestation_count":-1"#,
            Code::OutOfRange,
            "/attestation_count",
        ),
    ] {
        assert_eq!(
            faults(&with(member), &lenient()),
            [(code, pointer.into())],
            "{member}"
        );
    }
    assert_eq!(faults(&with(r#""expires_at":null"#), &strict()), []);
    assert_eq!(faults(&BASE.replace("{}", "null"), &strict()), []);
}

#[test]
fn a_uri_is_judged_in_strict_mode_only() {
    let text = with(r#""refresh_hint":"not a uri""#);
    assert_eq!(faults(&text, &lenient()), []);
    assert_eq!(
        faults(&text, &strict()),
        [(Code::PatternMismatch, "/refresh_hint".into())]
    );
    assert_eq!(faults(&with(r#""refresh_hint":"urn:x:1""#), &strict()), []);
}

#[test]
fn unknown_types_are_refused_or_carried_by_mode_and_ill_formed_ones_never_pass() {
    let unknown = of_type("com.example.custom", "{}");
    assert_eq!(
        faults(&unknown, &strict()),
        [(Code::InvalidEventType, "/type".into())]
    );
    let carried = read(&unknown, &lenient());
    assert_eq!(carried.warnings[0].code, Code::UnknownEventType);
    assert_eq!(carried.header.unwrap().act, Act::Inform);
    for rules in [strict(), lenient()] {
        let bad = of_type("Task.progress", "{}");
        assert_eq!(
            faults(&bad, &rules),
            [(Code::PatternMismatch, "/type".into())]
        );
    }
}

#[test]
fn the_older_version_member_is_accepted_only_on_demand() {
    let old = BASE.replace(r#""spec_version":"0.2""#, r#""aep_version":"0.1""#);
    let asked = Rules {
        aep_accept_0_1: true,
        ..strict()
    };
    assert_eq!(
        faults(&old, &strict()),
        [(Code::MissingField, "/spec_version".into())]
    );
    let reading = read(&old, &asked);
    assert!(reading.is_valid());
    assert_eq!(reading.warnings[0].code, Code::LegacyVersion);
    let older = old.replace("0.1", "0.0");
    assert_eq!(
        faults(&older, &asked),
        [(Code::UnsupportedVersion, "/aep_version".into())]
    );
    assert_eq!(faults(&with(r#""aep_version":"0.1""#), &strict()), []);
    assert_eq!(
        faults(&BASE.replace("0.2", "0.1"), &asked),
        [(Code::UnsupportedVersion, "/spec_version".into())]
    );
}

#[test]
fn subscriptions_must_say_what_they_want() {
    let filter = |payload: &str| faults(&of_type("subscription.requested", payload), &lenient());
    for payload in ["{}", r#"{"session_id":"s"}"#, r#"{"types":""}"#] {
        assert_eq!(
            filter(payload),
            [(Code::SubscriptionRejected, "/payload".into())],
            "{payload}"
        );
    }
    assert_eq!(filter(r#"{"types":["task.*"],"x":1}"#), []);
    assert_eq!(
        filter(r#"{"topic":"t","types":42}"#),
        [(Code::TypeMismatch, "/payload/types".into())]
    );
    assert_eq!(
        filter(r#"{"types":["a",1]}"#),
        [(Code::TypeMismatch, "/payload/types/1".into())]
    );
    assert_eq!(
        filter(r#"{"types":"*","delivery_mode":"later"}"#),
        [(Code::EnumUnknown, "/payload/delivery_mode".into())]
    );
    assert_eq!(filter("[]"), [(Code::TypeMismatch, "/payload".into())]);
}

#[test]
fn commands_and_queries_must_name_whom_they_ask() {
    let command = of_type("command.requested", "{}");
    assert_eq!(
        faults(&command, &lenient()),
        [(Code::InvalidCommand, "/target".into())]
    );
    assert_eq!(faults(&command, &strict()).len(), 2);
    let query = of_type("query.requested", r#"{"query_scope":""}"#);
    assert_eq!(
        faults(&query, &lenient()),
        [
            (Code::InvalidQuery, "/payload/query_scope".into()),
            (Code::InvalidQuery, "/target".into()),
        ]
    );
}

#[test]
fn a_cancellation_must_name_its_task_and_a_budget_its_limit() {
    let cancel = of_type("task.cancel.requested", "{}").replace(r#""task_id":"t","#, "");
    assert_eq!(
        faults(&cancel, &lenient()),
        [(Code::UnknownTask, "/task_id".into())]
    );
    let budget = |payload: &str| {
        faults(
            &of_type("adaptation.budget.established", payload),
            &strict(),
        )
    };
    assert_eq!(
        budget(r#"{"budget_id":"b","limit":"50"}"#),
        [(Code::TypeMismatch, "/payload/limit".into())]
    );
    assert_eq!(budget(r#"{"scope_type":"goal","scope_id":"g"}"#), []);
}

#[test]
fn a_claim_of_rights_that_cannot_be_read_is_refused_and_without_an_action_there_is_none() {
    let claim = r#""actor_id":7,"requested_action":"event.publish","tenant_id":"a","target_tenant_id":"a","roles":["publisher"]"#;
    assert_eq!(
        faults(&with(claim), &lenient()),
        [(Code::TypeMismatch, "/actor_id".into())]
    );
    let fixed = claim.replace('7', r#""x""#);
    assert_eq!(faults(&with(&fixed), &lenient()), []);
    let denied = read(&with(&fixed.replace("publisher", "viewer")), &lenient());
    assert_eq!(denied.faults[0].detail, "governance denied: missing_role");
    assert_eq!(
        faults(
            &with(r#""actor_id":7,"tenant_id":{},"roles":"x","budget_cost":"5""#),
            &strict()
        ),
        []
    );
}

#[test]
fn an_event_without_a_version_is_still_recognised_and_other_formats_are_not() {
    let bare = BASE.replace(r#""spec_version":"0.2","#, "");
    let reading = read(&bare, &strict());
    assert_eq!(reading.dialect, Some(DialectName::Aep));
    assert_eq!(
        (reading.id.as_deref(), reading.label.as_deref()),
        (Some("e"), Some("task.progress"))
    );
    for text in [
        r#"{"source":"a","type":"x","payload":{}}"#,
        r#"{"source":{"id":"a"},"type":"x.y","payload":{}}"#,
        r#"{"specversion":"1.0","id":"1","source":"/a","type":"com.x.y","data":{}}"#,
        r#"{"v":"1","spec_version":"0.2"}"#,
        r#"[{"spec_version":"0.2"}]"#,
    ] {
        assert_ne!(
            read(text, &lenient()).dialect,
            Some(DialectName::Aep),
            "{text}"
        );
    }
}

#[test]
fn the_other_protocol_of_the_same_name_is_told_apart() {
    let other = r#"{"aep":"0.1","id":"1","type":"run.started","source":"agent://x","time":"2026-07-14T10:00:00Z","session":"s","epoch":0,"seq":1,"data":{}}"#;
    let document = |text| json::read(text, Limits::default()).unwrap();
    assert_eq!(
        look_alike(document(other.as_bytes()).root()).map(|fault| fault.code),
        Some(Code::ForeignFormat)
    );
    assert_ne!(read(other, &lenient()).dialect, Some(DialectName::Aep));
    let ours = with(r#""aep":true"#);
    assert_eq!(look_alike(document(ours.as_bytes()).root()), None);
    assert!(read(&ours, &strict()).is_valid());
}

#[test]
fn built_events_escape_what_they_are_given() {
    let text = Aep::event("agent.message.sent", "agent:\"q\"")
        .member("note", "a\\b\n")
        .member_json("n", "1.50")
        .build("e\u{1}", Timestamp::from_millis(0));
    let found = header(&text);
    assert_eq!(
        (&*found.id, found.sender.as_str()),
        ("e\u{1}", "agent:\"q\"")
    );
    assert!(text.contains(r#""n":1.50"#));
}
