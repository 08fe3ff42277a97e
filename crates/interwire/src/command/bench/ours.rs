//! Ours, over the WebSocket subprotocol `interwire.v1`.

use super::bounds::Over;
use super::consume::OursConsumer;
use super::http::Http;
use super::wire::{Seen, System, Wire, envelope, find, number_in, refuse};
use anyhow::{Context, Result};
use broker::Durability;
use protocol::DialectName;
use std::sync::Arc;

/// The exchange under test.
#[derive(Clone, Debug)]
pub struct Ours {
    /// `host:port`.
    pub address: String,
    /// What its receipts promise.
    pub durability: Durability,
    /// What readers read over; publishers always use a socket.
    pub over: Over,
    /// What every second reader reads in, instead of what was sent.
    pub half_read_as: Option<DialectName>,
}

impl Ours {
    /// Asks a receipt of the running exchange what it promises.
    pub async fn ask(url: &str, address: String, run: &str) -> Result<Self> {
        let mut text = Vec::new();
        envelope(&mut text, run, 0, 0);
        let receipt = client::Client::connect(url)?.publish(text).await?;
        let durability = [Durability::Fsync, Durability::Os, Durability::Memory]
            .into_iter()
            .find(|durability| broker::durability_word(*durability) == receipt.durability)
            .with_context(|| format!("unknown durability {:?}", receipt.durability))?;
        Ok(Self {
            address,
            durability,
            over: Over::Websocket,
            half_read_as: None,
        })
    }

    /// The same exchange over plain HTTP.
    pub fn http(&self) -> Http {
        Http {
            address: self.address.clone(),
            durability: self.durability,
        }
    }
}

impl Wire for Ours {
    fn name(&self) -> String {
        let durability = broker::durability_word(self.durability);
        match (self.over, self.half_read_as) {
            (Over::Websocket, None) => format!("interwire {durability}"),
            (Over::Websocket, Some(form)) => {
                format!("interwire {durability}, half as {}", form.as_str())
            }
            (Over::Sse, _) => format!("interwire {durability}, SSE readers"),
        }
    }

    fn system(&self) -> System {
        System::Ours(self.durability)
    }

    fn address(&self) -> String {
        self.address.clone()
    }

    fn hello(&self, _run: &str, _lane: u64) -> Vec<u8> {
        format!(
            "GET /v1/socket HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
             Sec-WebSocket-Protocol: interwire.v1\r\n\r\n",
            self.address
        )
        .into_bytes()
    }

    fn welcome(&self, bytes: &[u8]) -> Result<Option<usize>> {
        let end = find(bytes, b"\r\n\r\n");
        match end {
            Some(end) if bytes.starts_with(b"HTTP/1.1 101") => Ok(Some(end + 4)),
            Some(_) => refuse(bytes).map(|()| None),
            None => Ok(None),
        }
    }

    fn publish(&self, out: &mut Vec<u8>, run: &str, number: u64, size: usize) {
        let mut text = Vec::with_capacity(size + 64);
        text.extend_from_slice(b"{\"op\":\"publish\",\"ref\":\"p\",\"envelope\":");
        envelope(&mut text, run, number, size);
        text.push(b'}');
        frame(out, &text);
    }

    fn subscribe(&self, run: &str, reader: usize) -> Vec<u8> {
        let mut out = Vec::new();
        let form = match self.half_read_as {
            Some(form) if reader % 2 == 1 => format!(",\"as\":\"{}\"", form.as_str()),
            _ => String::new(),
        };
        let text = format!(
            "{{\"op\":\"subscribe\",\"ref\":\"s\",\"filter\":{{\"topic\":[\"bench.{run}\"]}},\"from\":\"latest\"{form}}}"
        );
        frame(&mut out, text.as_bytes());
        out
    }

    fn subscribed(&self, bytes: &[u8]) -> Result<Option<usize>> {
        let Some((_, text, used)) = next_frame(bytes) else {
            return Ok(None);
        };
        if find(text, b"\"op\":\"subscribed\"").is_some() {
            return Ok(Some(used));
        }
        refuse(text).map(|()| None)
    }

    fn parse(&self, bytes: &[u8], _run: &str) -> Result<Seen> {
        let mut seen = Seen::default();
        while let Some((kind, text, used)) = bytes.get(seen.used..).and_then(next_frame) {
            seen.used += used;
            match kind {
                // Text: the operation comes first in every frame of the server.
                1 if text.starts_with(b"{\"op\":\"receipt\"") => seen.acks += 1,
                1 if text.starts_with(b"{\"op\":\"deliver\"") => {
                    seen.deliveries.extend(number_in(text));
                }
                1 if text.starts_with(b"{\"op\":\"caught_up\"") => seen.is_caught_up = true,
                9 => pong(&mut seen.answer, text),
                _ => refuse(text)?,
            }
        }
        Ok(seen)
    }

    fn consumer(&self) -> Option<Arc<dyn Wire>> {
        Some(Arc::new(OursConsumer(self.clone())))
    }

    fn reader(&self) -> Option<Arc<dyn Wire>> {
        match self.over {
            Over::Websocket => None,
            Over::Sse => Some(Arc::new(self.http())),
        }
    }
}

/// Appends one masked text frame. The mask is zero: legal, and free for both sides.
pub fn frame(out: &mut Vec<u8>, text: &[u8]) {
    out.push(0x81);
    match text.len() {
        length @ 0..=125 => out.push(0x80 | length as u8),
        length @ 126..=65_535 => {
            out.push(0xFE);
            out.extend_from_slice(&(length as u16).to_be_bytes());
        }
        length => {
            out.push(0xFF);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(text);
}

fn pong(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(&[0x8A, 0x80 | text.len().min(125) as u8, 0, 0, 0, 0]);
    out.extend_from_slice(text.get(..text.len().min(125)).unwrap_or_default());
}

/// The next whole frame of the server: opcode, text, bytes used.
pub fn next_frame(bytes: &[u8]) -> Option<(u8, &[u8], usize)> {
    let kind = bytes.first()? & 0x0F;
    let (length, head): (usize, usize) = match bytes.get(1)? & 0x7F {
        126 => (
            usize::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?)),
            4,
        ),
        127 => {
            let length = u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?);
            (usize::try_from(length).ok()?, 10)
        }
        length => (usize::from(length), 2),
    };
    let end = head.checked_add(length)?;
    Some((kind, bytes.get(head..end)?, end))
}

#[cfg(test)]
mod tests {
    use super::{Ours, frame, next_frame};
    use crate::command::bench::bounds::Over;
    use crate::command::bench::wire::{Wire as _, find};
    use broker::Durability;
    use protocol::DialectName;

    fn ours(over: Over) -> Ours {
        Ours {
            address: "127.0.0.1:1".into(),
            durability: Durability::Fsync,
            over,
            half_read_as: None,
        }
    }

    /// A frame as the server sends it: without a mask.
    fn served(kind: u8, text: &[u8]) -> Vec<u8> {
        let mut out = vec![0x80 | kind];
        match text.len() {
            length @ 0..=125 => out.push(length as u8),
            length => {
                out.push(126);
                out.extend_from_slice(&(length as u16).to_be_bytes());
            }
        }
        out.extend_from_slice(text);
        out
    }

    #[test]
    fn frames_of_every_length_form_come_back() {
        for length in [0, 125, 126, 65_535, 65_536] {
            let mut out = Vec::new();
            frame(&mut out, &vec![b'x'; length]);
            // The mask, four zero bytes, stands between head and text.
            let head = out.len() - length;
            out.drain(head - 4..head);
            let (kind, text, used) = next_frame(&out).unwrap();
            assert_eq!((kind, text.len(), used), (1, length, out.len()));
            assert!(next_frame(&out[..out.len() - 1]).is_none());
        }
        let mut huge = vec![0x81, 127];
        huge.extend_from_slice(&u64::MAX.to_be_bytes());
        assert!(next_frame(&huge).is_none());
    }

    #[test]
    fn operations_are_counted_and_pings_are_answered() {
        let mut bytes = served(1, b"{\"op\":\"receipt\",\"ref\":\"p\"}");
        bytes.extend(served(1, b"{\"op\":\"deliver\",\"e\":\"@@000000000007\"}"));
        bytes.extend(served(9, b"hi"));
        bytes.extend(served(1, b"{\"op\":\"caught_up\"}"));
        let whole = bytes.len();
        bytes.extend_from_slice(&[0x81, 5, b'{']);
        let seen = ours(Over::Websocket).parse(&bytes, "r").unwrap();
        assert_eq!((seen.acks, seen.deliveries), (1, vec![7]));
        assert_eq!((seen.used, seen.is_caught_up), (whole, true));
        assert_eq!(seen.answer, [0x8A, 0x82, 0, 0, 0, 0, b'h', b'i']);
    }

    #[test]
    fn a_fault_or_a_close_ends_the_run() {
        for bytes in [served(1, b"{\"op\":\"fault\"}"), served(8, &[3, 232])] {
            assert!(ours(Over::Websocket).parse(&bytes, "r").is_err());
        }
    }

    #[test]
    fn every_second_reader_asks_for_the_other_dialect() {
        let ours = Ours {
            half_read_as: Some(DialectName::Uai),
            ..ours(Over::Websocket)
        };
        let asks = |reader| find(&ours.subscribe("r", reader), b"\"as\":\"uai\"").is_some();
        assert_eq!([0, 1, 2, 3].map(asks), [false, true, false, true]);
        assert_eq!(ours.name(), "interwire fsync, half as uai");
    }

    #[test]
    fn readers_use_another_wire_only_when_asked() {
        assert!(ours(Over::Websocket).reader().is_none());
        let reader = ours(Over::Sse).reader().unwrap();
        assert!(reader.subscribe("r", 0).starts_with(b"GET /v1/stream?"));
    }
}
