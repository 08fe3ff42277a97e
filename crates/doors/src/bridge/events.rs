//! The AEP events that a bridge writes about one call (AEP 2.8, AEP 7).

use crate::mcp::new_id;
use protocol::dialect::aep::{Aep, EventBuilder};
use protocol::{Header, Party, Timestamp, digest};
use serde_json::{Value, json};

/// A request to call a tool, and everything its events repeat of it.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub header: Header,
    pub party: Party,
}

impl Request {
    fn event(&self, kind: &str, payload: &Value) -> EventBuilder {
        let header = &self.header;
        let mut event = Aep::event(kind, self.party.as_str())
            .target(header.sender.as_str())
            .cause(&header.id)
            .correlation(header.correlation.as_deref().unwrap_or(&header.id))
            .payload_json(&payload.to_string());
        if let Some(id) = &header.session {
            event = event.session(id);
        }
        if let Some(id) = &header.conversation {
            event = event.conversation(id);
        }
        if let Some(id) = &header.task {
            event = event.task(id);
        }
        event
    }

    /// An event that is said any number of times.
    pub(super) fn tell(&self, kind: &str, payload: &Value, now: Timestamp) -> String {
        self.event(kind, payload)
            .build(&format!("evt_{}", new_id(now)), now)
    }

    /// An event that is said once, also by a later life of this process.
    pub(super) fn tell_once(
        &self,
        once: Once,
        kind: &str,
        payload: &Value,
        now: Timestamp,
    ) -> String {
        self.event(kind, payload).build(&self.id_of(once), now)
    }

    /// The id of an event that is said once: it follows from the request.
    pub(super) fn id_of(&self, once: Once) -> String {
        let header = &self.header;
        let text = format!(
            "{}\n{}\n{}\n{}",
            self.party,
            header.sender,
            header.id,
            once.word()
        );
        let hex = digest(text.as_bytes()).to_hex();
        format!("evt_{}", hex.get(..32).unwrap_or(&hex))
    }
}

/// What is said once of each call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Once {
    Accepted,
    End,
}

impl Once {
    fn word(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::End => "end",
        }
    }
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum End {
    Completed { result: Value },
    Failed(Value),
    Rejected(Value),
    Cancelled { reason: String },
    TimedOut { timeout_ms: u64 },
}

impl End {
    /// The event's type and its payload.
    pub(super) fn event(&self) -> (&'static str, Value) {
        match self {
            Self::Completed { result } => ("tool.call.completed", json!({ "result": result })),
            Self::Failed(error) => ("tool.call.failed", json!({ "error": error })),
            Self::Rejected(error) => ("tool.call.rejected", json!({ "error": error })),
            Self::Cancelled { reason } => ("tool.call.cancelled", json!({ "reason": reason })),
            Self::TimedOut { timeout_ms } => {
                let message = format!("the tool did not answer within {timeout_ms} ms");
                (
                    "tool.call.timed_out",
                    json!({ "error": error("tool_timeout", message, true) }),
                )
            }
        }
    }
}

/// An error as AEP writes it.
pub(super) fn error(code: &str, message: impl Into<String>, is_retryable: bool) -> Value {
    json!({ "code": code, "message": message.into(), "retryable": is_retryable })
}
