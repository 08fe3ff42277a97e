//! What a model needs to know of an envelope, whatever its dialect, and the envelope itself.

use super::exchange::Exchange;
use protocol::{Header, Party, Reading, Rules, Timestamp, decode};
use serde_json::{Map, Value, json};

/// Reads an envelope that the exchange has taken: what it does not forbid now is not judged again.
pub(super) fn read(envelope: &[u8], now: Timestamp) -> Reading {
    decode(envelope, &Rules::at(now))
}

/// The header of a stored envelope.
pub(super) fn header(envelope: &[u8], exchange: &impl Exchange) -> Option<Header> {
    read(envelope, exchange.now()).header
}

/// The neutral facts, and the bytes as text under `envelope`.
pub(super) fn of(envelope: &[u8], now: Timestamp) -> Map<String, Value> {
    let mut out = Map::new();
    if let Some(header) = read(envelope, now).header {
        let to: Vec<&str> = header.recipients.iter().map(Party::as_str).collect();
        let text = |text: &Option<Box<str>>| json!(text.as_deref());
        for (name, value) in [
            ("id", json!(header.id)),
            ("from", json!(header.sender.as_str())),
            ("to", json!(to)),
            ("dialect", json!(header.dialect.as_str())),
            ("type", json!(header.kind)),
            ("act", json!(header.act.as_str())),
            ("intent", text(&header.intent)),
            ("conversation", text(&header.conversation)),
            ("task", text(&header.task)),
            ("cause", text(&header.cause)),
        ] {
            if !value.is_null() {
                out.insert(name.into(), value);
            }
        }
    }
    let text = String::from_utf8_lossy(envelope).into_owned();
    out.insert("envelope".into(), text.into());
    out
}

/// What an envelope says in one line, for progress: its own words where it has some.
pub(super) fn line(envelope: &[u8], now: Timestamp) -> String {
    let kind = read(envelope, now).header.map(|header| header.kind);
    let doc: Value = serde_json::from_slice(envelope).unwrap_or(Value::Null);
    let places = [
        "/payload/message",
        "/payload/text",
        "/payload/status",
        "/body/summary",
        "/body/content",
    ];
    let said = places
        .iter()
        .find_map(|place| doc.pointer(place)?.as_str().map(str::to_owned));
    let kind = kind.unwrap_or_default();
    match said {
        Some(said) => format!("{kind}: {said}"),
        None => kind.into(),
    }
}

/// How much of the work an envelope says is done, from 0 to 1.
pub(super) fn fraction(envelope: &[u8]) -> Option<f64> {
    let doc: Value = serde_json::from_slice(envelope).ok()?;
    if let Some(part) = doc.pointer("/payload/progress").and_then(Value::as_f64) {
        return Some(part).filter(|part| (0.0..=1.0).contains(part));
    }
    let percent = ["/body/progress_percent", "/payload/percent"]
        .iter()
        .find_map(|place| doc.pointer(place)?.as_f64())?;
    Some(percent / 100.0).filter(|part| (0.0..=1.0).contains(part))
}
