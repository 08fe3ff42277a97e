//! A WebSocket as frames of a session, with the binding's close codes (AEP 9.2).

use crate::http::meter::Meter;
use crate::http::peer::Peer;
use crate::http::socket::{self, Writer, unreadable_code};
use crate::session::{Broken, Frames, Goodbye, Heard};
use axum::extract::ws::close_code;
use broker::Feed;
use bytes::Bytes;
use futures_util::StreamExt as _;
use std::any::Any;
use std::sync::Arc;
use tokio_tungstenite::tungstenite::Message;

/// Try again later (IANA registry of close codes); the library has no name for it.
const AGAIN: u16 = 1013;

pub(super) struct SocketFrames {
    pub(super) writer: Writer,
    pub(super) peer: Arc<Peer>,
    pub(super) meter: Meter,
}

impl Frames for SocketFrames {
    const HAS_PINGS: bool = true;
    const OVERHEARS: bool = true;

    async fn next(&mut self) -> Heard {
        match self.writer.stream.next().await {
            None => Heard::Gone,
            Some(Ok(Message::Close(_))) => Heard::Closed,
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => Heard::Alive,
            Some(Ok(Message::Binary(_))) => Heard::Binary,
            Some(Ok(Message::Text(text))) => Heard::Text(text.into()),
            Some(Err(error)) => match unreadable_code(&error) {
                Some(close_code::SIZE) => Heard::Unreadable(Goodbye::TooLarge),
                Some(close_code::INVALID) => Heard::Unreadable(Goodbye::NotText),
                Some(_) => Heard::Unreadable(Goodbye::Protocol),
                None => Heard::Gone,
            },
        }
    }

    async fn send(&mut self, text: Bytes) -> Result<(), Broken> {
        let written = self.writer.bytes(text).await;
        written.map_err(|why| broken(why, &self.peer, &self.meter))
    }

    async fn flush(&mut self) -> Result<(), Broken> {
        let written = self.writer.flush().await;
        written.map_err(|why| broken(why, &self.peer, &self.meter))
    }

    async fn ping(&mut self) -> Result<(), Broken> {
        let written = self.writer.ping().await;
        written.map_err(|why| broken(why, &self.peer, &self.meter))
    }

    async fn close(self, goodbye: Goodbye) {
        let (code, reason) = match goodbye {
            Goodbye::Done => (close_code::NORMAL, "closed"),
            Goodbye::Away => (close_code::AWAY, "going_away"),
            Goodbye::Silent => (close_code::AWAY, "session_timeout"),
            Goodbye::Slow => (AGAIN, "slow_consumer"),
            Goodbye::Protocol => (close_code::PROTOCOL, "protocol_error"),
            Goodbye::TooLarge => (close_code::SIZE, "too_large"),
            Goodbye::NotText => (close_code::INVALID, "not_utf8"),
        };
        self.writer.close(code, reason).await;
    }

    fn owe(&self, feed: Feed) -> Option<Box<dyn Any + Send>> {
        Some(Box::new(self.peer.owe(move || feed.bytes())))
    }
}

/// What a transport of sessions says of a write that failed; a peer that is too slow is counted once.
pub(crate) fn broken(broken: socket::Broken, peer: &Peer, meter: &Meter) -> Broken {
    match broken {
        socket::Broken::Gone => Broken::Gone,
        socket::Broken::Slow => {
            if peer.note_slow() {
                meter.slow_consumers.inc();
            }
            tracing::warn!("slow consumer in a session");
            Broken::Slow
        }
    }
}
