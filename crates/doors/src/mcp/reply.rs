//! The right reply to a message, in the dialect it was written in.

use super::arguments::Arguments;
use super::compose::{error_payload, heading, write};
use super::{Exchange, Refusal, new_id};
use protocol::dialect::aee::Aee;
use protocol::dialect::aep::Aep;
use protocol::dialect::uai::build::{Ack, Envelope, FinalReport, TaskStatus};
use protocol::{DialectName, Header, Party, Timestamp};
use serde_json::{Value, json};

/// What a reply can say about the work.
pub(super) const STATUSES: [&str; 9] = [
    "accepted",
    "rejected",
    "started",
    "progress",
    "output",
    "completed",
    "failed",
    "cancelled",
    "answer",
];

/// What is replied.
#[derive(Debug)]
pub(super) struct Words {
    pub status: &'static str,
    pub text: Option<String>,
    pub payload: Option<String>,
    /// How much is done, in percent.
    pub percent: Option<u8>,
}

impl Words {
    /// That work begins, and nothing else.
    pub(super) fn started() -> Self {
        Self {
            status: "started",
            text: None,
            payload: None,
            percent: None,
        }
    }

    pub(super) fn read(arguments: &mut Arguments) -> Self {
        Self {
            status: arguments.word("status", &STATUSES).unwrap_or("completed"),
            text: arguments.text("text"),
            payload: arguments.object("payload"),
            percent: match arguments.has("percent") {
                true => u8::try_from(arguments.number("percent", 0, 0..=100)).ok(),
                false => None,
            },
        }
    }

    fn text(&self) -> &str {
        self.text.as_deref().unwrap_or(self.status)
    }

    /// The payload, with the text under `name`.
    fn payload(&self, name: &str) -> Value {
        let given = self.payload.as_deref().unwrap_or("{}");
        let mut value: Value = serde_json::from_str(given).unwrap_or_default();
        if let (Some(text), Some(object)) = (&self.text, value.as_object_mut()) {
            object.entry(name).or_insert_with(|| json!(text));
        }
        value
    }
}

/// Whether an AEP task must be said to have started before `status` can be said: only AEP has no word
/// that implies it (AEP 5).
pub(super) async fn must_start(cause: &Header, status: &str, exchange: &impl Exchange) -> bool {
    let is_work = matches!(status, "progress" | "output" | "completed" | "answer");
    let Some(task) = cause
        .task
        .as_deref()
        .filter(|_| &*cause.kind == "task.submitted")
    else {
        return false;
    };
    if !is_work {
        return false;
    }
    let state = exchange.task(task).await;
    let state = state
        .ok()
        .and_then(|task| Some(task.get("state")?.as_str()?.to_owned()));
    matches!(state.as_deref(), Some("submitted" | "accepted" | "blocked"))
}

/// The reply of `from` to the message `cause`.
pub(super) fn compose(
    cause: &Header,
    words: &Words,
    from: &Party,
    exchange: &impl Exchange,
) -> Result<String, Refusal> {
    let now = exchange.now();
    match cause.dialect {
        DialectName::Aee => aee(cause, words, from, now),
        DialectName::Aep => Ok(aep(cause, words, from, now)),
        DialectName::Uai => uai(cause, words, from, now),
    }
}

fn aee(cause: &Header, words: &Words, from: &Party, now: Timestamp) -> Result<String, Refusal> {
    let builder = if &*cause.kind != "task" {
        // Nothing was asked for: an event back, in the same conversation.
        let intent = cause.intent.as_deref().unwrap_or("chat.message");
        let mut event = Aee::event(&from.to_aee(), &cause.sender.to_aee(), intent)
            .reply_to(&cause.id)
            .payload_json(&words.payload("text").to_string());
        if let Some(corr) = &cause.conversation {
            event = event.corr(corr);
        }
        event
    } else {
        let error = |code: &str| {
            let payload = error_payload(words.payload.as_deref(), code, words.text());
            Aee::error_of(cause, code, words.text()).payload_json(&payload)
        };
        match words.status {
            "completed" | "answer" => {
                Aee::result_of(cause).payload_json(&words.payload("text").to_string())
            }
            "started" | "progress" | "output" | "accepted" => {
                let mut payload = words.payload("message");
                if let Some(object) = payload.as_object_mut() {
                    if words.status != "progress" {
                        object
                            .entry("status")
                            .or_insert_with(|| json!(words.status));
                    }
                    if let Some(percent) = words.percent {
                        object.entry("percent").or_insert_with(|| json!(percent));
                    }
                }
                Aee::stream_of(cause).payload_json(&payload.to_string())
            }
            "cancelled" => error("E_CANCELLED"),
            "rejected" => error("E_REJECTED"),
            _ => error("E_FAILED"),
        }
    };
    Ok(builder.from(&from.to_aee()).build(&new_id(now), now))
}

/// The families of events that have words for every step of a piece of work.
fn family(kind: &str) -> Option<&'static str> {
    match kind {
        "task.submitted" => Some("task"),
        "tool.call.requested" => Some("tool.call"),
        _ => None,
    }
}

fn aep(cause: &Header, words: &Words, from: &Party, now: Timestamp) -> String {
    let kind = match (family(&cause.kind), &*cause.kind, words.status) {
        (Some("task"), _, "rejected") => "task.failed".into(),
        (Some(family), _, "answer") => format!("{family}.completed"),
        (Some(family), _, status) => format!("{family}.{status}"),
        (None, "command.requested", "rejected" | "failed" | "cancelled") => {
            "command.rejected".into()
        }
        (None, "command.requested", _) => "command.accepted".into(),
        (None, "query.requested", "rejected" | "failed" | "cancelled") => "query.rejected".into(),
        (None, "query.requested", _) => "query.response".into(),
        (None, "agent.request.created", _) => "agent.response.created".into(),
        (None, _, _) => "agent.message.sent".to_owned(),
    };
    let mut payload = match words.status {
        "failed" | "rejected" => {
            let mut payload = words.payload("reason");
            if let Some(object) = payload.as_object_mut() {
                object.entry("error").or_insert_with(
                    || json!({ "code": words.status, "message": words.text(), "retryable": false }),
                );
            }
            payload
        }
        "started" | "progress" => words.payload("message"),
        "cancelled" => words.payload("reason"),
        _ => words.payload("text"),
    };
    if let (Some(percent), Some(object)) = (words.percent, payload.as_object_mut()) {
        object
            .entry("progress")
            .or_insert_with(|| json!(f64::from(percent) / 100.0));
    }
    let mut event = Aep::event(&kind, from.as_str())
        .target(cause.sender.as_str())
        .cause(&cause.id)
        .correlation(cause.correlation.as_deref().unwrap_or(&cause.id));
    if let Some(id) = &cause.session {
        event = event.session(id);
    }
    if let Some(id) = &cause.conversation {
        event = event.conversation(id);
    }
    if let Some(id) = &cause.task {
        event = event.task(id);
    }
    let id = format!("evt_{}", new_id(now));
    event.payload_json(&payload.to_string()).build(&id, now)
}

fn uai(cause: &Header, words: &Words, from: &Party, now: Timestamp) -> Result<String, Refusal> {
    let conversation = cause.conversation.as_deref().unwrap_or(&cause.id);
    let heading = || heading(from, &cause.sender, conversation, now);
    let status = words.status;
    let envelope = match &*cause.kind {
        "uai.agent.handoff.v1" => {
            let task = cause.task.as_deref().unwrap_or(&cause.id);
            let percent = words.percent.unwrap_or_default();
            match status {
                "accepted" | "rejected" => {
                    let mut ack = Ack::new(&cause.id, status, now);
                    ack.reason.clone_from(&words.text);
                    ack.envelope(heading())
                }
                "started" | "progress" | "output" => {
                    TaskStatus::running(task, percent, words.text()).envelope(heading())
                }
                _ => {
                    let outcome = if status == "answer" {
                        "completed"
                    } else {
                        status
                    };
                    // The reply itself is the evidence, unless the payload names other.
                    let evidence = words
                        .payload("text")
                        .get("evidence")
                        .and_then(Value::as_str)
                        .map_or_else(
                            || format!("urn:interwire:message:{}", cause.id),
                            str::to_owned,
                        );
                    FinalReport::new(task, outcome, words.text(), &evidence).envelope(heading())
                }
            }
        }
        "uai.intent.request.v1" => {
            let status = match status {
                "completed" | "answer" => "completed",
                "accepted" | "started" => "accepted",
                "progress" | "output" => "partial",
                _ => "rejected",
            };
            let body = json!({
                "status": status,
                "request_message_id": cause.id,
                "result": words.payload("text"),
                "notices": words.text.iter().collect::<Vec<_>>(),
            });
            Envelope::new("uai.intent.response.v1", body.to_string(), heading())
        }
        _ if matches!(status, "failed" | "rejected" | "cancelled") => {
            let body = json!({
                "status": 500,
                "code": status,
                "detail": words.text(),
                "related_message_id": cause.id,
            });
            Envelope::new("uai.error.v1", body.to_string(), heading())
        }
        _ => {
            let content = match (&words.text, &words.payload) {
                (Some(text), _) => text.clone(),
                (None, Some(payload)) => payload.clone(),
                (None, None) => status.to_owned(),
            };
            let word = match status {
                "accepted" | "started" | "progress" | "output" => "notification",
                _ => "response",
            };
            let body = json!({
                "message_type": word,
                "content": content,
                "context_refs": [],
                "requires_acknowledgement": false,
            });
            Envelope::new("uai.agent.message.v1", body.to_string(), heading())
        }
    };
    let correlation = cause.correlation.as_deref().unwrap_or(conversation);
    write(&envelope.reply_to(&cause.id).correlation(correlation))
}
