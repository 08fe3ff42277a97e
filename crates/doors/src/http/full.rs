//! A message with everything the exchange knows of it, as JSON around the envelope's own bytes.

use super::receipts::{write_deliveries, write_recipients};
use broker::{Fate, Handle};
use protocol::json::push_string;
use protocol::{Act, Header, Intake};
use std::fmt::Write as _;

/// `{"header","cursor","accepted_at","receipts","deliveries","envelope"}`: a receipt for each recipient,
/// a delivery for each place; the envelope is the bytes as sent.
pub(crate) fn write(handle: &Handle, fate: &Fate) -> Vec<u8> {
    let entry = &fate.entry;
    let mut out = String::with_capacity(entry.envelope.len() + 1_024);
    out.push_str("{\"header\":");
    write_header(&mut out, &entry.header);
    let _ = write!(
        out,
        ",\"cursor\":\"{}\",\"accepted_at\":\"{}\",\"receipts\":",
        handle.cursor(entry),
        entry.at
    );
    write_recipients(&mut out, fate);
    out.push_str(",\"deliveries\":");
    write_deliveries(&mut out, fate);
    out.push_str(",\"envelope\":");
    let mut out = out.into_bytes();
    out.extend_from_slice(&entry.envelope);
    out.push(b'}');
    out
}

fn write_header(out: &mut String, header: &Header) {
    let Header {
        dialect,
        id,
        sender,
        act,
        kind,
        recipients,
        topics,
        conversation,
        correlation,
        cause,
        task,
        session,
        intent,
        priority,
        deadline,
        intake,
        idempotency_key: _,
        origin: _,
        replay_of,
        step: _,
        flow: _,
        retry: _,
        settles: _,
        coordination: _,
        fingerprint: _,
    } = header;
    let _ = write!(out, "{{\"dialect\":\"{}\",\"id\":", dialect.as_str());
    push_string(out, id);
    out.push_str(",\"sender\":");
    push_string(out, sender.as_str());
    let _ = write!(out, ",\"act\":\"{}\",\"type\":", Act::as_str(*act));
    push_string(out, kind);
    push_list(
        out,
        "recipients",
        recipients.iter().map(protocol::Party::as_str),
    );
    push_list(out, "topics", topics.iter().map(AsRef::as_ref));
    let texts = [
        ("conversation", conversation),
        ("correlation", correlation),
        ("cause", cause),
        ("task", task),
        ("session", session),
        ("intent", intent),
        ("replay_of", replay_of),
    ];
    for (name, text) in texts {
        let _ = write!(out, ",\"{name}\":");
        match text {
            Some(text) => push_string(out, text),
            None => out.push_str("null"),
        }
    }
    let _ = write!(out, ",\"priority\":\"{}\",\"deadline\":", priority.as_str());
    match deadline {
        Some(moment) => {
            let _ = write!(out, "\"{moment}\"");
        }
        None => out.push_str("null"),
    }
    let intake = match intake {
        Intake::Work => "work",
        Intake::Log => "log",
    };
    let _ = write!(out, ",\"intake\":\"{intake}\",\"dedupe_key\":");
    push_string(out, header.dedupe_key());
    out.push('}');
}

fn push_list<'t>(out: &mut String, name: &str, texts: impl Iterator<Item = &'t str>) {
    let _ = write!(out, ",\"{name}\":[");
    for (at, text) in texts.enumerate() {
        if at > 0 {
            out.push(',');
        }
        push_string(out, text);
    }
    out.push(']');
}
