//! Our own AEE envelopes: what each policy and mode makes of them, fault by fault.

use interwire_protocol::dialect::aee::Aee;
use interwire_protocol::dialect::decode_as;
use interwire_protocol::{
    Act, AeePolicy, Code, Dialect as _, DialectName, Intake, Mode, Party, Priority, Reading, Rules,
    Timestamp, decode,
};

const NOW: Timestamp = Timestamp::from_millis(1_772_274_600_000);
pub const TASK: &str = r#"{"v":"1","id":"01KJHX7SJ00000000000000000","ts":"2026-02-28T10:30:00.000Z","type":"task","from":"agent.alpha","to":"agent.beta","intent":"demo.work.do","corr":"01KJHX7SJ00000000000000000","reply_to":null,"trace":null,"priority":"high","requires":{"timeout_ms":1500},"payload":{"n":1},"sig":null}"#;

pub fn read(text: &str, policy: AeePolicy) -> Reading {
    decode(text.as_bytes(), &Rules::at(NOW).policy(policy))
}

pub fn read_strictly(text: &str) -> Reading {
    decode(text.as_bytes(), &Rules::at(NOW).mode(Mode::Strict))
}

/// `TASK` with one piece of its text replaced.
pub fn task_with(old: &str, new: &str) -> String {
    assert!(TASK.contains(old), "{old}");
    TASK.replace(old, new)
}

pub fn codes(faults: &[interwire_protocol::Fault]) -> Vec<(&str, &str)> {
    faults
        .iter()
        .map(|fault| (fault.code.as_str(), fault.pointer.as_str()))
        .collect()
}

#[test]
fn a_whole_task_is_valid_everywhere_and_without_a_word() {
    for policy in [
        AeePolicy::Repo,
        AeePolicy::Seed,
        AeePolicy::Both,
        AeePolicy::Either,
    ] {
        let reading = read(TASK, policy);
        assert!(reading.is_valid(), "{reading:#?}");
        assert!(reading.warnings.is_empty(), "{reading:#?}");
        assert_eq!(reading.header.unwrap().intake, Intake::Work);
    }
    assert!(read_strictly(TASK).is_valid());
}

#[test]
fn the_header_holds_what_an_exchange_acts_on() {
    let header = read(TASK, AeePolicy::Either).header.unwrap();
    assert_eq!(header.dialect, DialectName::Aee);
    assert_eq!(&*header.id, "01KJHX7SJ00000000000000000");
    assert_eq!(header.sender.as_str(), "agent:alpha");
    assert_eq!(
        header
            .recipients
            .iter()
            .map(Party::as_str)
            .collect::<Vec<_>>(),
        ["agent:beta"]
    );
    assert_eq!((header.act, &*header.kind), (Act::Request, "task"));
    assert_eq!(
        header.conversation.as_deref(),
        Some("01KJHX7SJ00000000000000000")
    );
    assert_eq!(header.task.as_deref(), Some("01KJHX7SJ00000000000000000"));
    assert_eq!(header.intent.as_deref(), Some("demo.work.do"));
    assert_eq!(
        (header.cause, header.session, header.correlation),
        (None, None, None)
    );
    assert_eq!(header.priority, Priority::High);
    assert_eq!(header.deadline, Some(NOW.plus_millis(1_500)));
    assert_eq!((header.idempotency_key, header.origin), (None, None));
    assert_eq!(
        header.fingerprint,
        interwire_protocol::digest(TASK.as_bytes())
    );
}

#[test]
fn the_fingerprint_covers_the_envelope_and_not_the_space_around_it() {
    let padded = format!(" {TASK}\n");
    let [a, b] = [TASK, &padded].map(|text| read(text, AeePolicy::Either).header.unwrap());
    assert_eq!(a, b);
}

#[test]
fn every_fault_is_found_in_document_order_and_absences_come_last() {
    let text = r#"{"payload":[],"sig":1,"priority":"critical","type":"query","v":2,"trace":{"span_id":1,"trace_id":null},"requires":false,"from":"","reply_to":7}"#;
    let reading = read(text, AeePolicy::Both);
    assert_eq!(
        codes(&reading.faults),
        [
            ("type_mismatch", "/payload"),
            ("type_mismatch", "/sig"),
            ("enum_unknown", "/priority"),
            ("enum_unknown", "/type"),
            ("type_mismatch", "/v"),
            ("type_mismatch", "/trace/span_id"),
            ("type_mismatch", "/trace/trace_id"),
            ("type_mismatch", "/requires"),
            ("too_short", "/from"),
            ("type_mismatch", "/reply_to"),
            ("missing_field", "/id"),
            ("missing_field", "/ts"),
            ("missing_field", "/to"),
            ("missing_field", "/intent"),
            ("missing_field", "/corr"),
        ]
    );
    assert_eq!(reading.header, None);
    for fault in &reading.faults {
        assert!(fault.rule.starts_with("AEE "), "{fault}");
        assert!(
            fault.detail.starts_with("expected ") && fault.detail.contains("got"),
            "{fault}"
        );
    }
}

#[test]
fn null_is_allowed_only_where_the_table_says() {
    let nulls = [
        "v", "id", "ts", "type", "from", "to", "intent", "corr", "priority", "payload",
    ];
    let text = r#"{"v":null,"id":null,"ts":null,"type":null,"from":null,"to":null,"intent":null,"corr":null,"reply_to":null,"trace":null,"priority":null,"requires":null,"payload":null,"sig":null}"#;
    let expected: Vec<_> = nulls.iter().map(|name| format!("/{name}")).collect();
    let faults = read(text, AeePolicy::Repo).faults;
    assert!(
        faults
            .iter()
            .all(|fault| fault.code == Code::NullNotAllowed),
        "{faults:#?}"
    );
    assert_eq!(
        faults
            .into_iter()
            .map(|fault| fault.pointer)
            .collect::<Vec<_>>(),
        expected
    );
}

#[test]
fn lengths_count_characters_and_escapes_count_once() {
    for (id, is_long_enough) in [
        ("äöüßéèê", false),
        ("äöüßéèêë", true),
        ("\\u00e4bcdefg", false),
        ("\\u00e4bcdefgh", true),
    ] {
        let text = task_with(
            r#""id":"01KJHX7SJ00000000000000000""#,
            &format!(r#""id":"{id}""#),
        );
        assert_eq!(
            read(&text, AeePolicy::Repo).is_valid(),
            is_long_enough,
            "{id}"
        );
    }
}

#[test]
fn a_short_id_is_refused_by_the_schema_and_warned_about_by_the_article() {
    let text = task_with(r#""id":"01KJHX7SJ00000000000000000""#, r#""id":"aaa-111""#);
    for policy in [AeePolicy::Repo, AeePolicy::Both] {
        assert_eq!(codes(&read(&text, policy).faults), [("too_short", "/id")]);
    }
    for policy in [AeePolicy::Seed, AeePolicy::Either] {
        let reading = read(&text, policy);
        assert!(reading.is_valid());
        assert!(
            codes(&reading.warnings).contains(&("too_short", "/id")),
            "{reading:#?}"
        );
    }
    assert_eq!(codes(&read_strictly(&text).faults), [("too_short", "/id")]);
}

#[test]
fn the_five_field_sets_are_logged_and_never_delivered() {
    let repo5 = r#"{"v":"1","id":"record-0001","type":"event","from":"service.billing","intent":"demo.log"}"#;
    let seed5 = r#"{"v":"1","id":"record-0002","ts":"2026-02-28T10:30:00Z","type":"task","from":"service.billing"}"#;
    for text in [repo5, seed5] {
        for policy in [AeePolicy::Either, AeePolicy::Log] {
            let reading = read(text, policy);
            assert!(
                reading.warnings.iter().any(|w| w.code == Code::LogTier),
                "{reading:#?}"
            );
            assert_eq!(reading.header.unwrap().intake, Intake::Log);
        }
        for policy in [AeePolicy::Repo, AeePolicy::Seed, AeePolicy::Both] {
            let reading = read(text, policy);
            assert!(!reading.is_valid());
            assert!(
                reading
                    .faults
                    .iter()
                    .all(|fault| fault.code == Code::MissingField)
            );
        }
    }
    let header = read(seed5, AeePolicy::Log).header.unwrap();
    assert_eq!((header.conversation, header.intent), (None, None));
    assert!(header.recipients.is_empty());
}

#[test]
fn short_of_every_tier_the_gaps_are_named() {
    let reading = read(
        r#"{"v":"1","to":"agent.b","type":"event"}"#,
        AeePolicy::Either,
    );
    let faults = codes(&reading.faults);
    assert_eq!(faults.first(), Some(&("missing_field", "/id")));
    assert_eq!(faults.last(), Some(&("tier_not_met", "")));
    let gaps = &reading.faults.last().unwrap().detail;
    assert!(
        gaps.contains("absent id, ts, from, intent, corr, priority, payload"),
        "{gaps}"
    );
    assert!(
        gaps.contains("absent id, ts, from, intent, corr, reply_to, trace"),
        "{gaps}"
    );
    let reading = read(r#"{"v":"1","type":"event"}"#, AeePolicy::Log);
    assert_eq!(
        codes(&reading.faults),
        [
            ("missing_field", "/id"),
            ("missing_field", "/from"),
            ("tier_not_met", "")
        ]
    );
    let both_absent = r#"{"v":"1","id":"record-0001","type":"event","from":"agent.a"}"#;
    let reading = read(both_absent, AeePolicy::Log);
    assert_eq!(codes(&reading.faults), [("tier_not_met", "")]);
}

#[test]
fn a_reply_that_names_nothing_is_never_delivered() {
    for (kind, reply_to) in [
        ("result", ""),
        ("error", ""),
        ("result", r#""reply_to":null,"#),
    ] {
        let text = task_with(r#""type":"task""#, &format!(r#""type":"{kind}""#))
            .replace(r#""reply_to":null,"#, reply_to);
        for policy in [
            AeePolicy::Repo,
            AeePolicy::Seed,
            AeePolicy::Both,
            AeePolicy::Either,
        ] {
            let reading = read(&text, policy);
            assert_eq!(
                codes(&reading.faults),
                [("reply_to_missing", "/reply_to")],
                "{text}"
            );
            assert!(codes(&reading.warnings).contains(&("log_tier_only", "/reply_to")));
        }
        let reading = read(&text, AeePolicy::Log);
        assert_eq!(reading.header.unwrap().intake, Intake::Log);
    }
}

#[test]
fn a_reply_points_back_and_carries_the_task() {
    let text = task_with(r#""type":"task""#, r#""type":"result""#).replace(
        r#""reply_to":null"#,
        r#""reply_to":"01KJHX7SJ00000000000000001""#,
    );
    let header = read(&text, AeePolicy::Either).header.unwrap();
    assert_eq!(header.act, Act::Complete);
    assert_eq!(header.cause.as_deref(), Some("01KJHX7SJ00000000000000001"));
    assert_eq!(header.task, header.cause);
    assert_eq!(header.deadline, None);
}

#[test]
fn a_wildcard_reaches_many_only_as_an_event() {
    let event = TASK
        .replace(r#""type":"task""#, r#""type":"event""#)
        .replace("agent.beta", "agent.*");
    let header = read(&event, AeePolicy::Either).header.unwrap();
    assert!(header.recipients.iter().all(Party::is_wildcard) && !header.recipients.is_empty());
    let task = TASK.replace("agent.beta", "agent.*");
    let reading = read(&task, AeePolicy::Either);
    assert_eq!(codes(&reading.warnings), [("entity_wildcard", "/to")]);
    assert!(reading.header.unwrap().recipients.is_empty());
    assert_eq!(
        codes(&read_strictly(&event).faults),
        [("entity_wildcard", "/to")]
    );
}

#[test]
fn an_absent_priority_reads_as_normal() {
    let text = task_with(r#""priority":"high","#, "");
    assert_eq!(
        read(&text, AeePolicy::Seed).header.unwrap().priority,
        Priority::Normal
    );
}

#[test]
fn a_deadline_needs_a_time_and_a_timeout() {
    for (old, new) in [
        (r#"{"timeout_ms":1500}"#, "null"),
        (r#"{"timeout_ms":1500}"#, r#"{"timeout_ms":null}"#),
        ("2026-02-28T10:30:00.000Z", "some day soon"),
    ] {
        assert_eq!(
            read(&task_with(old, new), AeePolicy::Either)
                .header
                .unwrap()
                .deadline,
            None
        );
    }
    let huge = task_with("1500", "1e300");
    let deadline = read(&huge, AeePolicy::Either)
        .header
        .unwrap()
        .deadline
        .unwrap();
    assert_eq!(deadline, Timestamp::from_millis(i64::MAX));
}

#[test]
fn an_empty_reply_to_outside_replies_is_no_cause() {
    let text = task_with(r#""reply_to":null"#, r#""reply_to":"""#);
    let header = read(&text, AeePolicy::Repo).header.unwrap();
    assert_eq!(header.cause, None);
    let result = text.replace(r#""type":"task""#, r#""type":"result""#);
    for policy in [AeePolicy::Repo, AeePolicy::Seed, AeePolicy::Either] {
        assert_eq!(
            codes(&read(&result, policy).faults),
            [("too_short", "/reply_to")]
        );
    }
}

#[test]
fn another_version_is_refused_as_such() {
    let text = task_with(r#""v":"1""#, r#""v":"2""#);
    let reading = read(&text, AeePolicy::Either);
    assert_eq!(codes(&reading.faults), [("unsupported_version", "/v")]);
    assert_eq!(Aee.fault_word(reading.faults[0].code.class()), "E_VERSION");
    assert_eq!(reading.id.as_deref(), Some("01KJHX7SJ00000000000000000"));
    assert_eq!(reading.label.as_deref(), Some("demo.work.do"));
}

#[test]
fn what_is_no_object_is_refused_without_more_ado() {
    let reading = decode_as(b"[1]", DialectName::Aee, &Rules::at(NOW));
    assert_eq!(codes(&reading.faults), [("type_mismatch", "")]);
}
