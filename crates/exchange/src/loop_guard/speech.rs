//! What the sender of a stopped message is told, in its own dialect.

use super::{Step, Stop};
use protocol::dialect::aee::Aee;
use protocol::dialect::aep::Aep;
use protocol::dialect::uai::build::{Agent, Envelope, Heading};
use protocol::json::push_string;
use protocol::task::SERVICE;
use protocol::{DialectName, Header, Party, Timestamp, digest};
use std::fmt::Write as _;

/// What the ids of these words begin with.
const ID_START: &str = "interwire-loop-";

/// Whether these words of the exchange tell of a stopped message.
pub(crate) fn is_of_stop(header: &Header) -> bool {
    header.sender.as_str() == SERVICE && header.id.starts_with(ID_START)
}

/// An AEE `error`, an AEP `event.rejected` or a UAI-1 error, with the code of the limit and the chain
/// of causes. Its id follows from the message, so that one that is said again is a duplicate. None for
/// a message that the dialect cannot answer.
pub(crate) fn stopped(header: &Header, stop: &Stop, now: Timestamp) -> Option<String> {
    let hash = digest(format!("{}\n{}", header.sender, header.id).as_bytes()).to_hex();
    let id = format!("{ID_START}{}", hash.get(..32)?);
    let message = sentence(stop);
    let code = stop.limit.as_str();
    match header.dialect {
        DialectName::Aee => {
            let mut payload = error(code, &message);
            payload.push_str(",\"path\":");
            push_path(&mut payload, &stop.path);
            let _ = write!(payload, ",\"limit\":{}}}", stop.max);
            let error = Aee::error_of(header, code, &message)
                .from(&Party::parse(SERVICE).to_aee())
                .payload_json(&payload);
            Some(error.build(&id, now))
        }
        DialectName::Aep => {
            let mut payload = String::from("{\"acknowledged_event_id\":");
            push_string(&mut payload, &header.id);
            payload.push_str(",\"error\":");
            payload.push_str(&error(code, &message));
            payload.push_str(",\"details\":{\"path\":");
            push_path(&mut payload, &stop.path);
            let _ = write!(payload, ",\"limit\":{}}}}}}}", stop.max);
            let mut event = Aep::event("event.rejected", SERVICE)
                .target(header.sender.as_str())
                .cause(&header.id)
                .payload_json(&payload);
            if let Some(session) = &header.session {
                event = event.session(session);
            }
            // A conversation that only stood for the correlation is not written.
            let conversation = header.conversation.as_ref();
            if let Some(conversation) =
                conversation.filter(|_| header.conversation != header.correlation)
            {
                event = event.conversation(conversation);
            }
            if let Some(correlation) = &header.correlation {
                event = event.correlation(correlation);
            }
            Some(event.build(&id, now))
        }
        DialectName::Uai => uai(header, stop, &id, &message, now),
    }
}

fn uai(header: &Header, stop: &Stop, id: &str, message: &str, now: Timestamp) -> Option<String> {
    let code = stop.limit.as_str();
    // Loop detected (RFC 5842), or too many requests.
    let status = match stop.limit {
        super::LoopLimit::Hops => 508,
        super::LoopLimit::Pair | super::LoopLimit::Conversation => 429,
    };
    let mut body = format!("{{\"status\":{status},\"code\":\"{code}\",\"title\":");
    push_string(&mut body, stop.limit.code().title());
    body.push_str(",\"detail\":");
    push_string(&mut body, message);
    body.push_str(",\"related_message_id\":");
    push_string(&mut body, &header.id);
    body.push_str(",\"errors\":[");
    for (at, step) in stop.path.iter().enumerate() {
        body.push_str(if at > 0 { "," } else { "" });
        let _ = write!(
            body,
            "{{\"code\":\"{code}\",\"path\":\"/conversation/parent_message_id\",\"detail\":"
        );
        push_string(&mut body, &words(step));
        body.push('}');
    }
    body.push_str("]}");
    let heading = Heading {
        id: id.into(),
        issued_at: now,
        source: agent(&Party::parse(SERVICE)),
        target: agent(&header.sender),
        conversation: header.conversation.as_deref()?.into(),
    };
    let mut envelope = Envelope::new("uai.error.v1", body, heading).reply_to(&header.id);
    if let Some(correlation) = &header.correlation {
        envelope = envelope.correlation(correlation);
    }
    envelope.write().ok()
}

/// A party in two parts; one without a kind is taken for an agent.
fn agent(party: &Party) -> Agent {
    let (kind, id) = party
        .as_str()
        .split_once(':')
        .unwrap_or(("agent", party.as_str()));
    Agent::new(kind, id)
}

/// What happened, for people.
pub(crate) fn sentence(stop: &Stop) -> String {
    let max = stop.max;
    let mut text = match stop.limit {
        super::LoopLimit::Hops => format!(
            "the message was kept and goes to nobody: it is the end of a chain of {max} automatic \
             reactions"
        ),
        super::LoopLimit::Pair => format!(
            "the message was kept and goes to nobody: its sender and its recipient reacted to each \
             other more than {max} times in the window"
        ),
        super::LoopLimit::Conversation => format!(
            "the message was kept and goes to nobody: its conversation had more than {max} automatic \
             reactions in the window"
        ),
    };
    text.push_str("; causes: ");
    for (at, step) in stop.path.iter().enumerate() {
        text.push_str(if at > 0 { " > " } else { "" });
        text.push_str(&words(step));
    }
    text
}

fn words(step: &Step) -> String {
    match &step.sender {
        Some(sender) => format!("{} ({sender})", step.id),
        None => step.id.to_string(),
    }
}

/// The beginning of an error object (AEP 7, AEE 7.1).
fn error(code: &str, message: &str) -> String {
    let mut out = String::from("{\"code\":");
    push_string(&mut out, code);
    out.push_str(",\"message\":");
    push_string(&mut out, message);
    out.push_str(",\"retryable\":false");
    out
}

fn push_path(out: &mut String, path: &[Step]) {
    out.push('[');
    for (at, step) in path.iter().enumerate() {
        out.push_str(if at > 0 { "," } else { "" });
        push_string(out, &step.id);
    }
    out.push(']');
}
