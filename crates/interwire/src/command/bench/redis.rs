//! Redis Streams: `XADD` and blocking `XREAD`.

use super::wire::{Seen, Wire, envelope, number_in, refuse};
use anyhow::Result;

/// A running `redis-server`.
pub struct Redis {
    /// `host:port`.
    pub address: String,
    /// Its `appendfsync`, for the table.
    pub sync: String,
}

/// Entries per blocking read.
const COUNT: usize = 256;

impl Wire for Redis {
    fn name(&self) -> String {
        format!("redis streams {}", self.sync)
    }

    fn address(&self) -> String {
        self.address.clone()
    }

    fn hello(&self, _run: &str) -> Vec<u8> {
        command(&[b"PING"])
    }

    fn welcome(&self, bytes: &[u8]) -> Result<Option<usize>> {
        if bytes.starts_with(b"-") {
            refuse(bytes)?;
        }
        Ok(bytes.starts_with(b"+PONG\r\n").then_some(7))
    }

    fn publish(&self, out: &mut Vec<u8>, run: &str, number: u64, size: usize) {
        let key = format!("bench:{run}");
        out.extend_from_slice(
            format!(
                "*5\r\n$4\r\nXADD\r\n${}\r\n{key}\r\n$1\r\n*\r\n$1\r\nb\r\n${size}\r\n",
                key.len()
            )
            .as_bytes(),
        );
        envelope(out, run, number, size);
        out.extend_from_slice(b"\r\n");
    }

    fn subscribe(&self, run: &str, _reader: usize) -> Vec<u8> {
        read_after(run, b"$")
    }

    fn subscribed(&self, _bytes: &[u8]) -> Result<Option<usize>> {
        // A blocking read has no confirmation; it counts from when the server has taken it.
        Ok(Some(0))
    }

    fn parse(&self, bytes: &[u8], run: &str) -> Result<Seen> {
        let mut seen = Seen::default();
        loop {
            let rest = bytes.get(seen.used..).unwrap_or_default();
            match rest.first() {
                Some(b'$') => {
                    // The id of an added entry.
                    let Some(used) = bulk(rest) else { break };
                    seen.used += used.1;
                    seen.acks += 1;
                }
                Some(b'-') => refuse(rest)?,
                Some(b'*') => {
                    let Some((used, last)) = entries(rest, &mut seen.deliveries) else {
                        break;
                    };
                    seen.used += used;
                    seen.answer = read_after(run, last);
                }
                _ => break,
            }
        }
        Ok(seen)
    }
}

fn command(parts: &[&[u8]]) -> Vec<u8> {
    let mut out = format!("*{}\r\n", parts.len()).into_bytes();
    for part in parts {
        out.extend_from_slice(format!("${}\r\n", part.len()).as_bytes());
        out.extend_from_slice(part);
        out.extend_from_slice(b"\r\n");
    }
    out
}

fn read_after(run: &str, id: &[u8]) -> Vec<u8> {
    let (key, count) = (format!("bench:{run}"), COUNT.to_string());
    command(&[
        b"XREAD",
        b"COUNT",
        count.as_bytes(),
        b"BLOCK",
        b"0",
        b"STREAMS",
        key.as_bytes(),
        id,
    ])
}

fn line(bytes: &[u8]) -> Option<(&str, usize)> {
    let end = bytes.windows(2).position(|window| window == b"\r\n")?;
    Some((std::str::from_utf8(bytes.get(1..end)?).ok()?, end + 2))
}

fn count(bytes: &[u8]) -> Option<(usize, usize)> {
    let (text, used) = line(bytes)?;
    Some((text.parse().ok()?, used))
}

fn bulk(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let (length, head) = count(bytes)?;
    Some((bytes.get(head..head + length)?, head + length + 2))
        .filter(|(_, used)| *used <= bytes.len())
}

/// The answer of one `XREAD` on one stream: bytes used and the last id.
fn entries<'b>(bytes: &'b [u8], numbers: &mut Vec<u64>) -> Option<(usize, &'b [u8])> {
    let (_, mut at) = count(bytes)?;
    at += count(bytes.get(at..)?)?.1;
    at += bulk(bytes.get(at..)?)?.1;
    let (entries, used) = count(bytes.get(at..)?)?;
    at += used;
    let mut last: &[u8] = b"$";
    let before = numbers.len();
    for _ in 0..entries {
        let step = (|| {
            let mut here = at;
            here += count(bytes.get(here..)?)?.1;
            let (id, used) = bulk(bytes.get(here..)?)?;
            here += used;
            here += count(bytes.get(here..)?)?.1;
            here += bulk(bytes.get(here..)?)?.1;
            let (body, used) = bulk(bytes.get(here..)?)?;
            Some((id, body, here + used))
        })();
        let Some((id, body, end)) = step else {
            numbers.truncate(before);
            return None;
        };
        last = id;
        numbers.extend(number_in(body));
        at = end;
    }
    Some((at, last))
}
