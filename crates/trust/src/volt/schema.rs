//! What events and manifests must be made of (AEE 9.1, 9.3).

use protocol::Timestamp;
use protocol::json::{Kind, Value};

/// The first member of an event that is not as AEE 9.1 says.
pub(super) fn wrong_member(event: Value<'_>) -> Option<&'static str> {
    for name in ["volt_version", "event_id", "run_id"] {
        if !filled(event, name) {
            return Some(match name {
                "volt_version" => "volt_version",
                "event_id" => "event_id",
                _ => "run_id",
            });
        }
    }
    if !text(event, "ts").is_some_and(|ts| is_moment(&ts)) {
        return Some("ts");
    }
    if !text(event, "event_type").is_some_and(|word| is_event_type(&word)) {
        return Some("event_type");
    }
    let is_actor = |actor: Value<'_>| {
        let kind = text(actor, "actor_type");
        let kinds = ["agent", "human", "system", "tool", "runner"];
        filled(actor, "actor_id") && kind.is_some_and(|kind| kinds.contains(&&*kind))
    };
    if !event.get("actor").is_some_and(is_actor) {
        return Some("actor");
    }
    if !event
        .get("context")
        .is_some_and(|context| filled(context, "correlation_id"))
    {
        return Some("context");
    }
    if event
        .get("payload")
        .is_none_or(|payload| payload.kind() != Kind::Object)
    {
        return Some("payload");
    }
    for name in ["prev_hash", "hash"] {
        if !text(event, name).is_some_and(|hash| is_hash(&hash)) {
            return Some(if name == "hash" { "hash" } else { "prev_hash" });
        }
    }
    None
}

fn text<'v>(object: Value<'v>, name: &str) -> Option<std::borrow::Cow<'v, str>> {
    object.get(name).and_then(Value::as_str)
}

fn filled(object: Value<'_>, name: &str) -> bool {
    text(object, name).is_some_and(|text| !text.is_empty())
}

pub(super) fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
}

pub(super) fn is_moment(text: &str) -> bool {
    text.ends_with('Z') && Timestamp::parse_rfc3339(text).is_some()
}

/// `^[a-z][a-z0-9]*(\.[a-z][a-z0-9_]*)+$`.
fn is_event_type(word: &str) -> bool {
    let mut parts = word.split('.');
    let is_part = |part: &str, underscore: bool| {
        part.starts_with(|c: char| c.is_ascii_lowercase())
            && part
                .bytes()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || (underscore && c == b'_'))
    };
    let first = parts.next().is_some_and(|part| is_part(part, false));
    let rest: Vec<_> = parts.collect();
    first && !rest.is_empty() && rest.iter().all(|part| is_part(part, true))
}

/// Whether a path stays in the bundle on every system.
pub(super) fn is_inside(path: &str) -> bool {
    !path.is_empty()
        && !path.contains(['\\', ':', '\0'])
        && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}
