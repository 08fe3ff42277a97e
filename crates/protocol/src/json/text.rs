//! Escapes: of JSON strings in both directions, and of JSON pointer tokens.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Appends one reference token, escaped as RFC 6901 asks.
pub fn push_escaped(pointer: &mut String, token: &str) {
    for c in token.chars() {
        match c {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            _ => pointer.push(c),
        }
    }
}

/// Undoes the escapes of one reference token; `None` when a `~` begins none.
pub(super) fn pointer_token(token: &str) -> Option<Cow<'_, str>> {
    let mut parts = token.split('~');
    let mut out = Cow::Borrowed(parts.next()?);
    for part in parts {
        let plain = match part.strip_prefix('0') {
            Some(_) => '~',
            None => part.strip_prefix('1').map(|_| '/')?,
        };
        let out = out.to_mut();
        out.push(plain);
        out.push_str(part.get(1..)?);
    }
    Some(out)
}

/// Appends `text` as a JSON string with quotes, escaping only what RFC 8259 requires, and that as
/// RFC 8785 writes it.
pub fn push_string(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest
        .bytes()
        .position(|c| c < b' ' || c == b'"' || c == b'\\')
    {
        let (plain, from) = rest.split_at(at);
        out.push_str(plain);
        let mut chars = from.chars();
        match chars.next() {
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some('\n') => out.push_str("\\n"),
            Some('\r') => out.push_str("\\r"),
            Some('\t') => out.push_str("\\t"),
            Some('\u{8}') => out.push_str("\\b"),
            Some('\u{c}') => out.push_str("\\f"),
            Some(control) => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            None => {}
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

/// Undoes escapes of a string body that was already checked.
pub(super) fn unescape(body: &str) -> String {
    let mut out = String::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = rest.find('\\') {
        let (plain, escape) = rest.split_at(at);
        out.push_str(plain);
        let mut chars = escape.chars();
        chars.next();
        match chars.next() {
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('u') => {
                let unit = |from: usize| {
                    escape
                        .get(from..from + 4)
                        .and_then(|hex| u32::from_str_radix(hex, 16).ok())
                };
                let first = unit(2).unwrap_or(0xFFFD);
                let (scalar, length) = match (first, unit(8)) {
                    (0xD800..=0xDBFF, Some(second)) => (
                        0x1_0000 + ((first - 0xD800) << 10) + second.wrapping_sub(0xDC00),
                        12,
                    ),
                    _ => (first, 6),
                };
                out.push(char::from_u32(scalar).unwrap_or('\u{FFFD}'));
                rest = escape.get(length..).unwrap_or_default();
                continue;
            }
            Some(c) => out.push(c),
            None => {}
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    out
}
