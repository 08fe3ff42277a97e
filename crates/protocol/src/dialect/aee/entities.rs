//! Forms of entity identifiers in `from` and `to` (AEE 3).
//!
//! Any text addresses somebody; the form decides notices and what strict mode takes.

use std::borrow::Cow;

use super::fields::Field;
use super::findings::{Findings, Weight};
use super::intents::Type;
use super::members::shown;
use super::rules::check_text;
use crate::Code;
use crate::json::Value;

/// What an entity id looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `human`, `agent`, `service` or `bus`, then dotted segments.
    Typed,
    /// One of the four prefixes and `*`.
    Wildcard,
    /// The logical sink `log.` and dotted segments.
    Sink,
    /// Anything else.
    Other,
}

/// Most bytes of an entity id.
const ENTITY_BYTES_MAX: usize = 255;

impl Form {
    /// Classifies `text`.
    pub(super) fn of(text: &str) -> Self {
        let Some((prefix, name)) = text.split_once('.') else {
            return Self::Other;
        };
        let is_typed = matches!(prefix, "human" | "agent" | "service" | "bus");
        if is_typed && name == "*" {
            return Self::Wildcard;
        }
        if text.len() > ENTITY_BYTES_MAX || !name.split('.').all(is_segment) {
            return Self::Other;
        }
        match prefix {
            "log" => Self::Sink,
            _ if is_typed => Self::Typed,
            _ => Self::Other,
        }
    }
}

/// Reads `from` or `to` and judges its form.
pub(super) fn check<'d>(
    value: Value<'d>,
    field: Field,
    kind: Option<Type>,
    out: &mut Findings,
) -> Option<Cow<'d, str>> {
    let text = check_text(value, field, 1, out)?;
    match Form::of(&text) {
        Form::Typed => {}
        Form::Wildcard => {
            let detail = match (field, kind) {
                (Field::To, Some(Type::Event)) => {
                    "expected one entity, got a wildcard, which only this exchange fans out"
                }
                _ => "expected one entity, got a wildcard, which only the `to` of an event may be",
            };
            out.push(
                Weight::Grammar,
                Code::EntityWildcard,
                field.pointer(),
                "AEE 3",
                detail,
            );
        }
        form @ (Form::Sink | Form::Other) => {
            // A log sink is an ordinary addressee although its prefix is not one of the four.
            let is_sink = form == Form::Sink && field == Field::To;
            let weight = if is_sink {
                Weight::Notice
            } else {
                Weight::Grammar
            };
            let detail = format!(
                "expected human, agent, service or bus, a dot and a name, got {}",
                shown(value)
            );
            out.push(weight, Code::EntityForm, field.pointer(), "AEE 3", detail);
        }
    }
    Some(text)
}

fn is_segment(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::Form;

    #[test]
    fn only_four_prefixes_are_typed() {
        let cases = [
            ("human.adam", Form::Typed),
            ("agent.monitor.pve", Form::Typed),
            ("service.cve_db", Form::Typed),
            ("bus.ops", Form::Typed),
            ("agent.*", Form::Wildcard),
            ("log.aocl", Form::Sink),
            ("log.*", Form::Other),
            ("agent.monitor.*", Form::Other),
            ("tool.git", Form::Other),
            ("Agent.x", Form::Other),
            ("agent:x", Form::Other),
            ("agent.", Form::Other),
            ("agent.a b", Form::Other),
            ("someone", Form::Other),
            ("", Form::Other),
        ];
        for (text, form) in cases {
            assert_eq!(Form::of(text), form, "{text}");
        }
        let long = format!("agent.{}", "x".repeat(249));
        assert_eq!(Form::of(&long), Form::Typed);
        assert_eq!(Form::of(&format!("{long}x")), Form::Other);
    }
}
