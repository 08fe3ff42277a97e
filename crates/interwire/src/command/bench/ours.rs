//! Ours, over the WebSocket subprotocol `interwire.v1`.

use super::wire::{Seen, Wire, envelope, number_in, refuse};
use anyhow::Result;

/// The exchange under test.
pub struct Ours {
    /// `host:port`.
    pub address: String,
    /// `fsync`, `os` or `memory`, for the table.
    pub durability: String,
}

impl Wire for Ours {
    fn name(&self) -> String {
        format!("interwire {}", self.durability)
    }

    fn address(&self) -> String {
        self.address.clone()
    }

    fn hello(&self, _run: &str) -> Vec<u8> {
        format!(
            "GET /v1/socket HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
             Sec-WebSocket-Protocol: interwire.v1\r\n\r\n",
            self.address
        )
        .into_bytes()
    }

    fn welcome(&self, bytes: &[u8]) -> Result<Option<usize>> {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
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

    fn subscribe(&self, run: &str, _reader: usize) -> Vec<u8> {
        let mut out = Vec::new();
        let text = format!(
            "{{\"op\":\"subscribe\",\"ref\":\"s\",\"filter\":{{\"topic\":[\"bench.{run}\"]}},\"from\":\"latest\"}}"
        );
        frame(&mut out, text.as_bytes());
        out
    }

    fn subscribed(&self, bytes: &[u8]) -> Result<Option<usize>> {
        let Some((_, text, used)) = next_frame(bytes) else {
            return Ok(None);
        };
        if contains(text, b"\"op\":\"subscribed\"") {
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
                1 if text.starts_with(b"{\"op\":\"caught_up\"") => {}
                9 => pong(&mut seen.answer, text),
                _ => refuse(text)?,
            }
        }
        Ok(seen)
    }
}

/// Appends one masked text frame. The mask is zero: legal, and free for both sides.
fn frame(out: &mut Vec<u8>, text: &[u8]) {
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
fn next_frame(bytes: &[u8]) -> Option<(u8, &[u8], usize)> {
    let kind = bytes.first()? & 0x0F;
    let (length, head) = match bytes.get(1)? & 0x7F {
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
    Some((kind, bytes.get(head..head + length)?, head + length))
}

fn contains(text: &[u8], what: &[u8]) -> bool {
    text.windows(what.len()).any(|window| window == what)
}
