//! The neutral header of a valid envelope.
//!
//! Runs only when nothing was refused, so a member that is there has its type. Implements the UAI-1
//! column of the header, UAI 4 D6 and UAI 9.3 Q2.

use std::borrow::Cow;

use super::act::{act, answered, step};
use super::coordinate::coordination;
use super::extension;
use super::grammar;
use super::routing::Routing;
use crate::json::Value;
use crate::task::Step;
use crate::{DialectName, Digest, Header, Intake, Party, Priority, Settlement, SettlementVerdict};

/// Collects the facts an exchange acts on. `None` when a member that validation guarantees is absent.
pub(super) fn header(
    doc: Value<'_>,
    profile: &str,
    routing: &Routing<'_>,
    fingerprint: Digest,
) -> Option<Header> {
    let body = doc.get("body")?;
    let conversation = doc.get("conversation")?;
    let delivery = doc.get("delivery")?;
    let id: Box<str> = text(doc, "message_id")?.into();
    let act = act(profile, body);
    // A proposal is decided on like a task: by a report that names it (UAI 9.9 Y1).
    let proposal = match profile {
        "uai.agent.memory-proposal.v1" => owned(body, "proposal_id"),
        _ => None,
    };
    let task = proposal
        .or_else(|| owned(body, "task_id"))
        .or_else(|| owned(body, "task_ref"))
        .or_else(|| owned(delivery, "task_ref"));
    let mut header = Header {
        dialect: DialectName::Uai,
        idempotency_key: owned(delivery, "idempotency_key"),
        origin: extension::payloads(doc, extension::SPLIT)
            .next()
            .and_then(|(_, split)| owned(split, "origin_message_id")),
        id,
        sender: party(doc.get("source")?)?,
        act,
        kind: profile.into(),
        recipients: recipients(routing),
        topics: routing
            .topics
            .iter()
            .map(|topic| Box::from(&**topic))
            .collect(),
        conversation: owned(conversation, "conversation_id"),
        correlation: owned(conversation, "correlation_id"),
        cause: answered(profile, body)
            .map(Box::from)
            .or_else(|| owned(conversation, "parent_message_id")),
        task,
        session: None,
        intent: owned(body, "intent"),
        priority: text(delivery, "priority")
            .and_then(|word| Priority::parse(&word))
            .unwrap_or_default(),
        deadline: text(delivery, "expires_at").and_then(|text| grammar::utc_time(&text)),
        retry: None,
        settles: settles(profile, body, conversation).map(Box::new),
        intake: Intake::Work,
        replay_of: None,
        step: step(profile, act, delivery),
        flow: None,
        coordination: None,
        fingerprint,
    };
    header.coordination = coordination(doc, profile, &header).map(Box::new);
    if let ("uai.agent.handoff.v1", Some(Step::Open(terms))) = (profile, &mut header.step) {
        (terms.assignees, terms.copies) = shares(doc, &header.recipients);
    }
    Some(header)
}

/// Who works on a handoff, when not every recipient: the one whose agents are assigned something (UAI 9.1
/// M8). And into how many copies it was split (UAI 9.2 B2).
fn shares(doc: Value<'_>, recipients: &[Party]) -> (Vec<Party>, u32) {
    let assigned: Vec<_> = extension::payloads(doc, extension::ASSIGNMENT)
        .filter_map(|(_, payload)| payload.get("assignments"))
        .flat_map(Value::items)
        .filter_map(|one| text(one, "agent_id"))
        .collect();
    let is_assigned = |party: &&Party| assigned.iter().any(|id| party.name() == &**id);
    let mut assignees: Vec<_> = recipients.iter().filter(is_assigned).cloned().collect();
    if assignees.len() == recipients.len() {
        assignees.clear();
    }
    let split = extension::payloads(doc, extension::SPLIT).next();
    let copies = split
        .and_then(|(_, split)| split.get("recipient_count")?.as_i64())
        .and_then(|count| u32::try_from(count).ok());
    (assignees, copies.unwrap_or_default())
}

/// A pubsub message is addressed to its broker, so that a legacy broker sees an ordinary message to
/// itself; the broker is then no recipient.
fn recipients(routing: &Routing<'_>) -> Vec<Party> {
    let mut recipients = Vec::with_capacity(routing.targets.len());
    for (index, target) in routing.targets.iter().enumerate() {
        let is_broker = index == 0
            && routing.mode.as_deref() == Some("pubsub")
            && text(*target, "type").is_some_and(|kind| kind == "runtime");
        if !is_broker
            && let Some(party) = party(*target)
            && !recipients.contains(&party)
        {
            recipients.push(party);
        }
    }
    recipients
}

/// What the packet says about one that was delivered to its source (UAI 4 D2). A task's status tells
/// that the handoff before it has arrived.
fn settles(profile: &str, body: Value<'_>, conversation: Value<'_>) -> Option<Settlement> {
    let (id, status) = match profile {
        "uai.agent.ack.v1" => (
            text(body, "ack_for_message_id")?,
            text(body, "ack_status").unwrap_or_default(),
        ),
        "uai.task.status.v1" | "uai.agent.task-status.v1" | "uai.agent.final-report.v1" => {
            (text(conversation, "parent_message_id")?, Cow::Borrowed(""))
        }
        // Whoever answers a message has got it.
        "uai.intent.response.v1" | "uai.error.v1" => (answered(profile, body)?, Cow::Borrowed("")),
        _ => return None,
    };
    let verdict = match &*status {
        "deferred" => SettlementVerdict::Again {
            reason: text(body, "reason").unwrap_or_default().into(),
        },
        _ => SettlementVerdict::Acknowledged,
    };
    Some(Settlement {
        id: id.into(),
        verdict,
    })
}

fn party(agent: Value<'_>) -> Option<Party> {
    Some(Party::from_parts(
        &text(agent, "type")?,
        &text(agent, "id")?,
    ))
}

fn text<'d>(object: Value<'d>, name: &str) -> Option<Cow<'d, str>> {
    object.get(name)?.as_str()
}

fn owned(object: Value<'_>, name: &str) -> Option<Box<str>> {
    text(object, name).map(Box::from)
}
