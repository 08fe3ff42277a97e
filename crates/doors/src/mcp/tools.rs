//! The tools: what a host is told of them, and which code runs.
//!
//! long because: the table of tools with their schemas is data, and models read every word of it.

use super::arguments::Arguments;
use super::compose::{DIALECTS, Purpose, WORK_MS_MAX, compose};
use super::progress::Progress;
use super::{Exchange, Refusal, Settling, TraceForm, ask, find, inbox, reply, summary};
use protocol::Party;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};
use std::sync::{Arc, LazyLock};

/// Every tool, in the order a host shows them.
pub(super) static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
    vec![
        tool(
            "send",
            "Send a message",
            "Send one message to another agent, human, tool or service and return at once. It is \
             durable when this returns: the recipient gets it even if it is away now. Give the fields \
             (the envelope is written for you), or a whole `envelope`. To wait for an answer use `ask`; \
             to answer a message use `reply`.",
            sending(&json!({}), "event"),
            json!({
                "type": "object",
                "properties": {
                    "receipt": { "type": "object", "description": "What the exchange says: id, cursor, recipients, warnings." },
                    "envelope": { "type": "string", "description": "The envelope as it was sent." }
                },
                "required": ["receipt", "envelope"]
            }),
            ToolAnnotations::new()
                .read_only(false)
                .destructive(false)
                .open_world(true),
        ),
        tool(
            "ask",
            "Ask and wait for the reply",
            "Ask another party for work or for an answer and wait until it is done. Progress is shown \
             while it works. When the wait is over before the work is, the fault is `no_reply` and the \
             work goes on: call `ask` again with the `asked` text of the fault as `envelope` to wait on.",
            sending(
                &json!({
                    "timeout_ms": {
                        "type": "integer", "minimum": 1, "maximum": ask::WAIT_MS_MAX, "default": 60_000,
                        "description": "How long to wait for the reply, in milliseconds."
                    }
                }),
                "task",
            ),
            json!({
                "type": "object",
                "properties": {
                    "task": { "type": "string" },
                    "state": { "type": "string", "enum": ["completed", "failed", "cancelled", "timed_out"] },
                    "cursor": { "type": "string" },
                    "receipt": { "type": "object" },
                    "reply": message_schema()
                },
                "required": ["task", "state", "reply"]
            }),
            ToolAnnotations::new()
                .read_only(false)
                .destructive(false)
                .open_world(true),
        ),
        tool(
            "inbox",
            "Read your inbox",
            "Take messages that wait for you. Each comes with a `delivery`: when you have dealt with the \
             message, pass that to `ack` (or to `reply`, which acknowledges for you); until then nobody else \
             gets it, and when the lease is over it is handed out again. With `wait_ms` this waits for the \
             first message to come.",
            json!({
                "type": "object",
                "properties": {
                    "max": { "type": "integer", "minimum": 1, "maximum": inbox::COUNT_MAX, "default": 5, "description": "Most messages to take." },
                    "wait_ms": { "type": "integer", "minimum": 0, "maximum": inbox::WAIT_MS_MAX, "default": 0, "description": "How long to wait for a message when there is none, in milliseconds." }
                },
                "additionalProperties": false
            }),
            json!({
                "type": "object",
                "properties": {
                    "party": { "type": "string" },
                    "messages": { "type": "array", "items": message_schema() }
                },
                "required": ["party", "messages"]
            }),
            ToolAnnotations::new()
                .read_only(false)
                .destructive(false)
                .open_world(false),
        ),
        tool(
            "ack",
            "Acknowledge messages",
            "Say that messages taken with `inbox` are dealt with, so that they are not handed out again. \
             With verdict nack they come again; with reject never (they become dead letters).",
            json!({
                "type": "object",
                "properties": {
                    "deliveries": { "type": "array", "items": { "type": "string" }, "minItems": 1, "maxItems": inbox::SETTLED_MAX, "description": "The `delivery` of each message." },
                    "verdict": { "type": "string", "enum": ["ack", "nack", "reject"], "default": "ack" },
                    "retry_after_ms": { "type": "integer", "minimum": 0, "maximum": inbox::DELAY_MS_MAX, "description": "With nack: how long to wait before it comes again." },
                    "reason": { "type": "string", "description": "With nack and reject: why, for whoever looks at it later." }
                },
                "required": ["deliveries"],
                "additionalProperties": false
            }),
            json!({
                "type": "object",
                "properties": {
                    "results": { "type": "array", "items": {
                        "type": "object",
                        "properties": { "delivery": { "type": "string" }, "ok": { "type": "boolean" }, "fault": { "type": "object" } },
                        "required": ["delivery", "ok"]
                    } }
                },
                "required": ["results"]
            }),
            ToolAnnotations::new()
                .read_only(false)
                .destructive(false)
                .open_world(false),
        ),
        tool(
            "reply",
            "Reply to a message",
            "Answer a message you got, in the protocol it was written in and tied to it: `completed` with \
             your result ends the task, `progress` tells how far you are, `failed` or `rejected` say why not. \
             Give `delivery` as well to acknowledge the message once the reply is durable.",
            json!({
                "type": "object",
                "properties": {
                    "message": { "type": "string", "description": "The `id` of the message that is answered." },
                    "sender": { "type": "string", "description": "Who sent it; only needed when two senders used the same id." },
                    "status": { "type": "string", "enum": reply::STATUSES, "default": "completed" },
                    "text": { "type": "string", "description": "What to say, in words." },
                    "payload": { "type": "object", "description": "The result or details, as an object." },
                    "percent": { "type": "integer", "minimum": 0, "maximum": 100, "description": "With progress: how much is done." },
                    "delivery": { "type": "string", "description": "The `delivery` of the message, to acknowledge it as well." }
                },
                "required": ["message"],
                "additionalProperties": false
            }),
            json!({
                "type": "object",
                "properties": {
                    "receipt": { "type": "object" },
                    "envelope": { "type": "string" },
                    "acknowledged": { "type": "boolean" },
                    "fault": { "type": "object", "description": "Why the delivery could not be acknowledged; the reply was sent." }
                },
                "required": ["receipt", "envelope", "acknowledged"]
            }),
            ToolAnnotations::new()
                .read_only(false)
                .destructive(false)
                .open_world(true),
        ),
        tool(
            "find",
            "Find agents and tools",
            "List parties that the exchange knows, with what they can do, whether they are there, how much they \
             work on, and how much waits for them. A party that has never said or done anything is not \
             listed, and can still be written to.",
            json!({
                "type": "object",
                "properties": {
                    "query": { "type": "string", "description": "Words that must all appear in the party's name or in what it announced." }
                },
                "additionalProperties": false
            }),
            json!({
                "type": "object",
                "properties": {
                    "agents": { "type": "array", "items": {
                        "type": "object",
                        "properties": {
                            "party": { "type": "string" },
                            "kind": { "type": ["string", "null"] },
                            "presence": { "type": "string", "enum": ["online", "stale", "offline"] },
                            "last_seen": { "type": ["string", "null"] },
                            "skills": { "type": "array", "items": { "type": "string" } },
                            "intents": { "type": "array", "items": { "type": "string" } },
                            "cards": { "type": "object", "description": "What it says of itself, by where that comes from." },
                            "tasks": { "type": "object" },
                            "subscriptions": { "type": "array", "items": { "type": "string" } },
                            "waiting": { "type": ["integer", "null"] }
                        },
                        "required": ["party"]
                    } },
                    "more": { "type": "boolean" }
                },
                "required": ["agents", "more"]
            }),
            ToolAnnotations::new().read_only(true).open_world(false),
        ),
        tool(
            "trace",
            "Trace a conversation",
            "Show a whole conversation as a tree: what caused what, who got it, what became of it.",
            json!({
                "type": "object",
                "properties": {
                    "id": { "type": "string", "description": "The id of a conversation, a message, a task or a correlation." },
                    "format": { "type": "string", "enum": ["text", "json", "mermaid"], "default": "text" }
                },
                "required": ["id"],
                "additionalProperties": false
            }),
            json!({
                "type": "object",
                "properties": {
                    "format": { "type": "string" },
                    "trace": { "description": "A text, or with json the object." }
                },
                "required": ["format", "trace"]
            }),
            ToolAnnotations::new().read_only(true).open_world(false),
        ),
    ]
});

fn tool(
    name: &'static str,
    title: &str,
    description: &'static str,
    input: Value,
    output: Value,
    annotations: ToolAnnotations,
) -> Tool {
    Tool::new(name, description, schema(input))
        .with_title(title)
        .with_raw_output_schema(schema(output))
        .with_annotations(annotations)
}

fn schema(value: Value) -> Arc<JsonObject> {
    match value {
        Value::Object(object) => Arc::new(object),
        _ => Arc::default(),
    }
}

/// The input of tools that send; `usual` is the AEE type without `type`.
fn sending(more: &Value, usual: &str) -> Value {
    let mut properties = json!({
        "to": {
            "description": "Who gets it, such as agent:worker. Only uai takes several.",
            "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }]
        },
        "text": { "type": "string", "description": "What to say, in words." },
        "payload": { "type": "object", "description": "Details as an object." },
        "intent": { "type": "string", "description": "What it is about, as dotted words, such as report.write." },
        "dialect": { "type": "string", "enum": DIALECTS, "default": "aee", "description": "The protocol the recipient speaks." },
        "type": { "type": "string", "description": format!("The type in that protocol: aee event or task (usual: {usual}), aep an event type, uai a profile.") },
        "conversation": { "type": "string", "description": "The conversation it belongs to; without it a new one begins." },
        "cause": { "type": "string", "description": "The id of the message that caused this one." },
        "correlation": { "type": "string" },
        "task": { "type": "string", "description": "The task it is about." },
        "topic": { "type": "string" },
        "priority": { "type": "string", "enum": ["low", "normal", "high", "urgent"] },
        "work_timeout_ms": { "type": "integer", "minimum": 1, "maximum": WORK_MS_MAX, "description": "How long the worker may take; then the exchange ends the task." },
        "envelope": {
            "description": "Instead of all other fields: a whole envelope in any of the protocols. A text is sent byte for byte.",
            "anyOf": [{ "type": "string" }, { "type": "object" }]
        }
    });
    if let (Some(properties), Some(more)) = (properties.as_object_mut(), more.as_object()) {
        properties.extend(more.clone());
    }
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn message_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "id": { "type": "string" },
            "from": { "type": "string" },
            "to": { "type": "array", "items": { "type": "string" } },
            "dialect": { "type": "string" },
            "type": { "type": "string" },
            "act": { "type": "string", "description": "What it does: request, progress, complete, inform, ..." },
            "intent": { "type": "string" },
            "conversation": { "type": "string" },
            "task": { "type": "string" },
            "cause": { "type": "string" },
            "delivery": { "type": "string" },
            "attempt": { "type": "integer" },
            "lease_until": { "type": "string" },
            "cursor": { "type": "string" },
            "envelope": { "type": "string", "description": "The whole message, byte for byte." }
        },
        "required": ["envelope"]
    })
}

/// Runs a tool; `None` when there is none of that name.
pub(super) async fn call(
    name: &str,
    given: Option<Map<String, Value>>,
    exchange: &impl Exchange,
    party: &Party,
    progress: Progress,
) -> Option<Result<Value, Refusal>> {
    let arguments = Arguments::of(given);
    Some(match name {
        "send" => send(arguments, exchange, party).await,
        "ask" => ask::run(arguments, exchange, party, progress).await,
        "inbox" => inbox::run(arguments, exchange, party, progress).await,
        "ack" => inbox::ack(arguments, exchange).await,
        "reply" => answer(arguments, exchange, party).await,
        "find" => find::run(arguments, exchange).await,
        "trace" => trace(arguments, exchange).await,
        _ => return None,
    })
}

async fn send(
    mut arguments: Arguments,
    exchange: &impl Exchange,
    party: &Party,
) -> Result<Value, Refusal> {
    let envelope = compose(&mut arguments, exchange, party, Purpose::Tell);
    arguments.finish()?;
    let envelope = envelope?;
    let receipt = exchange.publish(envelope.clone().into()).await?;
    Ok(json!({ "receipt": receipt, "envelope": envelope }))
}

async fn answer(
    mut arguments: Arguments,
    exchange: &impl Exchange,
    party: &Party,
) -> Result<Value, Refusal> {
    let message = arguments.required("message");
    let sender = arguments.text("sender");
    let words = reply::Words::read(&mut arguments);
    let delivery = arguments.text("delivery");
    arguments.finish()?;
    let cause = exchange.message(&message, sender.as_deref()).await?;
    let cause = summary::header(&cause, exchange).ok_or_else(|| {
        let detail = format!("expected {message:?} to be a message that can be read");
        Refusal::of_arguments("/message", detail)
    })?;
    let envelope = reply::compose(&cause, &words, party, exchange)?;
    if reply::must_start(&cause, words.status, exchange).await {
        let started = reply::compose(&cause, &reply::Words::started(), party, exchange)?;
        exchange.publish(started.into()).await?;
    }
    let receipt = exchange.publish(envelope.clone().into()).await?;
    // Some replies settle what they answer by themselves: an AEE result, a UAI-1 acknowledgement.
    let header = summary::read(envelope.as_bytes(), exchange.now()).header;
    let is_settled = header.is_some_and(|header| header.settles.is_some());
    let mut out = json!({ "receipt": receipt, "envelope": envelope, "acknowledged": is_settled });
    if let Some(delivery) = delivery.filter(|_| !is_settled) {
        // The reply is durable: a delivery that is lost by now does not undo it.
        let settled = exchange.settle(vec![delivery], Settling::Ack).await;
        let settled = settled.and_then(|results| results.into_iter().next().unwrap_or(Ok(())));
        if let Some(out) = out.as_object_mut() {
            match settled {
                Ok(()) => out.insert("acknowledged".into(), true.into()),
                Err(refusal) => out.insert("fault".into(), refusal.0),
            };
        }
    }
    Ok(out)
}

async fn trace(mut arguments: Arguments, exchange: &impl Exchange) -> Result<Value, Refusal> {
    let id = arguments.required("id");
    let format = arguments.word("format", &["text", "json", "mermaid"]);
    arguments.finish()?;
    let format = format.unwrap_or("text");
    let form = match format {
        "json" => TraceForm::Json,
        "mermaid" => TraceForm::Mermaid,
        _ => TraceForm::Text,
    };
    let text = exchange.trace(&id, form).await?;
    let trace = match form {
        TraceForm::Json => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        TraceForm::Text | TraceForm::Mermaid => Value::String(text),
    };
    Ok(json!({ "format": format, "trace": trace }))
}
