//! The walk behind the checks: one value, one shape, every difference.

use std::fmt::Write as _;

use super::sentence::{either, excerpt, phrase};
use super::{Clock, Member, Shape, Want};
use crate::fault::note;
use crate::json::{Integer, Kind, Value, push_escaped};
use crate::timestamp::Zone;
use crate::{Code, Fault, Timestamp};

pub(super) struct Walk<'a> {
    pub(super) pointer: &'a mut String,
    pub(super) rule: &'static str,
    pub(super) faults: &'a mut Vec<Fault>,
    /// Where undeclared members of closed shapes go when they are no fault.
    pub(super) kept: Option<&'a mut Vec<Fault>>,
}

impl Walk<'_> {
    pub(super) fn object(&mut self, shape: &Shape, value: Value<'_>) {
        if value.kind() != Kind::Object {
            return self.wrong_type("an object", value);
        }
        for (key, found) in value.members() {
            match shape.members.iter().find(|member| key.is_text(member.name)) {
                Some(member) => {
                    self.below(member.name, |walk| walk.member(member, found));
                }
                None if shape.is_closed => {
                    self.below(&key.text(), Self::undeclared);
                }
                None => {}
            }
        }
        for member in shape.members {
            if let Some(code) = member.missing
                && value.get(member.name).is_none()
            {
                self.below(member.name, |walk| {
                    walk.fault(
                        code,
                        format!("expected {}, got nothing", phrase(&member.want)),
                    );
                });
            }
        }
    }

    fn member(&mut self, member: &Member, found: Value<'_>) {
        if !found.is_null() || takes(&member.want, Kind::Null) {
            self.value(&member.want, found);
        } else if !member.takes_null {
            self.fault(
                Code::NullNotAllowed,
                format!("expected {}, got null", phrase(&member.want)),
            );
        }
    }

    pub(super) fn value(&mut self, want: &Want, value: Value<'_>) {
        match want {
            Want::OneOf(choices) => return self.one_of(choices, value),
            Want::Nested(shape) => return self.object(shape, value),
            Want::Any
            | Want::Bool
            | Want::Object
            | Want::Str { .. }
            | Want::Text(_)
            | Want::Num { .. }
            | Want::Int { .. }
            | Want::Enum(_)
            | Want::Time(_)
            | Want::Array { .. } => {}
        }
        if !takes(want, value.kind()) {
            return self.wrong_type(&phrase(want), value);
        }
        match *want {
            Want::Any | Want::Bool | Want::Object | Want::Nested(_) | Want::OneOf(_) => {}
            Want::Str { min, max } => {
                let length = value.as_str().map_or(0, |text| text.chars().count());
                self.length(length, min, max, "character");
            }
            Want::Text(grammar) => {
                if !value.as_str().is_some_and(|text| (grammar.fits)(&text)) {
                    self.unfit(grammar.code, want, value);
                }
            }
            // A number beyond every double compares as infinite, which is on the right side of every
            // finite bound.
            Want::Num { min, max } => {
                if !value.raw().parse().is_ok_and(|n: f64| min <= n && n <= max) {
                    self.unfit(Code::OutOfRange, want, value);
                }
            }
            Want::Int { min, max } => match value.as_integer() {
                Some(Integer::Fits(n)) if min <= n && n <= max => {}
                Some(Integer::Fits(_) | Integer::Beyond) => {
                    self.unfit(Code::OutOfRange, want, value);
                }
                None => self.unfit(Code::TypeMismatch, want, value),
            },
            Want::Enum(words) => {
                if !value.as_str().is_some_and(|text| words.contains(&&*text)) {
                    self.unfit(Code::EnumUnknown, want, value);
                }
            }
            Want::Time(clock) => match value.as_str().and_then(|t| Timestamp::parse_rfc3339(&t)) {
                None => self.unfit(Code::TimestampMalformed, want, value),
                Some((_, Zone::Offset)) if clock == Clock::UtcZ => {
                    self.unfit(Code::TimestampNotUtc, want, value);
                }
                Some((_, Zone::Utc | Zone::Offset)) => {}
            },
            Want::Array { min, max, item } => {
                self.length(value.items().count(), min, max, "item");
                for (at, found) in value.items().enumerate() {
                    let length = self.pointer.len();
                    let _ = write!(self.pointer, "/{at}");
                    self.value(item, found);
                    self.pointer.truncate(length);
                }
            }
        }
    }

    fn one_of(&mut self, choices: &[Want], value: Value<'_>) {
        let mut fitting = choices
            .iter()
            .filter(|choice| takes(choice, value.kind()))
            .peekable();
        let Some(first) = fitting.peek().copied() else {
            return self.wrong_type(&either(choices), value);
        };
        let (faults, kept) = (self.faults.len(), self.kept.as_ref().map(|kept| kept.len()));
        for choice in fitting {
            self.value(choice, value);
            if self.faults.len() == faults {
                return;
            }
            self.faults.truncate(faults);
            if let (Some(warnings), Some(length)) = (self.kept.as_mut(), kept) {
                warnings.truncate(length);
            }
        }
        self.value(first, value);
    }

    fn undeclared(&mut self) {
        let detail = "expected only declared members, got another";
        match self.kept.as_mut() {
            Some(kept) => kept.push(Fault::new(
                Code::UndeclaredFieldKept,
                self.pointer.as_str(),
                self.rule,
                detail,
            )),
            None => self.fault(Code::UndeclaredField, detail.into()),
        }
    }

    fn length(&mut self, length: usize, min: usize, max: usize, unit: &str) {
        let plural = |n: usize| if n == 1 { "" } else { "s" };
        if length < min {
            let detail = format!(
                "expected at least {min} {unit}{}, got {length}",
                plural(min)
            );
            self.fault(Code::TooShort, detail);
        } else if length > max {
            let detail = format!("expected at most {max} {unit}{}, got {length}", plural(max));
            self.fault(Code::TooLong, detail);
        }
    }

    fn wrong_type(&mut self, expected: &str, value: Value<'_>) {
        self.fault(
            Code::TypeMismatch,
            format!("expected {expected}, got {}", value.kind().as_str()),
        );
    }

    fn unfit(&mut self, code: Code, want: &Want, value: Value<'_>) {
        self.fault(
            code,
            format!("expected {}, got {}", phrase(want), excerpt(value)),
        );
    }

    fn fault(&mut self, code: Code, detail: String) {
        let fault = Fault::new(code, self.pointer.as_str(), self.rule, detail);
        note(self.faults, fault);
    }

    fn below(&mut self, name: &str, work: impl FnOnce(&mut Self)) {
        let length = self.pointer.len();
        self.pointer.push('/');
        push_escaped(self.pointer, name);
        work(self);
        self.pointer.truncate(length);
    }
}

/// Whether a value of that JSON type can be what is wanted at all.
fn takes(want: &Want, kind: Kind) -> bool {
    match want {
        Want::Any => true,
        Want::Bool => kind == Kind::Bool,
        Want::Num { .. } | Want::Int { .. } => kind == Kind::Number,
        Want::Str { .. } | Want::Text(_) | Want::Enum(_) | Want::Time(_) => kind == Kind::String,
        Want::Object | Want::Nested(_) => kind == Kind::Object,
        Want::Array { .. } => kind == Kind::Array,
        Want::OneOf(choices) => choices.iter().any(|choice| takes(choice, kind)),
    }
}
