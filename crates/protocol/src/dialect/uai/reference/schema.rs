//! JSON Schemas of the known profiles, made from the tables that validate.
//!
//! A schema says what the strict reader's tables say: members, types, words, grammars. What members mean
//! together (UAI 4, 5, 6.2) no schema can say; the validator does. Implements UAI 7 `/schemas/{profile}`.

use std::fmt::Write as _;

use super::super::VERSION;
use super::super::body;
use super::super::build::Object;
use super::super::grammar::{
    AGENT_TYPE, CHECKSUM, CORRELATION_ID, DID, IDEMPOTENCY_KEY, IDENTIFIER, TRACEPARENT, URI,
};
use super::super::table::{ENVELOPE, EXTENSION, PARTS};
use crate::json::push_string;
use crate::shape::{Clock, Grammar, Member, Shape, Want};

/// What members that must be times in UTC look like.
const UTC: &str = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?Z$";

/// The members that only agent packets must have (UAI 1.3, 1.4).
const AGENT_PACKETS: [(&str, &[&str]); 2] = [
    ("conversation", &["correlation_id"]),
    ("delivery", &["idempotency_key", "fallback_directive"]),
];

/// The schema of a whole message of that profile; none for one that is not known.
pub(super) fn schema(id: &str) -> Option<String> {
    let known = body::profile(id)?;
    let mut properties = Object::new();
    for member in ENVELOPE.members {
        let part = PARTS.iter().find(|(name, ..)| *name == member.name);
        let text = match (member.name, part) {
            ("uai_version", _) => constant(VERSION),
            ("profile", _) => constant(id),
            ("body", _) => object(known.body, &[]),
            ("extensions", _) => format!(
                "{{\"type\":\"array\",\"items\":{}}}",
                object(&EXTENSION, &[])
            ),
            (name, Some((_, shape, _))) => {
                let more = AGENT_PACKETS.iter().find(|(part, _)| *part == name);
                let more = more.filter(|_| id.starts_with("uai.agent."));
                let text = object(shape, more.map_or(&[][..], |(_, names)| names));
                match name {
                    "delivery" => published_modes(&text),
                    _ => text,
                }
            }
            _ => value(member),
        };
        properties = properties.raw(member.name, &text);
    }
    let required: Vec<&str> = ENVELOPE.members.iter().map(|member| member.name).collect();
    let schema = Object::new()
        .text("$schema", "https://json-schema.org/draft/2020-12/schema")
        .text("$id", &format!("urn:interwire:uai-1:schema:{id}"))
        .text("title", &format!("A UAI-1 message of the profile {id}"))
        .text(
            "$comment",
            &format!("{} and the shared envelope", known.rule),
        )
        .text("type", "object")
        .raw("properties", &properties.close())
        .raw("required", &names(&required))
        .raw("additionalProperties", "false");
    Some(schema.close())
}

/// Strict readers take the published modes and no topic but with `event`.
fn published_modes(delivery: &str) -> String {
    delivery.replacen(
        "\"mode\":{\"type\":\"string\"}",
        "\"mode\":{\"type\":\"string\",\"enum\":[\"sync\",\"async\",\"event\"]}",
        1,
    )
}

fn constant(text: &str) -> String {
    Object::new().text("const", text).close()
}

fn object(shape: &Shape, also_required: &[&str]) -> String {
    let mut properties = Object::new();
    for member in shape.members {
        properties = properties.raw(member.name, &value(member));
    }
    let is_required =
        |member: &&Member| member.missing.is_some() || also_required.contains(&member.name);
    let required: Vec<&str> = shape
        .members
        .iter()
        .filter(is_required)
        .map(|member| member.name)
        .collect();
    let mut schema = Object::new()
        .text("type", "object")
        .raw("properties", &properties.close());
    if !required.is_empty() {
        schema = schema.raw("required", &names(&required));
    }
    if shape.is_closed {
        schema = schema.raw("additionalProperties", "false");
    }
    schema.close()
}

fn value(member: &Member) -> String {
    let is_time = member.name.ends_with("_at") || member.name.ends_with("_due");
    let text = match &member.want {
        Want::Str { .. } if is_time => time(),
        want => wanted(want),
    };
    if member.takes_null {
        format!("{{\"anyOf\":[{text},{{\"type\":\"null\"}}]}}")
    } else {
        text
    }
}

fn time() -> String {
    Object::new()
        .text("type", "string")
        .text("format", "date-time")
        .text("pattern", UTC)
        .close()
}

fn wanted(want: &Want) -> String {
    match want {
        Want::Any => "true".into(),
        Want::Bool => "{\"type\":\"boolean\"}".into(),
        Want::Object => "{\"type\":\"object\"}".into(),
        Want::Time(Clock::UtcZ | Clock::Rfc3339) => time(),
        Want::Nested(shape) => object(shape, &[]),
        Want::Enum(words) => {
            format!("{{\"type\":\"string\",\"enum\":{}}}", names(words))
        }
        Want::Text(grammar) => text_of(grammar),
        Want::Str { min, max } => {
            let mut out = String::from("{\"type\":\"string\"");
            bound(&mut out, "minLength", *min, 0);
            bound(&mut out, "maxLength", *max, usize::MAX);
            out.push('}');
            out
        }
        Want::Num { min, max } => {
            let mut out = String::from("{\"type\":\"number\"");
            for (name, bound) in [("minimum", min), ("maximum", max)] {
                if bound.is_finite() {
                    let _ = write!(out, ",\"{name}\":{bound}");
                }
            }
            out.push('}');
            out
        }
        Want::Int { min, max } => {
            let mut out = String::from("{\"type\":\"integer\"");
            bound(&mut out, "minimum", *min, i64::MIN);
            bound(&mut out, "maximum", *max, i64::MAX);
            out.push('}');
            out
        }
        Want::Array { min, max, item } => {
            let mut out = format!("{{\"type\":\"array\",\"items\":{}", wanted(item));
            bound(&mut out, "minItems", *min, 0);
            bound(&mut out, "maxItems", *max, usize::MAX);
            out.push('}');
            out
        }
        Want::OneOf(wants) => {
            let all: Vec<String> = wants.iter().map(wanted).collect();
            format!("{{\"anyOf\":[{}]}}", all.join(","))
        }
    }
}

fn bound<T: PartialEq + std::fmt::Display>(out: &mut String, name: &str, bound: T, none: T) {
    if bound != none {
        let _ = write!(out, ",\"{name}\":{bound}");
    }
}

/// The grammars of `grammar`, as patterns.
fn text_of(grammar: &'static Grammar) -> String {
    let patterns: [(&'static Grammar, &str); 8] = [
        (&IDENTIFIER, r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$"),
        (&CORRELATION_ID, r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$"),
        (&AGENT_TYPE, r"^[A-Za-z0-9_-]{1,64}$"),
        (&DID, r"^did:[a-z0-9]+:\S+$"),
        (&URI, r"^[A-Za-z][A-Za-z0-9+.-]*:\S+$"),
        (&TRACEPARENT, r"^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$"),
        (&IDEMPOTENCY_KEY, r"^[!-~]{8,128}$"),
        (&CHECKSUM, r"^sha256:[0-9a-f]{64}$"),
    ];
    let found = patterns
        .iter()
        .find(|(known, _)| std::ptr::eq(*known, grammar));
    let pattern = found.map(|(_, pattern)| *pattern);
    Object::new()
        .text("type", "string")
        .maybe("pattern", pattern)
        .text("description", grammar.expected)
        .close()
}

fn names(words: &[&str]) -> String {
    let mut out = String::from("[");
    for (at, word) in words.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        push_string(&mut out, word);
    }
    out.push(']');
    out
}

/// The members of the body of a profile, each with whether it is required and what it holds, for people.
pub(super) fn members(id: &str) -> Option<Vec<(&'static str, bool, String)>> {
    let known = body::profile(id)?;
    let member = |member: &'static Member| {
        let is_time = member.name.ends_with("_at") || member.name.ends_with("_due");
        let text = match &member.want {
            Want::Str { .. } if is_time => "a time in UTC".to_owned(),
            want => said(want),
        };
        (member.name, member.missing.is_some(), text)
    };
    Some(known.body.members.iter().map(member).collect())
}

/// What is wanted, in words.
fn said(want: &Want) -> String {
    match want {
        Want::Any => "anything".into(),
        Want::Bool => "true or false".into(),
        Want::Object => "an object".into(),
        Want::Time(_) => "a time in UTC".into(),
        Want::Text(grammar) if std::ptr::eq(*grammar, &IDENTIFIER) => "an identifier".into(),
        Want::Text(grammar) => grammar.expected.into(),
        Want::Str { min: 0, .. } => "a string".into(),
        Want::Str { .. } => "a string, not empty".into(),
        Want::Num { min, max } if min.is_finite() && max.is_finite() => {
            format!("a number from {min} to {max}")
        }
        Want::Num { .. } => "a number".into(),
        Want::Int { min: 0, .. } => "a count".into(),
        Want::Int { min: 1, .. } => "a count from 1".into(),
        Want::Int { .. } => "an integer".into(),
        Want::Enum(words) => {
            let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            words.join(", ")
        }
        Want::Array { item, .. } => match item {
            Want::Any => "a list".into(),
            item => format!("a list, each {}", said(item)),
        },
        Want::Nested(shape) => {
            let names: Vec<String> = shape
                .members
                .iter()
                .map(|member| match member.missing {
                    Some(_) => format!("**{}**", member.name),
                    None => member.name.into(),
                })
                .collect();
            format!("{{{}}}", names.join(", "))
        }
        Want::OneOf(wants) if wants.len() > 3 => "any value but null".into(),
        Want::OneOf(wants) => {
            let all: Vec<String> = wants.iter().map(said).collect();
            all.join(", or ")
        }
    }
}
