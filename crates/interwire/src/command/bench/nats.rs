//! NATS: JetStream publishes with acknowledgement, core subscriptions.

use super::wire::{Seen, Wire, envelope, number_in, refuse};
use anyhow::Result;

/// A running `nats-server`.
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
            format!("nats jetstream {}", self.sync)
        } else {
            "nats core (not durable)".into()
        }
    }

    fn address(&self) -> String {
        self.address.clone()
    }

    fn hello(&self, run: &str) -> Vec<u8> {
        let mut out = b"CONNECT {\"verbose\":false,\"pedantic\":false,\"lang\":\"bench\",\
            \"version\":\"1\",\"protocol\":1,\"headers\":true,\"no_responders\":true}\r\n"
            .to_vec();
        out.extend_from_slice(format!("SUB _INBOX.{run}.> 1\r\n").as_bytes());
        if self.jetstream {
            let stream = format!(
                "{{\"name\":\"BENCH_{run}\",\"subjects\":[\"bench.{run}\"],\"storage\":\"file\",\
                 \"retention\":\"limits\",\"num_replicas\":1}}"
            );
            let put = format!(
                "PUB $JS.API.STREAM.CREATE.BENCH_{run} _INBOX.{run}.made {}\r\n{stream}\r\n",
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
        let end = at + head + length + 2;
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
            format!("PUB bench.{run} _INBOX.{run}.a {size}\r\n")
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
        Ok(bytes
            .windows(6)
            .position(|window| window == b"PONG\r\n")
            .map(|at| at + 6))
    }

    fn parse(&self, bytes: &[u8], _run: &str) -> Result<Seen> {
        let mut seen = Seen::default();
        loop {
            let rest = bytes.get(seen.used..).unwrap_or_default();
            if rest.starts_with(b"MSG ") {
                let Some((head, length)) = message_head(rest) else {
                    break;
                };
                let Some(body) = rest.get(head..head + length + 2) else {
                    break;
                };
                if rest.starts_with(b"MSG bench.") {
                    seen.deliveries.extend(number_in(body));
                } else {
                    if body.windows(7).any(|window| window == b"\"error\"") {
                        refuse(body)?;
                    }
                    seen.acks += 1;
                }
                seen.used += head + length + 2;
            } else if rest.starts_with(b"PING\r\n") {
                seen.answer.extend_from_slice(b"PONG\r\n");
                seen.used += 6;
            } else if rest.starts_with(b"PONG\r\n") {
                // Core has no acknowledgement; a PONG after the publishes stands for it.
                seen.acks += 1;
                seen.used += 6;
            } else if let Some(end) = rest.windows(2).position(|window| window == b"\r\n") {
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

/// Bytes up to the body, and the body's length, of one `MSG` line.
fn message_head(bytes: &[u8]) -> Option<(usize, usize)> {
    let end = bytes.windows(2).position(|window| window == b"\r\n")?;
    let line = std::str::from_utf8(bytes.get(..end)?).ok()?;
    Some((end + 2, line.rsplit(' ').next()?.parse().ok()?))
}
