//! RFC 8785 (JCS): the one canonical form, for hashes, checksums and signatures.
//!
//! Written straight from the index of the text: no tree is built, and nesting costs no stack. An
//! integer that no two readers are sure to read alike is refused and never rounded.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt::Write as _;

use crate::json::{Items, Kind, Value, push_escaped, push_string};
use crate::{Code, Digest, Fault};

/// The largest integer whose neighbours are doubles too (RFC 7493 2.2).
const INTEGER_MAX: u64 = (1 << 53) - 1;

/// The RFC 8785 text of `value`, leaving out the members whose JSON pointers, counted from `value`,
/// are in `without` (used for checksums and signatures that do not cover themselves).
///
/// # Errors
/// `number_not_interoperable` for an integer beyond 2^53 - 1 or a number that no double can hold:
/// two readers would canonicalise it differently.
pub fn canonicalize(value: Value<'_>, without: &[&str]) -> Result<String, Fault> {
    canonicalize_where(value, |pointer, _| !without.contains(&pointer))
}

/// The RFC 8785 text of `value` with only the members and items that `keep` wants. `keep` gets the
/// JSON pointer counted from `value`, as in the document before anything is left out, and what stands
/// there. `value` itself is always kept, and what is left out is not looked into.
///
/// # Errors
/// As [`canonicalize`], for what is kept.
pub fn canonicalize_where(
    value: Value<'_>,
    keep: impl Fn(&str, Value<'_>) -> bool,
) -> Result<String, Fault> {
    let mut writer = Writer {
        out: String::with_capacity(value.raw().len()),
        pointer: String::new(),
        open: Vec::new(),
    };
    writer.value(value)?;
    while let Some(next) = writer.step() {
        if keep(&writer.pointer, next.value) {
            writer.child(next)?;
        }
    }
    Ok(writer.out)
}

/// SHA-256 of the canonical text.
///
/// # Errors
/// As [`canonicalize`].
pub fn canonical_hash(value: Value<'_>) -> Result<Digest, Fault> {
    canonicalize(value, &[]).map(|text| crate::digest(text.as_bytes()))
}

/// An array or object being written.
struct Open<'d> {
    rest: Rest<'d>,
    /// Length of the pointer to this container.
    pointer: usize,
    is_empty: bool,
}

enum Rest<'d> {
    Members(std::vec::IntoIter<(Cow<'d, str>, Value<'d>)>),
    Items(std::iter::Enumerate<Items<'d>>),
}

/// The next member or item, its pointer already set.
struct Child<'d> {
    name: Option<Cow<'d, str>>,
    value: Value<'d>,
}

struct Writer<'d> {
    out: String,
    pointer: String,
    open: Vec<Open<'d>>,
}

impl<'d> Writer<'d> {
    /// Moves to the next child in document or name order, closing what is finished.
    fn step(&mut self) -> Option<Child<'d>> {
        loop {
            let open = self.open.last_mut()?;
            self.pointer.truncate(open.pointer);
            match &mut open.rest {
                Rest::Members(members) => {
                    if let Some((name, value)) = members.next() {
                        self.pointer.push('/');
                        push_escaped(&mut self.pointer, &name);
                        return Some(Child {
                            name: Some(name),
                            value,
                        });
                    }
                    self.out.push('}');
                }
                Rest::Items(items) => {
                    if let Some((at, value)) = items.next() {
                        let _ = write!(self.pointer, "/{at}");
                        return Some(Child { name: None, value });
                    }
                    self.out.push(']');
                }
            }
            self.open.pop();
        }
    }

    fn child(&mut self, child: Child<'d>) -> Result<(), Fault> {
        if let Some(open) = self.open.last_mut() {
            if !open.is_empty {
                self.out.push(',');
            }
            open.is_empty = false;
        }
        if let Some(name) = child.name {
            push_string(&mut self.out, &name);
            self.out.push(':');
        }
        self.value(child.value)
    }

    /// Writes a scalar, or opens a container.
    fn value(&mut self, value: Value<'d>) -> Result<(), Fault> {
        match value.kind() {
            Kind::Null | Kind::Bool => self.out.push_str(value.raw()),
            Kind::Number => return self.number(value.raw()),
            Kind::String => match value.as_str() {
                // A text that holds no escape is already as RFC 8785 wants it.
                Some(Cow::Borrowed(_)) => self.out.push_str(value.raw()),
                Some(Cow::Owned(text)) => push_string(&mut self.out, &text),
                None => {}
            },
            Kind::Object => {
                let mut members: Vec<_> = value
                    .members()
                    .map(|(key, value)| (key.text(), value))
                    .collect();
                members.sort_unstable_by(|(a, _), (b, _)| utf16_order(a, b));
                self.begin('{', Rest::Members(members.into_iter()));
            }
            Kind::Array => self.begin('[', Rest::Items(value.items().enumerate())),
        }
        Ok(())
    }

    fn begin(&mut self, bracket: char, rest: Rest<'d>) {
        self.out.push(bracket);
        self.open.push(Open {
            rest,
            pointer: self.pointer.len(),
            is_empty: true,
        });
    }

    fn number(&mut self, raw: &str) -> Result<(), Fault> {
        let mut buffer = ryu_js::Buffer::new();
        let text = if raw.contains(['.', 'e', 'E']) {
            match raw.parse::<f64>() {
                Ok(number) if number.is_finite() => buffer.format_finite(number),
                Ok(_) | Err(_) => return Err(self.refuse("a number that a double can hold", raw)),
            }
        } else {
            match raw.trim_start_matches('-').parse::<u64>() {
                Ok(0) => "0",
                Ok(integer) if integer <= INTEGER_MAX => raw,
                Ok(_) | Err(_) => return Err(self.refuse("an integer of at most 2^53 - 1", raw)),
            }
        };
        self.out.push_str(text);
        Ok(())
    }

    fn refuse(&self, expected: &str, raw: &str) -> Fault {
        let shown: String = raw.chars().take(40).collect();
        Fault::new(
            Code::NumberNotInteroperable,
            self.pointer.as_str(),
            "RFC 8785 3.2.2.3",
            format!("expected {expected}, got {shown}"),
        )
    }
}

/// Order by UTF-16 code units (RFC 8785 3.2.3). It is the order of UTF-8 bytes, except that the lead
/// bytes of U+E000 to U+FFFF (EE, EF) come after those of surrogate pairs (F0 to F4).
fn utf16_order(a: &str, b: &str) -> Ordering {
    let rank = |byte: u8| {
        if matches!(byte, 0xEE | 0xEF) {
            byte + 0x10
        } else {
            byte
        }
    };
    a.bytes().map(rank).cmp(b.bytes().map(rank))
}

#[cfg(test)]
mod tests;
