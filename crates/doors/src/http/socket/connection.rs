//! One socket from its opening to its end.

use super::frame::{self, FrameLimits, Incoming, Operation, Reference, bad_frame};
use super::publish::{Pending, Pipeline};
use super::readers::{Durable, Kind, Reader, Readers, Step};
use super::work::{self, Done, Work};
use super::writer::{Broken, Writer};
use crate::http::door::{Door, RequestId};
use crate::http::inbox;
use crate::http::meter::Open;
use axum::body::Bytes;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket, close_code};
use broker::{Batch, Delivery, Entry, Handle, Published, Submission, Tail, label};
use futures_util::{FutureExt as _, StreamExt as _};
use protocol::{Code, DialectName, Fault, Reading, Rejection};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep};
use tokio_tungstenite::tungstenite::Error as SocketError;

/// Messages that a live reader puts on its way in one turn.
const BATCH_MAX: usize = 64;

/// Deliveries that a durable reader takes in one turn; envelopes can be large.
const PULL_MAX: usize = 16;

/// How long one pull of a durable reader waits; then it asks again.
const PULL_WAIT: Duration = Duration::from_secs(30);

/// Frames taken from the peer before what is ready is sent.
const FRAMES_PER_FLUSH: usize = 128;

/// A peer that is silent for so many keep-alive periods is gone.
const SILENT_PERIODS_MAX: u32 = 3;

/// Why a socket ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The peer closed or the connection broke.
    Gone,
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
    door: Arc<Door>,
    handle: Handle,
    request_id: RequestId,
    writer: Writer,
    pipeline: Pipeline,
    readers: Readers,
    work: Work,
    /// Operations in `work` that are not readers.
    operations: usize,
    keep_alive: Interval,
    heard: Instant,
    limits: FrameLimits,
    _open: Open,
}

impl Connection {
    pub(crate) fn new(door: Arc<Door>, request_id: RequestId, socket: WebSocket) -> Self {
        let settings = &door.settings;
        let period = settings.keep_alive();
        let mut keep_alive = interval_at(Instant::now() + period, period);
        keep_alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let limits = FrameLimits {
            frame_bytes_max: door.envelope_bytes_max() + settings.socket_frame_room_bytes,
            pull_max: i64::try_from(settings.page_max).unwrap_or(i64::MAX),
            pull_wait_ms_max: i64::try_from(settings.pull_wait_ms_max).unwrap_or(i64::MAX),
        };
        let writer = Writer::new(socket, settings.write_stall());
        let open = Open::count(&door.meter.sockets);
        Self {
            handle: door.handle.clone(),
            door,
            request_id,
            writer,
            pipeline: Pipeline::new(),
            readers: Readers::new(),
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
                message = self.writer.socket.next(), if has_room => {
                    self.receive(message).await?;
                    self.receive_ready().await?;
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

    /// Takes frames that have arrived already, so that their answers share a flush.
    async fn receive_ready(&mut self) -> Result<(), End> {
        for _ in 1..FRAMES_PER_FLUSH {
            if self.pipeline.open() >= self.door.settings.in_flight_max.max(1) {
                break;
            }
            let Some(message) = self.writer.socket.next().now_or_never() else {
                break;
            };
            self.receive(message).await?;
        }
        self.hand_over().await;
        self.answer_ready().await
    }

    async fn receive(&mut self, message: Option<Result<Message, axum::Error>>) -> Result<(), End> {
        self.heard = Instant::now();
        match message {
            None | Some(Ok(Message::Close(_))) => Err(End::Gone),
            Some(Err(error)) => Err(unreadable(error)),
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => Ok(()),
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

    async fn publish(
        &mut self,
        reference: Reference,
        reading: Reading,
        envelope: Bytes,
    ) -> Result<(), End> {
        let dialect = reading.dialect.map_or("none", DialectName::as_str);
        match reading.into_result() {
            Ok((header, warnings)) => {
                let number = self.pipeline.next();
                self.pipeline.push(Pending { reference, dialect });
                self.pipeline.together.push(Submission {
                    number,
                    header,
                    envelope,
                    warnings,
                });
                Ok(())
            }
            Err(refused) => {
                self.handle.count(dialect, refused.code().as_str());
                self.refuse(&reference, &refused, "/envelope").await
            }
        }
    }

    /// Gives the exchange what arrived together, so that one commit can take it.
    async fn hand_over(&mut self) {
        if self.pipeline.together.is_empty() {
            return;
        }
        let together = std::mem::take(&mut self.pipeline.together);
        let numbers: Vec<u64> = together.iter().map(|one| one.number).collect();
        if let Err(refused) = self.handle.submit(together, &self.pipeline.submit).await {
            for number in numbers {
                // This socket holds the receiver.
                let _ = self.pipeline.submit.send((number, Err(refused.clone())));
            }
        }
    }

    async fn answer(&mut self, number: u64, result: Published) -> Result<(), End> {
        let Some(Pending { reference, dialect }) = self.pipeline.take(number) else {
            return Ok(());
        };
        let result = result.and_then(|receipt| self.handle.complete(receipt));
        self.handle.count(dialect, label(&result));
        match result {
            Ok(receipt) => Ok(self
                .writer
                .text(frame::receipt(&reference, &receipt))
                .await?),
            Err(refused) => self.refuse(&reference, &refused, "/envelope").await,
        }
    }

    async fn answer_ready(&mut self) -> Result<(), End> {
        while let Ok((number, result)) = self.pipeline.results.try_recv() {
            self.answer(number, result).await?;
        }
        Ok(())
    }

    async fn operate(&mut self, reference: Reference, operation: Operation) -> Result<(), End> {
        match operation {
            // Taken before; it is the one operation that waits for room.
            Operation::Publish { .. } => Ok(()),
            Operation::Ping => Ok(self.writer.text(frame::plain("pong", &reference)).await?),
            Operation::Unsubscribe => self.unsubscribe(&reference).await,
            Operation::Follow { filter, from } => {
                if let Some(refused) = self.refuse_reader(&reference) {
                    return self.refuse(&reference, &refused, "").await;
                }
                let (handle, name) = (self.handle.clone(), Arc::clone(&reference));
                let waits = work::add(&self.work, async move {
                    let tail = handle.tail(filter, &from).await;
                    Done::Opened {
                        reference: name,
                        tail,
                    }
                });
                let kind = Kind::Live {
                    cursor: self.handle.head(),
                };
                self.readers.insert(reference, Reader { kind, waits });
                Ok(())
            }
            Operation::Consume {
                place,
                in_flight_max,
            } => {
                if let Some(refused) = self.refuse_reader(&reference) {
                    return self.refuse(&reference, &refused, "").await;
                }
                self.consume(reference, Durable::new(place, in_flight_max))
                    .await
            }
            Operation::Settle(_) | Operation::Pull { .. }
                if self.operations >= self.door.settings.socket_operations_max =>
            {
                self.refuse(&reference, &overloaded("operations that wait"), "")
                    .await
            }
            Operation::Settle(settlement) => {
                let handle = self.handle.clone();
                self.operations += 1;
                work::add(&self.work, async move {
                    match settlement.run(&handle).await {
                        Ok(outcomes) => Done::Settled {
                            answer: frame::settled(&reference, &settlement, &outcomes).into(),
                            settled: settlement.over(&outcomes),
                            how: settlement.how,
                        },
                        Err(refused) => Done::Answer(frame::fault(&reference, &refused, "").into()),
                    }
                });
                Ok(())
            }
            Operation::Pull { place, max, wait } => {
                let door = Arc::clone(&self.door);
                self.operations += 1;
                work::add(&self.work, async move {
                    Done::Answer(match inbox::pull(&door, place, max, wait).await {
                        Ok(pulled) => frame::deliveries(&reference, &door.handle, &pulled),
                        Err(refused) => frame::fault(&reference, &refused, "").into(),
                    })
                });
                Ok(())
            }
        }
    }

    async fn done(&mut self, done: Done) -> Result<(), End> {
        match done {
            Done::Answer(answer) => {
                self.operations -= 1;
                Ok(self.writer.bytes(answer).await?)
            }
            Done::Settled {
                answer,
                settled,
                how,
            } => {
                self.operations -= 1;
                self.writer.bytes(answer).await?;
                let now = self.handle.now();
                let lease_ms = self.handle.settings().exchange.lease_ms;
                let mut again = Vec::new();
                for (reference, reader) in &mut self.readers {
                    if let Kind::Durable(durable) = &mut reader.kind {
                        let settle =
                            |id: &broker::DeliveryId| durable.settle(*id, how, now, lease_ms);
                        if settled
                            .iter()
                            .map(settle)
                            .fold(false, |any, woken| any | woken)
                        {
                            again.push(Arc::clone(reference));
                        }
                    }
                }
                again
                    .into_iter()
                    .for_each(|reference| self.consume_on(reference));
                Ok(())
            }
            Done::Opened { reference, tail } => self.opened(reference, tail).await,
            Done::Batch {
                reference,
                tail,
                batch,
            } => self.batch(reference, tail, batch).await,
            Done::Pulled { reference, pulled } => self.pulled(reference, pulled).await,
            Done::Recheck { reference } => {
                self.consume_on(reference);
                Ok(())
            }
            Done::Abandoned => Ok(()),
        }
    }

    async fn opened(
        &mut self,
        reference: Reference,
        tail: Result<Tail, Rejection>,
    ) -> Result<(), End> {
        match tail {
            Ok(tail) => {
                let cursor = tail.cursor();
                let opened = frame::at_cursor("subscribed", &reference, cursor);
                self.writer.text(opened).await?;
                self.reached(&reference, cursor);
                self.follow_on(reference, tail);
                Ok(())
            }
            Err(refused) => {
                self.readers.remove(&reference);
                self.refuse(&reference, &refused, "").await
            }
        }
    }

    async fn batch(
        &mut self,
        reference: Reference,
        tail: Tail,
        batch: Result<Batch, Rejection>,
    ) -> Result<(), End> {
        let Batch { entries, caught_up } = match batch {
            Ok(batch) => batch,
            // Told as part of the drain, with the cursor.
            Err(_) if self.door.stop.is_draining() => return Ok(()),
            Err(refused) => {
                self.readers.remove(&reference);
                return self.refuse(&reference, &refused, "").await;
            }
        };
        for entry in &entries {
            let frame = self.deliver_frame(&reference, entry);
            self.writer.bytes(frame).await?;
            self.reached(&reference, self.handle.cursor(entry));
        }
        self.handle.meter().streamed.inc_by(entries.len() as u64);
        self.reached(&reference, tail.cursor());
        if caught_up {
            let caught_up = frame::at_cursor("caught_up", &reference, tail.cursor());
            self.writer.text(caught_up).await?;
        }
        self.follow_on(reference, tail);
        Ok(())
    }

    fn deliver_frame(&self, reference: &str, entry: &Entry) -> Bytes {
        entry.socket_frame(reference, |entry| {
            frame::deliver(reference, &self.handle, entry)
        })
    }

    fn reached(&mut self, reference: &str, at: broker::Cursor) {
        if let Some(Reader {
            kind: Kind::Live { cursor },
            ..
        }) = self.readers.get_mut(reference)
        {
            *cursor = at;
        }
    }

    /// Waits for a live reader's next batch.
    fn follow_on(&mut self, reference: Reference, mut tail: Tail) {
        let name = Arc::clone(&reference);
        let waits = work::add(&self.work, async move {
            let batch = tail.next(BATCH_MAX).await;
            Done::Batch {
                reference: name,
                tail,
                batch,
            }
        });
        if let Some(reader) = self.readers.get_mut(&reference) {
            reader.waits = waits;
        } else {
            waits.abort();
        }
    }

    async fn consume(&mut self, reference: Reference, durable: Durable) -> Result<(), End> {
        let opened = frame::at_cursor("subscribed", &reference, self.handle.head());
        self.writer.text(opened).await?;
        let (waits, _) = futures_util::future::AbortHandle::new_pair();
        let kind = Kind::Durable(durable);
        self.readers
            .insert(Arc::clone(&reference), Reader { kind, waits });
        self.consume_on(reference);
        Ok(())
    }

    async fn pulled(
        &mut self,
        reference: Reference,
        pulled: Result<Vec<Delivery>, Rejection>,
    ) -> Result<(), End> {
        let pulled = match pulled {
            Ok(pulled) => pulled,
            Err(_) if self.door.stop.is_draining() => return Ok(()),
            Err(refused) => {
                self.readers.remove(&reference);
                return self.refuse(&reference, &refused, "").await;
            }
        };
        for delivery in &pulled {
            if let Some(Reader {
                kind: Kind::Durable(durable),
                ..
            }) = self.readers.get_mut(&reference)
            {
                durable.hold(delivery.id, delivery.lease_until);
            }
            let frame = frame::deliver_leased(&reference, &self.handle, delivery);
            self.writer.bytes(frame).await?;
        }
        self.consume_on(reference);
        Ok(())
    }

    /// Waits for a durable reader's next deliveries, or for room.
    fn consume_on(&mut self, reference: Reference) {
        let Some(reader) = self.readers.get_mut(&reference) else {
            return;
        };
        let Kind::Durable(durable) = &mut reader.kind else {
            return;
        };
        // What it waited for before would come as well.
        reader.waits.abort();
        reader.waits = match durable.step(self.handle.now()) {
            Step::Pull(room) => {
                let (handle, place) = (self.handle.clone(), durable.place.clone());
                work::add(&self.work, async move {
                    let pulled = handle.pull(place, room.min(PULL_MAX), PULL_WAIT).await;
                    Done::Pulled { reference, pulled }
                })
            }
            Step::Wait(wait) => work::add(&self.work, async move {
                sleep(wait).await;
                Done::Recheck { reference }
            }),
        };
    }

    async fn unsubscribe(&mut self, reference: &Reference) -> Result<(), End> {
        match self.readers.remove(reference) {
            Some(reader) => {
                reader.waits.abort();
                Ok(self
                    .writer
                    .text(frame::plain("unsubscribed", reference))
                    .await?)
            }
            None => {
                let detail = "expected the `ref` of a reader on this socket";
                let fault = Fault::new(Code::NotFound, "/ref", "surface: socket", detail);
                self.refuse(reference, &fault.into(), "").await
            }
        }
    }

    fn refuse_reader(&self, reference: &str) -> Option<Rejection> {
        if self.readers.contains_key(reference) {
            let detail = "expected a `ref` that no reader on this socket has";
            let fault = Fault::new(
                Code::SubscriptionConflict,
                "/ref",
                "surface: socket",
                detail,
            );
            return Some(fault.into());
        }
        (self.readers.len() >= self.door.settings.socket_readers_max)
            .then(|| overloaded("readers on one socket"))
    }

    async fn refuse(
        &mut self,
        reference: &str,
        refused: &Rejection,
        prefix: &str,
    ) -> Result<(), End> {
        let (request_id, code) = (&self.request_id, refused.code());
        tracing::info!(%request_id, %code, pointer = refused.first().pointer, "frame refused");
        Ok(self
            .writer
            .text(frame::fault(reference, refused, prefix))
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
            End::Silent => self.writer.close(close_code::AWAY, "silent").await,
            End::Unreadable(code) => self.writer.close(code, "unreadable").await,
            End::Slow => {
                self.door.meter.slow_consumers.inc();
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

    /// Waits for the results of publishes that are in the exchange.
    async fn answer_rest(&mut self) -> Result<(), End> {
        while self.pipeline.open() > 0
            && let Some((number, result)) = self.pipeline.results.recv().await
        {
            self.answer(number, result).await?;
        }
        Ok(())
    }

    /// Tells every live reader where to go on, or the socket where the journal stands.
    async fn say_place(&mut self, is_draining: bool) -> Result<(), End> {
        let retry_ms = self.door.settings.drain_retry_ms;
        let mut places: Vec<(Reference, broker::Cursor)> = Vec::new();
        for (reference, reader) in &self.readers {
            if let Kind::Live { cursor } = reader.kind {
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

/// The close code for what the library could not read.
fn unreadable(error: axum::Error) -> End {
    match error.into_inner().downcast_ref::<SocketError>() {
        Some(SocketError::Capacity(_)) => End::Unreadable(close_code::SIZE),
        Some(SocketError::Utf8(_)) => End::Unreadable(close_code::INVALID),
        Some(SocketError::Protocol(_)) => End::Unreadable(close_code::PROTOCOL),
        Some(_) | None => End::Gone,
    }
}

fn overloaded(what: &str) -> Rejection {
    let detail = format!("expected room for more {what}, got none");
    Fault::new(Code::Overloaded, "", "surface: socket", detail).into()
}
