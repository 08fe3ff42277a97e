//! UAI-1: the recorded rows, our own vectors, the laws.

mod header;
mod keyless;
mod laws;
mod rows;
mod rules;
mod vectors;

use interwire_protocol::dialect::uai::build::{Agent, Envelope, Message};
use interwire_protocol::{Mode, Reading, Rules, Timestamp, decode};

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

/// Code and pointer of every fault.
fn faults(reading: &Reading) -> Vec<(&'static str, &str)> {
    reading.faults.iter().map(|fault| (fault.code.as_str(), fault.pointer.as_str())).collect()
}

/// Code and pointer of every warning.
fn warnings(reading: &Reading) -> Vec<(&'static str, &str)> {
    reading.warnings.iter().map(|fault| (fault.code.as_str(), fault.pointer.as_str())).collect()
}

fn agent(id: &str) -> Agent {
    Agent::new("agent", id)
}

/// A directive from `agent:a` to `agent:b` without an acknowledgement.
fn directive() -> Envelope {
    Message::new("directive", "Look at it.").envelope("msg_1", now(), agent("a"), agent("b"), "conv_1")
}

/// An envelope of any profile from `agent:a` to `agent:b`.
fn of(profile: &str, body: &str) -> Envelope {
    Envelope::new(profile, body.into(), "msg_1", now(), agent("a"), agent("b"), "conv_1")
}
