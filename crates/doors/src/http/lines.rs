//! Lines out of a body that comes in pieces. A line over the limit costs itself, not the rest.

use super::body::{DISCARD_BYTES_MAX, too_large};
use axum::body::{Body, BodyDataStream, Bytes};
use bytes::{Buf as _, BytesMut};
use futures_util::StreamExt as _;
use protocol::Rejection;

/// One line with something in it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// Its number in the body, from 1, blank lines counted.
    pub number: u64,
    /// Its bytes without the line end, or why it was not kept.
    pub content: Result<Bytes, Rejection>,
}

/// The lines of one body.
#[derive(Debug)]
pub(crate) struct Lines {
    body: Option<BodyDataStream>,
    splitter: Splitter,
    room_bytes: usize,
    /// Set once the body is over its limit: what may still be read and thrown away.
    discard_bytes: Option<usize>,
}

impl Lines {
    /// The lines of `body`, each at most `line_bytes_max`, all together at most `bytes_max`.
    pub(crate) fn of(body: Body, line_bytes_max: usize, bytes_max: usize) -> Self {
        Self {
            body: Some(body.into_data_stream()),
            splitter: Splitter::new(line_bytes_max),
            room_bytes: bytes_max,
            discard_bytes: None,
        }
    }

    /// The next line that has arrived whole.
    pub(crate) fn ready(&mut self) -> Option<Line> {
        self.splitter.next(self.body.is_none())
    }

    /// Whether everything has arrived; [`Self::ready`] may still have lines.
    pub(crate) fn has_ended(&self) -> bool {
        self.body.is_none()
    }

    /// Waits for more of the body. Cancelling the wait loses nothing.
    pub(crate) async fn more(&mut self) {
        let Some(body) = &mut self.body else { return };
        match (body.next().await, self.discard_bytes) {
            (Some(Ok(chunk)), None) if chunk.len() <= self.room_bytes => {
                self.room_bytes -= chunk.len();
                self.splitter.push(&chunk);
            }
            (Some(Ok(_)), None) => {
                self.splitter.cut_off();
                self.discard_bytes = Some(DISCARD_BYTES_MAX);
            }
            (Some(Ok(chunk)), Some(rest)) => {
                self.discard_bytes = rest.checked_sub(chunk.len());
                if self.discard_bytes.is_none() {
                    self.body = None;
                }
            }
            (Some(Err(_)), _) => {
                // Half a line is not a message.
                self.splitter.forget();
                self.body = None;
            }
            (None, _) => self.body = None,
        }
    }
}

/// Splits pieces into lines.
#[derive(Debug)]
struct Splitter {
    buffer: BytesMut,
    /// How much of the buffer was searched already.
    searched: usize,
    line_bytes_max: usize,
    number: u64,
    /// Inside a line that is already known to be too long.
    is_skipping: bool,
    /// The body itself was too long; said after the lines that fit.
    is_cut_off: bool,
}

impl Splitter {
    fn new(line_bytes_max: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            searched: 0,
            line_bytes_max,
            number: 1,
            is_skipping: false,
            is_cut_off: false,
        }
    }

    fn push(&mut self, chunk: &[u8]) {
        self.buffer.extend_from_slice(chunk);
    }

    fn forget(&mut self) {
        self.buffer.clear();
        self.searched = 0;
        self.is_skipping = false;
    }

    fn cut_off(&mut self) {
        let kept = self
            .buffer
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        self.buffer.truncate(kept);
        self.searched = self.searched.min(kept);
        self.is_skipping = false;
        self.is_cut_off = true;
    }

    fn next(&mut self, is_last: bool) -> Option<Line> {
        loop {
            let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
            let end = unsearched.iter().position(|byte| *byte == b'\n');
            let line = match end {
                Some(offset) => {
                    let line = self.buffer.split_to(self.searched + offset);
                    self.buffer.advance(1);
                    self.searched = 0;
                    line
                }
                None if is_last && (!self.buffer.is_empty() || self.is_skipping) => {
                    self.searched = 0;
                    self.buffer.split()
                }
                None if is_last && std::mem::take(&mut self.is_cut_off) => {
                    let content = Err(too_large(self.line_bytes_max));
                    return Some(Line {
                        number: self.number,
                        content,
                    });
                }
                None => {
                    self.searched = self.buffer.len();
                    if self.searched > self.line_bytes_max.saturating_add(1) {
                        // One byte more than the limit may still be the `\r` of the line end.
                        self.is_skipping = true;
                        self.forget_line();
                    }
                    return None;
                }
            };
            let number = self.number;
            self.number += 1;
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            if std::mem::take(&mut self.is_skipping) || line.len() > self.line_bytes_max {
                return Some(Line {
                    number,
                    content: Err(too_large(self.line_bytes_max)),
                });
            }
            if line
                .iter()
                .any(|byte| !matches!(byte, b' ' | b'\t' | b'\r'))
            {
                // A copy: a slice would keep its whole neighbourhood in memory for as long as the
                // exchange keeps this one envelope.
                return Some(Line {
                    number,
                    content: Ok(Bytes::copy_from_slice(line)),
                });
            }
        }
    }

    fn forget_line(&mut self) {
        self.buffer.clear();
        self.searched = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::Splitter;

    /// Number and text of every line, `!` for one over the limit.
    fn split(max: usize, pieces: &[&str], cut_off: bool) -> Vec<(u64, String)> {
        let mut splitter = Splitter::new(max);
        let mut lines = Vec::new();
        let mut take = |splitter: &mut Splitter, is_last| {
            while let Some(line) = splitter.next(is_last) {
                let text = line
                    .content
                    .map_or("!".into(), |b| String::from_utf8(b.to_vec()).unwrap());
                lines.push((line.number, text));
            }
        };
        for piece in pieces {
            splitter.push(piece.as_bytes());
            take(&mut splitter, false);
        }
        if cut_off {
            splitter.cut_off();
        }
        take(&mut splitter, true);
        lines
    }

    fn expect(lines: &[(u64, &str)]) -> Vec<(u64, String)> {
        lines
            .iter()
            .map(|(number, text)| (*number, (*text).to_owned()))
            .collect()
    }

    #[test]
    fn lines_are_the_same_however_the_body_is_cut_into_pieces() {
        let text = "one\r\n\n  \ntwo\nlong line\nthree";
        let expected = expect(&[(1, "one"), (4, "two"), (5, "!"), (6, "three")]);
        assert_eq!(split(5, &[text], false), expected);
        for size in 1..text.len() {
            let bytes = text.as_bytes().chunks(size);
            let pieces: Vec<_> = bytes
                .map(|piece| std::str::from_utf8(piece).unwrap())
                .collect();
            assert_eq!(split(5, &pieces, false), expected, "pieces of {size}");
        }
    }

    #[test]
    fn the_limit_is_exact_and_a_carriage_return_does_not_count() {
        assert_eq!(
            split(3, &["abc\r\nabcd\n"], false),
            expect(&[(1, "abc"), (2, "!")])
        );
        assert_eq!(split(3, &["abcd"], false), expect(&[(1, "!")]));
        assert_eq!(split(3, &["abcde", "fgh", "i"], false), expect(&[(1, "!")]));
    }

    #[test]
    fn a_body_over_its_limit_keeps_the_lines_that_came_before() {
        assert_eq!(
            split(9, &["a\nb\nhal"], true),
            expect(&[(1, "a"), (2, "b"), (3, "!")])
        );
    }
}
