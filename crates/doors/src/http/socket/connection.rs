//! One socket from its opening to its end.

use super::frame::{self, FrameLimits, Incoming, Operation, Reference, bad_frame};
use super::pipeline::Pipeline;
use super::readers::{Kind, Readers};
use super::seats::Seats;
use super::transport::Socket;
use super::work::Work;
use super::writer::{Broken, Writer};
use crate::http::door::{Door, RequestId};
use crate::http::meter::Open;
use crate::http::peer::Peer;
use axum::extract::ws::close_code;
use broker::Handle;
use futures_util::{FutureExt as _, StreamExt as _};
use protocol::Rejection;
use std::sync::Arc;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::{Error as SocketError, Message, Utf8Bytes};

/// Frames taken from the peer before what is ready is sent.
const FRAMES_PER_FLUSH: usize = 128;

/// A peer that is silent for so many keep-alive periods is gone.
const SILENT_PERIODS_MAX: u32 = 3;

/// Why a socket ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The connection broke.
    Gone,
    /// The peer said goodbye.
    Closed,
    /// The peer did not take its data.
    Slow,
    /// The peer was silent for too long.
    Silent,
    /// The peer sent what cannot be read as frames; with the close code.
    Unreadable(u16),
    /// The exchange shuts down.
    Draining,
    /// Everything ends at once.
    Cut,
}

impl From<Broken> for End {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Gone => Self::Gone,
            Broken::Slow => Self::Slow,
        }
    }
}

/// The state of one socket.
pub(crate) struct Connection {
    pub(super) door: Arc<Door>,
    pub(super) peer: Arc<Peer>,
    pub(super) handle: Handle,
    request_id: RequestId,
    pub(super) writer: Writer,
    pub(super) pipeline: Pipeline,
    pub(super) readers: Readers,
    /// Its name as a consumer, for readers and pulls that give none.
    pub(super) own_name: Arc<str>,
    pub(super) seats: Seats,
    pub(super) work: Work,
    /// Operations in `work` that are not readers.
    pub(super) operations: usize,
    keep_alive: Interval,
    heard: Instant,
    limits: FrameLimits,
    _open: Open,
}

impl Connection {
    pub(crate) fn new(
        door: Arc<Door>,
        peer: Arc<Peer>,
        request_id: RequestId,
        socket: Socket,
    ) -> Self {
        let settings = &door.settings;
        let period = settings.keep_alive();
        let mut keep_alive = interval_at(Instant::now() + period, period);
        keep_alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let limits = FrameLimits {
            frame_bytes_max: door.envelope_bytes_max() + settings.socket_frame_room_bytes,
            pull_max: i64::try_from(settings.page_max).unwrap_or(i64::MAX),
            pull_wait_ms_max: i64::try_from(settings.pull_wait_ms_max).unwrap_or(i64::MAX),
        };
        let writer = Writer::new(socket, Arc::clone(&peer));
        let open = Open::count(&door.meter.sockets);
        let own_name = door.socket_name();
        Self {
            handle: peer.handle.clone(),
            door,
            peer,
            request_id,
            writer,
            pipeline: Pipeline::new(),
            readers: Readers::new(),
            own_name,
            seats: Seats::default(),
            work: Work::new(),
            operations: 0,
            keep_alive,
            heard: Instant::now(),
            limits,
            _open: open,
        }
    }

    /// Runs until the socket ends, then says why.
    pub(crate) async fn run(mut self) {
        let mut end = match self.serve().await {
            Ok(never) => match never {},
            Err(end) => end,
        };
        self.leave_all(end).await;
        let request_id = self.request_id.clone();
        let cut = self.door.end.clone();
        tokio::select! {
            () = cut.cancelled() => end = End::Cut,
            () = self.finish(end) => {}
        }
        tracing::debug!(%request_id, ?end, "socket ended");
    }

    async fn serve(&mut self) -> Result<std::convert::Infallible, End> {
        loop {
            self.writer.flush().await?;
            if self.door.stop.is_draining() {
                return Err(End::Draining);
            }
            let has_room = self.pipeline.open() < self.door.settings.in_flight_max.max(1);
            tokio::select! {
                message = self.writer.stream.next(), if has_room => {
                    let received = self.receive_with_ready(message).await;
                    // Also when the peer has said goodbye: what it sent before counts.
                    self.hand_over().await;
                    received?;
                    self.answer_ready().await?;
                }
                Some((number, result)) = self.pipeline.results.recv() => {
                    self.answer(number, result).await?;
                    self.answer_ready().await?;
                }
                Some(done) = self.work.next(), if !self.work.is_empty() => self.done(done).await?,
                _ = self.keep_alive.tick() => self.keep_alive(has_room).await?,
                () = self.door.stop.draining() => {}
                () = self.door.end.cancelled() => return Err(End::Cut),
            }
        }
    }

    /// Takes a frame and those that have arrived already, so that their answers share a flush.
    async fn receive_with_ready(
        &mut self,
        first: Option<Result<Message, SocketError>>,
    ) -> Result<(), End> {
        self.receive(first).await?;
        for _ in 1..FRAMES_PER_FLUSH {
            if self.pipeline.open() >= self.door.settings.in_flight_max.max(1) {
                break;
            }
            let Some(message) = self.writer.stream.next().now_or_never() else {
                break;
            };
            self.receive(message).await?;
        }
        Ok(())
    }

    async fn receive(&mut self, message: Option<Result<Message, SocketError>>) -> Result<(), End> {
        self.heard = Instant::now();
        match message {
            None => Err(End::Gone),
            Some(Ok(Message::Close(_))) => Err(End::Closed),
            Some(Err(error)) => Err(unreadable(error)),
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => Ok(()),
            Some(Ok(Message::Binary(_))) => {
                let refused = bad_frame("", "expected a text frame, got a binary one");
                self.refuse("", &refused, "").await
            }
            Some(Ok(Message::Text(text))) => self.frame(&text).await,
        }
    }

    async fn frame(&mut self, text: &Utf8Bytes) -> Result<(), End> {
        let Incoming {
            reference,
            operation,
        } = frame::read(text, &self.handle.rules(), &self.limits);
        match operation {
            Ok(Operation::Publish { reading, envelope }) => {
                self.publish(reference, *reading, envelope).await
            }
            Ok(operation) => {
                // What was sent before it is taken before it.
                self.hand_over().await;
                self.operate(reference, operation).await
            }
            Err(refused) => self.refuse(&reference, &refused, "").await,
        }
    }

    pub(super) async fn refuse(
        &mut self,
        reference: &str,
        refused: &Rejection,
        prefix: &str,
    ) -> Result<(), End> {
        let (request_id, code) = (&self.request_id, refused.code());
        tracing::info!(%request_id, %code, pointer = refused.first().pointer, "frame refused");
        let refused = self.door.advise(refused.clone());
        Ok(self
            .writer
            .text(frame::fault(reference, &refused, prefix))
            .await?)
    }

    async fn keep_alive(&mut self, was_listening: bool) -> Result<(), End> {
        let silence = self
            .door
            .settings
            .keep_alive()
            .saturating_mul(SILENT_PERIODS_MAX);
        if was_listening && self.heard.elapsed() >= silence {
            return Err(End::Silent);
        }
        Ok(self.writer.ping().await?)
    }

    /// The last words.
    async fn finish(mut self, end: End) {
        match end {
            End::Gone | End::Cut => {}
            End::Closed => self.writer.closed().await,
            End::Silent => self.writer.close(close_code::AWAY, "silent").await,
            End::Unreadable(code) => self.writer.close(code, "unreadable").await,
            End::Slow => {
                if self.peer.note_slow() {
                    self.door.meter.slow_consumers.inc();
                }
                tracing::warn!(request_id = %self.request_id, "slow consumer");
                if self.say_place(false).await.is_ok() {
                    self.writer.close(close_code::POLICY, "slow_consumer").await;
                }
            }
            End::Draining => {
                if self.answer_rest().await.is_ok() && self.say_place(true).await.is_ok() {
                    self.writer.close(close_code::AWAY, "draining").await;
                }
            }
        }
    }

    /// Tells every live reader where to go on, or the socket where the journal stands.
    async fn say_place(&mut self, is_draining: bool) -> Result<(), End> {
        let retry_ms = self.door.settings.drain_retry_ms;
        let mut places: Vec<(Reference, broker::Cursor)> = Vec::new();
        for (reference, reader) in &self.readers {
            if let Kind::Live { cursor, .. } = reader.kind {
                places.push((Arc::clone(reference), cursor));
            }
        }
        if places.is_empty() {
            places.push(("".into(), self.handle.head()));
        }
        for (reference, cursor) in places {
            let frame = if is_draining {
                frame::draining(&reference, cursor, retry_ms)
            } else {
                frame::at_cursor("slow_consumer", &reference, cursor)
            };
            self.writer.text(frame).await?;
        }
        Ok(())
    }
}

fn unreadable(error: SocketError) -> End {
    unreadable_code(&error).map_or(End::Gone, End::Unreadable)
}

/// The close code for what the library could not read; none when the peer is simply gone.
pub(crate) fn unreadable_code(error: &SocketError) -> Option<u16> {
    match error {
        SocketError::Capacity(_) => Some(close_code::SIZE),
        SocketError::Utf8(_) => Some(close_code::INVALID),
        // How a peer that dies is seen.
        SocketError::Protocol(ProtocolError::ResetWithoutClosingHandshake) => None,
        SocketError::Protocol(_) => Some(close_code::PROTOCOL),
        _ => None,
    }
}
