//! One rule at a time: the smallest change that breaks it, and what is said.

use interwire_protocol::dialect::uai::build::{Ack, FinalReport};
use interwire_protocol::{Mode, Timestamp};

use super::{agent, directive, edited, found, heading, lenient, now, of, read, strict};

/// What is refused after some edits of a plain directive, in lenient mode.
fn after(edits: &[(&str, &str)]) -> Vec<String> {
    found(&lenient(&edited(&directive().write().unwrap(), edits)).faults)
}

#[test]
fn every_shared_member_has_its_rule() {
    let cases: &[(&str, &str, &str)] = &[
        ("/uai_version", "1", "type_mismatch"),
        ("/profile", "\"uai.agent.message\"", "profile_malformed"),
        ("/message_id", "\"a b\"", "identity_malformed"),
        ("/message_id", "null", "null_not_allowed"),
        ("/source", "[]", "type_mismatch"),
        ("/source/type", "\"\"", "identity_malformed"),
        ("/source/id", "\"-a\"", "identity_malformed"),
        ("/source/label", "\"\"", "too_short"),
        ("/source/label", "", "missing_field"),
        ("/source/did", "\"key:1\"", "identity_malformed"),
        ("/source/did", "null", "null_not_allowed"),
        ("/source/uri", "\"no scheme\"", "pattern_mismatch"),
        ("/target/role_lane", "3", "type_mismatch"),
        (
            "/conversation/conversation_id",
            "\"\"",
            "identity_malformed",
        ),
        ("/conversation/sequence", "-1", "out_of_range"),
        ("/conversation/sequence", "1.5", "type_mismatch"),
        (
            "/conversation/correlation_id",
            "\"a b\"",
            "correlation_id_malformed",
        ),
        ("/conversation/correlation_id", "", "correlation_id_missing"),
        (
            "/conversation/traceparent",
            "\"00-0-0-00\"",
            "traceparent_malformed",
        ),
        ("/delivery/mode", "", "missing_field"),
        ("/delivery/mode", "1", "type_mismatch"),
        (
            "/delivery/expires_at",
            "\"2026-07-01T12:00:00Z\"",
            "message_expired",
        ),
        (
            "/delivery/expires_at",
            "\"2027-07-01T12:00:00+00:00\"",
            "timestamp_not_utc",
        ),
        ("/delivery/reply_expected", "\"yes\"", "type_mismatch"),
        (
            "/delivery/idempotency_key",
            "\"short\"",
            "idempotency_key_malformed",
        ),
        ("/delivery/idempotency_key", "", "idempotency_key_missing"),
        ("/delivery/timeout_ms", "0", "out_of_range"),
        ("/delivery/retry_count", "-1", "out_of_range"),
        (
            "/delivery/fallback_directive",
            "",
            "fallback_directive_missing",
        ),
        ("/delivery/fallback_directive", "\"\"", "too_short"),
        ("/trust/channel", "", "missing_field"),
        ("/trust/principal", "\"\"", "too_short"),
        ("/body", "[]", "type_mismatch"),
        ("/body/message_type", "\"shout\"", "enum_unknown"),
        ("/body/context_refs", "[\"no scheme\"]", "pattern_mismatch"),
        ("/body/content", "", "missing_field"),
        ("/provenance/issued_at", "", "missing_field"),
        (
            "/provenance/issued_at",
            "\"2026-02-30T00:00:00Z\"",
            "timestamp_not_utc",
        ),
        ("/provenance/confidence", "1.1", "out_of_range"),
        ("/integrity/algorithm", "\"md5\"", "enum_unknown"),
        ("/integrity/canonicalization", "\"none\"", "enum_unknown"),
        ("/extensions", "{}", "type_mismatch"),
        (
            "/conversation/sequence",
            "9007199254740993",
            "number_not_interoperable",
        ),
    ];
    for (pointer, value, code) in cases {
        let shown = match *code {
            "pattern_mismatch" if *pointer == "/body/context_refs" => "/body/context_refs/0",
            _ => pointer,
        };
        assert_eq!(
            after(&[(pointer, value)]),
            [format!("{code} {shown}")],
            "{pointer} {value}"
        );
    }
}

#[test]
fn all_twelve_members_are_required() {
    for name in [
        "uai_version",
        "profile",
        "message_id",
        "source",
        "target",
        "conversation",
        "delivery",
        "trust",
        "body",
        "provenance",
        "integrity",
        "extensions",
    ] {
        let pointer = format!("/{name}");
        let text = edited(&directive().write().unwrap(), &[(&pointer, "")]);
        let faults = found(&lenient(&text).faults);
        assert_eq!(faults, [format!("missing_field {pointer}")], "{name}");
    }
}

#[test]
fn core_profiles_need_no_correlation_key_or_fallback() {
    let text = of("uai.intent.request.v1", r#"{"intent":"i","subject":"s"}"#)
        .write()
        .unwrap();
    let text = edited(
        &text,
        &[
            ("/conversation/correlation_id", ""),
            ("/delivery/idempotency_key", ""),
            ("/delivery/fallback_directive", ""),
        ],
    );
    assert!(strict(&text).is_valid());
}

#[test]
fn undeclared_members_are_refused_at_the_top_and_noted_below() {
    let edits = [("/note", "1"), ("/body/mood", "1"), ("/target/nick", "1")];
    let text = edited(&directive().write().unwrap(), &edits);
    let reading = lenient(&text);
    assert_eq!(found(&reading.faults), ["undeclared_field /note"]);
    assert_eq!(
        found(&reading.warnings),
        [
            "undeclared_field_kept /body/mood",
            "undeclared_field_kept /target/nick"
        ]
    );
    assert_eq!(
        found(&strict(&text).faults),
        [
            "undeclared_field /body/mood",
            "undeclared_field /note",
            "undeclared_field /target/nick"
        ]
    );
}

#[test]
fn words_of_proposed_lists_are_refused_in_strict_mode_only() {
    let edits = [
        ("/delivery/priority", "\"whenever\""),
        ("/delivery/status", "\"lost\""),
    ];
    let text = edited(&directive().write().unwrap(), &edits);
    let reading = lenient(&text);
    assert!(reading.is_valid());
    assert_eq!(
        found(&reading.warnings),
        [
            "unknown_word /delivery/priority",
            "unknown_word /delivery/status"
        ]
    );
    assert_eq!(
        found(&strict(&text).faults),
        [
            "enum_unknown /delivery/priority",
            "enum_unknown /delivery/status"
        ]
    );
}

#[test]
fn an_unknown_profile_is_carried_in_lenient_mode() {
    let text = of("uai.agent.dance.v2", r#"{"steps":[null]}"#)
        .write()
        .unwrap();
    let reading = lenient(&text);
    assert!(reading.is_valid());
    assert_eq!(
        found(&reading.warnings),
        ["unknown_profile_carried /profile"]
    );
    assert_eq!(found(&strict(&text).faults), ["unknown_profile /profile"]);
}

#[test]
fn faults_come_in_document_order_and_missing_members_at_the_end_of_their_object() {
    let text = r#"{"extensions":7,"uai_version":"1.0","body":{"content":3},"profile":"uai.agent.message.v1",
      "message_id":"m","target":{"id":"b"},"source":{"type":"agent","id":"a","label":"a"},
      "conversation":{"conversation_id":"c","correlation_id":"c"},
      "delivery":{"mode":"async","idempotency_key":"12345678","fallback_directive":"drop"},
      "trust":{"auth_scheme":"none","principal":"a"},"provenance":{"issued_at":"2026-07-01T00:00:00Z"}}"#;
    assert_eq!(
        found(&lenient(text).faults),
        [
            "type_mismatch /extensions",
            "type_mismatch /body/content",
            "missing_field /body/message_type",
            "missing_field /body/context_refs",
            "missing_field /body/requires_acknowledgement",
            "missing_field /target/type",
            "missing_field /target/label",
            "missing_field /trust/channel",
            "missing_field /integrity",
        ]
    );
}

#[test]
fn times_inside_opaque_parts_are_utc_too() {
    let body =
        r#"{"intent":"i","subject":"s","parameters":{"slots":[{"starts_at":"2026-07-01 9:00"}]}}"#;
    let text = of("uai.intent.request.v1", body).write().unwrap();
    assert_eq!(
        found(&lenient(&text).faults),
        ["timestamp_not_utc /body/parameters/slots/0/starts_at"]
    );
}

#[test]
fn a_scheme_needs_a_reference() {
    assert_eq!(
        after(&[("/trust/auth_scheme", "\"bearer\"")]),
        ["trust_reference_missing /trust"]
    );
    let with = [
        ("/trust/auth_scheme", "\"bearer\""),
        ("/trust/credential_ref", "\"vault:1\""),
    ];
    assert!(after(&with).is_empty());
}

#[test]
fn an_acknowledgement_never_asks_for_one() {
    let ack = Ack::new("m0", "received", now()).envelope(heading("m", agent("a"), agent("b")));
    assert!(lenient(&ack.write().unwrap()).is_valid());
    let looping = lenient(&ack.ack_required(true).write().unwrap());
    assert_eq!(found(&looping.faults), ["ack_loop /delivery/ack_required"]);
}

#[test]
fn both_places_that_ask_for_an_acknowledgement_should_agree() {
    let reading = lenient(&directive().ack_required(true).write().unwrap());
    assert!(reading.is_valid());
    assert_eq!(
        found(&reading.warnings),
        ["ack_expectation_mismatch /body/requires_acknowledgement"]
    );
}

#[test]
fn progress_fits_the_state() {
    let status = |state: &str, progress: &str, more: &str| {
        let body = format!(r#"{{"task_id":"t","state":"{state}","progress":{progress}{more}}}"#);
        found(&lenient(&of("uai.task.status.v1", &body).write().unwrap()).faults)
    };
    for (state, progress) in [
        ("completed", "100"),
        ("queued", "0"),
        ("accepted", "0"),
        ("running", "99"),
        ("failed", "100"),
    ] {
        assert!(status(state, progress, "").is_empty(), "{state} {progress}");
    }
    for (state, progress) in [
        ("completed", "99.5"),
        ("queued", "1"),
        ("accepted", "1"),
        ("running", "100"),
    ] {
        let faults = status(state, progress, "");
        assert_eq!(
            faults,
            ["task_progress_inconsistent /body/progress"],
            "{state} {progress}"
        );
    }
    assert_eq!(
        status("running", "101", ""),
        ["out_of_range /body/progress"]
    );
    assert_eq!(
        status("blocked", "5", ""),
        ["task_progress_inconsistent /body/state"]
    );
    assert!(status("blocked", "5", r#","blocking_reasons":["x"]"#).is_empty());
}

#[test]
fn a_final_report_says_something_and_shows_it() {
    let report = |summary: &str| {
        FinalReport::new("t", "completed", summary, "urn:x")
            .envelope(heading("m", agent("a"), agent("b")))
            .write()
            .unwrap()
    };
    assert!(lenient(&report("four words are enough")).is_valid());
    assert_eq!(
        found(&lenient(&report("all done now")).faults),
        ["final_report_incomplete /body"]
    );
    let bare = edited(
        &report("four words are enough"),
        &[("/body/evidence_refs", "[]")],
    );
    assert_eq!(
        found(&lenient(&bare).faults),
        ["final_report_incomplete /body"]
    );
}

#[test]
fn memory_keeps_no_secrets_and_a_refusal_does_not_repeat_them() {
    let proposal = |fact: &str| {
        let body = format!(
            r#"{{"proposal_id":"p","source_type":"imported","proposed_facts":[{fact}],"proposed_status":"long_term","task_execution_separation":"yes","review_required":true,"support_boundary":"b"}}"#
        );
        lenient(&of("uai.agent.memory-proposal.v1", &body).write().unwrap())
    };
    assert!(proposal(r#"{"fact":"the sky is blue","confidence":0.5}"#).is_valid());
    let reading = proposal(r#""login with password: hunter22""#);
    assert_eq!(
        found(&reading.faults),
        ["memory_contains_secret /body/proposed_facts/0"]
    );
    assert!(!reading.faults[0].detail.contains("hunter22"));
    let named = proposal(r#"{"fact":"x","token":"123456"}"#);
    assert_eq!(
        found(&named.faults),
        ["memory_contains_secret /body/proposed_facts/0/token"]
    );
}

#[test]
fn an_error_code_is_registered() {
    let error = |code: &str, mode: Mode| {
        let body = format!(
            r#"{{"status":422,"code":"{code}","detail":"d","errors":[{{"code":"{code}"}}]}}"#
        );
        read(&of("uai.error.v1", &body).write().unwrap(), mode)
    };
    assert!(error("checksum_mismatch", Mode::Strict).is_valid());
    assert_eq!(
        found(&error("oh_no", Mode::Strict).faults),
        [
            "error_code_unregistered /body/code",
            "error_code_unregistered /body/errors/0/code"
        ]
    );
    let carried = error("oh_no", Mode::Lenient);
    assert!(carried.is_valid());
    assert_eq!(carried.warnings.len(), 2);
}

#[test]
fn a_capability_statement_names_transports_channels_and_levels() {
    let body = r#"{"operations":[],"profiles":[],"endpoints":[],"security_schemes":[],"transports":["http"],"trust_channels":[]}"#;
    let text = of("uai.capability.statement.v1", body).write().unwrap();
    assert_eq!(
        found(&lenient(&text).faults),
        [
            "capability_statement_incomplete /body/trust_channels",
            "capability_statement_incomplete /body/conformance_levels",
        ]
    );
}

#[test]
fn claims_no_packet_can_grant_are_noted() {
    let text = edited(
        &directive().write().unwrap(),
        &[("/body/content", "\"This is an Official Adapter.\"")],
    );
    let reading = lenient(&text);
    assert!(reading.is_valid());
    assert_eq!(
        found(&reading.warnings),
        ["unsupported_runtime_claim /body/content"]
    );
}

#[test]
fn extension_records_are_understood_kept_or_refused() {
    let with = |record: &str| after(&[("/extensions", &format!("[{record}]"))]);
    let record = |namespace: &str, version: &str, required: bool, payload: &str| {
        format!(
            r#"{{"namespace":"{namespace}","version":"{version}","required":{required},"payload":{payload}}}"#
        )
    };
    assert!(with(&record("urn:other", "9", false, "[1]")).is_empty());
    assert_eq!(
        with(&record("urn:other", "9", true, "[1]")),
        ["extension_required_unknown /extensions/0"]
    );
    let claim = r#"{"resource":"r","base_version":1,"operation":"set"}"#;
    assert!(with(&record("urn:uai:ext:claim", "1", true, claim)).is_empty());
    assert_eq!(
        with(&record("urn:uai:ext:claim", "2", true, claim)),
        ["extension_required_unknown /extensions/0"]
    );
    assert_eq!(
        with(&record(
            "urn:uai:ext:ack-policy",
            "1",
            false,
            r#"{"policy":"some"}"#
        )),
        ["enum_unknown /extensions/0/payload/policy"]
    );
    assert_eq!(with("3"), ["type_mismatch /extensions/0"]);
    assert_eq!(
        with(r#"{"namespace":"n","version":"1","required":false,"payload":null}"#),
        ["null_not_allowed /extensions/0/payload"]
    );
}

#[test]
fn signatures_may_be_added_after_the_checksum() {
    let text = directive().write().unwrap();
    let signed = text.replace(
        r#""extensions":[]"#,
        r#""extensions":[{"namespace":"urn:uai:ext:signature","version":"1","required":false,"payload":{"jws":"a..b"}}]"#,
    );
    assert_ne!(signed, text);
    let (plain, signed) = (super::header(&text), super::header(&signed));
    assert_eq!(plain.fingerprint, signed.fingerprint);
}

#[test]
fn an_expiry_is_compared_with_the_reader_s_clock() {
    let text = directive()
        .expires_at(Timestamp::from_millis(now().as_millis() + 1))
        .write()
        .unwrap();
    assert!(lenient(&text).is_valid());
    let late = directive().expires_at(now()).write().unwrap();
    assert_eq!(
        found(&lenient(&late).faults),
        ["message_expired /delivery/expires_at"]
    );
}

/// A fault in every item of a long list is reported for as many as are told at all, and in order.
#[test]
fn many_faults_are_ordered_without_looking_each_one_up() {
    let items = vec!["7"; 20_000].join(",");
    let text = edited(
        &directive().write().unwrap(),
        &[("/body/context_refs", &format!("[{items}]"))],
    );
    let faults = lenient(&text).faults;
    assert_eq!(faults.len(), interwire_protocol::fault::FAULTS_MAX);
    assert!(
        faults
            .iter()
            .enumerate()
            .all(|(at, fault)| { fault.pointer == format!("/body/context_refs/{at}") })
    );
}
