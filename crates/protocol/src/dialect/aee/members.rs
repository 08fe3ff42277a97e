//! Shapes of objects inside an envelope, as data, and the one check that reads them.
//!
//! Enough for what AEE publishes about `requires`, references, decision evidence and payloads; not a
//! JSON Schema engine.

use super::findings::{Findings, Weight};
use crate::Code;
use crate::json::{self, Kind, Value};

/// What one member may hold.
#[derive(Clone, Copy, Debug)]
pub(super) enum Holds {
    Text,
    Word(&'static [&'static str]),
    Bool,
    True,
    /// Any integer, in JSON Schema's sense: `3.0` is one.
    Integer,
    Within(i64, i64),
    Number,
    /// A number of 0 or more.
    Amount,
    /// A number from 0 to 1.
    Share,
    Object,
    Texts,
    Objects(&'static Shape),
}

/// One member of a shape.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: &'static str,
    pub(super) required: bool,
    pub(super) holds: Holds,
}

/// A member that must be there.
pub(super) const fn must(name: &'static str, holds: Holds) -> Member {
    Member {
        name,
        required: true,
        holds,
    }
}

/// A member that may be there.
pub(super) const fn may(name: &'static str, holds: Holds) -> Member {
    Member {
        name,
        required: false,
        holds,
    }
}

/// An object: its members, and whether others are refused. At most 32 members.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) members: &'static [Member],
    pub(super) is_closed: bool,
}

/// How a departure from a shape is reported.
#[derive(Clone, Copy)]
pub(super) struct Report {
    pub(super) weight: Weight,
    pub(super) code: Code,
    pub(super) rule: &'static str,
}

/// Checks the object `value`, whose pointer is `at`, member by member in document order; absent
/// members follow in the shape's order.
pub(super) fn check(value: Value<'_>, shape: &Shape, at: &str, report: Report, out: &mut Findings) {
    let mut seen = 0_u32;
    for (key, member) in value.members() {
        let place = shape
            .members
            .iter()
            .position(|known| key.is_text(known.name));
        match place.and_then(|place| Some((place, shape.members.get(place)?))) {
            Some((place, known)) => {
                seen |= 1 << place;
                check_member(member, known, at, report, out);
            }
            None if shape.is_closed => {
                let mut pointer = format!("{at}/");
                json::push_escaped(&mut pointer, &key.text());
                let detail = "expected no such member, the shape is closed";
                out.push(report.weight, report.code, pointer, report.rule, detail);
            }
            None => {}
        }
    }
    for (place, known) in shape.members.iter().enumerate() {
        if known.required && seen & (1 << place) == 0 {
            let detail = format!("expected {}, got nothing", known.holds.words());
            let pointer = format!("{at}/{}", known.name);
            out.push(report.weight, report.code, pointer, report.rule, detail);
        }
    }
}

fn check_member(value: Value<'_>, known: &Member, at: &str, report: Report, out: &mut Findings) {
    match known.holds {
        Holds::Texts if value.kind() == Kind::Array => {
            for (index, item) in value.items().enumerate() {
                if item.kind() != Kind::String {
                    let detail = format!("expected a string, got {}", shown(item));
                    let pointer = format!("{at}/{}/{index}", known.name);
                    out.push(report.weight, report.code, pointer, report.rule, detail);
                }
            }
        }
        Holds::Objects(shape) if value.kind() == Kind::Array => {
            for (index, item) in value.items().enumerate() {
                let pointer = format!("{at}/{}/{index}", known.name);
                if item.kind() == Kind::Object {
                    check(item, shape, &pointer, report, out);
                } else {
                    let detail = format!("expected an object, got {}", shown(item));
                    out.push(report.weight, report.code, pointer, report.rule, detail);
                }
            }
        }
        holds if holds.fits(value) => {}
        holds => {
            let detail = format!("expected {}, got {}", holds.words(), shown(value));
            let pointer = format!("{at}/{}", known.name);
            out.push(report.weight, report.code, pointer, report.rule, detail);
        }
    }
}

/// The value as a sentence shows it: small scalars as written, anything else by its kind, so that a
/// report never repeats a whole payload.
pub(super) fn shown(value: Value<'_>) -> &str {
    match value.kind() {
        Kind::Null | Kind::Bool | Kind::Number | Kind::String if value.raw().len() <= 40 => {
            value.raw()
        }
        kind => kind.as_str(),
    }
}

impl Holds {
    /// Whether `value` fits. Lists are judged item by item by the caller; here they never fit.
    fn fits(self, value: Value<'_>) -> bool {
        let number = || value.as_f64();
        match self {
            Self::Text => value.kind() == Kind::String,
            Self::Word(words) => value.as_str().is_some_and(|text| words.contains(&&*text)),
            Self::Bool => value.kind() == Kind::Bool,
            Self::True => value.as_bool() == Some(true),
            Self::Integer => number().is_some_and(|number| number.fract() == 0.0),
            Self::Within(low, high) => value
                .as_i64()
                .is_some_and(|number| (low..=high).contains(&number)),
            Self::Number => value.kind() == Kind::Number,
            Self::Amount => number().is_some_and(|number| number >= 0.0),
            Self::Share => number().is_some_and(|number| (0.0..=1.0).contains(&number)),
            Self::Object => value.kind() == Kind::Object,
            Self::Texts | Self::Objects(_) => false,
        }
    }

    fn words(self) -> String {
        match self {
            Self::Text => "a string".into(),
            Self::Word(words) => format!("one of {}", words.join(", ")),
            Self::Bool => "a boolean".into(),
            Self::True => "true".into(),
            Self::Integer => "an integer".into(),
            Self::Within(low, high) => format!("an integer from {low} to {high}"),
            Self::Number => "a number".into(),
            Self::Amount => "a number of 0 or more".into(),
            Self::Share => "a number from 0 to 1".into(),
            Self::Object => "an object".into(),
            Self::Texts => "an array of strings".into(),
            Self::Objects(_) => "an array of objects".into(),
        }
    }
}
