//! Strict JSON reader: one pass, flat index, no tree, nothing rewritten.
//!
//! Accepts RFC 8259 text that is also I-JSON in its structure: UTF-8 without a byte order mark, no
//! duplicate member names, no lone surrogates, one value and nothing after it. Numbers are checked
//! against the grammar and never converted unless a caller asks. Nesting is limited and the reader
//! does not recurse, so no input can exhaust the stack.
//!
//! The index is one vector of spans in document order. A member that is only carried costs its scan
//! and nothing else.

mod number;

pub use number::Integer;

use std::borrow::Cow;
use std::collections::HashSet;

use crate::{Code, Fault};

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

/// Checks `bytes` and indexes them.
///
/// # Errors
/// The first fault, with a pointer to the value it is in and a byte offset in its sentence:
/// `too_large`, `byte_order_mark`, `invalid_utf8`, `malformed_json`, `invalid_unicode`,
/// `duplicate_key`, `too_deep`, `trailing_bytes`.
pub fn read(bytes: &[u8], limits: Limits) -> Result<Document<'_>, Fault> {
    let bytes_max = limits.bytes_max.min(u32::MAX as usize - 1);
    if bytes.len() > bytes_max {
        return Err(Fault::new(
            Code::TooLarge,
            "",
            "ARCHITECTURE limits",
            format!("expected at most {bytes_max} bytes, got {}", bytes.len()),
        ));
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        return Err(Fault::new(
            Code::ByteOrderMark,
            "",
            "RFC 8259 8.1",
            "expected JSON to start at byte 0, got a byte order mark",
        ));
    }
    let (text, broken_at) = match std::str::from_utf8(bytes) {
        Ok(text) => (text, None),
        Err(error) => {
            let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
            (
                std::str::from_utf8(good).unwrap_or_default(),
                Some(error.valid_up_to()),
            )
        }
    };
    let mut scanner = Scanner {
        text,
        bytes: text.as_bytes(),
        at: 0,
        depth_max: limits.depth_max,
        spans: Vec::with_capacity(text.len() / 12 + 8),
        open: Vec::with_capacity(8),
    };
    match (scanner.document(), broken_at) {
        (Ok(()), None) => Ok(Document {
            text,
            spans: scanner.spans,
        }),
        // The text was cut at the bad byte, so the scan stopped there or found an earlier fault.
        (Err(stop), Some(offset)) if stop.at < offset => Err(scanner.fault(stop)),
        (_, Some(offset)) => Err(scanner.fault(Stop {
            code: Code::InvalidUtf8,
            at: offset,
            rule: "RFC 8259 8.1",
            what: "expected UTF-8, got an ill-formed sequence".into(),
        })),
        (Err(stop), None) => Err(scanner.fault(stop)),
    }
}

/// Why and where the scan stopped.
struct Stop {
    code: Code,
    at: usize,
    rule: &'static str,
    what: Cow<'static, str>,
}

/// A container being read.
struct Open {
    span: usize,
    /// Members or items finished or begun so far.
    count: usize,
    /// The span of the current key, in objects.
    key: Option<usize>,
    /// Unescaped keys, once an object has too many members for pairwise comparison.
    seen: Option<HashSet<Box<str>>>,
}

/// Objects up to this many members compare keys pairwise; beyond it a set is cheaper.
const PAIRWISE_KEYS_MAX: usize = 24;

struct Scanner<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    depth_max: usize,
    spans: Vec<Span>,
    open: Vec<Open>,
}

/// What the scanner looks for next.
enum Expect {
    Value,
    /// Just after `[` or `{`.
    First,
    /// Just after a value inside a container.
    CommaOrClose,
}

impl Scanner<'_> {
    fn document(&mut self) -> Result<(), Stop> {
        self.space();
        let mut expect = Expect::Value;
        loop {
            match expect {
                Expect::Value => {
                    expect = if self.value()? {
                        Expect::First
                    } else {
                        Expect::CommaOrClose
                    };
                }
                Expect::First => {
                    self.space();
                    if self.closes() {
                        self.close();
                        expect = Expect::CommaOrClose;
                    } else {
                        self.member()?;
                        expect = Expect::Value;
                    }
                }
                Expect::CommaOrClose => {
                    self.space();
                    if self.open.is_empty() {
                        return if self.at == self.bytes.len() {
                            Ok(())
                        } else {
                            Err(self.stop(
                                Code::TrailingBytes,
                                "RFC 8259 2",
                                "expected the end of the text after the value",
                            ))
                        };
                    }
                    if self.closes() {
                        self.close();
                    } else if self.peek() == Some(b',') {
                        self.at += 1;
                        self.space();
                        self.member()?;
                        expect = Expect::Value;
                    } else {
                        return Err(self.malformed("expected `,` or the end of the container"));
                    }
                }
            }
        }
    }

    /// Reads a scalar whole, or opens a container (then true).
    fn value(&mut self) -> Result<bool, Stop> {
        let start = self.at;
        let kind = match self.peek() {
            Some(b'"') => {
                let escaped = self.string()?;
                self.push(start, Kind::String, escaped);
                return Ok(false);
            }
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'-' | b'0'..=b'9') => {
                self.number()?;
                self.push(start, Kind::Number, false);
                return Ok(false);
            }
            Some(b't') => return self.word(b"true", Kind::Bool),
            Some(b'f') => return self.word(b"false", Kind::Bool),
            Some(b'n') => return self.word(b"null", Kind::Null),
            Some(_) => return Err(self.malformed("expected a JSON value")),
            None => return Err(self.malformed("expected a JSON value, got the end of the text")),
        };
        if self.open.len() >= self.depth_max {
            let what = format!(
                "expected at most {} nested arrays and objects",
                self.depth_max
            );
            return Err(self.stop(Code::TooDeep, "ARCHITECTURE limits", what));
        }
        self.at += 1;
        self.open.push(Open {
            span: self.spans.len(),
            count: 0,
            key: None,
            seen: None,
        });
        self.push(start, kind, false);
        Ok(true)
    }

    /// Begins the next item, or reads the next member's name and colon.
    fn member(&mut self) -> Result<(), Stop> {
        let Some(open) = self.open.last_mut() else {
            return Ok(());
        };
        open.count += 1;
        let (parent, count) = (open.span, open.count);
        if self
            .spans
            .get(parent)
            .is_none_or(|span| span.kind != Kind::Object)
        {
            return Ok(());
        }
        if self.peek() != Some(b'"') {
            return Err(self.malformed("expected a member name"));
        }
        let start = self.at;
        let escaped = self.string()?;
        let key = self.spans.len();
        self.push(start, Kind::String, escaped);
        if self.is_repeated(parent, key, count) {
            let name = self.key_text(key).unwrap_or_default().into_owned();
            if let Some(open) = self.open.last_mut() {
                open.key = Some(key);
            }
            return Err(Stop {
                code: Code::DuplicateKey,
                at: start,
                rule: "RFC 7493 2.3",
                what: format!("expected every member name once, got {name:?} again").into(),
            });
        }
        if let Some(open) = self.open.last_mut() {
            open.key = Some(key);
        }
        self.space();
        if self.peek() != Some(b':') {
            return Err(self.malformed("expected `:` after the member name"));
        }
        self.at += 1;
        self.space();
        Ok(())
    }

    fn is_repeated(&mut self, parent: usize, key: usize, count: usize) -> bool {
        if count <= PAIRWISE_KEYS_MAX {
            let mut at = parent + 1;
            while at < key {
                if self.same_key(at, key) {
                    return true;
                }
                let Some(value) = self.spans.get(at + 1) else {
                    return false;
                };
                at = value.next as usize;
            }
            return false;
        }
        if self.open.last().is_some_and(|open| open.seen.is_none()) {
            let mut seen = HashSet::with_capacity(count * 2);
            let mut at = parent + 1;
            while at < key {
                if let Some(name) = self.key_text(at) {
                    seen.insert(Box::from(name));
                }
                let Some(value) = self.spans.get(at + 1) else {
                    break;
                };
                at = value.next as usize;
            }
            if let Some(open) = self.open.last_mut() {
                open.seen = Some(seen);
            }
        }
        let Some(name) = self.key_text(key).map(Box::<str>::from) else {
            return false;
        };
        self.open
            .last_mut()
            .and_then(|open| open.seen.as_mut())
            .is_some_and(|seen| !seen.insert(name))
    }

    fn same_key(&self, one: usize, other: usize) -> bool {
        let (Some(a), Some(b)) = (self.spans.get(one), self.spans.get(other)) else {
            return false;
        };
        if !a.escaped && !b.escaped {
            return self.bytes.get(a.start as usize..a.end as usize)
                == self.bytes.get(b.start as usize..b.end as usize);
        }
        self.key_text(one) == self.key_text(other)
    }

    fn key_text(&self, key: usize) -> Option<Cow<'_, str>> {
        Value {
            text: self.text,
            spans: &self.spans,
            at: key,
        }
        .as_str()
    }

    fn close(&mut self) {
        self.at += 1;
        let next = self.spans.len() as u32;
        let end = self.at as u32;
        if let Some(open) = self.open.pop()
            && let Some(span) = self.spans.get_mut(open.span)
        {
            span.end = end;
            span.next = next;
        }
    }

    /// True when the next byte closes the innermost container.
    fn closes(&self) -> bool {
        let Some(open) = self.open.last() else {
            return false;
        };
        match self.spans.get(open.span).map(|span| span.kind) {
            Some(Kind::Object) => self.peek() == Some(b'}'),
            Some(Kind::Array) => self.peek() == Some(b']'),
            _ => false,
        }
    }

    /// Reads a string from its opening quote; true when it holds an escape.
    fn string(&mut self) -> Result<bool, Stop> {
        self.at += 1;
        let mut escaped = false;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let plain = rest
                .iter()
                .position(|&c| c == b'"' || c == b'\\' || c < 0x20);
            let Some(plain) = plain else {
                self.at = self.bytes.len();
                return Err(self.malformed("expected `\"` before the end of the text"));
            };
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(escaped);
                }
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                _ => return Err(self.malformed("expected control characters to be escaped")),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Stop> {
        match self.bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 2;
                Ok(())
            }
            Some(b'u') => {
                let start = self.at;
                let first = self.unit()?;
                match first {
                    0xD800..=0xDBFF => {
                        let paired = self.bytes.get(self.at) == Some(&b'\\')
                            && self.bytes.get(self.at + 1) == Some(&b'u')
                            && (0xDC00..=0xDFFF).contains(&self.unit()?);
                        if paired { Ok(()) } else { Err(lone(start)) }
                    }
                    0xDC00..=0xDFFF => Err(lone(start)),
                    _ => Ok(()),
                }
            }
            _ => Err(self.malformed("expected an escape of RFC 8259 section 7")),
        }
    }

    /// Reads `\uXXXX`.
    fn unit(&mut self) -> Result<u32, Stop> {
        let mut unit = 0;
        for offset in 2..6 {
            let digit = self
                .bytes
                .get(self.at + offset)
                .and_then(|&c| char::from(c).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.malformed("expected four hexadecimal digits after `\\u`"));
            };
            unit = unit * 16 + digit;
        }
        self.at += 6;
        Ok(unit)
    }

    fn number(&mut self) -> Result<(), Stop> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.malformed("expected a digit")),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            if !self.peek().is_some_and(|c| c.is_ascii_digit()) {
                return Err(self.malformed("expected a digit after the decimal point"));
            }
            self.digits();
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if !self.peek().is_some_and(|c| c.is_ascii_digit()) {
                return Err(self.malformed("expected a digit in the exponent"));
            }
            self.digits();
        }
        Ok(())
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
        }
    }

    fn word(&mut self, word: &[u8], kind: Kind) -> Result<bool, Stop> {
        let start = self.at;
        if !self
            .bytes
            .get(start..)
            .is_some_and(|rest| rest.starts_with(word))
        {
            return Err(self.malformed("expected a JSON value"));
        }
        self.at += word.len();
        self.push(start, kind, false);
        Ok(false)
    }

    fn push(&mut self, start: usize, kind: Kind, escaped: bool) {
        // The size limit keeps every offset and every count below `u32::MAX`.
        let next = self.spans.len() as u32 + 1;
        self.spans.push(Span {
            start: start as u32,
            end: self.at as u32,
            next,
            kind,
            escaped,
        });
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn stop(&self, code: Code, rule: &'static str, what: impl Into<Cow<'static, str>>) -> Stop {
        Stop {
            code,
            at: self.at,
            rule,
            what: what.into(),
        }
    }

    fn malformed(&self, what: &'static str) -> Stop {
        self.stop(Code::MalformedJson, "RFC 8259", what)
    }

    /// The pointer to where the scan stands, from the open containers.
    fn fault(&self, stop: Stop) -> Fault {
        let mut pointer = String::new();
        for open in &self.open {
            match open.key {
                Some(key) => {
                    pointer.push('/');
                    push_escaped(&mut pointer, &self.key_text(key).unwrap_or_default());
                }
                None if self
                    .spans
                    .get(open.span)
                    .is_some_and(|s| s.kind == Kind::Array) =>
                {
                    if let Some(at) = open.count.checked_sub(1) {
                        pointer.push_str(&format!("/{at}"));
                    }
                }
                None => {}
            }
        }
        Fault::new(
            stop.code,
            pointer,
            stop.rule,
            format!("{} at byte {}", stop.what, stop.at),
        )
    }
}

fn lone(at: usize) -> Stop {
    Stop {
        code: Code::InvalidUnicode,
        at,
        rule: "RFC 7493 2.1",
        what: "expected both halves of a surrogate pair, got one".into(),
    }
}

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

/// Appends `text` as a JSON string with quotes, escaping only what RFC 8259 requires.
pub fn push_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
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

    /// The value at an RFC 6901 pointer below this one, for pointers without `~` escapes.
    #[must_use]
    pub fn at(self, pointer: &str) -> Option<Value<'d>> {
        pointer
            .split('/')
            .skip(1)
            .try_fold(self, |value, token| match value.kind() {
                Kind::Array => value.items().nth(token.parse().ok()?),
                _ => value.get(token),
            })
    }

    /// The members in document order; nothing when this is not an object.
    pub fn members(self) -> impl Iterator<Item = (Key<'d>, Value<'d>)> {
        let span = self.span();
        let end = if span.kind == Kind::Object {
            span.next as usize
        } else {
            self.at
        };
        let mut at = self.at + 1;
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let key = Key(Value { at, ..self });
            let value = Value { at: at + 1, ..self };
            at = value.span().next as usize;
            Some((key, value))
        })
    }

    /// The items in order; nothing when this is not an array.
    pub fn items(self) -> impl Iterator<Item = Value<'d>> {
        let span = self.span();
        let end = if span.kind == Kind::Array {
            span.next as usize
        } else {
            self.at
        };
        let mut at = self.at + 1;
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let value = Value { at, ..self };
            at = value.span().next as usize;
            Some(value)
        })
    }

    /// The text of a string, unescaped only when it must be.
    #[must_use]
    pub fn as_str(self) -> Option<Cow<'d, str>> {
        let span = self.span();
        if span.kind != Kind::String {
            return None;
        }
        let inner = self
            .text
            .get(span.start as usize + 1..span.end as usize - 1)
            .unwrap_or_default();
        Some(if span.escaped {
            Cow::Owned(unescape(inner))
        } else {
            Cow::Borrowed(inner)
        })
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

/// Undoes escapes of a string body that was already checked.
fn unescape(body: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::{Kind, Limits, read};
    use crate::Code;

    fn fault(text: &[u8]) -> (Code, String) {
        let fault = read(text, Limits::default()).expect_err("expected a fault");
        (fault.code, fault.pointer)
    }

    #[test]
    fn values_keep_their_text() {
        let text = r#" {"n": 9007199254740993, "f":1.10, "s":"\ud83c\udf78\u2028", "a":[1,[2],{}],"":null} "#;
        let document = read(text.as_bytes(), Limits::default()).unwrap();
        let root = document.root();
        assert_eq!(root.get("n").unwrap().raw(), "9007199254740993");
        assert_eq!(root.get("f").unwrap().raw(), "1.10");
        assert_eq!(
            root.get("s").unwrap().as_str().unwrap(),
            "\u{1f378}\u{2028}"
        );
        assert_eq!(
            root.get("a")
                .unwrap()
                .items()
                .map(super::Value::raw)
                .collect::<Vec<_>>(),
            ["1", "[2]", "{}"]
        );
        assert_eq!(root.get("").unwrap().kind(), Kind::Null);
        assert_eq!(root.at("/a/1/0").unwrap().as_i64(), Some(2));
        assert_eq!(root.members().count(), 5);
    }

    #[test]
    fn every_defect_has_its_code_and_pointer() {
        let cases: [(&[u8], Code, &str); 22] = [
            (b"", Code::MalformedJson, ""),
            (b"{", Code::MalformedJson, ""),
            (b"{\"a\":}", Code::MalformedJson, "/a"),
            (b"{\"a\":1,}", Code::MalformedJson, "/a"),
            (b"[1,]", Code::MalformedJson, "/1"),
            (b"[01]", Code::MalformedJson, "/0"),
            (b"[1.]", Code::MalformedJson, "/0"),
            (b"[+1]", Code::MalformedJson, "/0"),
            (b"[NaN]", Code::MalformedJson, "/0"),
            (b"[\"\t\"]", Code::MalformedJson, "/0"),
            (b"[\"\\x\"]", Code::MalformedJson, "/0"),
            (b"{'a':1}", Code::MalformedJson, ""),
            (b"{} {}", Code::TrailingBytes, ""),
            (b"\xef\xbb\xbf{}", Code::ByteOrderMark, ""),
            (b"{\"a\":\"\xff\"}", Code::InvalidUtf8, "/a"),
            (
                b"{\"payload\":{\"s\":\"\\ud800\"}}",
                Code::InvalidUnicode,
                "/payload/s",
            ),
            (b"{\"s\":\"\\ud800\\u0041\"}", Code::InvalidUnicode, "/s"),
            (b"{\"s\":\"\\udc00\"}", Code::InvalidUnicode, "/s"),
            (
                b"{\"a\":1,\"b\":{\"c\":1,\"c\":2}}",
                Code::DuplicateKey,
                "/b/c",
            ),
            (b"{\"a\":1,\"\\u0061\":2}", Code::DuplicateKey, "/a"),
            (b"[{\"x~/\":[tru]}]", Code::MalformedJson, "/0/x~0~1/0"),
            (b"[1}", Code::MalformedJson, "/0"),
        ];
        for (text, code, pointer) in cases {
            assert_eq!(
                fault(text),
                (code, pointer.to_string()),
                "{}",
                String::from_utf8_lossy(text)
            );
        }
    }

    #[test]
    fn duplicates_are_found_among_many_members() {
        let mut text = String::from("{");
        for i in 0..200 {
            text.push_str(&format!("\"k{i}\":{{\"a\":1}},"));
        }
        let good = format!("{text}\"last\":1}}");
        assert!(read(good.as_bytes(), Limits::default()).is_ok());
        let bad = format!("{text}\"k\\u0035\":1}}");
        assert_eq!(fault(bad.as_bytes()).0, Code::DuplicateKey);
    }

    #[test]
    fn depth_and_size_are_limited_without_recursion() {
        let deep = |n: usize| [vec![b'['; n], vec![b']'; n]].concat();
        let read_deep = |n: usize| {
            read(&deep(n), Limits::default())
                .map(|_| ())
                .map_err(|f| f.code)
        };
        assert_eq!(read_deep(64), Ok(()));
        assert_eq!(read_deep(65), Err(Code::TooDeep));
        assert_eq!(read_deep(400_000), Err(Code::TooDeep));
        let small = Limits {
            bytes_max: 4,
            depth_max: 64,
        };
        assert_eq!(
            read(b"[1,2]", small).err().map(|f| f.code),
            Some(Code::TooLarge)
        );
        assert!(read(b"[12]", small).is_ok());
    }

    #[test]
    fn a_fault_before_bad_utf8_is_named_first() {
        assert_eq!(fault(b"{\"a\" 1, \"b\":\"\xff\"}").0, Code::MalformedJson);
    }

    #[test]
    fn integers_are_recognised_as_json_schema_does() {
        let document = read(
            b"[3, 3.0, 3e2, 3.5, 1e400, 9007199254740993]",
            Limits::default(),
        )
        .unwrap();
        let numbers: Vec<_> = document.root().items().map(super::Value::as_i64).collect();
        assert_eq!(
            numbers,
            [
                Some(3),
                Some(3),
                Some(300),
                None,
                None,
                Some(9_007_199_254_740_993)
            ]
        );
    }
}
