//! The conforming reply to a message, without any exchange.
//!
//! Nothing is stored or delivered. The id follows from the request and the time is the request's own, so
//! that the same request gives the same bytes. Implements UAI 3.4 and 7 `/mock-exchange`.

use super::super::build::{Ack, Agent, Envelope, Heading, Object};
use super::verdict::Verdict;
use crate::json::{self, Value};
use crate::{Fault, Timestamp, digest};

/// Why nothing may be built on it.
const NOTICE: &str = "A mock reply: nothing was stored, delivered or done.";

/// The reply to a message that passed.
///
/// # Errors
/// Those of the reader, for a message that did not pass.
pub(super) fn reply(verdict: &Verdict) -> Result<String, Fault> {
    let keyed = verdict.keyed().unwrap_or("null");
    let limits = json::Limits {
        bytes_max: usize::MAX,
        depth_max: usize::MAX,
    };
    let document = json::read(keyed.as_bytes(), limits)?;
    let doc = document.root();
    let text = |pointer: &str| doc.at(pointer).and_then(Value::as_str).unwrap_or_default();
    let issued_at = Timestamp::parse_rfc3339(&text("/provenance/issued_at"));
    let issued_at = issued_at.map_or_else(|| Timestamp::from_millis(0), |(at, _)| at);
    let agent = |side: &str| {
        Agent::new(
            &text(&format!("/{side}/type")),
            &text(&format!("/{side}/id")),
        )
        .labelled(&text(&format!("/{side}/label")))
    };
    let id = text("/message_id");
    let conversation = text("/conversation/conversation_id");
    let hash = verdict.canonical_hash().unwrap_or_default();
    let own = digest(format!("{hash}\nmock-exchange").as_bytes()).to_hex();
    let heading = Heading {
        id: format!("msg_{}", own.get(..32).unwrap_or_default()),
        issued_at,
        source: agent("target"),
        target: agent("source"),
        conversation: conversation.clone().into_owned(),
    };
    let envelope = match &*text("/profile") {
        "uai.agent.message.v1" | "uai.agent.handoff.v1" => {
            let mut ack = Ack::new(&id, "accepted", issued_at);
            ack.reason = Some(NOTICE.into());
            ack.envelope(heading)
        }
        "uai.intent.request.v1" => {
            let body = Object::new()
                .text("status", "completed")
                .text("request_message_id", &id)
                .raw("result", "{}")
                .raw("notices", &super::super::build::texts(&[NOTICE.into()]))
                .close();
            Envelope::new("uai.intent.response.v1", body, heading).reply_to(&id)
        }
        _ => {
            let body = verdict.conformance_result();
            Envelope::new("uai.conformance.result.v1", body, heading).reply_to(&id)
        }
    };
    let correlation = doc.at("/conversation/correlation_id");
    let correlation = correlation.and_then(Value::as_str);
    envelope
        .correlation(&correlation.unwrap_or(conversation))
        .write()
}
