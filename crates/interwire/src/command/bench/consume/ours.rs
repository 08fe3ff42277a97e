//! Ours: a durable subscription over a WebSocket.

use super::super::ours::{Ours, frame, next_frame};
use super::super::wire::{Seen, System, Wire, find, number_in, refuse};
use anyhow::Result;

/// A consumer of a durable subscription.
pub struct OursConsumer(pub Ours);

/// The subscription of a run.
pub fn name(run: &str) -> String {
    format!("bench-{run}")
}

impl Wire for OursConsumer {
    fn name(&self) -> String {
        self.0.name()
    }

    fn system(&self) -> System {
        self.0.system()
    }

    fn address(&self) -> String {
        self.0.address()
    }

    fn hello(&self, run: &str, lane: u64) -> Vec<u8> {
        self.0.hello(run, lane)
    }

    fn welcome(&self, bytes: &[u8]) -> Result<Option<usize>> {
        self.0.welcome(bytes)
    }

    fn publish(&self, out: &mut Vec<u8>, run: &str, number: u64, size: usize) {
        self.0.publish(out, run, number, size);
    }

    fn subscribe(&self, run: &str, _reader: usize) -> Vec<u8> {
        let mut out = Vec::new();
        let text = format!(
            "{{\"op\":\"subscribe\",\"ref\":\"c\",\"subscription\":\"{}\",\"max_in_flight\":1024}}",
            name(run)
        );
        frame(&mut out, text.as_bytes());
        out
    }

    fn subscribed(&self, bytes: &[u8]) -> Result<Option<usize>> {
        self.0.subscribed(bytes)
    }

    fn parse(&self, bytes: &[u8], _run: &str) -> Result<Seen> {
        let mut seen = Seen::default();
        let mut acks = String::new();
        while let Some((kind, text, used)) = bytes.get(seen.used..).and_then(next_frame) {
            seen.used += used;
            match kind {
                1 if text.starts_with(b"{\"op\":\"deliver\"") => {
                    seen.deliveries.extend(number_in(text));
                    if let Some(id) = delivery(text) {
                        acks.push_str(if acks.is_empty() { "\"" } else { ",\"" });
                        acks.push_str(id);
                        acks.push('"');
                    }
                }
                1 if text.starts_with(b"{\"op\":\"settled\"") => seen.acks += 1,
                9 => {
                    let mut out = vec![0x8A, 0x80 | text.len().min(125) as u8, 0, 0, 0, 0];
                    out.extend_from_slice(text.get(..text.len().min(125)).unwrap_or_default());
                    seen.answer.extend(out);
                }
                _ => refuse(text)?,
            }
        }
        if !acks.is_empty() {
            let text = format!("{{\"op\":\"ack\",\"ref\":\"a\",\"deliveries\":[{acks}]}}");
            frame(&mut seen.answer, text.as_bytes());
        }
        Ok(seen)
    }
}

/// The delivery's id in a `deliver` frame.
fn delivery(text: &[u8]) -> Option<&str> {
    const MEMBER: &[u8] = b"\"delivery\":\"";
    let start = find(text, MEMBER)? + MEMBER.len();
    let rest = text.get(start..)?;
    let end = find(rest, b"\"")?;
    std::str::from_utf8(rest.get(..end)?).ok()
}

#[cfg(test)]
mod tests {
    use super::delivery;

    #[test]
    fn the_delivery_is_found_in_its_frame() {
        let text = b"{\"op\":\"deliver\",\"ref\":\"c\",\"delivery\":\"1.2.3\",\"attempt\":1}";
        assert_eq!(delivery(text), Some("1.2.3"));
        assert_eq!(delivery(b"{\"op\":\"deliver\"}"), None);
        assert_eq!(delivery(b"\"delivery\":\"1.2"), None);
    }
}
