//! VOLT's canonical JSON (AEE 9.2): names sorted by bytes, texts and names in NFC, numbers without an
//! exponent and without a trailing `.0`, and nothing insignificant.
//!
//! It differs from RFC 8785 in the order of names beyond the basic plane, in numbers that RFC 8785
//! writes with an exponent, and in NFC.

use protocol::json::{self, Kind, Value, push_escaped, push_string};
use protocol::{Code, Digest, Fault};
use std::borrow::Cow;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

const RULE: &str = "AEE 9.2";
/// The largest integer whose neighbours are doubles too (RFC 7493 2.2).
const INTEGER_MAX: u64 = (1 << 53) - 1;
/// Digits of the longest number that is written out: more would let 20 bytes of input become a gigabyte.
const DIGITS_MAX: usize = 400;

/// The canonical text of `value` with only the members and items that `keep` wants, which gets their
/// JSON pointer.
///
/// # Errors
/// `number_not_interoperable` for a number that two readers may write differently, `duplicate_key`
/// when two names become one in NFC.
pub fn canonicalize(value: Value<'_>, keep: impl Fn(&str) -> bool) -> Result<String, Fault> {
    let mut writer = Writer {
        out: String::with_capacity(value.raw().len()),
        pointer: String::new(),
        keep: &keep,
    };
    writer.value(value)?;
    Ok(writer.out)
}

/// The canonical text of the object `value` with only its members that `keep` wants by name, and some
/// more members, whose JSON is canonical already.
///
/// # Errors
/// As [`canonicalize`].
pub fn canonicalize_members(
    value: Value<'_>,
    keep: impl Fn(&str) -> bool,
    more: &[(&str, &str)],
) -> Result<String, Fault> {
    let mut parts: Vec<(String, String)> = Vec::new();
    for (key, member) in value.members() {
        let name = key.text();
        if keep(&name) {
            parts.push((nfc(&name).into_owned(), canonicalize(member, |_| true)?));
        }
    }
    parts.extend(
        more.iter()
            .map(|(name, json)| ((*name).to_owned(), (*json).to_owned())),
    );
    parts.sort_unstable();
    let mut out = String::from("{");
    for (at, (name, json)) in parts.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        push_string(&mut out, name);
        out.push(':');
        out.push_str(json);
    }
    out.push('}');
    Ok(out)
}

/// SHA-256 of the canonical text of everything.
///
/// # Errors
/// As [`canonicalize`].
pub fn hash(value: Value<'_>) -> Result<Digest, Fault> {
    canonicalize(value, |_| true).map(|text| protocol::digest(text.as_bytes()))
}

struct Writer<'k> {
    out: String,
    pointer: String,
    keep: &'k dyn Fn(&str) -> bool,
}

impl Writer<'_> {
    /// As deep as the reader allowed the text to be nested.
    fn value(&mut self, value: Value<'_>) -> Result<(), Fault> {
        match value.kind() {
            Kind::Null | Kind::Bool => self.out.push_str(value.raw()),
            Kind::Number => return self.number(value.raw()),
            Kind::String => self.text(&value.as_str().unwrap_or_default()),
            Kind::Array => {
                self.out.push('[');
                let mut is_first = true;
                for (at, item) in value.items().enumerate() {
                    self.child(&at.to_string(), item, &mut is_first, false)?;
                }
                self.out.push(']');
            }
            Kind::Object => return self.object(value),
        }
        Ok(())
    }

    fn object(&mut self, value: Value<'_>) -> Result<(), Fault> {
        let mut members: Vec<_> = value
            .members()
            .map(|(key, member)| (nfc_owned(key.text()), member))
            .collect();
        members.sort_by(|(a, _), (b, _)| a.cmp(b));
        self.out.push('{');
        let mut is_first = true;
        let mut last: Option<&str> = None;
        for (name, member) in &members {
            if last == Some(&**name) {
                let detail = format!("expected names that differ in NFC, got {name:?} twice");
                return Err(Fault::new(
                    Code::DuplicateKey,
                    self.pointer.as_str(),
                    RULE,
                    detail,
                ));
            }
            last = Some(&**name);
            self.child(name, *member, &mut is_first, true)?;
        }
        self.out.push('}');
        Ok(())
    }

    fn child(
        &mut self,
        token: &str,
        value: Value<'_>,
        is_first: &mut bool,
        is_member: bool,
    ) -> Result<(), Fault> {
        let length = self.pointer.len();
        self.pointer.push('/');
        push_escaped(&mut self.pointer, token);
        if (self.keep)(&self.pointer) {
            if !std::mem::take(is_first) {
                self.out.push(',');
            }
            if is_member {
                push_string(&mut self.out, token);
                self.out.push(':');
            }
            self.value(value)?;
        }
        self.pointer.truncate(length);
        Ok(())
    }

    fn text(&mut self, text: &str) {
        push_string(&mut self.out, &nfc(text));
    }

    fn number(&mut self, raw: &str) -> Result<(), Fault> {
        let refuse = |expected: &str| {
            let shown: String = raw.chars().take(40).collect();
            let detail = format!("expected {expected}, got {shown}");
            Err(Fault::new(
                Code::NumberNotInteroperable,
                self.pointer.as_str(),
                RULE,
                detail,
            ))
        };
        if raw.contains(['.', 'e', 'E']) {
            let number = raw.parse::<f64>().ok().filter(|number| number.is_finite());
            let Some(number) = number else {
                return refuse("a number that a double can hold");
            };
            // The shortest digits that are read as this double, without an exponent.
            let text = if number == 0.0 {
                "0".into()
            } else {
                number.to_string()
            };
            if text.len() > DIGITS_MAX {
                return refuse("a number of fewer digits");
            }
            self.out.push_str(&text);
            return Ok(());
        }
        match raw.trim_start_matches('-').parse::<u64>() {
            Ok(0) => self.out.push('0'),
            Ok(integer) if integer <= INTEGER_MAX => self.out.push_str(raw),
            Ok(_) | Err(_) => return refuse("an integer of at most 2^53 - 1"),
        }
        Ok(())
    }
}

fn nfc(text: &str) -> Cow<'_, str> {
    match is_nfc_quick(text.chars()) {
        IsNormalized::Yes => Cow::Borrowed(text),
        IsNormalized::No | IsNormalized::Maybe => Cow::Owned(text.nfc().collect()),
    }
}

fn nfc_owned(text: Cow<'_, str>) -> Cow<'_, str> {
    match nfc(&text) {
        Cow::Owned(normal) => Cow::Owned(normal),
        Cow::Borrowed(_) => text,
    }
}

/// Reads a text and gives its canonical form.
///
/// # Errors
/// When the text is not JSON, and as [`canonicalize`].
pub fn canonical_text(text: &[u8], limits: json::Limits) -> Result<String, Fault> {
    canonicalize(json::read(text, limits)?.root(), |_| true)
}
