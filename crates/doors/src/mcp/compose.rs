//! Envelopes made of the plain fields that a tool takes.

use super::arguments::Arguments;
use super::{Exchange, Refusal, new_id};
use protocol::dialect::aee::Aee;
use protocol::dialect::aep::Aep;
use protocol::dialect::uai::build::{Agent, Envelope, Heading};
use protocol::{DialectName, Party, Priority, Timestamp};
use serde_json::{Value, json};

/// What the envelope is for: without a type of its own it asks for work, or only tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Tell,
    Ask,
}

/// The fields of a new envelope.
#[derive(Debug, Default)]
struct Fields {
    to: Vec<String>,
    kind: Option<String>,
    intent: Option<String>,
    text: Option<String>,
    payload: Option<String>,
    conversation: Option<String>,
    task: Option<String>,
    correlation: Option<String>,
    cause: Option<String>,
    topic: Option<String>,
    priority: Option<Priority>,
    timeout_ms: Option<u64>,
}

/// The names of the fields, for the schemas.
pub(super) const DIALECTS: [&str; 3] = ["aee", "aep", "uai"];

/// Longest time that a request may give its worker, in milliseconds: a week.
pub(super) const WORK_MS_MAX: u64 = 604_800_000;

/// Most recipients that are named in one call.
const TO_MAX: usize = 64;

/// The envelope that the arguments describe: given whole under `envelope`, or by its fields.
pub(super) fn compose(
    arguments: &mut Arguments,
    exchange: &impl Exchange,
    from: &Party,
    purpose: Purpose,
) -> Result<String, Refusal> {
    if let Some(text) = arguments.envelope("envelope") {
        return Ok(text);
    }
    let dialect = arguments.word("dialect", &DIALECTS).unwrap_or("aee");
    let dialect = DialectName::parse(dialect).unwrap_or(DialectName::Aee);
    let fields = Fields {
        to: arguments.texts("to", TO_MAX),
        kind: arguments.text("type"),
        intent: arguments.text("intent"),
        text: arguments.text("text"),
        payload: arguments.object("payload"),
        conversation: arguments.text("conversation"),
        task: arguments.text("task"),
        correlation: arguments.text("correlation"),
        cause: arguments.text("cause"),
        topic: arguments.text("topic"),
        priority: arguments
            .word("priority", &["low", "normal", "high", "urgent"])
            .and_then(Priority::parse),
        timeout_ms: match arguments.has("work_timeout_ms") {
            true => Some(arguments.number("work_timeout_ms", 1, 1..=WORK_MS_MAX)),
            false => None,
        },
    };
    let now = exchange.now();
    match dialect {
        DialectName::Aee => aee(&fields, from, purpose, now),
        DialectName::Aep => aep(&fields, from, purpose, now),
        DialectName::Uai => uai(&fields, from, purpose, now),
    }
}

fn aee(fields: &Fields, from: &Party, purpose: Purpose, now: Timestamp) -> Result<String, Refusal> {
    let to = Party::parse(only_recipient(fields)?).to_aee();
    let intent = fields.intent.as_deref().unwrap_or("chat.message");
    let usual = match purpose {
        Purpose::Tell => "event",
        Purpose::Ask => "task",
    };
    let from = from.to_aee();
    let builder = match fields.kind.as_deref().unwrap_or(usual) {
        "task" => Aee::task(&from, &to, intent),
        "event" => Aee::event(&from, &to, intent),
        other => {
            let detail = format!(
                "expected `type` to be task or event with aee, got {other:?}; answer with `reply`"
            );
            return Err(Refusal::of_arguments("/type", detail));
        }
    };
    let mut builder = builder.payload_json(&payload(fields));
    if let Some(corr) = &fields.conversation {
        builder = builder.corr(corr);
    }
    if let Some(cause) = &fields.cause {
        builder = builder.reply_to(cause);
    }
    if let Some(priority) = fields.priority {
        builder = builder.priority(priority);
    }
    if let Some(ms) = fields.timeout_ms {
        builder = builder.requires(&json!({ "timeout_ms": ms }).to_string());
    }
    Ok(builder.build(&new_id(now), now))
}

fn aep(fields: &Fields, from: &Party, purpose: Purpose, now: Timestamp) -> Result<String, Refusal> {
    let id = format!("evt_{}", new_id(now));
    let usual = match purpose {
        Purpose::Tell => "agent.message.sent",
        Purpose::Ask => "task.submitted",
    };
    let kind = fields.kind.as_deref().unwrap_or(usual);
    let mut event = Aep::event(kind, from.as_str());
    match fields.to.as_slice() {
        [] => {}
        [to] => event = event.target(Party::parse(to).as_str()),
        _ => return Err(several()),
    }
    if let Some(topic) = &fields.topic {
        event = event.topic(topic);
    }
    let conversation = fields.conversation.clone();
    event = event.conversation(&conversation.unwrap_or_else(|| format!("conv_{}", new_id(now))));
    match &fields.task {
        Some(task) => event = event.task(task),
        None if kind == "task.submitted" => event = event.task(&format!("task_{}", new_id(now))),
        None => {}
    }
    match &fields.correlation {
        Some(id) => event = event.correlation(id),
        // Commands and queries are answered under it.
        None if kind.ends_with(".requested") || kind == "query.requested" => {
            event = event.correlation(&id);
        }
        None => {}
    }
    if let Some(cause) = &fields.cause {
        event = event.cause(cause);
    }
    let mut payload: Value = serde_json::from_str(&payload(fields)).unwrap_or_default();
    if let Some(object) = payload.as_object_mut() {
        if let Some(intent) = &fields.intent {
            object.entry("intent").or_insert_with(|| json!(intent));
        }
        if let Some(priority) = fields.priority {
            object
                .entry("priority")
                .or_insert_with(|| json!(priority.as_str()));
        }
        if let Some(ms) = fields.timeout_ms {
            object.entry("timeout_ms").or_insert_with(|| json!(ms));
        }
    }
    Ok(event.payload_json(&payload.to_string()).build(&id, now))
}

fn uai(fields: &Fields, from: &Party, purpose: Purpose, now: Timestamp) -> Result<String, Refusal> {
    let Some((first, others)) = fields.to.split_first() else {
        return Err(nobody());
    };
    let profile = fields.kind.as_deref().unwrap_or("uai.agent.message.v1");
    let body = if profile == "uai.agent.message.v1" {
        message_body(fields, purpose)
    } else {
        payload(fields)
    };
    let conversation = fields.conversation.clone();
    let conversation = conversation.unwrap_or_else(|| format!("conv_{}", new_id(now)));
    let heading = heading(from, &Party::parse(first), &conversation, now);
    let mut envelope = Envelope::new(profile, body, heading);
    for other in others {
        envelope = envelope.also_to(agent(&Party::parse(other)));
    }
    if let Some(topic) = &fields.topic {
        envelope = envelope.topic(topic);
    }
    if let Some(id) = &fields.correlation {
        envelope = envelope.correlation(id);
    }
    if let Some(id) = &fields.cause {
        envelope = envelope.reply_to(id);
    }
    if let Some(task) = &fields.task {
        envelope = envelope.task_ref(task);
    }
    if let Some(priority) = fields.priority {
        envelope = envelope.priority(priority);
    }
    if let Some(ms) = fields.timeout_ms {
        let ms = i64::try_from(ms).unwrap_or(i64::MAX);
        envelope = envelope.expires_at(now.plus_millis(ms));
    }
    write(&envelope)
}

/// The body of an agent message: the text, and the rest of the payload as part of it.
fn message_body(fields: &Fields, purpose: Purpose) -> String {
    let word = match purpose {
        Purpose::Tell => "inform",
        Purpose::Ask => "query",
    };
    let content = match (&fields.text, &fields.payload) {
        (Some(text), _) => text.clone(),
        (None, Some(payload)) => payload.clone(),
        (None, None) => String::new(),
    };
    let mut body = json!({
        "message_type": word,
        "content": content,
        "context_refs": [],
        "requires_acknowledgement": false,
    });
    if let (Some(intent), Some(object)) = (&fields.intent, body.as_object_mut()) {
        object.insert("intent".into(), intent.as_str().into());
    }
    if let Some(given) = fields.payload.as_deref().filter(|_| fields.text.is_some()) {
        // What the caller says about the body in words of the protocol goes before.
        let given: Value = serde_json::from_str(given).unwrap_or_default();
        if let (Some(given), Some(object)) = (given.as_object(), body.as_object_mut()) {
            object.extend(given.clone());
        }
    }
    body.to_string()
}

/// The payload, with the text under `text`.
fn payload(fields: &Fields) -> String {
    let given = fields.payload.as_deref().unwrap_or("{}");
    let Some(text) = &fields.text else {
        return given.to_owned();
    };
    let mut payload: Value = serde_json::from_str(given).unwrap_or_default();
    if let Some(object) = payload.as_object_mut() {
        object.insert("text".into(), text.as_str().into());
    }
    payload.to_string()
}

fn only_recipient(fields: &Fields) -> Result<&str, Refusal> {
    match fields.to.as_slice() {
        [to] => Ok(to),
        [] => Err(nobody()),
        _ => Err(several()),
    }
}

fn nobody() -> Refusal {
    Refusal::of_arguments("/to", "expected `to` to name a party, such as agent:worker")
}

fn several() -> Refusal {
    let detail = "expected one party in `to`; only uai envelopes name several recipients";
    Refusal::of_arguments("/to", detail)
}

/// A party as UAI-1 writes it; a party without a known kind is an agent.
pub(super) fn agent(party: &Party) -> Agent {
    Agent::new(party.kind().unwrap_or("agent"), party.name())
}

pub(super) fn heading(from: &Party, to: &Party, conversation: &str, now: Timestamp) -> Heading {
    Heading {
        id: format!("msg_{}", new_id(now)),
        issued_at: now,
        source: agent(from),
        target: agent(to),
        conversation: conversation.to_owned(),
    }
}

pub(super) fn write(envelope: &Envelope) -> Result<String, Refusal> {
    envelope
        .write()
        .map_err(|fault| protocol::Rejection::from(fault).into())
}

/// `{"code":...,"message":...}`, and whatever else `payload` holds.
pub(super) fn error_payload(payload: Option<&str>, code: &str, message: &str) -> String {
    let mut value: Value = payload
        .and_then(|payload| serde_json::from_str(payload).ok())
        .unwrap_or_else(|| json!({}));
    if let Some(object) = value.as_object_mut() {
        object.entry("code").or_insert_with(|| json!(code));
        object.entry("message").or_insert_with(|| json!(message));
    }
    value.to_string()
}
