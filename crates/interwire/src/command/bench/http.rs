//! Ours over plain HTTP/1.1: one POST a publish, and server-sent events for readers.
//!
//! Chunks and events are read as far as this server writes them: no trailers, no chunk extensions
//! beyond being skipped, line feeds only. A chunk need not be an event; what came is used up
//! wherever both end together.

use super::wire::{Seen, System, UNNUMBERED, Wire, envelope, find, number_in, refuse};
use anyhow::{Result, bail};
use broker::Durability;

/// The exchange under test.
#[derive(Clone, Debug)]
pub struct Http {
    /// `host:port`.
    pub address: String,
    /// What its receipts promise.
    pub durability: Durability,
}

impl Http {
    /// The request for a live stream with that query.
    pub fn stream(&self, query: &str) -> Vec<u8> {
        format!(
            "GET /v1/stream?{query} HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\n\r\n",
            self.address
        )
        .into_bytes()
    }
}

impl Wire for Http {
    fn name(&self) -> String {
        format!(
            "interwire {}, HTTP",
            broker::durability_word(self.durability)
        )
    }

    fn system(&self) -> System {
        System::Ours(self.durability)
    }

    fn address(&self) -> String {
        self.address.clone()
    }

    fn hello(&self, _run: &str, _lane: u64) -> Vec<u8> {
        Vec::new()
    }

    fn welcome(&self, _bytes: &[u8]) -> Result<Option<usize>> {
        Ok(Some(0))
    }

    fn publish(&self, out: &mut Vec<u8>, run: &str, number: u64, size: usize) {
        let mut body = Vec::with_capacity(size);
        envelope(&mut body, run, number, size);
        out.extend_from_slice(
            format!(
                "POST /v1/messages HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
                 Content-Length: {}\r\n\r\n",
                self.address,
                body.len()
            )
            .as_bytes(),
        );
        out.extend_from_slice(&body);
    }

    fn subscribe(&self, run: &str, _reader: usize) -> Vec<u8> {
        self.stream(&format!("topic=bench.{run}&from=latest"))
    }

    fn subscribed(&self, bytes: &[u8]) -> Result<Option<usize>> {
        let Some(end) = find(bytes, b"\r\n\r\n") else {
            return Ok(None);
        };
        let head = bytes.get(..end).unwrap_or_default();
        if status(head) == Some(200) && field(head, "transfer-encoding") == Some("chunked") {
            return Ok(Some(end + 4));
        }
        refuse(bytes).map(|()| None)
    }

    fn parse(&self, bytes: &[u8], _run: &str) -> Result<Seen> {
        if bytes.starts_with(b"H") {
            return answers(bytes);
        }
        let mut seen = Seen::default();
        let mut at = 0;
        let mut carried = Vec::new();
        while let Some((data, used)) = chunk(bytes.get(at..).unwrap_or_default())? {
            if data.is_empty() {
                bail!("the stream ended");
            }
            at += used;
            if carried.is_empty() && data.ends_with(b"\n\n") {
                events(data, &mut seen)?;
                seen.used = at;
                continue;
            }
            carried.extend_from_slice(data);
            if carried.ends_with(b"\n\n") {
                events(&carried, &mut seen)?;
                carried.clear();
                seen.used = at;
            }
        }
        Ok(seen)
    }
}

/// Whole answers to POST; each must be an acceptance.
fn answers(bytes: &[u8]) -> Result<Seen> {
    let mut seen = Seen::default();
    loop {
        let rest = bytes.get(seen.used..).unwrap_or_default();
        let Some(end) = find(rest, b"\r\n\r\n") else {
            break;
        };
        let head = rest.get(..end).unwrap_or_default();
        if !matches!(status(head), Some(200 | 201)) {
            refuse(rest)?;
        }
        let length: Option<usize> =
            field(head, "content-length").and_then(|text| text.parse().ok());
        let Some(length) = length else {
            bail!("expected an answer with a length");
        };
        let used = (end + 4).saturating_add(length);
        if used > rest.len() {
            break;
        }
        seen.used += used;
        seen.acks += 1;
    }
    Ok(seen)
}

/// The status of an answer.
fn status(head: &[u8]) -> Option<u16> {
    let line = std::str::from_utf8(head.get(..12)?).ok()?;
    line.strip_prefix("HTTP/1.1 ")?.parse().ok()
}

/// A field of an answer's head.
fn field<'h>(head: &'h [u8], name: &str) -> Option<&'h str> {
    std::str::from_utf8(head)
        .ok()?
        .split("\r\n")
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.trim())
}

/// The data of the next whole chunk, and the bytes it takes. The last chunk is empty.
fn chunk(bytes: &[u8]) -> Result<Option<(&[u8], usize)>> {
    let Some(end) = find(
        bytes.get(..bytes.len().min(64)).unwrap_or_default(),
        b"\r\n",
    ) else {
        if bytes.len() >= 64 {
            refuse(bytes)?;
        }
        return Ok(None);
    };
    let line = std::str::from_utf8(bytes.get(..end).unwrap_or_default()).unwrap_or_default();
    let digits = line.split(';').next().unwrap_or_default().trim();
    let Ok(length) = usize::from_str_radix(digits, 16) else {
        return refuse(bytes).map(|()| None);
    };
    let start = end + 2;
    let stop = start.saturating_add(length);
    let Some(close) = bytes.get(stop..stop.saturating_add(2)) else {
        return Ok(None);
    };
    if close != b"\r\n" {
        bail!("expected a line end after {length} bytes of a chunk");
    }
    Ok(bytes.get(start..stop).map(|data| (data, stop + 2)))
}

/// Counts whole events. Comments and fields without data are no events.
fn events(data: &[u8], seen: &mut Seen) -> Result<()> {
    let (mut name, mut number, mut has_data): (&[u8], _, _) = (b"", None, false);
    for line in data.split(|byte| *byte == b'\n') {
        if let Some(data) = line.strip_prefix(b"data: ") {
            has_data = true;
            number = number.or_else(|| number_in(data));
        } else if let Some(event) = line.strip_prefix(b"event: ") {
            name = event;
        } else if line.is_empty() {
            match name {
                b"" if has_data => seen.deliveries.push(number.unwrap_or(UNNUMBERED)),
                b"" => {}
                b"base64" => seen.deliveries.push(UNNUMBERED),
                b"caught_up" => seen.is_caught_up = true,
                _ => bail!("the stream said {}", String::from_utf8_lossy(name)),
            }
            (name, number, has_data) = (b"", None, false);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Http, chunk};
    use crate::command::bench::wire::{Seen, Wire as _};
    use broker::Durability;

    fn parse(bytes: &[u8]) -> anyhow::Result<Seen> {
        let http = Http {
            address: "127.0.0.1:1".into(),
            durability: Durability::Fsync,
        };
        http.parse(bytes, "r")
    }

    fn chunked(data: &str) -> String {
        format!("{:x}\r\n{data}\r\n", data.len())
    }

    #[test]
    fn chunks_are_read_whole_or_not_at_all() {
        let bytes = b"a;x=1\r\n0123456789\r\n0\r\n\r\n";
        assert_eq!(chunk(bytes).unwrap(), Some((&b"0123456789"[..], 19)));
        for end in 0..19 {
            assert_eq!(chunk(&bytes[..end]).unwrap(), None, "{end}");
        }
        assert_eq!(chunk(&bytes[19..]).unwrap(), Some((&b""[..], 5)));
        assert!(chunk(b"3\r\n0123456\r\n").is_err());
        assert!(chunk(b"x\r\n").is_err());
        assert!(chunk(&[b'1'; 80]).is_err());
        assert_eq!(chunk(b"ffffffffffffffff\r\nx").unwrap(), None);
    }

    #[test]
    fn events_are_counted_wherever_chunks_cut_them() {
        let text = ": interwire\nid: c-1-1\nretry: 5\n\n\
            id: c-1-2\ndata: {\"m\":\"@@000000000007\"}\n\n: keep-alive\n\n\
            id: c-1-3\ndata: {\ndata: \"m\":\"@@000000000008\"}\n\n\
            event: caught_up\nid: c-1-3\ndata: {}\n\n";
        for cut in 0..text.len() {
            let (one, two) = text.split_at(cut);
            let bytes = if cut == 0 {
                chunked(two)
            } else {
                chunked(one) + &chunked(two)
            };
            let seen = parse(bytes.as_bytes()).unwrap();
            assert_eq!((seen.used, seen.is_caught_up), (bytes.len(), true), "{cut}");
            assert_eq!(seen.deliveries, [7, 8], "{cut}");
        }
    }

    #[test]
    fn an_event_that_is_not_whole_waits() {
        let one = chunked("id: c-1-2\ndata: @@000000000007\n\n");
        let bytes = one.clone() + &chunked("id: c-1-3\nda");
        let seen = parse(bytes.as_bytes()).unwrap();
        assert_eq!((seen.used, seen.deliveries), (one.len(), vec![7]));
    }

    #[test]
    fn a_message_that_no_measurement_sent_counts_as_one() {
        let bytes = chunked("event: base64\nid: c-1-2\ndata: ew0KfQ==\n\ndata: {}\n\n");
        assert_eq!(parse(bytes.as_bytes()).unwrap().deliveries.len(), 2);
    }

    #[test]
    fn a_stream_that_ends_ends_the_run() {
        let slow = chunked("event: slow_consumer\ndata: {}\n\n");
        let error = parse(slow.as_bytes()).unwrap_err();
        assert!(error.to_string().contains("slow_consumer"), "{error}");
        assert!(parse(b"0\r\n\r\n").is_err());
    }

    #[test]
    fn answers_are_counted_and_refusals_end_the_run() {
        let one = "HTTP/1.1 201 Created\r\nContent-Length: 2\r\nx: y\r\n\r\n{}";
        let two = format!("{one}{one}");
        let seen = parse(two.as_bytes()).unwrap();
        assert_eq!((seen.acks, seen.used), (2, two.len()));
        for end in 0..one.len() {
            assert_eq!(parse(&one.as_bytes()[..end]).unwrap().acks, 0, "{end}");
        }
        let refused = "HTTP/1.1 429 Too Many Requests\r\ncontent-length: 2\r\n\r\n{}";
        assert!(
            parse(refused.as_bytes())
                .unwrap_err()
                .to_string()
                .contains("429")
        );
        assert!(parse(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }
}
