//! Strict JSON reader: one pass, flat index, no tree, nothing rewritten.
//!
//! Accepts RFC 8259 text that is also I-JSON in its structure: UTF-8 without a byte order mark, no
//! duplicate member names, no lone surrogates, one value and nothing after it. Numbers are checked
//! against the grammar and never converted unless a caller asks. Nesting is limited and the reader
//! does not recurse, so no input can exhaust the stack.
//!
//! The index is one vector of spans in document order. A member that is only carried costs its scan
//! and nothing else.

mod lex;
mod number;
mod scan;
mod text;

#[cfg(test)]
pub(crate) mod arbitrary;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;

pub use number::Integer;
pub use scan::read;
pub use text::{push_escaped, push_string};

use std::borrow::Cow;

use text::unescape;

/// How large and how deep a text may be.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of the whole text.
    pub bytes_max: usize,
    /// Arrays and objects inside each other; the outermost counts as one.
    pub depth_max: usize,
}

impl Default for Limits {
    /// 1 MiB, depth 64.
    fn default() -> Self {
        Self {
            bytes_max: 1 << 20,
            depth_max: 64,
        }
    }
}

/// What kind of JSON value a [`Value`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are JSON's own words")]
pub enum Kind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

impl Kind {
    /// The word for error sentences.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }
}

/// One value's place in the text. Children follow their parent; `next` skips them.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: u32,
    end: u32,
    next: u32,
    kind: Kind,
    /// Strings: holds a backslash. Arrays and objects: unused.
    escaped: bool,
}

impl Span {
    /// The text of a string without quotes and escapes.
    fn unquote(self, text: &str) -> Cow<'_, str> {
        let inner = text
            .get(self.start as usize + 1..self.end as usize - 1)
            .unwrap_or_default();
        if self.escaped {
            Cow::Owned(unescape(inner))
        } else {
            Cow::Borrowed(inner)
        }
    }
}

/// A checked JSON text with its index.
#[derive(Debug)]
pub struct Document<'t> {
    text: &'t str,
    spans: Vec<Span>,
}

/// One value inside a [`Document`]. Cheap to copy.
#[derive(Clone, Copy)]
pub struct Value<'d> {
    text: &'d str,
    spans: &'d [Span],
    at: usize,
}

impl<'t> Document<'t> {
    /// The outermost value.
    #[must_use]
    pub fn root(&self) -> Value<'_> {
        Value {
            text: self.text,
            spans: &self.spans,
            at: 0,
        }
    }

    /// The whole text as it arrived.
    #[must_use]
    pub fn text(&self) -> &'t str {
        self.text
    }
}

impl<'d> Value<'d> {
    fn span(self) -> Span {
        self.spans.get(self.at).copied().unwrap_or(Span {
            start: 0,
            end: 0,
            next: 0,
            kind: Kind::Null,
            escaped: false,
        })
    }

    /// What kind of value this is.
    #[must_use]
    pub fn kind(self) -> Kind {
        self.span().kind
    }

    /// The value's text exactly as it arrived, without surrounding space.
    #[must_use]
    pub fn raw(self) -> &'d str {
        let span = self.span();
        self.text
            .get(span.start as usize..span.end as usize)
            .unwrap_or_default()
    }

    /// Where [`Self::raw`] stands in the document's text, in bytes.
    #[must_use]
    pub fn range(self) -> std::ops::Range<usize> {
        let span = self.span();
        span.start as usize..span.end as usize
    }

    /// The member of that name; `None` also when this is not an object.
    #[must_use]
    pub fn get(self, name: &str) -> Option<Value<'d>> {
        self.members()
            .find(|(key, _)| key.is_text(name))
            .map(|(_, value)| value)
    }

    /// The value at an RFC 6901 pointer below this one; the empty pointer is this value.
    #[must_use]
    pub fn at(self, pointer: &str) -> Option<Value<'d>> {
        if pointer.is_empty() {
            return Some(self);
        }
        pointer
            .strip_prefix('/')?
            .split('/')
            .try_fold(self, |value, token| {
                let token = text::pointer_token(token)?;
                match value.kind() {
                    Kind::Array if token == "0" || !token.starts_with(['0', '+']) => {
                        value.items().nth(token.parse().ok()?)
                    }
                    Kind::Object => value.get(&token),
                    Kind::Array | Kind::Null | Kind::Bool | Kind::Number | Kind::String => None,
                }
            })
    }

    /// The members in document order; nothing when this is not an object.
    #[must_use]
    pub fn members(self) -> Members<'d> {
        Members(self.inside(Kind::Object))
    }

    /// The items in order; nothing when this is not an array.
    #[must_use]
    pub fn items(self) -> Items<'d> {
        self.inside(Kind::Array)
    }

    fn inside(self, kind: Kind) -> Items<'d> {
        let span = self.span();
        let end = if span.kind == kind {
            span.next as usize
        } else {
            0
        };
        Items {
            next: Value {
                at: self.at + 1,
                ..self
            },
            end,
        }
    }

    /// The text of a string, unescaped only when it must be.
    #[must_use]
    pub fn as_str(self) -> Option<Cow<'d, str>> {
        let span = self.span();
        if span.kind != Kind::String {
            return None;
        }
        Some(span.unquote(self.text))
    }

    /// The value of a boolean.
    #[must_use]
    pub fn as_bool(self) -> Option<bool> {
        (self.kind() == Kind::Bool).then(|| self.raw() == "true")
    }

    /// The nearest double of a number; `None` when it is not finite as a double.
    #[must_use]
    pub fn as_f64(self) -> Option<f64> {
        if self.kind() != Kind::Number {
            return None;
        }
        self.raw()
            .parse()
            .ok()
            .filter(|number: &f64| number.is_finite())
    }

    /// A number that is mathematically an integer in `i64` (`3`, `3.0` and `3e2` are; JSON Schema
    /// draws the line the same way).
    #[must_use]
    pub fn as_i64(self) -> Option<i64> {
        match self.as_integer()? {
            Integer::Fits(number) => Some(number),
            Integer::Beyond => None,
        }
    }

    /// A number that is mathematically an integer, also beyond `i64`.
    #[must_use]
    pub fn as_integer(self) -> Option<Integer> {
        if self.kind() == Kind::Number {
            Integer::read(self.raw())
        } else {
            None
        }
    }

    /// True for `null`.
    #[must_use]
    pub fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }
}

impl std::fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.raw())
    }
}

/// The items of an array, in order.
#[derive(Clone, Debug)]
pub struct Items<'d> {
    next: Value<'d>,
    end: usize,
}

impl<'d> Iterator for Items<'d> {
    type Item = Value<'d>;

    fn next(&mut self) -> Option<Value<'d>> {
        if self.next.at >= self.end {
            return None;
        }
        let item = self.next;
        self.next.at = item.span().next as usize;
        Some(item)
    }
}

/// The members of an object, in document order.
#[derive(Clone, Debug)]
pub struct Members<'d>(Items<'d>);

impl<'d> Iterator for Members<'d> {
    type Item = (Key<'d>, Value<'d>);

    fn next(&mut self) -> Option<Self::Item> {
        // A name is a string, so the span after it is its value.
        Some((Key(self.0.next()?), self.0.next()?))
    }
}

/// A member's name.
#[derive(Clone, Copy)]
pub struct Key<'d>(Value<'d>);

impl<'d> Key<'d> {
    /// The name, unescaped only when it must be.
    #[must_use]
    pub fn text(self) -> Cow<'d, str> {
        self.0.as_str().unwrap_or_default()
    }

    /// Whether the name is `name`.
    #[must_use]
    pub fn is_text(self, name: &str) -> bool {
        let span = self.0.span();
        if span.escaped {
            return self.text() == name;
        }
        let inner = self
            .0
            .text
            .as_bytes()
            .get(span.start as usize + 1..span.end as usize - 1);
        inner == Some(name.as_bytes())
    }
}
