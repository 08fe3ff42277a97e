//! Declared shapes of JSON objects, checked all at once.
//!
//! A shape is a static table of members. [`check`] compares a value with it and reports every
//! difference: members in the order of the document, then what is missing in the order of the table.
//! A missing member is reported at the place where it should stand.
//!
//! What it does not do: rules between members, defaults, coercion. It keeps the shapes of AEP
//! payloads and UAI-1 objects as data; the dialects write their cross rules as code. It descends once
//! per nested table, so a table must not contain itself.

mod sentence;
#[cfg(test)]
mod tests;
mod walk;

use self::walk::Walk;
use crate::json::Value;
use crate::{Code, Fault};

/// The members an object may or must have.
#[derive(Debug)]
pub struct Shape {
    /// Each member once.
    pub members: &'static [Member],
    /// Whether members outside the table are reported.
    pub is_closed: bool,
}

/// One declared member.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// The unescaped name.
    pub name: &'static str,
    /// The code of its absence; `None` when it may be absent.
    pub missing: Option<Code>,
    /// Whether `null` stands for "no value". A required member that takes null must still be written.
    pub takes_null: bool,
    /// What its value must be.
    pub want: Want,
}

/// What one value must be. Lengths of text count characters; all bounds are inclusive.
#[derive(Clone, Copy, Debug)]
#[expect(
    missing_docs,
    reason = "the fields are bounds and their names say which"
)]
pub enum Want {
    /// Any value, also null.
    Any,
    /// `true` or `false`.
    Bool,
    /// A string of `min` to `max` characters.
    Str { min: usize, max: usize },
    /// A string that follows a grammar.
    Text(&'static Grammar),
    /// A number.
    Num { min: f64, max: f64 },
    /// A number that is mathematically an integer.
    Int { min: i64, max: i64 },
    /// One of these strings.
    Enum(&'static [&'static str]),
    /// A moment.
    Time(Clock),
    /// An object, whatever is in it.
    Object,
    /// An array of `min` to `max` items, each of which must be `item`.
    Array {
        min: usize,
        max: usize,
        item: &'static Want,
    },
    /// An object of that shape.
    Nested(&'static Shape),
    /// Any of these. The first that takes the value's JSON type and is content decides; when none is
    /// content, the first that takes the type reports.
    OneOf(&'static [Want]),
}

/// A text grammar that is more than a length.
#[derive(Debug)]
pub struct Grammar {
    /// Completes "expected ...", as `an identifier of 1 to 128 characters`.
    pub expected: &'static str,
    /// The fault of a text outside the grammar.
    pub code: Code,
    /// Whether a text is inside.
    pub fits: fn(&str) -> bool,
}

/// How a moment must be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// RFC 3339 with any zone.
    Rfc3339,
    /// RFC 3339 in UTC with a literal `Z`.
    UtcZ,
}

impl Shape {
    /// Members outside the table are allowed.
    #[must_use]
    pub const fn open(members: &'static [Member]) -> Self {
        Self {
            members,
            is_closed: false,
        }
    }

    /// Members outside the table are reported.
    #[must_use]
    pub const fn closed(members: &'static [Member]) -> Self {
        Self {
            members,
            is_closed: true,
        }
    }
}

/// A member that must be there; its absence is `missing_field`.
#[must_use]
pub const fn required(name: &'static str, want: Want) -> Member {
    Member {
        name,
        missing: Some(Code::MissingField),
        takes_null: false,
        want,
    }
}

/// A member that may be absent.
#[must_use]
pub const fn optional(name: &'static str, want: Want) -> Member {
    Member {
        name,
        missing: None,
        takes_null: false,
        want,
    }
}

impl Member {
    /// The same member, which may be null.
    #[must_use]
    pub const fn or_null(mut self) -> Self {
        self.takes_null = true;
        self
    }

    /// The same member, required, whose absence has a code of its own.
    #[must_use]
    pub const fn missing_as(mut self, code: Code) -> Self {
        self.missing = Some(code);
        self
    }
}

impl Want {
    /// Any string.
    pub const STRING: Self = Self::Str {
        min: 0,
        max: usize::MAX,
    };
    /// A string of at least one character.
    pub const NON_EMPTY: Self = Self::Str {
        min: 1,
        max: usize::MAX,
    };
    /// Any number.
    pub const NUMBER: Self = Self::Num {
        min: f64::NEG_INFINITY,
        max: f64::INFINITY,
    };
    /// An integer from 0.
    pub const COUNT: Self = Self::Int {
        min: 0,
        max: i64::MAX,
    };
    /// Any array.
    pub const LIST: Self = Self::list(&Self::Any);

    /// An array of any length.
    #[must_use]
    pub const fn list(item: &'static Self) -> Self {
        Self::Array {
            min: 0,
            max: usize::MAX,
            item,
        }
    }
}

/// Reports every difference between `value` and `shape`. `pointer` is where `value` stands; it comes
/// back unchanged. A member outside a closed shape is `undeclared_field`.
pub fn check(
    shape: &Shape,
    value: Value<'_>,
    pointer: &mut String,
    rule: &'static str,
    faults: &mut Vec<Fault>,
) {
    Walk {
        pointer,
        rule,
        faults,
        kept: None,
    }
    .object(shape, value);
}

/// As [`check`], but a member outside a closed shape is the warning `undeclared_field_kept`.
pub fn check_lenient(
    shape: &Shape,
    value: Value<'_>,
    pointer: &mut String,
    rule: &'static str,
    faults: &mut Vec<Fault>,
    warnings: &mut Vec<Fault>,
) {
    Walk {
        pointer,
        rule,
        faults,
        kept: Some(warnings),
    }
    .object(shape, value);
}

/// As [`check`], for one value that is not the member of a shape. Null is an ordinary wrong type.
pub fn check_value(
    want: &Want,
    value: Value<'_>,
    pointer: &mut String,
    rule: &'static str,
    faults: &mut Vec<Fault>,
) {
    Walk {
        pointer,
        rule,
        faults,
        kept: None,
    }
    .value(want, value);
}
