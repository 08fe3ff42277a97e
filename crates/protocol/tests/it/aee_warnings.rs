//! What the AEE dialect warns about, and which of it strict mode refuses.

use interwire_protocol::{Act, AeePolicy};

use crate::aee_vectors::{TASK, codes, read, read_strictly, task_with};

#[test]
fn grammar_is_a_warning_in_lenient_mode_and_a_fault_in_strict_mode() {
    let ulid = "01KJHX7SJ00000000000000000";
    let cases = [
        (
            "2026-02-28T10:30:00.000Z",
            "not a date",
            "timestamp_malformed",
            "/ts",
        ),
        (
            "2026-02-28T10:30:00.000Z",
            "2026-02-28T10:30:00",
            "timestamp_malformed",
            "/ts",
        ),
        ("agent.alpha", "someone", "entity_form", "/from"),
        ("agent.alpha", "log.alpha", "entity_form", "/from"),
        ("agent.alpha", "agent.*", "entity_wildcard", "/from"),
        ("agent.beta", "agent:beta", "entity_form", "/to"),
        ("demo.work.do", "work", "intent_form", "/intent"),
        (
            "demo.work.do",
            "aee.protocol.explainer",
            "reserved_intent",
            "/intent",
        ),
        (ulid, "an id with spaces", "identity_malformed", "/id"),
        (
            "{\"n\":1}",
            "{\"source\":1}",
            "payload_form",
            "/payload/source",
        ),
    ];
    for (old, new, code, pointer) in cases {
        let text = task_with(old, new).replace(
            if pointer.starts_with("/payload") {
                "demo.work.do"
            } else {
                "\u{0}"
            },
            "ops.network.port.probe",
        );
        let lenient = read(&text, AeePolicy::Either);
        assert!(lenient.is_valid(), "{text}");
        assert!(
            codes(&lenient.warnings).contains(&(code, pointer)),
            "{lenient:#?}"
        );
        let strict = read_strictly(&text);
        assert!(
            codes(&strict.faults).contains(&(code, pointer)),
            "{strict:#?}"
        );
    }
}

#[test]
fn notices_never_refuse() {
    let id = r#""id":"01KJHX7SJ00000000000000000""#;
    let payload = r#""payload":{"n":1}"#;
    let requires = r#""requires":{"timeout_ms":1500}"#;
    let cases = [
        (id, r#""id":"opaque-but-fine""#, "id_form", "/id"),
        (
            id,
            r#""id":"01JFX7K2M4N8P1Q3R5S7T9V0W2""#,
            "id_time_skew",
            "/id",
        ),
        ("agent.beta", "log.aocl", "entity_form", "/to"),
        (
            r#""reply_to":null"#,
            r#""reply_to":"01KJHX7SJ00000000000000001""#,
            "reply_to_not_null",
            "/reply_to",
        ),
        (
            requires,
            r#""requires":{"timeout_ms":"soon"}"#,
            "requires_form",
            "/requires/timeout_ms",
        ),
        (
            requires,
            r#""requires":{"timeout_ms":-1}"#,
            "requires_form",
            "/requires/timeout_ms",
        ),
        (
            requires,
            r#""requires":{"min_confidence":1.1}"#,
            "requires_form",
            "/requires/min_confidence",
        ),
        (
            requires,
            r#""requires":{"decision_evidence":"all"}"#,
            "requires_form",
            "/requires/decision_evidence",
        ),
        (
            payload,
            r#""payload":{"references":{}}"#,
            "reference_form",
            "/payload/references",
        ),
        (
            payload,
            r#""payload":{"references":[{"id":"x","type":"aee.envelope"},{"type":"mail"}]}"#,
            "reference_form",
            "/payload/references/1/id",
        ),
        (
            payload,
            r#""payload":{"decision_evidence":{"confidence":2}}"#,
            "payload_form",
            "/payload/decision_evidence/confidence",
        ),
        (
            payload,
            r#""payload":{"decision_evidence":{"mood/~":1}}"#,
            "payload_form",
            "/payload/decision_evidence/mood~1~0",
        ),
    ];
    for (old, new, code, pointer) in cases {
        let text = task_with(old, new);
        for reading in [read(&text, AeePolicy::Both), read_strictly(&text)] {
            assert!(reading.is_valid(), "{reading:#?}");
            assert!(
                codes(&reading.warnings).contains(&(code, pointer)),
                "{reading:#?}"
            );
        }
    }
}

#[test]
fn decision_evidence_is_weighed_by_the_level_that_was_asked() {
    let result = |level: &str, payload: &str| {
        let text = TASK
            .replace(r#""type":"task""#, r#""type":"result""#)
            .replace(
                r#""reply_to":null"#,
                r#""reply_to":"01KJHX7SJ00000000000000001""#,
            )
            .replace(
                r#"{"timeout_ms":1500}"#,
                &format!(r#"{{"decision_evidence":"{level}"}}"#),
            )
            .replace(r#"{"n":1}"#, payload);
        let reading = read(&text, AeePolicy::Either);
        assert!(reading.is_valid());
        reading
            .warnings
            .into_iter()
            .map(|warning| warning.pointer)
            .collect::<Vec<_>>()
    };
    assert!(result("none", "{}").is_empty());
    assert_eq!(result("minimal", "{}"), ["/payload/decision_evidence"]);
    let some = r#"{"decision_evidence":{"decision":"yes","reason_summary":"it fits"}}"#;
    assert!(result("minimal", some).is_empty());
    assert_eq!(result("standard", some).len(), 4);
    assert_eq!(
        result("full", some).last().unwrap(),
        "/payload/decision_evidence/context_refs"
    );
}

#[test]
fn an_error_should_say_code_and_message() {
    let text = TASK
        .replace(r#""type":"task""#, r#""type":"error""#)
        .replace(
            r#""reply_to":null"#,
            r#""reply_to":"01KJHX7SJ00000000000000001""#,
        );
    let reading = read(&text, AeePolicy::Both);
    assert_eq!(
        codes(&reading.warnings),
        [
            ("error_payload_form", "/payload/code"),
            ("error_payload_form", "/payload/message")
        ]
    );
    assert_eq!(reading.header.unwrap().act, Act::Fail);
}

#[test]
fn the_ping_payload_is_closed() {
    let text = TASK.replace("demo.work.do", "aee.status.ping");
    let reading = read(&text, AeePolicy::Both);
    assert_eq!(codes(&reading.warnings), [("payload_form", "/payload/n")]);
    assert_eq!(reading.header.unwrap().act, Act::Query);
}
