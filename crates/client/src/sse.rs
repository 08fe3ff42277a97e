//! Server-sent events as the WHATWG HTML standard, section 9.2.6, reads them, over bytes.
//!
//! Data is kept as bytes: an envelope's line feeds travel as several `data:` lines and come back
//! joined, nothing else is touched.

/// One dispatched event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The event's name; empty when the stream gave none.
    pub event: String,
    /// The data lines joined by LF.
    pub data: Vec<u8>,
    /// The last event id known when the event was dispatched.
    pub id: String,
}

/// Turns chunks of a stream into events.
#[derive(Debug)]
pub struct Parser {
    line: Vec<u8>,
    /// The last byte was CR: an LF right after it belongs to the same line end.
    after_cr: bool,
    at_start: bool,
    event: String,
    data: Vec<u8>,
    has_data: bool,
    next_id: String,
    last_id: String,
    retry_ms: Option<u64>,
    frame_bytes_max: usize,
    ready: std::collections::VecDeque<Frame>,
}

/// An event grew beyond the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

impl Default for Parser {
    /// Takes events up to 64 MiB.
    fn default() -> Self {
        Self::with_limit(64 << 20)
    }
}

impl Parser {
    /// A parser that refuses events beyond `frame_bytes_max`.
    #[must_use]
    pub fn with_limit(frame_bytes_max: usize) -> Self {
        Self {
            line: Vec::new(),
            after_cr: false,
            at_start: true,
            event: String::new(),
            data: Vec::new(),
            has_data: false,
            next_id: String::new(),
            last_id: String::new(),
            retry_ms: None,
            frame_bytes_max,
            ready: std::collections::VecDeque::new(),
        }
    }

    /// Adds a chunk. Events that are complete wait in [`Self::next_frame`].
    ///
    /// # Errors
    /// `TooLong`; the stream cannot be read on.
    pub fn push(&mut self, chunk: &[u8]) -> Result<(), TooLong> {
        let mut rest = chunk;
        while let Some(first) = rest.first() {
            if std::mem::take(&mut self.after_cr) && *first == b'\n' {
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let (part, next) = rest.split_at(end.unwrap_or(rest.len()));
            self.line.extend_from_slice(part);
            if self.line.len() + self.data.len() > self.frame_bytes_max {
                return Err(TooLong);
            }
            let Some((ending, next)) = next.split_first() else {
                break;
            };
            self.after_cr = *ending == b'\r';
            rest = next;
            let line = std::mem::take(&mut self.line);
            self.take_line(&line);
        }
        Ok(())
    }

    /// The next complete event.
    pub fn next_frame(&mut self) -> Option<Frame> {
        self.ready.pop_front()
    }

    /// The id to resume after, from the last complete block, also one that carried no data.
    #[must_use]
    pub fn last_id(&self) -> &str {
        &self.last_id
    }

    /// The reconnection time that the stream asked for.
    #[must_use]
    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    fn take_line(&mut self, line: &[u8]) {
        let line = match line.strip_prefix(b"\xEF\xBB\xBF") {
            Some(rest) if self.at_start => rest,
            Some(_) | None => line,
        };
        self.at_start = false;
        if line.is_empty() {
            self.dispatch();
            return;
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(0) => return,
            Some(at) => {
                let (field, value) = line.split_at(at);
                let value = value.get(1..).unwrap_or_default();
                (field, value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &b""[..]),
        };
        match field {
            b"event" => self.event = String::from_utf8_lossy(value).into_owned(),
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"id" if !value.contains(&0) => {
                self.next_id = String::from_utf8_lossy(value).into_owned();
            }
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                self.retry_ms = std::str::from_utf8(value)
                    .ok()
                    .and_then(|text| text.parse().ok());
            }
            _ => {}
        }
    }

    fn dispatch(&mut self) {
        self.last_id.clone_from(&self.next_id);
        let event = std::mem::take(&mut self.event);
        let data = std::mem::take(&mut self.data);
        if std::mem::take(&mut self.has_data) {
            self.ready.push_back(Frame {
                event,
                data,
                id: self.last_id.clone(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Frame, Parser, TooLong};

    fn frames(text: &[u8], size: usize) -> (Vec<Frame>, String) {
        let mut parser = Parser::default();
        let mut found = Vec::new();
        for chunk in text.chunks(size) {
            parser.push(chunk).unwrap();
            while let Some(frame) = parser.next_frame() {
                found.push(frame);
            }
        }
        (found, parser.last_id().to_owned())
    }

    fn frame(event: &str, data: &str, id: &str) -> Frame {
        Frame {
            event: event.into(),
            data: data.into(),
            id: id.into(),
        }
    }

    #[test]
    fn every_line_end_and_every_cut_gives_the_same_events() {
        let text = "\u{feff}: hello\nid: 7\n\ndata: {\"a\":\ndata:  1}\nid: 8\n\nevent: gap\ndata\n\ndata: ü\n\n";
        let expected = vec![
            frame("", "{\"a\":\n 1}", "8"),
            frame("gap", "", "8"),
            frame("", "ü", "8"),
        ];
        for ending in ["\n", "\r", "\r\n"] {
            let text = text.replace('\n', ending);
            for size in 1..=text.len() {
                let (found, last) = frames(text.as_bytes(), size);
                assert_eq!(found, expected, "{ending:?} in chunks of {size}");
                assert_eq!(last, "8");
            }
        }
    }

    #[test]
    fn a_comment_frame_with_an_id_moves_the_cursor_without_an_event() {
        let (found, last) = frames(b": open\nid: 3.14\n\n: ping\n\n", 4);
        assert!(found.is_empty());
        assert_eq!(last, "3.14");
    }

    #[test]
    fn an_id_counts_only_when_its_block_is_complete() {
        let (_, last) = frames(b"id: 1\n\nid: 2\ndata: x\n", 100);
        assert_eq!(last, "1");
    }

    #[test]
    fn ids_with_nul_and_odd_retries_are_ignored() {
        let mut parser = Parser::default();
        parser
            .push(b"id: a\n\nid: b\0\nretry: 12x\nretry: 250\nfoo: bar\n\n")
            .unwrap();
        assert_eq!((parser.last_id(), parser.retry_ms()), ("a", Some(250)));
    }

    #[test]
    fn an_endless_event_is_refused() {
        let mut parser = Parser::with_limit(8);
        assert_eq!(parser.push(b"data: 123456789"), Err(TooLong));
    }
}
