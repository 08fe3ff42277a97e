//! NATS: JetStream publishes with acknowledgement, core subscriptions.

use super::consume::NatsConsumer;
use super::wire::{LANE, Seen, System, Wire, envelope, find, number_in, refuse};
use anyhow::Result;
use std::sync::Arc;

/// A running `nats-server`.
#[derive(Clone)]
pub struct Nats {
    /// `host:port`.
    pub address: String,
    /// What its `sync_interval` is, for the table.
    pub sync: String,
    /// Publish to a JetStream stream and wait for its acknowledgement; else core, no acknowledgement.
    pub jetstream: bool,
}

impl Wire for Nats {
    fn name(&self) -> String {
        if self.jetstream {
            format!("nats jetstream sync={}", self.sync)
        } else {
            "nats core (not durable)".into()
        }
    }

    fn system(&self) -> System {
        match (self.jetstream, self.sync.as_str()) {
            (false, _) => System::NatsCore,
            (true, "always") => System::JetstreamAlways,
            (true, sync) if sync.starts_with("default") => System::JetstreamDefault,
            (true, _) => System::Other,
        }
    }

    fn address(&self) -> String {
        self.address.clone()
    }

    fn hello(&self, run: &str, lane: u64) -> Vec<u8> {
        let mut out = b"CONNECT {\"verbose\":false,\"pedantic\":false,\"lang\":\"bench\",\
            \"version\":\"1\",\"protocol\":1,\"headers\":true,\"no_responders\":true}\r\n"
            .to_vec();
        out.extend_from_slice(format!("SUB _INBOX.{run}.{lane}.> 1\r\n").as_bytes());
        if self.jetstream {
            let stream = format!(
                "{{\"name\":\"BENCH_{run}\",\"subjects\":[\"bench.{run}\"],\"storage\":\"file\",\
                 \"retention\":\"limits\",\"num_replicas\":1}}"
            );
            let put = format!(
                "PUB $JS.API.STREAM.CREATE.BENCH_{run} _INBOX.{run}.{lane}.made {}\r\n{stream}\r\n",
                stream.len()
            );
            out.extend_from_slice(put.as_bytes());
        } else {
            out.extend_from_slice(b"PING\r\n");
        }
        out
    }

    fn welcome(&self, bytes: &[u8]) -> Result<Option<usize>> {
        let text = String::from_utf8_lossy(bytes);
        if text.contains("-ERR") {
            refuse(bytes)?;
        }
        let mark = if self.jetstream { ".made " } else { "PONG\r\n" };
        let Some(at) = text.find(mark) else {
            return Ok(None);
        };
        if !self.jetstream {
            return Ok(Some(at + mark.len()));
        }
        let Some((head, length)) = message_head(bytes.get(at..).unwrap_or_default()) else {
            return Ok(None);
        };
        let end = (at + head).saturating_add(length).saturating_add(2);
        let Some(body) = bytes.get(at + head..end) else {
            return Ok(None);
        };
        // Another connection of the same run may have made the stream already.
        let body_text = String::from_utf8_lossy(body);
        if body_text.contains("\"error\"") && !body_text.contains("already in use") {
            refuse(body)?;
        }
        Ok(Some(end))
    }

    fn publish(&self, out: &mut Vec<u8>, run: &str, number: u64, size: usize) {
        let head = if self.jetstream {
            // Only the connection that published hears of it.
            let lane = number / LANE;
            format!("PUB bench.{run} _INBOX.{run}.{lane}.a {size}\r\n")
        } else {
            format!("PUB bench.{run} {size}\r\n")
        };
        out.extend_from_slice(head.as_bytes());
        envelope(out, run, number, size);
        out.extend_from_slice(b"\r\n");
    }

    fn subscribe(&self, run: &str, _reader: usize) -> Vec<u8> {
        format!("SUB bench.{run} 2\r\nPING\r\n").into_bytes()
    }

    fn subscribed(&self, bytes: &[u8]) -> Result<Option<usize>> {
        Ok(find(bytes, b"PONG\r\n").map(|at| at + 6))
    }

    fn parse(&self, bytes: &[u8], _run: &str) -> Result<Seen> {
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
                if rest.starts_with(b"MSG bench.") {
                    seen.deliveries.extend(number_in(body));
                } else {
                    if find(body, b"\"error\"").is_some() {
                        refuse(body)?;
                    }
                    seen.acks += 1;
                }
                seen.used += end;
            } else if rest.starts_with(b"PING\r\n") {
                seen.answer.extend_from_slice(b"PONG\r\n");
                seen.used += 6;
            } else if rest.starts_with(b"PONG\r\n") {
                // Core has no acknowledgement; a PONG after the publishes stands for it.
                seen.acks += 1;
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

    fn consumer(&self) -> Option<Arc<dyn Wire>> {
        self.jetstream
            .then(|| Arc::new(NatsConsumer::new(self.clone())) as Arc<dyn Wire>)
    }

    fn forget(&self, run: &str) -> Vec<u8> {
        if !self.jetstream {
            return Vec::new();
        }
        format!("PUB $JS.API.STREAM.DELETE.BENCH_{run} _INBOX.{run}.0.gone 0\r\n\r\n").into_bytes()
    }
}

/// Bytes up to the body, and the body's length, of one `MSG` line; none while the line is not whole.
pub fn message_head(bytes: &[u8]) -> Option<(usize, usize)> {
    let end = find(bytes, b"\r\n")?;
    let line = std::str::from_utf8(bytes.get(..end)?).ok()?;
    Some((end + 2, line.rsplit(' ').next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::Nats;
    use crate::command::bench::wire::{LANE, System, Wire as _};

    fn nats(sync: &str, jetstream: bool) -> Nats {
        Nats {
            address: String::new(),
            sync: sync.into(),
            jetstream,
        }
    }

    #[test]
    fn acknowledgements_and_messages_are_told_apart_by_their_subject() {
        let bytes = b"MSG _INBOX.r.a 1 19\r\n{\"stream\":\"B\",\"seq\"\r\n\
            MSG bench.r 2 16\r\n\"@@000000000007\"\r\nPING\r\n+OK\r\nMSG bench.r 2 16\r\n\"@@0000";
        let seen = nats("always", true).parse(bytes, "r").unwrap();
        assert_eq!((seen.acks, seen.deliveries), (1, vec![7]));
        assert_eq!(seen.answer, b"PONG\r\n");
        assert_eq!(seen.used, bytes.len() - 25);
    }

    #[test]
    fn a_message_counts_once_it_is_whole() {
        let bytes = b"MSG bench.r 2 16\r\n\"@@000000000007\"\r\n";
        for end in 0..bytes.len() {
            let seen = nats("always", true).parse(&bytes[..end], "r").unwrap();
            assert_eq!((seen.used, seen.deliveries.len()), (0, 0), "{end}");
        }
    }

    #[test]
    fn refusals_end_the_run_with_the_servers_words() {
        let always = nats("always", true);
        let error = always.parse(b"-ERR 'no'\r\n", "r").unwrap_err();
        assert!(error.to_string().contains("-ERR 'no'"));
        let full = b"MSG _INBOX.r.a 1 12\r\n{\"error\":{}}\r\n";
        assert!(always.parse(full, "r").is_err());
        let huge = b"MSG bench.r 2 18446744073709551615\r\n";
        assert_eq!(always.parse(huge, "r").unwrap().used, 0);
    }

    #[test]
    fn the_stream_is_made_before_anything_is_published() {
        let always = nats("always", true);
        let bytes = b"INFO {}\r\nMSG _INBOX.r.made 1 2\r\n{}\r\n";
        assert_eq!(always.welcome(bytes).unwrap(), Some(bytes.len()));
        assert_eq!(always.welcome(&bytes[..bytes.len() - 1]).unwrap(), None);
    }

    #[test]
    fn each_connection_hears_only_of_its_own_publishes() {
        let always = nats("always", true);
        let hello = String::from_utf8(always.hello("r", 3)).unwrap();
        assert!(hello.contains("SUB _INBOX.r.3.> 1\r\n"), "{hello}");
        let mut out = Vec::new();
        always.publish(&mut out, "r", 3 * LANE + 5, 512);
        assert!(out.starts_with(b"PUB bench.r _INBOX.r.3.a 512\r\n"));
    }

    #[test]
    fn the_setting_says_which_peer_it_is() {
        assert_eq!(nats("always", true).system(), System::JetstreamAlways);
        assert_eq!(nats("default", true).system(), System::JetstreamDefault);
        assert_eq!(nats("10s", true).system(), System::Other);
        assert_eq!(nats("core", false).system(), System::NatsCore);
    }
}
