//! Every rule about the value of a member, and the typed view the header is made from (AEE 1.1 to
//! 1.8, AEE 3, AEE 4.1).
//!
//! Which members must be there is not decided here; `tiers` does.

use std::borrow::Cow;

use super::fields::{Field, Found};
use super::findings::{Findings, Weight};
use super::intents::{self, Type};
use super::members::{self, Holds, Report, Shape, may, shown};
use super::{contents, entities, ids};
use crate::json::{Kind, Value};
use crate::timestamp::Timestamp;
use crate::{Code, Priority};

/// What the checks could read. A member that is absent, null or of the wrong type is `None`.
#[derive(Default)]
pub(super) struct View<'d> {
    pub(super) id: Option<Cow<'d, str>>,
    pub(super) ts: Option<Timestamp>,
    pub(super) kind: Option<Type>,
    pub(super) from: Option<Cow<'d, str>>,
    pub(super) to: Option<Cow<'d, str>>,
    pub(super) intent: Option<Cow<'d, str>>,
    pub(super) corr: Option<Cow<'d, str>>,
    pub(super) reply_to: Option<Cow<'d, str>>,
    pub(super) priority: Option<Priority>,
    pub(super) timeout_ms: Option<i64>,
    /// `payload.code` of an error.
    pub(super) error_code: Option<Cow<'d, str>>,
    /// `payload.reason`.
    pub(super) reason: Option<Cow<'d, str>>,
    /// Whether `payload.retryable` is false.
    pub(super) is_final: bool,
}

impl View<'_> {
    /// Whether the envelope is a result or an error.
    pub(super) fn is_reply(&self) -> bool {
        self.kind.is_some_and(Type::is_reply)
    }
}

static TRACE: Shape = Shape {
    members: &[may("trace_id", Holds::Text), may("span_id", Holds::Text)],
    is_closed: false,
};

/// Checks every known member in document order.
pub(super) fn check<'d>(found: &Found<'d>, out: &mut Findings) -> View<'d> {
    let text = |field| found.get(field).and_then(Value::as_str);
    let mut view = View {
        // Other members are judged by these three, which may stand after them.
        kind: text(Field::Type).and_then(|word| Type::named(&word)),
        intent: text(Field::Intent),
        ts: text(Field::Ts).and_then(|ts| Some(Timestamp::parse_rfc3339(&ts)?.0)),
        ..View::default()
    };
    for (field, value) in found.in_order() {
        match field {
            Field::V => check_version(value, out),
            Field::Id => {
                view.id = check_text(value, field, 8, out);
                if let Some(id) = view.id.as_deref() {
                    let form = ids::check(id, field, out);
                    ids::check_skew(form, view.ts, out);
                }
            }
            Field::Ts => check_time(value, view.ts, out),
            Field::Type => check_type(value, view.kind, out),
            Field::From => view.from = entities::check(value, field, view.kind, out),
            Field::To => view.to = entities::check(value, field, view.kind, out),
            Field::Intent => check_intent(value, view.kind, out),
            Field::Corr => {
                view.corr = check_text(value, field, 8, out);
                if let Some(corr) = view.corr.as_deref() {
                    ids::check(corr, field, out);
                }
            }
            Field::ReplyTo => view.reply_to = check_reply_to(value, view.kind, out),
            Field::Trace => check_trace(value, out),
            Field::Priority => view.priority = check_priority(value, out),
            Field::Requires => {
                if is_object_or_null(value, field, "AEE 1.7", out) {
                    contents::check_requires(value, out);
                    view.timeout_ms = contents::timeout_ms(value);
                }
            }
            Field::Payload => {
                check_payload(value, &view, found.get(Field::Requires), out);
                match view.kind {
                    Some(Type::Error) => {
                        view.error_code = value.get("code").and_then(Value::as_str);
                    }
                    Some(Type::Event) if view.intent.as_deref() == Some("event.rejected") => {
                        view.reason = value.get("reason").and_then(Value::as_str);
                        view.is_final =
                            value.get("retryable").and_then(Value::as_bool) == Some(false);
                    }
                    _ => {}
                }
            }
            Field::Sig => check_sig(value, out),
        }
    }
    view
}

/// The text of a member that may not be null. Short of `chars_min` characters the article's profile
/// may still take it; empty it is of no use to anybody.
pub(super) fn check_text<'d>(
    value: Value<'d>,
    field: Field,
    chars_min: usize,
    out: &mut Findings,
) -> Option<Cow<'d, str>> {
    let Some(text) = value.as_str() else {
        wrong_type(value, field, "a string", "AEE 1.1", out);
        return None;
    };
    // Bytes bound characters from above, so most texts need no count.
    if text.len() < chars_min * 4 {
        let chars = text.chars().count();
        if chars < chars_min {
            let weight = if chars == 0 {
                Weight::Always
            } else {
                Weight::Length
            };
            let detail = format!("expected {chars_min} or more characters, got {chars}");
            out.push(weight, Code::TooShort, field.pointer(), "AEE 1.1", detail);
        }
    }
    Some(text)
}

fn wrong_type(
    value: Value<'_>,
    field: Field,
    expected: &str,
    rule: &'static str,
    out: &mut Findings,
) {
    let code = if value.is_null() {
        Code::NullNotAllowed
    } else {
        Code::TypeMismatch
    };
    let detail = format!("expected {expected}, got {}", shown(value));
    out.push(Weight::Always, code, field.pointer(), rule, detail);
}

fn check_version(value: Value<'_>, out: &mut Findings) {
    match value.as_str() {
        Some(version) if version == "1" => {}
        Some(_) => {
            let detail = format!("expected \"1\", got {}", shown(value));
            out.push(
                Weight::Always,
                Code::UnsupportedVersion,
                "/v",
                "AEE 1.1",
                detail,
            );
        }
        None => wrong_type(value, Field::V, "the string \"1\"", "AEE 1.1", out),
    }
}

fn check_time(value: Value<'_>, ts: Option<Timestamp>, out: &mut Findings) {
    let text = check_text(value, Field::Ts, 10, out);
    if text.is_some() && ts.is_none() {
        let detail = format!("expected RFC 3339 with a zone, got {}", shown(value));
        out.push(
            Weight::Grammar,
            Code::TimestampMalformed,
            "/ts",
            "AEE 1.6",
            detail,
        );
    }
}

fn check_type(value: Value<'_>, kind: Option<Type>, out: &mut Findings) {
    let expected = Type::WORDS;
    if value.kind() != Kind::String {
        wrong_type(value, Field::Type, expected, "AEE 1.3", out);
    } else if kind.is_none() {
        let detail = format!("expected {expected}, got {}", shown(value));
        out.push(
            Weight::Always,
            Code::EnumUnknown,
            "/type",
            "AEE 1.3",
            detail,
        );
    }
}

fn check_intent(value: Value<'_>, kind: Option<Type>, out: &mut Findings) {
    let Some(intent) = check_text(value, Field::Intent, 3, out) else {
        return;
    };
    if !intents::is_dotted(&intent) {
        let detail = format!("expected dotted lower-case segments, got {}", shown(value));
        out.push(
            Weight::Grammar,
            Code::IntentForm,
            "/intent",
            "AEE 4.1",
            detail,
        );
    } else if intents::is_reserved_stranger(&intent) {
        // An unknown event can be ignored; an unknown task waits for an answer nobody defines.
        let is_task = kind == Some(Type::Task);
        let weight = if is_task {
            Weight::Grammar
        } else {
            Weight::Notice
        };
        let detail = format!(
            "expected one of the seven aee intents, got {}",
            shown(value)
        );
        out.push(weight, Code::ReservedIntent, "/intent", "AEE 4.2", detail);
    }
}

/// Reads `reply_to`. The empty text names nothing: the schema takes it outside replies, so it is
/// taken there as no cause.
fn check_reply_to<'d>(
    value: Value<'d>,
    kind: Option<Type>,
    out: &mut Findings,
) -> Option<Cow<'d, str>> {
    let is_reply = kind.is_some_and(Type::is_reply);
    let word = kind.map_or("envelope", Type::as_str);
    if value.is_null() {
        if is_reply {
            let detail = format!("expected the id of the message this {word} answers, got null");
            out.push(
                Weight::Reply,
                Code::ReplyToMissing,
                "/reply_to",
                "AEE 1.2",
                detail,
            );
            let detail = "expected a delivered reply to name what it answers, got null";
            out.push(
                Weight::Notice,
                Code::LogTierOnly,
                "/reply_to",
                "AEE 2.2",
                detail,
            );
        }
        return None;
    }
    let Some(text) = value.as_str() else {
        wrong_type(value, Field::ReplyTo, "a string or null", "AEE 1.4", out);
        return None;
    };
    if is_reply {
        check_text(value, Field::ReplyTo, 8, out);
    } else if kind.is_some() && !text.is_empty() {
        let detail = format!("expected null in a message of type {word}, got a string");
        out.push(
            Weight::Notice,
            Code::ReplyToNotNull,
            "/reply_to",
            "AEE 1.4",
            detail,
        );
    }
    if text.is_empty() {
        return None;
    }
    ids::check(&text, Field::ReplyTo, out);
    Some(text)
}

fn check_trace(value: Value<'_>, out: &mut Findings) {
    if is_object_or_null(value, Field::Trace, "AEE 1.1", out) {
        let report = Report {
            weight: Weight::Always,
            code: Code::TypeMismatch,
            rule: "AEE 1.1",
        };
        members::check(value, &TRACE, "/trace", report, out);
    }
}

fn is_object_or_null(
    value: Value<'_>,
    field: Field,
    rule: &'static str,
    out: &mut Findings,
) -> bool {
    match value.kind() {
        Kind::Object => return true,
        Kind::Null => {}
        Kind::Bool | Kind::Number | Kind::String | Kind::Array => {
            wrong_type(value, field, "an object or null", rule, out);
        }
    }
    false
}

fn check_priority(value: Value<'_>, out: &mut Findings) -> Option<Priority> {
    const EXPECTED: &str = "low, normal, high or urgent";
    let Some(word) = value.as_str() else {
        wrong_type(value, Field::Priority, EXPECTED, "AEE 1.1", out);
        return None;
    };
    let priority = Priority::parse(&word);
    if priority.is_none() {
        let detail = format!("expected {EXPECTED}, got {}", shown(value));
        out.push(
            Weight::Always,
            Code::EnumUnknown,
            "/priority",
            "AEE 1.1",
            detail,
        );
    }
    priority
}

fn check_payload(
    value: Value<'_>,
    view: &View<'_>,
    requires: Option<Value<'_>>,
    out: &mut Findings,
) {
    if value.kind() == Kind::Object {
        contents::check_payload(value, view.kind, view.intent.as_deref(), requires, out);
    } else {
        wrong_type(value, Field::Payload, "an object", "AEE 1.2", out);
    }
}

fn check_sig(value: Value<'_>, out: &mut Findings) {
    match value.kind() {
        Kind::Object | Kind::String | Kind::Null => {}
        Kind::Bool | Kind::Number | Kind::Array => {
            wrong_type(
                value,
                Field::Sig,
                "an object, a string or null",
                "AEE 1.8",
                out,
            );
        }
    }
}
