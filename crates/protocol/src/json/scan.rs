//! The scan: checks a text once, byte by byte, and writes the index.
//!
//! Nothing here recurses. Every step moves forward, so the cost grows with the text alone.

use std::borrow::Cow;
use std::collections::HashSet;

use super::text::push_escaped;
use super::{Document, Kind, Limits, Span};
use crate::{Code, Fault};

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
pub(super) struct Stop {
    pub(super) code: Code,
    pub(super) at: usize,
    pub(super) rule: &'static str,
    pub(super) what: Cow<'static, str>,
}

/// A container being read.
struct Open<'t> {
    span: usize,
    is_object: bool,
    /// Members or items finished or begun so far.
    count: usize,
    /// The span of the current key, in objects.
    key: Option<usize>,
    /// Unescaped keys, once an object has too many members for pairwise comparison.
    seen: Option<HashSet<Cow<'t, str>>>,
}

/// Objects up to this many members compare keys pairwise; beyond it a set is cheaper.
const PAIRWISE_KEYS_MAX: usize = 24;

pub(super) struct Scanner<'t> {
    text: &'t str,
    pub(super) bytes: &'t [u8],
    pub(super) at: usize,
    depth_max: usize,
    spans: Vec<Span>,
    open: Vec<Open<'t>>,
}

/// What the scanner looks for next.
enum Expect {
    Value,
    /// Just after `[` or `{`.
    First,
    /// Just after a value inside a container.
    CommaOrClose,
}

impl<'t> Scanner<'t> {
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
                "expected at most {} nested arrays and objects, got one more",
                self.depth_max
            );
            return Err(self.stop(Code::TooDeep, "ARCHITECTURE limits", what));
        }
        self.at += 1;
        let is_object = kind == Kind::Object;
        self.open.push(Open {
            span: self.spans.len(),
            is_object,
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
            let name: String = self
                .key_text(key)
                .unwrap_or_default()
                .chars()
                .take(40)
                .collect();
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

    /// Whether the name at `key` stands among the earlier names of its object.
    fn is_repeated(&mut self, parent: usize, key: usize, count: usize) -> bool {
        if count <= PAIRWISE_KEYS_MAX {
            return self.names(parent, key).any(|at| self.same_key(at, key));
        }
        let Some(name) = self.key_text(key) else {
            return false;
        };
        let seen = match self.open.last_mut().and_then(|open| open.seen.take()) {
            Some(seen) => seen,
            None => self
                .names(parent, key)
                .filter_map(|at| self.key_text(at))
                .collect(),
        };
        let Some(open) = self.open.last_mut() else {
            return false;
        };
        !open.seen.insert(seen).insert(name)
    }

    /// The spans of the names before `key` in the object at `parent`.
    fn names(&self, parent: usize, key: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(parent + 1), |at| {
            self.spans.get(at + 1).map(|value| value.next as usize)
        })
        .take_while(move |&at| at < key)
    }

    fn same_key(&self, one: usize, other: usize) -> bool {
        let (Some(a), Some(b)) = (self.spans.get(one), self.spans.get(other)) else {
            return false;
        };
        if a.escaped || b.escaped {
            return self.key_text(one) == self.key_text(other);
        }
        self.bytes.get(a.start as usize..a.end as usize)
            == self.bytes.get(b.start as usize..b.end as usize)
    }

    fn key_text(&self, key: usize) -> Option<Cow<'t, str>> {
        self.spans.get(key).map(|span| span.unquote(self.text))
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
        self.peek() == Some(if open.is_object { b'}' } else { b']' })
    }

    pub(super) fn push(&mut self, start: usize, kind: Kind, escaped: bool) {
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

    fn stop(&self, code: Code, rule: &'static str, what: impl Into<Cow<'static, str>>) -> Stop {
        Stop {
            code,
            at: self.at,
            rule,
            what: what.into(),
        }
    }

    pub(super) fn malformed(&self, what: &'static str) -> Stop {
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
