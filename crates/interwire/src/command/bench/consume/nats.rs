//! NATS: a durable JetStream pull consumer with explicit acknowledgements.

use super::super::nats::{Nats, message_head};
use super::super::wire::{Seen, System, Wire, find, number_in, refuse};
use super::BATCH;
use anyhow::Result;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A pull consumer. Two requests are open at a time, so that the next batch is there when one ends.
pub struct NatsConsumer {
    nats: Nats,
    /// Deliveries of the oldest open request.
    taken: AtomicUsize,
}

impl NatsConsumer {
    /// On that server.
    pub fn new(nats: Nats) -> Self {
        Self {
            nats,
            taken: AtomicUsize::new(0),
        }
    }
}

fn pull(run: &str) -> String {
    let body = format!("{{\"batch\":{BATCH},\"expires\":50000000000}}");
    format!(
        "PUB $JS.API.CONSUMER.MSG.NEXT.BENCH_{run}.w _PULL.{run} {}\r\n{body}\r\n",
        body.len()
    )
}

impl Wire for NatsConsumer {
    fn name(&self) -> String {
        self.nats.name()
    }

    fn system(&self) -> System {
        self.nats.system()
    }

    fn address(&self) -> String {
        self.nats.address()
    }

    fn hello(&self, run: &str, lane: u64) -> Vec<u8> {
        let mut out = self.nats.hello(run, lane);
        let body = format!(
            "{{\"stream_name\":\"BENCH_{run}\",\"config\":{{\"durable_name\":\"w\",\
             \"ack_policy\":\"explicit\",\"deliver_policy\":\"all\",\"max_ack_pending\":1024}}}}"
        );
        let put = format!(
            "PUB $JS.API.CONSUMER.DURABLE.CREATE.BENCH_{run}.w _INBOX.{run}.{lane}.worker {}\r\n{body}\r\n",
            body.len()
        );
        out.extend_from_slice(put.as_bytes());
        out
    }

    fn welcome(&self, bytes: &[u8]) -> Result<Option<usize>> {
        if self.nats.welcome(bytes)?.is_none() {
            return Ok(None);
        }
        let Some(at) = find(bytes, b".worker ") else {
            return Ok(None);
        };
        let rest = bytes.get(at..).unwrap_or_default();
        let Some((head, length)) = message_head(rest) else {
            return Ok(None);
        };
        let end = head.saturating_add(length).saturating_add(2);
        let Some(body) = rest.get(head..end) else {
            return Ok(None);
        };
        if find(body, b"\"error\"").is_some() {
            refuse(body)?;
        }
        Ok(Some(at + end))
    }

    fn publish(&self, out: &mut Vec<u8>, run: &str, number: u64, size: usize) {
        self.nats.publish(out, run, number, size);
    }

    fn subscribe(&self, run: &str, _reader: usize) -> Vec<u8> {
        self.taken.store(0, Ordering::Relaxed);
        let pull = pull(run);
        format!("SUB _PULL.{run} 3\r\nPING\r\n{pull}{pull}").into_bytes()
    }

    fn subscribed(&self, bytes: &[u8]) -> Result<Option<usize>> {
        self.nats.subscribed(bytes)
    }

    fn parse(&self, bytes: &[u8], run: &str) -> Result<Seen> {
        let mut seen = Seen::default();
        loop {
            let rest = bytes.get(seen.used..).unwrap_or_default();
            if rest.starts_with(b"MSG ") {
                let Some((head, length)) = message_head(rest) else {
                    break;
                };
                let end = head.saturating_add(length).saturating_add(2);
                let Some(body) = rest.get(head..end) else {
                    break;
                };
                // MSG subject 3 the-subject-to-acknowledge-on length
                let line = std::str::from_utf8(rest.get(..head).unwrap_or_default())?;
                if let Some(reply) = line.split(' ').nth(3) {
                    seen.deliveries.extend(number_in(body));
                    seen.answer
                        .extend_from_slice(format!("PUB {reply} 4\r\n+ACK\r\n").as_bytes());
                    if self.taken.fetch_add(1, Ordering::Relaxed) + 1 == BATCH {
                        self.taken.store(0, Ordering::Relaxed);
                        seen.answer.extend_from_slice(pull(run).as_bytes());
                    }
                }
                seen.used += end;
            } else if rest.starts_with(b"PING\r\n") {
                seen.answer.extend_from_slice(b"PONG\r\n");
                seen.used += 6;
            } else if let Some(end) = find(rest, b"\r\n") {
                if rest.starts_with(b"-ERR") || rest.starts_with(b"HMSG") {
                    refuse(rest)?;
                }
                seen.used += end + 2;
            } else {
                break;
            }
        }
        Ok(seen)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::nats::Nats;
    use super::{BATCH, NatsConsumer};
    use crate::command::bench::wire::Wire as _;

    #[test]
    fn each_message_is_acknowledged_on_its_own_subject_and_a_batch_asks_for_the_next() {
        let consumer = NatsConsumer::new(Nats {
            address: String::new(),
            sync: "always".into(),
            jetstream: true,
        });
        consumer.subscribe("r", 0);
        let one = b"MSG bench.r 3 $JS.ACK.BENCH_r.w.1.1.1.0.0 16\r\n\"@@000000000007\"\r\n";
        let seen = consumer.parse(one, "r").unwrap();
        assert_eq!((seen.deliveries, seen.used), (vec![7], one.len()));
        assert_eq!(
            seen.answer,
            b"PUB $JS.ACK.BENCH_r.w.1.1.1.0.0 4\r\n+ACK\r\n"
        );
        let rest = one.repeat(BATCH - 1);
        let seen = consumer.parse(&rest, "r").unwrap();
        let answer = String::from_utf8(seen.answer).unwrap();
        assert_eq!(answer.matches("CONSUMER.MSG.NEXT").count(), 1);
        assert_eq!(consumer.parse(&one[..40], "r").unwrap().used, 0);
    }
}
