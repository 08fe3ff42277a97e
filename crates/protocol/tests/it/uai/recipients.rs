//! Recipients, modes and topics in both carriages (UAI 9.1 to 9.4).

use interwire_protocol::dialect::uai::build::{Agent, Handoff, Message};
use interwire_protocol::{Code, Mode, Party, Rules, decode};

use super::{agent, directive, edited, found, header, heading, lenient, now, read, strict};

const SECOND: &str = r#"{"type":"agent","id":"c","label":"c"}"#;

fn record(payload: &str) -> String {
    format!(
        r#"[{{"namespace":"urn:uai:ext:multi-agent","version":"1","required":false,"payload":{payload}}}]"#
    )
}

/// The directive to `b` and `c` for peers that take twelve members only.
fn carried() -> String {
    let list = record(&format!(r#"{{"additional_targets":[{SECOND}]}}"#));
    edited(&directive().write().unwrap(), &[("/extensions", &list)])
}

#[test]
fn both_carriages_name_the_same_recipients() {
    let native = directive().also_to(agent("c")).write().unwrap();
    assert_eq!(header(&native).recipients, header(&carried()).recipients);
    assert!(strict(&carried()).is_valid());
    assert_eq!(
        found(&strict(&native).faults),
        ["undeclared_field /additional_targets"]
    );
}

#[test]
fn both_carriages_at_once_must_agree() {
    let list = format!("[{SECOND}]");
    let agreeing = edited(&carried(), &[("/additional_targets", &list)]);
    assert_eq!(header(&agreeing).recipients.len(), 2);
    let spaced = edited(
        &carried(),
        &[(
            "/additional_targets",
            r#"[{"label":"c","id":"c","type":"agent"}]"#,
        )],
    );
    assert!(lenient(&spaced).is_valid());
    let other = edited(
        &carried(),
        &[(
            "/additional_targets",
            r#"[{"type":"agent","id":"d","label":"d"}]"#,
        )],
    );
    assert_eq!(
        found(&lenient(&other).faults),
        ["multi_target_carriage_conflict /additional_targets"]
    );
}

#[test]
fn a_list_of_targets_is_an_array_of_one_or_more_agents() {
    for list in ["[]", "null", "{}", "\"c\""] {
        let text = edited(
            &directive().write().unwrap(),
            &[("/additional_targets", list)],
        );
        assert_eq!(
            found(&lenient(&text).faults),
            ["additional_targets_malformed /additional_targets"],
            "{list}"
        );
    }
    let text = edited(
        &directive().write().unwrap(),
        &[("/additional_targets", r#"[{"type":"agent","id":" "},7]"#)],
    );
    assert_eq!(
        found(&lenient(&text).faults),
        [
            "identity_malformed /additional_targets/0/id",
            "missing_field /additional_targets/0/label",
            "type_mismatch /additional_targets/1",
        ]
    );
}

#[test]
fn a_recipient_is_named_once_whatever_its_type() {
    let text = directive()
        .also_to(agent("c"))
        .also_to(Agent::new("human", "b"))
        .write()
        .unwrap();
    assert_eq!(
        found(&lenient(&text).faults),
        ["duplicate_target /additional_targets/1/id"]
    );
}

#[test]
fn two_hundred_and_fifty_six_recipients_are_the_most() {
    let to = |count: usize| {
        (1..count)
            .fold(directive(), |envelope, n| {
                envelope.also_to(agent(&format!("n{n}")))
            })
            .write()
            .unwrap()
    };
    assert_eq!(header(&to(256)).recipients.len(), 256);
    assert_eq!(
        found(&lenient(&to(257)).faults),
        ["too_many_targets /additional_targets"]
    );
    let mut rules = Rules::at(now());
    rules.recipients_max = 1;
    assert_eq!(
        decode(to(2).as_bytes(), &rules).faults[0].code,
        Code::TooManyTargets
    );
}

#[test]
fn a_sender_among_its_recipients_is_only_noted() {
    let reading = lenient(&directive().also_to(agent("a")).write().unwrap());
    assert!(reading.is_valid());
    assert_eq!(found(&reading.warnings), ["sender_is_recipient /source/id"]);
}

#[test]
fn an_agent_type_cannot_pass_for_another_party() {
    let forged = edited(
        &directive().write().unwrap(),
        &[("/source/type", "\"agent:x\"")],
    );
    assert_eq!(
        found(&lenient(&forged).faults),
        ["identity_malformed /source/type"]
    );
}

#[test]
fn a_group_stays_a_channel() {
    let text = directive()
        .also_to(Agent::new("group", "grp_x"))
        .mode("broadcast")
        .write()
        .unwrap();
    let recipients = header(&text).recipients;
    assert_eq!(recipients[1], Party::parse("group:grp_x"));
    assert!(recipients[1].is_channel());
}

#[test]
fn a_pubsub_message_is_addressed_to_its_broker() {
    let to = |kind: &str| {
        Message::new("notification", "x")
            .envelope(heading("m", agent("a"), Agent::new(kind, "hub")))
            .mode("pubsub")
            .topic("a.b")
    };
    let published = header(&to("runtime").topic("c").write().unwrap());
    assert!(published.recipients.is_empty());
    assert_eq!(published.topics, ["a.b".into(), "c".into()]);
    let with_named = header(&to("runtime").also_to(agent("n")).write().unwrap());
    assert_eq!(with_named.recipients, [Party::parse("agent:n")]);
    let to_agent = header(&to("agent").write().unwrap());
    assert_eq!(to_agent.recipients, [Party::parse("agent:hub")]);
}

#[test]
fn the_record_carries_mode_and_topic_too() {
    let list = record(r#"{"delivery_mode":"pubsub","topic":["a","b"]}"#);
    let base = directive().mode("event").write().unwrap();
    let text = edited(
        &base,
        &[("/extensions", &list), ("/target/type", "\"runtime\"")],
    );
    assert!(strict(&text).is_valid());
    let header = header(&text);
    assert_eq!(header.topics, ["a".into(), "b".into()]);
    assert!(header.recipients.is_empty());
}

#[test]
fn topics_belong_to_pubsub_and_event() {
    let cases = [
        (directive().mode("event").topic("a"), vec![]),
        (directive().mode("event"), vec![]),
        (
            directive().mode("pubsub"),
            vec!["topic_missing /delivery/topic"],
        ),
        (
            directive().topic("a"),
            vec!["topic_unexpected /delivery/topic"],
        ),
        (
            directive().mode("broadcast").topic("a"),
            vec!["topic_unexpected /delivery/topic"],
        ),
        (
            directive().mode("pubsub").topic("a.*"),
            vec!["topic_malformed /delivery/topic"],
        ),
        (
            directive().mode("pubsub").topic("a").topic("a"),
            vec!["topic_malformed /delivery/topic/1"],
        ),
    ];
    for (envelope, expected) in cases {
        let text = envelope.write().unwrap();
        assert_eq!(found(&lenient(&text).faults), expected, "{text}");
    }
    let empty = edited(
        &directive().mode("pubsub").write().unwrap(),
        &[("/delivery/topic", "[]")],
    );
    assert_eq!(
        found(&lenient(&empty).faults),
        ["topic_malformed /delivery/topic"]
    );
    let many = (0..17).fold(directive().mode("pubsub"), |e, n| e.topic(&format!("t{n}")));
    let many = lenient(&many.write().unwrap());
    assert_eq!(found(&many.faults), ["topic_malformed /delivery/topic"]);
}

#[test]
fn an_unknown_mode_is_async_with_a_note_and_refused_in_strict_mode() {
    let text = directive().mode("carrier-pigeon").write().unwrap();
    let reading = lenient(&text);
    assert!(reading.is_valid());
    assert_eq!(
        found(&reading.warnings),
        ["unknown_mode_as_async /delivery/mode"]
    );
    assert_eq!(
        found(&strict(&text).faults),
        ["delivery_mode_unknown /delivery/mode"]
    );
    for mode in ["broadcast", "pubsub"] {
        let text = directive().mode(mode).topic("a").write().unwrap();
        let codes = found(&strict(&text).faults);
        assert!(
            codes.contains(&"delivery_mode_unknown /delivery/mode".to_owned()),
            "{codes:?}"
        );
    }
}

#[test]
fn a_handoff_names_a_recipient_and_assigns_only_recipients() {
    let handoff = Handoff::new("t", "s", "r", "n")
        .envelope(heading("m", agent("a"), agent("b")))
        .also_to(agent("c"))
        .write()
        .unwrap();
    assert!(lenient(&handoff).is_valid());
    let second = edited(&handoff, &[("/body/target_agent_id", "\"c\"")]);
    assert!(lenient(&second).is_valid());
    let stranger = edited(&handoff, &[("/body/target_agent_id", "\"d\"")]);
    assert_eq!(
        found(&lenient(&stranger).faults),
        ["handoff_target_not_recipient /body/target_agent_id"]
    );
    let assigned = |ids: &[&str]| {
        let list: Vec<String> = ids
            .iter()
            .map(|id| format!(r#"{{"agent_id":"{id}","exact_next_action":"do"}}"#))
            .collect();
        let records = format!(
            r#"[{{"namespace":"urn:uai:ext:assignment","version":"1","required":true,"payload":{{"assignments":[{}]}}}}]"#,
            list.join(",")
        );
        found(&lenient(&edited(&handoff, &[("/extensions", &records)])).faults)
    };
    let at = "/extensions/0/payload/assignments";
    assert!(assigned(&["b", "c"]).is_empty());
    assert_eq!(
        assigned(&["b", "d"]),
        [format!("assignment_malformed {at}/1/agent_id")]
    );
    assert_eq!(
        assigned(&["b", "b"]),
        [format!("assignment_malformed {at}/1/agent_id")]
    );
    assert_eq!(assigned(&[]), [format!("too_short {at}")]);
}

/// The multi-agent report draws a handoff that names one worker as target and another as assignee,
/// and leaves out what agent packets need (UAI 10 G8). Its multi-target part must still be understood.
#[test]
fn the_handoff_of_the_report_is_judged_member_by_member() {
    let text = r#"{"uai_version":"1.0","profile":"uai.agent.handoff.v1","message_id":"msg_g8",
      "source":{"type":"agent","id":"agt_manager","label":"Manager"},
      "target":{"type":"agent","id":"agt_worker1","label":"Worker 1"},
      "additional_targets":[{"type":"agent","id":"agt_worker2","label":"Worker 2"}],
      "conversation":{"conversation_id":"conv_1"},
      "delivery":{"mode":"async","ack_required":true},
      "trust":{"channel":"public-web","auth_scheme":"none","principal":"agt_manager"},
      "body":{"task_id":"task_42","context_summary":"Process dataset X",
        "handoff_reason":"parallelization","exact_next_action":"Process partition Y",
        "target_agent_id":"agt_worker2"},
      "provenance":{"issued_at":"2026-07-01T11:59:00Z"},
      "integrity":{"algorithm":"sha-256","canonicalization":"RFC8785","checksum":""},
      "extensions":[]}"#;
    assert_eq!(
        found(&read(&edited(text, &[]), Mode::Lenient).faults),
        [
            "missing_field /body/delegated_authorization",
            "missing_field /body/support_boundary",
            "correlation_id_missing /conversation/correlation_id",
            "idempotency_key_missing /delivery/idempotency_key",
            "fallback_directive_missing /delivery/fallback_directive",
        ]
    );
}
