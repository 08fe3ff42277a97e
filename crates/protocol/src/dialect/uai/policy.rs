//! Rules that look at more than one member: what agent packets need, what bodies promise.
//!
//! Only what one envelope shows; rules between envelopes (acks, order, replay) belong to the
//! exchange. Implements UAI 1.3, 1.4, 4 D1, D8, D13, 5 T1 and 6.2.

use std::borrow::Cow;

use super::check::{Findings, got};
use super::grammar;
use super::routing::Routing;
use super::secret::{SECRET_LENGTH_MIN, is_secret_like, is_secret_name};
use super::words::{RUNTIME_CLAIMS, is_registered};
use crate::json::{Kind, Value, push_escaped};
use crate::{Code, Fault, Rules};

/// A final report says less than this only when it says nothing (UAI 6.2).
const SUMMARY_WORDS_MIN: usize = 4;

/// Kinds of blocker that no agent may settle alone (UAI 6.2).
const NEEDS_HUMAN: [&str; 6] = [
    "secret",
    "boundary",
    "access",
    "scope",
    "authorization",
    "destructive_action",
];

/// Checks everything that does not depend on the profile, then the body's own rules.
pub(super) fn examine(
    doc: Value<'_>,
    profile: &str,
    routing: &Routing<'_>,
    rules: &Rules,
    findings: &mut Findings<'_>,
) {
    if profile.starts_with("uai.agent.") {
        agent_packet(doc, findings);
    }
    expiry(doc, rules, findings);
    trust_reference(doc, findings);
    let Some(body) = doc.get("body").filter(|body| body.kind() == Kind::Object) else {
        return;
    };
    runtime_claims(body, findings);
    match profile {
        "uai.agent.message.v1" => ack_expectation(doc, body, findings),
        "uai.agent.ack.v1" => ack_loop(doc, findings),
        "uai.agent.handoff.v1" => handoff(body, routing, findings),
        "uai.task.status.v1" => task_progress(body, "blocking_reasons", findings),
        "uai.agent.task-status.v1" => task_progress(body, "blockers", findings),
        "uai.agent.blocker.v1" => blocker(body, findings),
        "uai.agent.memory-proposal.v1" => memory_proposal(body, findings),
        "uai.agent.final-report.v1" => final_report(body, findings),
        "uai.intent.response.v1" => accepted(doc, body, findings),
        "uai.error.v1" => error_codes(body, findings),
        "uai.conformance.result.v1" => conformance_summary(body, findings),
        "uai.capability.statement.v1" => capability_statement(body, findings),
        "uai.capability.negotiation.v1" => negotiation_phase(body, findings),
        "uai.agent.correction.v1" => corrected_fields(body, findings),
        _ => {}
    }
}

fn text<'d>(object: Value<'d>, name: &str) -> Option<Cow<'d, str>> {
    object.get(name)?.as_str()
}

fn agent_packet(doc: Value<'_>, findings: &mut Findings<'_>) {
    for (object, name, code, rule) in [
        (
            "conversation",
            "correlation_id",
            Code::CorrelationIdMissing,
            "UAI 1.3",
        ),
        (
            "delivery",
            "idempotency_key",
            Code::IdempotencyKeyMissing,
            "UAI 1.4",
        ),
        (
            "delivery",
            "fallback_directive",
            Code::FallbackDirectiveMissing,
            "UAI 1.4",
        ),
    ] {
        let holder = doc
            .get(object)
            .filter(|holder| holder.kind() == Kind::Object);
        if holder.is_some_and(|holder| holder.get(name).is_none()) {
            let detail = format!("expected `{name}` in an agent packet, got nothing");
            findings.refuse(code, format!("/{object}/{name}"), rule, detail);
        }
    }
}

fn expiry(doc: Value<'_>, rules: &Rules, findings: &mut Findings<'_>) {
    let expires_at = doc
        .get("delivery")
        .and_then(|delivery| text(delivery, "expires_at"));
    if let Some(moment) = expires_at.and_then(|text| grammar::utc_time(&text))
        && moment <= rules.now
    {
        let detail = format!("expected an expiry after {}, got {moment}", rules.now);
        findings.refuse(
            Code::MessageExpired,
            "/delivery/expires_at",
            "UAI 4 D8",
            detail,
        );
    }
}

fn trust_reference(doc: Value<'_>, findings: &mut Findings<'_>) {
    let Some(trust) = doc.get("trust") else {
        return;
    };
    let scheme = text(trust, "auth_scheme");
    let has_reference = ["credential_ref", "signature_ref"]
        .iter()
        .any(|name| trust.get(name).is_some());
    if let Some(scheme) = scheme
        && scheme != "none"
        && !has_reference
    {
        let detail = format!(
            "expected `credential_ref` or `signature_ref` with scheme {scheme:?}, got neither"
        );
        findings.refuse(Code::TrustReferenceMissing, "/trust", "UAI 5 T1", detail);
    }
}

/// A wording cannot be judged by a list, so this never refuses.
fn runtime_claims(body: Value<'_>, findings: &mut Findings<'_>) {
    for name in ["support_boundary", "content"] {
        let Some(text) = text(body, name) else {
            continue;
        };
        let text = text.to_lowercase();
        if let Some(claim) = RUNTIME_CLAIMS.iter().find(|claim| text.contains(**claim)) {
            let detail = format!("expected no claim that a packet cannot grant, got {claim:?}");
            let pointer = format!("/body/{name}");
            findings.warn(Code::UnsupportedRuntimeClaim, pointer, "UAI 6.2", detail);
        }
    }
}

fn wants_ack(doc: Value<'_>) -> bool {
    doc.get("delivery")
        .and_then(|delivery| delivery.get("ack_required"))
        .and_then(Value::as_bool)
        .unwrap_or(false)
}

fn ack_expectation(doc: Value<'_>, body: Value<'_>, findings: &mut Findings<'_>) {
    let asked = body
        .get("requires_acknowledgement")
        .and_then(Value::as_bool);
    if let Some(asked) = asked
        && asked != wants_ack(doc)
    {
        let detail = format!(
            "expected the same as `ack_required`, {}, got {asked}",
            !asked
        );
        let pointer = "/body/requires_acknowledgement";
        findings.warn(Code::AckExpectationMismatch, pointer, "UAI 4 D1", detail);
    }
}

fn ack_loop(doc: Value<'_>, findings: &mut Findings<'_>) {
    if wants_ack(doc) {
        findings.refuse(
            Code::AckLoop,
            "/delivery/ack_required",
            "UAI 4 D1",
            "expected an acknowledgement that asks for none, got one that does",
        );
    }
}

fn handoff(body: Value<'_>, routing: &Routing<'_>, findings: &mut Findings<'_>) {
    let Some(agent) = text(body, "target_agent_id") else {
        return;
    };
    if !routing.ids().contains(&agent) {
        let detail = format!("expected the id of a recipient, got {agent:?}");
        let pointer = "/body/target_agent_id";
        findings.refuse(
            Code::HandoffTargetNotRecipient,
            pointer,
            "UAI 9.1 M8",
            detail,
        );
    }
}

fn task_progress(body: Value<'_>, reasons: &str, findings: &mut Findings<'_>) {
    let Some(state) = text(body, "state") else {
        return;
    };
    let progress = body.get("progress").and_then(Value::as_f64);
    if let Some(progress) = progress {
        let wrong = match &*state {
            "completed" if progress != 100.0 => Some("100"),
            "queued" | "accepted" if progress != 0.0 => Some("0"),
            "running" if progress == 100.0 => Some("less than 100"),
            _ => None,
        };
        if let Some(expected) = wrong {
            let detail = format!("expected {expected} in state {state:?}, got {progress}");
            let pointer = "/body/progress";
            findings.refuse(Code::TaskProgressInconsistent, pointer, "UAI 4 D13", detail);
        }
    }
    let has_reasons = body
        .get(reasons)
        .is_some_and(|list| list.items().next().is_some());
    if state == "blocked" && !has_reasons {
        let detail = format!("expected `{reasons}` in state \"blocked\", got none");
        findings.refuse(
            Code::TaskProgressInconsistent,
            "/body/state",
            "UAI 4 D13",
            detail,
        );
    }
}

fn blocker(body: Value<'_>, findings: &mut Findings<'_>) {
    let Some(kind) = text(body, "blocker_type") else {
        return;
    };
    let is_human = body.get("human_review_required").and_then(Value::as_bool);
    if NEEDS_HUMAN.contains(&&*kind) && is_human == Some(false) {
        let detail = format!("expected true for a blocker of type {kind:?}, got false");
        let pointer = "/body/human_review_required";
        findings.refuse(Code::BlockerRequiresHumanReview, pointer, "UAI 6.2", detail);
    }
}

fn memory_proposal(body: Value<'_>, findings: &mut Findings<'_>) {
    secrets(body, &mut String::from("/body"), findings);
    if text(body, "source_type").is_some_and(|source| source == "cold_memory")
        && text(body, "proposed_status").is_some_and(|status| status == "current_truth")
    {
        findings.refuse(
            Code::ColdMemoryPromotion,
            "/body/proposed_status",
            "UAI 6.2",
            "expected a step of review between cold memory and current truth, got none",
        );
    }
}

/// The detail never repeats the text: a refusal is logged and shown.
fn secrets(value: Value<'_>, pointer: &mut String, findings: &mut Findings<'_>) {
    let length = pointer.len();
    for (key, member) in value.members() {
        let name = key.text();
        push_step(pointer, &name);
        let is_named = is_secret_name(&name)
            && member
                .as_str()
                .is_some_and(|text| text.len() >= SECRET_LENGTH_MIN);
        if is_named || is_secret_like(&name) {
            secret_found(pointer, findings);
        } else {
            secrets(member, pointer, findings);
        }
        pointer.truncate(length);
    }
    for (index, item) in value.items().enumerate() {
        push_step(pointer, &index.to_string());
        secrets(item, pointer, findings);
        pointer.truncate(length);
    }
    if value.as_str().is_some_and(|text| is_secret_like(&text)) {
        secret_found(pointer, findings);
    }
}

fn push_step(pointer: &mut String, token: &str) {
    pointer.push('/');
    push_escaped(pointer, token);
}

fn secret_found(pointer: &str, findings: &mut Findings<'_>) {
    let detail = "expected no credentials in memory, got a text that looks like one";
    findings.refuse(Code::MemoryContainsSecret, pointer, "UAI 6.2", detail);
}

fn final_report(body: Value<'_>, findings: &mut Findings<'_>) {
    let words = text(body, "summary").map(|summary| summary.split_whitespace().count());
    let evidence = body.get("evidence_refs").map(|list| list.items().count());
    if words.is_some_and(|count| count < SUMMARY_WORDS_MIN) || evidence == Some(0) {
        let detail = format!(
            "expected a summary of {SUMMARY_WORDS_MIN} or more words and evidence, got {} words and {} references",
            words.unwrap_or(0),
            evidence.unwrap_or(0)
        );
        findings.refuse(Code::FinalReportIncomplete, "/body", "UAI 6.2", detail);
    }
}

fn accepted(doc: Value<'_>, body: Value<'_>, findings: &mut Findings<'_>) {
    let in_delivery = doc
        .get("delivery")
        .and_then(|delivery| delivery.get("task_ref"));
    if text(body, "status").is_some_and(|status| status == "accepted")
        && body.get("task_ref").or(in_delivery).is_none()
    {
        findings.refuse(
            Code::AcceptedWithoutTaskRef,
            "/body/task_ref",
            "UAI 6.2",
            "expected a task reference in an accepted response, got nothing",
        );
    }
}

/// The published list of codes cannot be read, so only strict mode insists on the known ones.
fn error_codes(body: Value<'_>, findings: &mut Findings<'_>) {
    let own = body.get("code").map(|code| ("/body/code".to_owned(), code));
    let listed = body
        .get("errors")
        .into_iter()
        .flat_map(Value::items)
        .enumerate();
    let sub = listed.filter_map(|(index, error)| {
        Some((format!("/body/errors/{index}/code"), error.get("code")?))
    });
    for (pointer, value) in own.into_iter().chain(sub) {
        let Some(code) = value.as_str() else { continue };
        if !is_registered(&code) {
            let detail = format!("expected a registered error code, got {}", got(value));
            let fault = Fault::new(Code::ErrorCodeUnregistered, pointer, "UAI 6.2", detail);
            findings.doubt(fault, Code::UnknownWord);
        }
    }
}

fn conformance_summary(body: Value<'_>, findings: &mut Findings<'_>) {
    let errors = body.at("/summary/errors").and_then(Value::as_i64);
    let (Some(errors), Some(result)) = (errors, text(body, "result")) else {
        return;
    };
    let listed = body
        .get("issues")
        .into_iter()
        .flat_map(Value::items)
        .filter(|issue| text(*issue, "severity").is_some_and(|severity| severity == "error"))
        .count();
    let is_counted = usize::try_from(errors).is_ok_and(|errors| errors == listed);
    if !is_counted || (result == "pass") != (errors == 0) {
        let detail = format!(
            "expected {listed} errors as in `issues` and `pass` only without errors, got {errors} and {result:?}"
        );
        let pointer = "/body/summary";
        findings.refuse(Code::ConformanceSummaryMismatch, pointer, "UAI 6.2", detail);
    }
}

fn capability_statement(body: Value<'_>, findings: &mut Findings<'_>) {
    for name in ["transports", "trust_channels", "conformance_levels"] {
        if body
            .get(name)
            .is_none_or(|list| list.kind() == Kind::Array && list.items().next().is_none())
        {
            let detail = format!("expected at least one entry in `{name}`, got none");
            let pointer = format!("/body/{name}");
            findings.refuse(
                Code::CapabilityStatementIncomplete,
                pointer,
                "UAI 6.2",
                detail,
            );
        }
    }
}

/// Each phase says what it is about (UAI 9.6 K1, K2).
fn negotiation_phase(body: Value<'_>, findings: &mut Findings<'_>) {
    let phase = text(body, "phase");
    let needed = match phase.as_deref() {
        Some("offer") => "offered",
        Some("answer") => "selected",
        Some("reject") => "reason",
        _ => return,
    };
    if body.get(needed).is_none() {
        let phase = phase.unwrap_or_default();
        let detail = format!("expected `{needed}` in the phase {phase:?}, got nothing");
        let pointer = format!("/body/{needed}");
        findings.refuse(Code::MissingField, pointer, "UAI 9.6 K1", detail);
    }
}

/// What is corrected is named by JSON pointers into the message (UAI 3.2).
fn corrected_fields(body: Value<'_>, findings: &mut Findings<'_>) {
    let fields = body.get("corrected_fields");
    for (key, _) in fields.into_iter().flat_map(Value::members) {
        let name = key.text();
        let is_escaped = name
            .split('~')
            .skip(1)
            .all(|rest| rest.starts_with(['0', '1']));
        if !(name.starts_with('/') && is_escaped) {
            let mut pointer = String::from("/body/corrected_fields");
            push_step(&mut pointer, &name);
            let detail = format!("expected a JSON pointer as the name, got {name:?}");
            findings.refuse(Code::PatternMismatch, pointer, "UAI 3.2", detail);
        }
    }
}
