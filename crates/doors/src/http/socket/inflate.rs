//! The reading side of `permessage-deflate` (RFC 7692), beneath the WebSocket library.
//!
//! The library knows no extensions and refuses what they mark. This layer reads the frames first: a
//! compressed message is collected over its fragments, inflated within the limit, and shown to the
//! library as one frame that is not compressed. Everything else passes as it came, control frames also
//! between fragments. What breaks the rules is shown as such, so that the library ends the connection
//! with the code it has for it.

use super::deflate::TAIL;
use bytes::{Buf as _, BytesMut};
use flate2::{Decompress, FlushDecompress, Status};
use std::cell::RefCell;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes asked of the connection at once.
const READ_BYTES: usize = 4 << 10;

const FINAL: u8 = 0x80;
const COMPRESSED: u8 = 0x40;
const MASKED: u8 = 0x80;
/// A final text frame with a reserved bit that nobody agreed on: a protocol error for every reader.
const POISON: [u8; 6] = [FINAL | COMPRESSED | 0x31, MASKED, 0, 0, 0, 0];

/// A connection whose peer may compress what it sends.
#[derive(Debug)]
pub(crate) struct Inflating<S> {
    inner: S,
    /// Received and not looked at.
    raw: BytesMut,
    /// For the library.
    ready: BytesMut,
    state: State,
    /// The compressed message whose fragments come.
    message: Option<Message>,
    /// Bytes of a message, compressed or not.
    limit: usize,
    is_broken: bool,
}

#[derive(Debug)]
enum State {
    /// The next bytes are a frame's head.
    Head,
    /// So many bytes pass as they are.
    Pass(u64),
    /// So many bytes belong to the compressed message.
    Collect {
        left: usize,
        mask: [u8; 4],
        at: usize,
        is_final: bool,
    },
}

#[derive(Debug)]
struct Message {
    opcode: u8,
    data: Vec<u8>,
}

/// A frame's head.
struct Head {
    first: u8,
    is_masked: bool,
    mask: [u8; 4],
    payload: u64,
    length: usize,
}

impl Head {
    /// Reads one; none when there is more to come.
    fn read(bytes: &[u8]) -> Option<Self> {
        let (first, second) = (*bytes.first()?, *bytes.get(1)?);
        let (payload, mut length) = match second & 0x7f {
            126 => (
                u64::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?)),
                4,
            ),
            127 => (u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?), 10),
            short => (u64::from(short), 2),
        };
        let is_masked = second & MASKED != 0;
        let mut mask = [0; 4];
        if is_masked {
            mask = bytes.get(length..length + 4)?.try_into().ok()?;
            length += 4;
        }
        Some(Self {
            first,
            is_masked,
            mask,
            payload,
            length,
        })
    }
}

impl<S> Inflating<S> {
    /// A connection whose messages have at most `limit` bytes.
    pub(super) fn new(inner: S, limit: usize) -> Self {
        Self {
            inner,
            raw: BytesMut::new(),
            ready: BytesMut::new(),
            state: State::Head,
            message: None,
            limit,
            is_broken: false,
        }
    }

    /// Works on what was received; false when there must be more first.
    fn advance(&mut self) -> bool {
        if self.is_broken {
            self.raw.clear();
            return false;
        }
        match self.state {
            State::Head => match Head::read(&self.raw) {
                Some(head) => self.begin(&head),
                None => return false,
            },
            State::Pass(left) => {
                let count = usize::try_from(left)
                    .unwrap_or(usize::MAX)
                    .min(self.raw.len());
                if count == 0 && left > 0 {
                    return false;
                }
                self.ready.extend_from_slice(&self.raw.split_to(count));
                let left = left - count as u64;
                self.state = if left == 0 {
                    State::Head
                } else {
                    State::Pass(left)
                };
            }
            State::Collect {
                left,
                mask,
                at,
                is_final,
            } => {
                let count = left.min(self.raw.len());
                if count == 0 && left > 0 {
                    return false;
                }
                let piece = self.raw.split_to(count);
                if let Some(message) = &mut self.message {
                    let masks = mask.iter().cycle().skip(at % 4);
                    message
                        .data
                        .extend(piece.iter().zip(masks).map(|(byte, mask)| byte ^ mask));
                }
                self.state = match (left - count, is_final) {
                    (0, true) => {
                        self.end();
                        State::Head
                    }
                    (0, false) => State::Head,
                    (left, _) => State::Collect {
                        left,
                        mask,
                        at: at + count,
                        is_final,
                    },
                };
            }
        }
        true
    }

    fn begin(&mut self, head: &Head) {
        let opcode = head.first & 0x0f;
        let is_compressed = head.first & COMPRESSED != 0;
        let is_control = opcode & 0x08 != 0;
        let is_first = opcode != 0;
        if is_control || (self.message.is_none() && !(is_compressed && is_first)) {
            // What is wrong with it, such as the bit on a control frame, the library says.
            self.ready
                .extend_from_slice(&self.raw.split_to(head.length));
            self.state = State::Pass(head.payload);
            return;
        }
        let is_known = matches!(opcode, 0..=2) && head.first & 0x30 == 0;
        let fits = is_first == self.message.is_none() && is_compressed == is_first;
        if !is_known || !fits || !head.is_masked {
            return self.poison();
        }
        let message = self.message.get_or_insert(Message {
            opcode,
            data: Vec::new(),
        });
        let left = match usize::try_from(head.payload) {
            Ok(left) if left <= self.limit.saturating_sub(message.data.len()) => left,
            Ok(_) | Err(_) => return self.too_large(),
        };
        self.raw.advance(head.length);
        self.state = State::Collect {
            left,
            mask: head.mask,
            at: 0,
            is_final: head.first & FINAL != 0,
        };
        if left == 0 {
            self.advance();
        }
    }

    /// The message is whole.
    fn end(&mut self) {
        let Some(mut message) = self.message.take() else {
            return;
        };
        message.data.extend_from_slice(&TAIL);
        match inflate(&message.data, self.limit) {
            Inflated::Whole(text) => {
                self.head(message.opcode, text.len() as u64);
                self.ready.extend_from_slice(&text);
            }
            Inflated::TooLarge => self.too_large(),
            Inflated::Malformed => self.poison(),
        }
    }

    /// The head of a final frame, masked with nothing.
    fn head(&mut self, opcode: u8, length: u64) {
        self.ready
            .extend_from_slice(&[FINAL | opcode, MASKED | 127]);
        self.ready.extend_from_slice(&length.to_be_bytes());
        self.ready.extend_from_slice(&[0; 4]);
    }

    /// A frame that says it is larger than what the library takes.
    fn too_large(&mut self) {
        self.head(1, self.limit as u64 + 1);
        self.is_broken = true;
    }

    fn poison(&mut self) {
        self.ready.extend_from_slice(&POISON);
        self.is_broken = true;
    }
}

enum Inflated {
    Whole(Vec<u8>),
    TooLarge,
    Malformed,
}

thread_local! {
    static DECOMPRESSOR: RefCell<Decompress> = RefCell::new(Decompress::new(false));
}

/// What `data` was before, unless it was more than `limit` bytes.
fn inflate(data: &[u8], limit: usize) -> Inflated {
    DECOMPRESSOR.with_borrow_mut(|decompressor| {
        decompressor.reset(false);
        let mut out = Vec::with_capacity((data.len() * 3).clamp(64, limit + 1));
        let mut rest = data;
        loop {
            let (before, length) = (decompressor.total_in(), out.len());
            let Ok(status) = decompressor.decompress_vec(rest, &mut out, FlushDecompress::Sync)
            else {
                return Inflated::Malformed;
            };
            if out.len() > limit {
                return Inflated::TooLarge;
            }
            let taken = usize::try_from(decompressor.total_in() - before).unwrap_or(usize::MAX);
            rest = rest.get(taken..).unwrap_or_default();
            if rest.is_empty() && out.len() < out.capacity() {
                return Inflated::Whole(out);
            }
            if status == Status::StreamEnd {
                // A block that says it is the last one may be followed by more (7.2.3.5).
                decompressor.reset(false);
            } else if taken == 0 && out.len() == length && out.len() < out.capacity() {
                return Inflated::Malformed;
            }
            if out.len() == out.capacity() {
                out.reserve((limit + 1).saturating_sub(out.len()).min(out.len().max(64)));
            }
        }
    })
}

impl<S: AsyncRead + Unpin> AsyncRead for Inflating<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let this = self.get_mut();
        loop {
            if !this.ready.is_empty() {
                let count = this.ready.len().min(buffer.remaining());
                buffer.put_slice(&this.ready.split_to(count));
                return Poll::Ready(Ok(()));
            }
            if this.advance() {
                continue;
            }
            let mut space = [0; READ_BYTES];
            let mut received = ReadBuf::new(&mut space);
            ready!(Pin::new(&mut this.inner).poll_read(context, &mut received))?;
            if received.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            this.raw.extend_from_slice(received.filled());
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Inflating<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.get_mut().inner).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests;
