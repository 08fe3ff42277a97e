//! The words of a text: strings, numbers, `true`, `false`, `null`, space.

use super::Kind;
use super::scan::{Scanner, Stop};
use crate::Code;

impl Scanner<'_> {
    /// Reads a string from its opening quote; true when it holds an escape.
    pub(super) fn string(&mut self) -> Result<bool, Stop> {
        self.at += 1;
        let mut escaped = false;
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let Some(plain) = plain_length(rest) else {
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

    pub(super) fn number(&mut self) -> Result<(), Stop> {
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

    pub(super) fn word(&mut self, word: &[u8], kind: Kind) -> Result<bool, Stop> {
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

    pub(super) fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }
}

/// Bytes before the first quote, backslash or control character; `None` when there is none. Strings
/// are most of every text, so this looks at eight bytes at a time.
fn plain_length(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    let (words, rest) = bytes.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        // Each term sets the high bit of the lowest byte it looks for; a borrow can set further ones
        // only above that byte.
        let quote = word ^ (ONES * b'"' as u64);
        let backslash = word ^ (ONES * b'\\' as u64);
        let found = (word.wrapping_sub(ONES * 0x20) & !word)
            | (quote.wrapping_sub(ONES) & !quote)
            | (backslash.wrapping_sub(ONES) & !backslash);
        if found & HIGH != 0 {
            return Some(at * 8 + (found & HIGH).trailing_zeros() as usize / 8);
        }
    }
    let plain = rest
        .iter()
        .position(|&c| c == b'"' || c == b'\\' || c < 0x20)?;
    Some(words.len() * 8 + plain)
}

fn lone(at: usize) -> Stop {
    Stop {
        code: Code::InvalidUnicode,
        at,
        rule: "RFC 7493 2.1",
        what: "expected both halves of a surrogate pair, got one".into(),
    }
}
