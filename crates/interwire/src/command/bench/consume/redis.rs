//! Redis Streams: a consumer group with `XREADGROUP` and `XACK`.

use super::super::redis::{Redis, command, count, each_entry};
use super::super::wire::{Seen, System, Wire, number_in, refuse};
use super::BATCH;
use anyhow::Result;

/// One consumer of a group.
pub struct RedisConsumer(pub Redis);

fn key(run: &str) -> String {
    format!("bench:{run}")
}

fn read(run: &str) -> Vec<u8> {
    let (key, batch) = (key(run), BATCH.to_string());
    command(&[
        b"XREADGROUP",
        b"GROUP",
        b"g",
        b"w",
        b"COUNT",
        batch.as_bytes(),
        b"BLOCK",
        b"0",
        b"STREAMS",
        key.as_bytes(),
        b">",
    ])
}

impl Wire for RedisConsumer {
    fn name(&self) -> String {
        self.0.name()
    }

    fn system(&self) -> System {
        self.0.system()
    }

    fn address(&self) -> String {
        self.0.address()
    }

    fn hello(&self, run: &str, _lane: u64) -> Vec<u8> {
        let key = key(run);
        command(&[
            b"XGROUP",
            b"CREATE",
            key.as_bytes(),
            b"g",
            b"0",
            b"MKSTREAM",
        ])
    }

    fn welcome(&self, bytes: &[u8]) -> Result<Option<usize>> {
        let Some(end) = super::super::wire::find(bytes, b"\r\n") else {
            return Ok(None);
        };
        // Another connection of the same run may have made the group already.
        if !bytes.starts_with(b"+OK") && !bytes.starts_with(b"-BUSYGROUP") {
            refuse(bytes)?;
        }
        Ok(Some(end + 2))
    }

    fn publish(&self, out: &mut Vec<u8>, run: &str, number: u64, size: usize) {
        self.0.publish(out, run, number, size);
    }

    fn subscribe(&self, run: &str, _reader: usize) -> Vec<u8> {
        read(run)
    }

    fn subscribed(&self, _bytes: &[u8]) -> Result<Option<usize>> {
        Ok(Some(0))
    }

    fn parse(&self, bytes: &[u8], run: &str) -> Result<Seen> {
        let mut seen = Seen::default();
        loop {
            let rest = bytes.get(seen.used..).unwrap_or_default();
            match rest.first() {
                // How many were acknowledged.
                Some(b':') => {
                    let Some((_, used)) = count(rest)? else { break };
                    seen.used += used;
                    seen.acks += 1;
                }
                Some(b'*') => {
                    let mut ids: Vec<Vec<u8>> = Vec::new();
                    let mut numbers = Vec::new();
                    let used = each_entry(rest, |id, value| {
                        ids.push(id.to_vec());
                        numbers.extend(number_in(value));
                    })?;
                    let Some(used) = used else { break };
                    seen.used += used;
                    seen.deliveries.extend(numbers);
                    let key = key(run);
                    let mut parts: Vec<&[u8]> = vec![b"XACK", key.as_bytes(), b"g"];
                    parts.extend(ids.iter().map(Vec::as_slice));
                    seen.answer.extend(command(&parts));
                    seen.answer.extend(read(run));
                }
                Some(_) => refuse(rest)?,
                None => break,
            }
        }
        Ok(seen)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::redis::Redis;
    use super::RedisConsumer;
    use crate::command::bench::wire::Wire as _;

    #[test]
    fn what_was_read_is_acknowledged_and_the_next_is_asked_for() {
        let consumer = RedisConsumer(Redis {
            address: String::new(),
            sync: "always".into(),
        });
        let read = b"*1\r\n*2\r\n$7\r\nbench:r\r\n*2\r\n\
            *2\r\n$3\r\n1-0\r\n*2\r\n$1\r\nb\r\n$16\r\n\"@@000000000007\"\r\n\
            *2\r\n$3\r\n1-1\r\n*2\r\n$1\r\nb\r\n$16\r\n\"@@000000000008\"\r\n";
        let seen = consumer.parse(read, "r").unwrap();
        assert_eq!((seen.deliveries, seen.used), (vec![7, 8], read.len()));
        let answer = String::from_utf8(seen.answer).unwrap();
        assert!(answer.starts_with(
            "*5\r\n$4\r\nXACK\r\n$7\r\nbench:r\r\n$1\r\ng\r\n$3\r\n1-0\r\n$3\r\n1-1\r\n"
        ));
        assert!(answer.contains("XREADGROUP"));
        for end in 0..read.len() {
            assert_eq!(consumer.parse(&read[..end], "r").unwrap().used, 0, "{end}");
        }
        assert_eq!(consumer.parse(b":2\r\n", "r").unwrap().acks, 1);
    }
}
