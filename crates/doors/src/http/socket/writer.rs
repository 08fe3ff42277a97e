//! The writing half of a socket: many frames, one flush, and an end for readers that do not take
//! their data.

use super::deflate::{self, Agreed};
use super::transport::{Socket, Transport};
use crate::http::peer::Peer;
use axum::body::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::{Frame, FrameHeader};
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

/// Why writing has to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// The peer is gone.
    Gone,
    /// The peer did not take its data for the stall time, or for a while in which too much came.
    Slow,
}

/// How long a closing socket waits for the peer to close, too.
const CLOSE_WAIT: Duration = Duration::from_secs(1);

/// A socket with frames that may wait for a flush.
pub(crate) struct Writer {
    pub stream: WebSocketStream<Transport>,
    deflate: Option<Agreed>,
    peer: Arc<Peer>,
    needs_flush: bool,
}

impl Writer {
    pub(crate) fn new(socket: Socket, peer: Arc<Peer>) -> Self {
        Self {
            stream: socket.stream,
            deflate: socket.deflate,
            peer,
            needs_flush: false,
        }
    }

    /// Puts a text frame on its way; it leaves with the next flush at the latest.
    pub(crate) async fn text(&mut self, text: String) -> Result<(), Broken> {
        self.say(text.into()).await
    }

    /// As [`Self::text`], for shared bytes.
    pub(crate) async fn bytes(&mut self, bytes: Bytes) -> Result<(), Broken> {
        match Utf8Bytes::try_from(bytes) {
            Ok(text) => self.say(text).await,
            Err(error) => {
                // Envelopes are checked on the way in, so this would be a damaged journal.
                tracing::error!(%error, "a frame is not UTF-8 and was left out");
                Ok(())
            }
        }
    }

    async fn say(&mut self, text: Utf8Bytes) -> Result<(), Broken> {
        let compressed = self
            .deflate
            .and_then(|agreed| deflate::compress(text.as_bytes(), agreed));
        let Some(payload) = compressed else {
            return self.message(Message::Text(text)).await;
        };
        let header = FrameHeader {
            is_final: true,
            rsv1: true,
            opcode: OpCode::Data(Data::Text),
            ..FrameHeader::default()
        };
        let frame = Frame::from_payload(header, payload);
        self.message(Message::Frame(frame)).await
    }

    pub(crate) async fn ping(&mut self) -> Result<(), Broken> {
        self.message(Message::Ping(Bytes::new())).await
    }

    async fn message(&mut self, message: Message) -> Result<(), Broken> {
        self.needs_flush = true;
        patiently(&self.peer, self.stream.feed(message)).await
    }

    /// Sends what waits.
    pub(crate) async fn flush(&mut self) -> Result<(), Broken> {
        if !std::mem::take(&mut self.needs_flush) {
            return Ok(());
        }
        patiently(&self.peer, self.stream.flush()).await
    }

    /// Says goodbye and waits a moment for the answer, so that what was written is not lost.
    pub(crate) async fn close(mut self, code: u16, reason: &'static str) {
        let frame = CloseFrame {
            code: code.into(),
            reason: Utf8Bytes::from_static(reason),
        };
        if self.message(Message::Close(Some(frame))).await.is_err() || self.flush().await.is_err() {
            return;
        }
        self.closed().await;
    }

    /// Reads until the connection has ended, which also sends the answer to the peer's goodbye.
    pub(crate) async fn closed(mut self) {
        let drained = async { while let Some(Ok(_)) = self.stream.next().await {} };
        // A peer that does not answer is left.
        let _ = timeout(CLOSE_WAIT, drained).await;
    }
}

/// Waits for the peer to take data, as long as it may take.
pub(crate) async fn patiently<E>(
    peer: &Peer,
    written: impl Future<Output = Result<(), E>>,
) -> Result<(), Broken> {
    let mut written = pin!(written);
    let start = Instant::now();
    loop {
        match timeout(peer.look_every(), written.as_mut()).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(_)) => return Err(Broken::Gone),
            Err(_) if start.elapsed() >= peer.stall || peer.take_late() => {
                return Err(Broken::Slow);
            }
            Err(_) => {}
        }
    }
}
