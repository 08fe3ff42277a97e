//! Names on the bus: subjects, topics, streams and keys, from the header of a message (AEP 9.5 to 9.7).

use super::Routing;
use protocol::Header;
use std::fmt::Write as _;

/// Marks what an exchange published, so that it does not take its own words in again.
pub(crate) const EXCHANGE: &str = "interwire-exchange";

/// What a message is published under, without the prefix: a word, and a value to be spelled as the bus
/// allows.
pub(crate) fn route(routing: Routing, header: &Header) -> (&'static str, Option<&str>) {
    match (routing, header.topics.first()) {
        (Routing::Topic, Some(topic)) => ("topic", Some(topic)),
        (Routing::Topic, None) | (Routing::Type, _) => ("type", Some(&header.kind)),
        (Routing::Source, _) => ("source", Some(header.sender.as_str())),
        (Routing::Events, _) => ("events", None),
    }
}

/// The name with its prefix; `spell` writes the value as the bus allows.
pub(crate) fn full(
    prefix: &str,
    (word, value): (&str, Option<&str>),
    spell: impl Fn(&str) -> String,
) -> String {
    match value {
        Some(value) => format!("{prefix}.{word}.{}", spell(value)),
        None => format!("{prefix}.{word}"),
    }
}

/// A value as the last tokens of a NATS subject: what no token may have is percent-encoded, and a dot that
/// would leave a token empty is too.
#[cfg(feature = "nats")]
pub(crate) fn subject_tokens(value: &str) -> String {
    let has_empty = value.is_empty() || value.split('.').any(str::is_empty);
    let is_bad = |byte: u8| {
        !byte.is_ascii_graphic() || b"*>%".contains(&byte) || (has_empty && byte == b'.')
    };
    if value.is_empty() {
        return "%".into();
    }
    percent(value, is_bad)
}

/// A value as a part of a Kafka topic, which has letters, digits, `.`, `_` and `-` and at most 249 of them.
#[cfg(feature = "kafka")]
pub(crate) fn topic_part(value: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    let part = value.chars().map(|c| if allowed(c) { c } else { '_' });
    part.take(200).collect()
}

/// Names one message for the bus: its sender and its id, because an id belongs to its sender. In printable
/// ASCII, so that it fits into every header.
pub(crate) fn message_id(header: &Header) -> String {
    let is_bad = |byte: u8| !byte.is_ascii_graphic() || byte == b'%';
    let sender = percent(header.sender.as_str(), is_bad);
    format!("{sender}/{}", percent(&header.id, is_bad))
}

/// What keeps together in order: the conversation, else the task, else the session, else the sender.
#[cfg(feature = "kafka")]
pub(crate) fn key(header: &Header) -> &str {
    let first = [&header.conversation, &header.task, &header.session];
    let found = first.into_iter().find_map(Option::as_deref);
    found.unwrap_or(header.sender.as_str())
}

/// The fields and headers beside the body (AEP 9.6, 9.7).
#[cfg(any(feature = "redis", feature = "kafka"))]
pub(crate) fn fields(header: &Header) -> Vec<(&'static str, String)> {
    let optional = |name, value: &Option<Box<str>>| Some((name, value.as_deref()?.to_owned()));
    let mut fields = vec![
        ("aep-type", header.kind.to_string()),
        ("aep-source", header.sender.as_str().to_owned()),
    ];
    fields.extend(optional("aep-session", &header.session));
    fields.extend(optional("aep-conversation", &header.conversation));
    fields.extend(optional("aep-task", &header.task));
    fields.extend(optional("aep-correlation", &header.correlation));
    fields.extend(optional("aep-causation", &header.cause));
    fields.push(("aep-delivery-mode", "at_least_once".to_owned()));
    fields.push(("interwire-message", message_id(header)));
    fields
}

fn percent(value: &str, is_bad: impl Fn(u8) -> bool) -> String {
    let mut text = String::with_capacity(value.len());
    for byte in value.bytes() {
        if is_bad(byte) {
            let _ = write!(text, "%{byte:02X}");
        } else {
            text.push(char::from(byte));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #[cfg(feature = "nats")]
    #[test]
    fn any_value_becomes_valid_tokens_and_different_values_stay_different() {
        let spelled = [
            "task.done",
            "a b",
            "x.*.>",
            "..",
            ".a",
            "",
            "ü",
            "agent:b",
            "50%",
        ];
        let tokens = spelled.map(super::subject_tokens);
        let expected = [
            "task.done",
            "a%20b",
            "x.%2A.%3E",
            "%2E%2E",
            "%2Ea",
            "%",
            "%C3%BC",
            "agent:b",
            "50%25",
        ];
        assert_eq!(tokens, expected);
    }

    #[cfg(feature = "kafka")]
    #[test]
    fn any_value_becomes_part_of_a_kafka_topic() {
        assert_eq!(super::topic_part("agent:b/ü ok.x-1"), "agent_b___ok.x-1");
        assert_eq!(super::topic_part(&"x".repeat(999)).len(), 200);
    }
}
