//! UAI-1: the recorded rows, single rules, headers, forms, laws.

mod carriage;
mod field_order;
mod foreign;
mod header;
mod keyless;
mod laws;
mod negotiation;
mod recipients;
mod reference;
mod rows;
mod rules;

use interwire_protocol::dialect::uai::build::{Agent, Envelope, Heading, Message};
use interwire_protocol::dialect::uai::checksum;
use interwire_protocol::json::{self, Limits};
use interwire_protocol::{Fault, Header, Mode, Reading, Rules, Timestamp, decode};
use serde_json::Value;

/// The clock of the recorded rows: 2026-07-01T12:00:00Z.
fn now() -> Timestamp {
    Timestamp::parse_rfc3339("2026-07-01T12:00:00Z").unwrap().0
}

fn read(text: &str, mode: Mode) -> Reading {
    decode(text.as_bytes(), &Rules::at(now()).mode(mode))
}

fn lenient(text: &str) -> Reading {
    read(text, Mode::Lenient)
}

fn strict(text: &str) -> Reading {
    read(text, Mode::Strict)
}

fn header(text: &str) -> Header {
    let reading = lenient(text);
    reading
        .header
        .unwrap_or_else(|| panic!("expected a valid envelope, got {:?}", reading.faults))
}

/// Code and pointer of each, as one text.
fn found(faults: &[Fault]) -> Vec<String> {
    faults
        .iter()
        .map(|fault| format!("{} {}", fault.code, fault.pointer))
        .collect()
}

fn agent(id: &str) -> Agent {
    Agent::new("agent", id)
}

/// A heading in the conversation `conv_1`, written now.
fn heading(id: &str, source: Agent, target: Agent) -> Heading {
    Heading {
        id: id.into(),
        issued_at: now(),
        source,
        target,
        conversation: "conv_1".into(),
    }
}

/// A directive from `agent:a` to `agent:b` without an acknowledgement.
fn directive() -> Envelope {
    Message::new("directive", "Look at it.").envelope(heading("msg_1", agent("a"), agent("b")))
}

/// An envelope of any profile from `agent:a` to `agent:b`.
fn of(profile: &str, body: &str) -> Envelope {
    Envelope::new(
        profile,
        body.into(),
        heading("msg_1", agent("a"), agent("b")),
    )
}

/// `text` with other values at some pointers (a JSON text, or nothing to remove the member) and the
/// checksum that then is right.
fn edited(text: &str, edits: &[(&str, &str)]) -> String {
    let mut envelope: Value = serde_json::from_str(text).unwrap();
    for (pointer, value) in edits {
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        let parent = envelope.pointer_mut(parent).unwrap();
        match parent {
            Value::Object(members) if value.is_empty() => {
                members.remove(name).unwrap();
            }
            Value::Object(members) => {
                members.insert(name.into(), serde_json::from_str(value).unwrap());
            }
            Value::Array(items) => {
                items[name.parse::<usize>().unwrap()] = serde_json::from_str(value).unwrap();
            }
            other => panic!("nothing below {other}"),
        }
    }
    let unsealed = envelope.to_string();
    let document = json::read(unsealed.as_bytes(), Limits::default()).unwrap();
    if let (Some(stated), Ok(right)) = (
        envelope.pointer_mut("/integrity/checksum"),
        checksum(document.root()),
    ) {
        *stated = right.into();
    }
    envelope.to_string()
}
