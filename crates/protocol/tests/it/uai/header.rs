//! What a valid envelope's header says.

use interwire_protocol::dialect::uai::build::{
    Ack, Envelope, FinalReport, Handoff, Message, TaskStatus,
};
use interwire_protocol::{Act, DialectName, Intake, Party, Priority, digest};

use super::{agent, directive, edited, header, heading, now, of};

#[test]
fn every_fact_is_in_its_place() {
    let text = directive()
        .also_to(agent("c"))
        .correlation("cor_1")
        .reply_to("msg_0")
        .priority(Priority::Urgent)
        .expires_at(now().plus_millis(1))
        .task_ref("task_1")
        .write()
        .unwrap();
    let header = header(&text);
    assert_eq!(header.dialect, DialectName::Uai);
    assert_eq!(&*header.id, "msg_1");
    assert_eq!(header.idempotency_key.as_deref(), Some(header.dedupe_key()));
    assert_eq!(header.origin, None);
    assert_eq!(&*header.kind, "uai.agent.message.v1");
    assert_eq!(header.sender, Party::parse("agent:a"));
    assert_eq!(
        header.recipients,
        [Party::parse("agent:b"), Party::parse("agent:c")]
    );
    assert_eq!(header.conversation.as_deref(), Some("conv_1"));
    assert_eq!(header.correlation.as_deref(), Some("cor_1"));
    assert_eq!(header.cause.as_deref(), Some("msg_0"));
    assert_eq!(header.task.as_deref(), Some("task_1"));
    assert_eq!(header.intent, None);
    assert_eq!(header.priority, Priority::Urgent);
    assert_eq!(header.deadline, Some(now().plus_millis(1)));
    assert_eq!(header.intake, Intake::Work);
    assert!(header.topics.is_empty() && header.flow.is_none() && header.session.is_none());
}

#[test]
fn the_act_follows_from_profile_and_body() {
    let (a, b) = (|| agent("a"), || agent("b"));
    let message = |kind: &str| Message::new(kind, "x").envelope(heading("m", a(), b()));
    let ack = |status: &str| Ack::new("m0", status, now()).envelope(heading("m", a(), b()));
    let report = |outcome: &str| {
        FinalReport::new("t", outcome, "it went as it went", "urn:x").envelope(heading(
            "m",
            a(),
            b(),
        ))
    };
    let status = |status: TaskStatus| status.envelope(heading("m", a(), b()));
    let response = |status: &str| {
        of(
            "uai.intent.response.v1",
            &format!(r#"{{"status":"{status}","request_message_id":"m0","task_ref":"t"}}"#),
        )
    };
    let discovery = |operation: &str| {
        of(
            "uai.agent.discovery.v1",
            &format!(r#"{{"operation":"{operation}"}}"#),
        )
    };
    let cases = [
        (message("directive"), Act::Request),
        (message("query"), Act::Query),
        (message("response"), Act::Answer),
        (message("inform"), Act::Inform),
        (message("notification"), Act::Inform),
        (
            Handoff::new("t", "s", "r", "n").envelope(heading("m", a(), b())),
            Act::Request,
        ),
        (ack("received"), Act::Ack),
        (ack("accepted"), Act::Accept),
        (ack("rejected"), Act::Refuse),
        (ack("deferred"), Act::Ack),
        (ack("human_review"), Act::Block),
        (ack("duplicate"), Act::Ack),
        (status(TaskStatus::queued("t", "s")), Act::Inform),
        (status(TaskStatus::accepted("t", "s")), Act::Accept),
        (status(TaskStatus::running("t", 100, "s")), Act::Progress),
        (status(TaskStatus::blocked("t", 5, "s", "b")), Act::Block),
        (status(TaskStatus::completed("t", "s")), Act::Complete),
        (status(TaskStatus::failed("t", 5, "s")), Act::Fail),
        (status(TaskStatus::cancelled("t", 5, "s")), Act::Cancel),
        (
            of(
                "uai.task.status.v1",
                r#"{"task_id":"t","state":"expired","progress":3}"#,
            ),
            Act::TimeOut,
        ),
        (report("completed"), Act::Complete),
        (report("partial"), Act::Complete),
        (report("failed"), Act::Fail),
        (report("cancelled"), Act::Cancel),
        (
            of("uai.intent.request.v1", r#"{"intent":"i","subject":"s"}"#),
            Act::Request,
        ),
        (response("completed"), Act::Complete),
        (response("accepted"), Act::Accept),
        (response("rejected"), Act::Refuse),
        (response("partial"), Act::Output),
        (discovery("query"), Act::Query),
        (discovery("result"), Act::Answer),
        (discovery("announce"), Act::Control),
        (
            of(
                "uai.error.v1",
                r#"{"status":422,"code":"rejected","detail":"d"}"#,
            ),
            Act::Fail,
        ),
        (
            of(
                "uai.capability.negotiation.v1",
                r#"{"negotiation_id":"n","phase":"offer","offered":{}}"#,
            ),
            Act::Control,
        ),
        (
            of("uai.somebody.else.v1", r#"{"anything":null}"#),
            Act::Inform,
        ),
    ];
    for (envelope, act) in cases {
        let text = envelope.write().unwrap();
        assert_eq!(header(&text).act, act, "{text}");
    }
}

#[test]
fn task_and_intent_come_from_the_body_first() {
    let body = r#"{"status":"accepted","request_message_id":"m","task_ref":"of_body"}"#;
    let response = of("uai.intent.response.v1", body)
        .task_ref("of_delivery")
        .write()
        .unwrap();
    assert_eq!(header(&response).task.as_deref(), Some("of_body"));
    let request = of(
        "uai.intent.request.v1",
        r#"{"intent":"find_agents","subject":"s"}"#,
    );
    assert_eq!(
        header(&request.write().unwrap()).intent.as_deref(),
        Some("find_agents")
    );
}

/// UAI 4 D6: profile, source, correlation and body.
#[test]
fn under_an_idempotency_key_what_is_asked_for_makes_the_message() {
    let message = |text: &str, id, from| {
        let envelope =
            Message::new("directive", text).envelope(heading(id, agent(from), agent("b")));
        envelope
            .idempotency_key("the-same-key")
            .correlation("cor_1")
    };
    let of = |envelope: Envelope| header(&envelope.write().unwrap()).fingerprint;
    let first = || message("Look at it.", "msg_1", "a");
    for same in [
        first().retry_count(3),
        first().priority(Priority::High),
        first().also_to(agent("c")),
        first().expires_at(now().plus_millis(9)),
        first().idempotency_key("another-key"),
        message("Look at it.", "msg_2", "a"),
    ] {
        assert_eq!(of(same), of(first()));
    }
    for other in [
        first().correlation("other"),
        message("Look away.", "msg_1", "a"),
        message("Look at it.", "msg_1", "d"),
    ] {
        assert_ne!(of(other), of(first()));
    }
    let text = first().write().unwrap();
    let parts: serde_json::Value = serde_json::from_str(&text).unwrap();
    let literal = serde_json::json!({
        "profile": parts["profile"], "source_id": parts["source"]["id"],
        "correlation_id": parts["conversation"]["correlation_id"], "body": parts["body"],
    });
    let canonical = serde_json_canonicalizer::to_string(&literal).unwrap();
    assert_eq!(header(&text).fingerprint, digest(canonical.as_bytes()));
}

#[test]
fn without_an_idempotency_key_a_retry_is_a_duplicate_and_any_other_change_a_conflict() {
    let request = || {
        of(
            "uai.intent.request.v1",
            r#"{"intent":"find_agents","subject":"s"}"#,
        )
    };
    let keyless = |envelope: Envelope| {
        let text = edited(
            &envelope.write().unwrap(),
            &[("/delivery/idempotency_key", "")],
        );
        let header = header(&text);
        assert_eq!(
            (&header.idempotency_key, header.dedupe_key()),
            (&None, "msg_1")
        );
        header.fingerprint
    };
    let first = keyless(request());
    assert_eq!(keyless(request().retry_count(3)), first);
    for other in [
        request().priority(Priority::High),
        request().also_to(agent("c")),
        request().correlation("other"),
    ] {
        assert_ne!(keyless(other), first);
    }
}

/// UAI 9.2 B2.
#[test]
fn a_split_copy_names_its_origin() {
    let text = edited(
        &directive().write().unwrap(),
        &[(
            "/extensions",
            r#"[{"namespace":"urn:uai:ext:split","version":"1","required":false,"payload":
                {"origin_message_id":"msg_0","origin_canonical_hash":"sha256:0000000000000000000000000000000000000000000000000000000000000000",
                 "recipient_index":1,"recipient_count":2}}]"#,
        )],
    );
    assert_eq!(header(&text).origin.as_deref(), Some("msg_0"));
}

#[test]
fn space_and_member_order_do_not_make_a_conflict() {
    let text = directive().write().unwrap();
    let reordered: serde_json::Value = serde_json::from_str(&text).unwrap();
    let reordered = serde_json::to_string_pretty(&reordered).unwrap();
    assert_ne!(reordered, text);
    assert_eq!(header(&reordered).fingerprint, header(&text).fingerprint);
}
