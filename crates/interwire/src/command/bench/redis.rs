//! Redis Streams: `XADD` and blocking `XREAD`.

use super::consume::RedisConsumer;
use super::wire::{Seen, System, Wire, envelope, find, number_in, refuse};
use anyhow::Result;
use std::sync::Arc;

/// A running `redis-server`.
#[derive(Clone)]
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
        format!("redis streams appendfsync={}", self.sync)
    }

    fn system(&self) -> System {
        if self.sync == "always" {
            System::RedisAlways
        } else {
            System::Other
        }
    }

    fn address(&self) -> String {
        self.address.clone()
    }

    fn hello(&self, _run: &str, _lane: u64) -> Vec<u8> {
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
                    let Some((_, used)) = bulk(rest)? else { break };
                    seen.used += used;
                    seen.acks += 1;
                }
                Some(b'*') => {
                    let Some((used, last)) = entries(rest, &mut seen.deliveries)? else {
                        break;
                    };
                    seen.used += used;
                    seen.answer = read_after(run, &last);
                }
                Some(_) => refuse(rest)?,
                None => break,
            }
        }
        Ok(seen)
    }

    fn consumer(&self) -> Option<Arc<dyn Wire>> {
        Some(Arc::new(RedisConsumer(self.clone())))
    }

    fn forget(&self, run: &str) -> Vec<u8> {
        command(&[b"UNLINK", format!("bench:{run}").as_bytes()])
    }
}

pub fn command(parts: &[&[u8]]) -> Vec<u8> {
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

/// The number of a `$` or `*` line, and the line's length; none while it is not whole.
pub fn count(bytes: &[u8]) -> Result<Option<(usize, usize)>> {
    let Some(end) = find(bytes, b"\r\n") else {
        return Ok(None);
    };
    let text = std::str::from_utf8(bytes.get(1..end).unwrap_or_default());
    match text.ok().and_then(|text| text.parse().ok()) {
        Some(number) => Ok(Some((number, end + 2))),
        None => refuse(bytes).map(|()| None),
    }
}

/// One bulk string, and the bytes it takes.
fn bulk(bytes: &[u8]) -> Result<Option<(&[u8], usize)>> {
    let Some((length, head)) = count(bytes)? else {
        return Ok(None);
    };
    let end = head.saturating_add(length);
    let used = end.saturating_add(2);
    let text = bytes.get(head..end).filter(|_| used <= bytes.len());
    Ok(text.map(|text| (text, used)))
}

/// Walks over one answer; every step is none while the answer is not whole.
struct Walk<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Walk<'b> {
    fn rest(&self) -> &'b [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    fn count(&mut self) -> Result<Option<usize>> {
        let counted = count(self.rest())?;
        Ok(counted.map(|(number, used)| {
            self.at += used;
            number
        }))
    }

    fn bulk(&mut self) -> Result<Option<&'b [u8]>> {
        let read = bulk(self.rest())?;
        Ok(read.map(|(text, used)| {
            self.at += used;
            text
        }))
    }

    /// `[id, [field, value]]`: the id and the value.
    fn entry(&mut self) -> Result<Option<(&'b [u8], &'b [u8])>> {
        if self.count()?.is_none() {
            return Ok(None);
        }
        let Some(id) = self.bulk()? else {
            return Ok(None);
        };
        if self.count()?.is_none() || self.bulk()?.is_none() {
            return Ok(None);
        }
        Ok(self.bulk()?.map(|value| (id, value)))
    }
}

/// The answer of one `XREAD` on one stream, `[[key, [entry, ...]]]`: bytes used and the last id.
fn entries(bytes: &[u8], numbers: &mut Vec<u64>) -> Result<Option<(usize, Vec<u8>)>> {
    let mut last = b"$".to_vec();
    let before = numbers.len();
    let used = each_entry(bytes, |id, value| {
        last = id.to_vec();
        numbers.extend(number_in(value));
    })?;
    if used.is_none() {
        numbers.truncate(before);
    }
    Ok(used.map(|used| (used, last)))
}

/// Walks over the entries of one answer, id and value; bytes used, none while it is not whole.
pub fn each_entry(bytes: &[u8], mut act: impl FnMut(&[u8], &[u8])) -> Result<Option<usize>> {
    let mut walk = Walk { bytes, at: 0 };
    if walk.count()?.is_none() || walk.count()?.is_none() || walk.bulk()?.is_none() {
        return Ok(None);
    }
    let Some(entries) = walk.count()? else {
        return Ok(None);
    };
    for _ in 0..entries {
        let Some((id, value)) = walk.entry()? else {
            return Ok(None);
        };
        act(id, value);
    }
    Ok(Some(walk.at))
}

#[cfg(test)]
mod tests {
    use super::Redis;
    use crate::command::bench::wire::{System, Wire as _};

    fn redis(sync: &str) -> Redis {
        Redis {
            address: String::new(),
            sync: sync.into(),
        }
    }

    const READ: &[u8] = b"*1\r\n*2\r\n$7\r\nbench:r\r\n*2\r\n\
        *2\r\n$3\r\n1-0\r\n*2\r\n$1\r\nb\r\n$16\r\n\"@@000000000007\"\r\n\
        *2\r\n$3\r\n1-1\r\n*2\r\n$1\r\nb\r\n$16\r\n\"@@000000000008\"\r\n";

    #[test]
    fn a_blocking_read_gives_its_entries_and_asks_for_the_next() {
        let seen = redis("always").parse(READ, "r").unwrap();
        assert_eq!((seen.used, seen.deliveries), (READ.len(), vec![7, 8]));
        let next = String::from_utf8(seen.answer).unwrap();
        assert!(next.ends_with("$7\r\nbench:r\r\n$3\r\n1-1\r\n"), "{next}");
    }

    #[test]
    fn an_answer_counts_once_it_is_whole() {
        for end in 0..READ.len() {
            let seen = redis("always").parse(&READ[..end], "r").unwrap();
            assert_eq!((seen.used, seen.deliveries.len()), (0, 0), "{end}");
        }
        let seen = redis("always").parse(b"$3\r\n1-0\r\n$3\r\n1-", "r");
        let seen = seen.unwrap();
        assert_eq!((seen.acks, seen.used), (1, 9));
    }

    #[test]
    fn what_is_not_understood_ends_the_run() {
        let always = redis("always");
        for wrong in [
            "-OOM command not allowed\r\n",
            "$-1\r\n",
            "*x\r\n",
            ":1\r\n",
        ] {
            assert!(always.parse(wrong.as_bytes(), "r").is_err(), "{wrong}");
        }
        let huge = always.parse(b"$18446744073709551615\r\nx", "r").unwrap();
        assert_eq!(huge.used, 0);
    }

    #[test]
    fn a_publish_is_one_command_with_lengths_that_fit() {
        let mut out = Vec::new();
        redis("always").publish(&mut out, "r", 9, 1_024);
        let text = String::from_utf8(out).unwrap();
        let value = text.split("$1024\r\n").nth(1).unwrap();
        assert_eq!(value.len(), 1_026);
        assert!(text.starts_with("*5\r\n$4\r\nXADD\r\n$7\r\nbench:r\r\n"));
    }

    #[test]
    fn only_always_syncs_first() {
        assert_eq!(redis("always").system(), System::RedisAlways);
        assert_eq!(redis("everysec").system(), System::Other);
    }
}
