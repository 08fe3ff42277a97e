//! Writes a translation in UAI-1: the twelve members, valid in the strict mode too.

use super::mark::{EXTENSION, Mark};
use super::names::{in_two_parts, name};
use super::source::Source;
use super::write::Object;
use super::{LIMITS, embedded};
use crate::dialect::uai::build::{Agent, Envelope, Heading};
use crate::dialect::uai::{is_agent_type, is_identifier, is_topic, is_utc_time};
use crate::json::{self, Value};
use crate::task::Step;
use crate::{Act, Fault, Party};

/// The record that carries a topic without a recipient, and its mode (UAI 9.1 M3).
const MULTI_AGENT: &str = "urn:uai:ext:multi-agent";
const SUPPORT_BOUNDARY: &str = "Record only: the receiving runtime decides under its own policy.";
const LABEL_MAX: usize = 256;

pub(super) fn write(source: &Source<'_>, word: &str, mark: &Mark<'_>) -> Result<String, Fault> {
    let header = source.header;
    let (profile, word) = word.split_once(' ').unwrap_or((word, ""));
    let content = embedded(source, has_utc_times)?;
    let (body, place) = body(source, profile, word, &content.json, content.is_object);
    // Some bodies have no room for content: then the record of the mark has it.
    let carried = place.is_none().then_some(&*content.json);
    let to = match place {
        Some(name) => format!("/body/{name}"),
        None => "/extensions/0/payload/payload".into(),
    };
    let hole = content.from.map(|from| (from, to.as_str()));
    let mark = mark.write(hole, carried, false)?;
    let id = |text: &str| name(text, is_identifier).into_owned();
    let conversation = id(source.conversation());
    let topic = header
        .topics
        .first()
        .map(|topic| name(topic, is_topic).into_owned());
    let target = match (header.recipients.first(), &topic) {
        (Some(party), _) => agent(party),
        // A topic's message is for its broker, which passes it on (UAI 9.3 Q2).
        (None, Some(_)) => Agent::new("runtime", "interwire"),
        (None, None) => Agent::new("bus", "broadcast"),
    };
    let heading = Heading {
        id: id(&header.id),
        issued_at: source.at,
        source: agent(&header.sender),
        target,
        conversation,
    };
    let correlation = header
        .correlation
        .as_deref()
        .unwrap_or_else(|| source.conversation());
    let mut envelope = Envelope::new(profile, body, heading)
        .correlation(&id(correlation))
        .priority(header.priority)
        .extension(EXTENSION, &mark);
    if let Some(cause) = source.cause() {
        envelope = envelope.reply_to(&id(cause));
    }
    if let Some(task) = &header.task {
        envelope = envelope.task_ref(&id(task));
    }
    if let Some(deadline) = source.deadline() {
        envelope = envelope.expires_at(deadline);
    }
    let asks = matches!(source.act, Act::Request | Act::Query);
    if asks && !matches!(header.step, Some(Step::Open(_))) {
        envelope = envelope.reply_expected(false);
    }
    match (topic, header.recipients.is_empty()) {
        (Some(topic), true) => {
            let record = Object::new()
                .text("delivery_mode", "pubsub")
                .text("topic", &topic);
            envelope = envelope
                .mode("event")
                .extension(MULTI_AGENT, &record.close());
        }
        (Some(topic), false) => envelope = envelope.mode("event").topic(&topic),
        (None, _) if !asks => envelope = envelope.mode("event"),
        (None, _) => {}
    }
    envelope.write()
}

fn agent(party: &Party) -> Agent {
    let (kind, id) = in_two_parts(party, is_agent_type, is_identifier);
    let label: String = party.name().chars().take(LABEL_MAX).collect();
    Agent::new(&kind, &id).labelled(if label.is_empty() { &id } else { &label })
}

/// The body, and the member of it that holds the origin's own content.
fn body(
    source: &Source<'_>,
    profile: &str,
    word: &str,
    content: &str,
    is_object: bool,
) -> (String, Option<&'static str>) {
    let id = |text: &str| name(text, is_identifier).into_owned();
    let message = source.message();
    let intent = source.intent();
    let meant = intent
        .as_deref()
        .filter(|intent| !intent.is_empty())
        .unwrap_or(source.label());
    let said = message.as_deref().unwrap_or(meant);
    let object = Object::new();
    match profile {
        "uai.intent.request.v1" => {
            let subject = source.subject();
            let subject = subject.as_deref().unwrap_or(meant);
            let object = object.text("intent", meant).text("subject", subject);
            if is_object {
                return (
                    object.raw("parameters", content).close(),
                    Some("parameters"),
                );
            }
            let parameters = Object::new().raw("input", content).close();
            (
                object.raw("parameters", &parameters).close(),
                Some("parameters/input"),
            )
        }
        "uai.intent.response.v1" => {
            let mut object = object
                .text("status", word)
                .text("request_message_id", &id(source.answered()));
            if word == "rejected" {
                let mut notices = String::from("[");
                json::push_string(&mut notices, said);
                notices.push(']');
                object = object.raw("notices", &notices);
            }
            if content == "null" {
                let result = Object::new().raw("value", content).close();
                return (object.raw("result", &result).close(), Some("result/value"));
            }
            (object.raw("result", content).close(), Some("result"))
        }
        "uai.task.status.v1" => {
            let task = source
                .header
                .task
                .as_deref()
                .unwrap_or_else(|| source.task());
            let done = source.progress().unwrap_or(0.0) * 100.0;
            let progress = match word {
                "accepted" => 0,
                "running" => (done as u8).min(99),
                _ => (done as u8).min(100),
            };
            let mut object = object
                .text("task_id", &id(task))
                .text("state", word)
                .raw("progress", &progress.to_string());
            if word == "blocked" {
                let mut reasons = String::from("[");
                json::push_string(&mut reasons, said);
                reasons.push(']');
                object = object.raw("blocking_reasons", &reasons);
            }
            (object.text("notes", said).close(), None)
        }
        "uai.agent.ack.v1" => {
            let status = if word == "deferred" && source.is_never() {
                "rejected"
            } else {
                word
            };
            let object = object
                .text(
                    "ack_for_message_id",
                    &id(source.cause().unwrap_or(&source.header.id)),
                )
                .text("ack_status", status)
                .maybe("reason", message.as_deref())
                .text("received_at", &source.at.to_string())
                .text("support_boundary", SUPPORT_BOUNDARY);
            (object.close(), None)
        }
        _ => {
            let object = object
                .text("message_type", word)
                .text("content", said)
                .raw("context_refs", "[]")
                .flag("requires_acknowledgement", false)
                .text(
                    "intent",
                    if source.act == Act::CancelRequest {
                        crate::task::CANCEL_INTENT
                    } else {
                        meant
                    },
                );
            (object.close(), None)
        }
    }
}

/// UAI-1 takes every member whose name ends in `_at` or `_due` for a time in UTC, wherever it stands.
fn has_utc_times(json: &str) -> bool {
    fn is_sound(value: Value<'_>) -> bool {
        let sound = |(key, member): (json::Key<'_>, Value<'_>)| {
            let name = key.text();
            let is_time = name.ends_with("_at") || name.ends_with("_due");
            let is_sound_time = !is_time || member.as_str().is_none_or(|text| is_utc_time(&text));
            is_sound_time && is_sound(member)
        };
        value.members().all(sound) && value.items().all(is_sound)
    }
    json::read(json.as_bytes(), LIMITS).is_ok_and(|document| is_sound(document.root()))
}
