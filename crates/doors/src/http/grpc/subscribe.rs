//! Following the journal over gRPC, with the same bounds as over server-sent events: the call holds a
//! place and at most one batch of shared messages.

use super::generated::interwire_v1 as wire;
use super::problem::status;
use super::read;
use crate::http::door::Door;
use crate::http::meter::Open;
use crate::http::peer::{Owed, Peer};
use crate::http::rendering::As;
use broker::{Batch, Cursor, Entry, Tail};
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::time::Instant;
use tonic::Status;
use wire::subscribe_response::Event;

/// Messages taken from the journal at a time.
const BATCH_MAX: usize = 64;

type Told = Result<wire::SubscribeResponse, Status>;

pub(super) fn start(
    door: Arc<Door>,
    peer: Arc<Peer>,
    tail: Tail,
    wanted: As,
) -> BoxStream<'static, Told> {
    let (cursor, feed) = (tail.cursor(), tail.feed());
    let reader = Reader {
        _owed: peer.owe(move || feed.bytes()),
        _open: Open::count(&door.meter.streams),
        door,
        peer,
        tail,
        wanted,
        ready: VecDeque::new(),
        is_last: false,
        caught_up: false,
        cursor,
        given: None,
        phase: Phase::Opening,
    };
    let told = stream::unfold(reader, |mut reader| async move {
        let told = reader.next().await?;
        reader.given = Some(Instant::now());
        Some((told, reader))
    });
    told.boxed()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Opening,
    Following,
    Ending,
    Ended,
}

struct Reader {
    door: Arc<Door>,
    peer: Arc<Peer>,
    tail: Tail,
    /// In which dialect it is told.
    wanted: As,
    /// Taken from the tail, not yet given.
    ready: VecDeque<Arc<Entry>>,
    /// Whether the tail stands behind the last of them.
    is_last: bool,
    /// Whether that has still to be told.
    caught_up: bool,
    /// Everything up to here was given.
    cursor: Cursor,
    /// When the last message was given to the connection.
    given: Option<Instant>,
    phase: Phase,
    _owed: Owed,
    _open: Open,
}

impl Reader {
    /// Asked for only when the connection has room, so a long time between two calls means that the
    /// reader does not take its data.
    async fn next(&mut self) -> Option<Told> {
        match self.phase {
            Phase::Ended => return None,
            Phase::Ending => {
                self.phase = Phase::Ended;
                return Some(Err(Status::unavailable("draining")));
            }
            Phase::Opening => {
                self.phase = Phase::Following;
                return Some(self.tell(Event::Opened(wire::Opened {})));
            }
            Phase::Following => {}
        }
        let waited = self.given.map(|at| at.elapsed()).unwrap_or_default();
        if self.peer.take_late() || waited >= self.peer.stall {
            self.phase = Phase::Ended;
            if self.peer.note_slow() {
                self.door.meter.slow_consumers.inc();
            }
            tracing::warn!("slow consumer over gRPC");
            return Some(self.tell(Event::SlowConsumer(wire::SlowConsumer {})));
        }
        Some(self.follow().await)
    }

    async fn follow(&mut self) -> Told {
        loop {
            if self.door.stop.is_draining() {
                self.phase = Phase::Ending;
                let retry_ms = self.door.settings.drain_retry_ms;
                return self.tell(Event::Draining(wire::Draining { retry_ms }));
            }
            if let Some(entry) = self.ready.pop_front() {
                let handle = &self.door.handle;
                let message = read::message(handle, &entry, self.wanted);
                handle.meter().streamed.inc_by(1);
                self.cursor = handle.cursor(&entry);
                if self.ready.is_empty() && self.is_last {
                    // Past everything that the filter kept from this reader, too.
                    self.cursor = self.tail.cursor();
                }
                return self.tell(Event::Message(message));
            }
            if std::mem::take(&mut self.caught_up) {
                return self.tell(Event::CaughtUp(wire::CaughtUp {}));
            }
            let next = tokio::select! {
                biased;
                batch = self.tail.next(BATCH_MAX) => batch,
                () = self.door.stop.draining() => continue,
            };
            match next {
                Ok(Batch {
                    gap,
                    entries,
                    caught_up,
                }) => {
                    self.is_last = true;
                    self.ready.extend(entries);
                    if self.ready.is_empty() {
                        self.cursor = self.tail.cursor();
                    }
                    self.caught_up = caught_up;
                    if let Some(gap) = gap {
                        self.cursor = gap.to;
                        return self.tell(Event::Gap(read::gap(&gap)));
                    }
                }
                Err(_) if self.door.stop.is_draining() => {}
                Err(refused) => {
                    self.phase = Phase::Ended;
                    return Err(status(&self.door.advise(refused)));
                }
            }
        }
    }

    fn tell(&self, event: Event) -> Told {
        Ok(wire::SubscribeResponse {
            cursor: self.cursor.to_string(),
            event: Some(event),
        })
    }
}
