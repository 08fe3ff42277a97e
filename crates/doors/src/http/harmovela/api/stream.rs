//! `GET .../subscriptions/{id}/stream`: what waits and what comes, as server-sent events.
//!
//! An event is one `data:` line, as the daemon's clients read it, after an `id:` line that carries its
//! cursor. It is acknowledged when the connection has taken it and lived on for [`CONFIRM`]; what a
//! connection took that then ended comes again. A reader that comes back with `Last-Event-ID` first
//! gets everything after that from the journal, also what was acknowledged without arriving.

use super::batches::{Desk, HELD_MAX};
use super::events::acknowledge;
use super::subscriptions::find;
use crate::http::call::{Answer, Call, set_header, typed};
use crate::http::door::{Door, RequestId};
use crate::http::meter::Open;
use crate::http::peer::{Owed, Peer};
use crate::http::stream::last_event_id;
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, StatusCode, header};
use broker::{
    Consumer, Delivery, DeliveryId, Departure, Entry, Follow, Handle, PlaceName, Portion, Tail,
};
use bytes::{BufMut as _, BytesMut};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, stream};
use protocol::Rejection;
use std::collections::{HashSet, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

/// How long a connection lives on before what it took counts as received. In that time the news that
/// its reader is gone arrives.
const CONFIRM: Duration = Duration::from_secs(2);

/// Deliveries taken from the place at a time.
const PULL_MAX: usize = 256;
/// Bytes of envelopes taken from the place at a time.
const PULL_BYTES_MAX: usize = 1 << 20;
/// How long one pull waits before the next.
const PULL_WAIT: Duration = Duration::from_secs(60);
/// Events read from the journal at a time.
const REPLAY_MAX: usize = 64;
/// Bytes after which a piece of the body is sent on.
const CHUNK_BYTES: usize = 64 << 10;

pub(crate) async fn stream(call: Call) -> Answer {
    call.no_query()?;
    call.door.refuse_late()?;
    let id: Box<str> = call.param("id").into();
    let handle = call.peer.handle.clone();
    let view = find(&handle, &id).await?;
    let last = last_event_id(&call.parts.headers);
    let replay = match last {
        Some(text) => {
            let from =
                super::super::events::place_of(&handle, &text, Follow::default().on_gap).await?;
            let tail = handle.follow(view.filter, &from, Follow::default()).await?;
            let (after, until) = (tail.cursor().sequence, handle.head().sequence);
            Some(Replay {
                tail: Box::new(tail),
                after,
                until,
            })
        }
        None => None,
    };
    let reader = Reader::new(call, id, replay);
    let body = stream::unfold(reader, |mut reader| async move {
        let chunk = reader.chunk().await?;
        Some((Ok::<_, Infallible>(chunk), reader))
    });
    let mut response = typed(StatusCode::OK, "text/event-stream", Body::from_stream(body));
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    set_header(&mut response, "x-accel-buffering", "no");
    Ok(response)
}

/// The journal after what the reader saw last.
struct Replay {
    tail: Box<Tail>,
    /// The reader saw this one.
    after: u64,
    /// From here on the place tells.
    until: u64,
}

type Pulled = Result<Vec<Delivery>, Rejection>;

struct Reader {
    door: Arc<Door>,
    desk: Arc<Desk>,
    peer: Arc<Peer>,
    request_id: RequestId,
    subscription: Box<str>,
    consumer: Consumer,
    replay: Option<Replay>,
    /// What the journal told and what earlier streams wrote: not said again, but acknowledged.
    told: Told,
    /// A pull that waits; never given up half way.
    pulling: Option<BoxFuture<'static, Pulled>>,
    ready: VecDeque<Delivery>,
    /// Given to the connection, not yet acknowledged.
    held: VecDeque<(Instant, DeliveryId)>,
    confirm: Interval,
    keep_alive: Interval,
    /// When the last chunk was given to the connection.
    given: Option<Instant>,
    phase: Phase,
    _owed: Owed,
    _open: Open,
}

/// What this reader has without the place.
#[derive(Default)]
struct Told {
    after: u64,
    until: u64,
    written: HashSet<u64>,
}

impl Told {
    fn has(&self, sequence: u64) -> bool {
        (sequence > self.after && sequence <= self.until)
            || (sequence <= self.after && self.written.contains(&sequence))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Opening,
    Following,
    Ended,
}

impl Reader {
    fn new(call: Call, subscription: Box<str>, replay: Option<Replay>) -> Self {
        let (door, peer) = (call.door, call.peer);
        let every = |period: Duration| {
            let mut ticks = interval_at(Instant::now() + period, period);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            ticks
        };
        let desk = Arc::clone(&door.desk);
        let written = desk.take_written(&subscription);
        let told = replay.as_ref().map_or_else(Told::default, |replay| Told {
            after: replay.after,
            until: replay.until,
            written: written.into_iter().collect(),
        });
        Self {
            consumer: Some(door.socket_name()),
            confirm: every(CONFIRM),
            keep_alive: every(door.settings.keep_alive()),
            _owed: peer.owe(|| 0),
            _open: Open::count(&door.meter.streams),
            desk,
            door,
            peer,
            request_id: call.request_id,
            subscription,
            replay,
            told,
            pulling: None,
            ready: VecDeque::new(),
            held: VecDeque::new(),
            given: None,
            phase: Phase::Opening,
        }
    }

    /// The next piece of the body; `None` ends it. Asked for only when the connection has room.
    async fn chunk(&mut self) -> Option<Bytes> {
        let is_late = |given: Instant| given.elapsed() >= self.peer.stall;
        let is_too_slow = self.peer.take_late() || self.given.is_some_and(is_late);
        let chunk = match self.phase {
            Phase::Ended => return None,
            Phase::Opening => {
                self.phase = Phase::Following;
                let retry = self.door.settings.drain_retry_ms;
                format!(": ok\nretry: {retry}\n\n").into()
            }
            Phase::Following if is_too_slow => {
                if self.peer.note_slow() {
                    self.door.meter.slow_consumers.inc();
                }
                tracing::warn!(request_id = %self.request_id, "slow consumer");
                self.end("slow_consumer")
            }
            Phase::Following => self.follow().await,
        };
        self.given = Some(Instant::now());
        Some(chunk)
    }

    fn end(&mut self, why: &str) -> Bytes {
        self.phase = Phase::Ended;
        format!(": {why}\n\n").into()
    }

    async fn follow(&mut self) -> Bytes {
        loop {
            if self.door.stop.is_draining() {
                return self.end("draining");
            }
            if self.replay.is_some() {
                match self.replayed().await {
                    Ok(Some(chunk)) => return chunk,
                    Ok(None) => continue,
                    Err(refused) => return self.end(refused.code().as_str()),
                }
            }
            if !self.ready.is_empty() {
                let chunk = self.events();
                if !chunk.is_empty() {
                    return chunk;
                }
                continue;
            }
            let room = HELD_MAX as usize - self.held.len().min(HELD_MAX as usize);
            if self.pulling.is_none() && room > 0 {
                self.pulling = Some(self.pull(room));
            }
            let stop = self.door.stop.clone();
            let pulled = async {
                match self.pulling.as_mut() {
                    Some(pulling) => pulling.await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                pulled = pulled => {
                    self.pulling = None;
                    match pulled {
                        Ok(deliveries) => self.ready.extend(deliveries),
                        Err(_) if self.door.stop.is_draining() => {}
                        Err(refused) => return self.end(refused.code().as_str()),
                    }
                }
                () = stop.draining() => {}
                _ = self.confirm.tick(), if !self.held.is_empty() => {
                    if let Err(refused) = self.acknowledge_old().await {
                        return self.end(refused.code().as_str());
                    }
                }
                _ = self.keep_alive.tick() => return Bytes::from_static(b": keep-alive\n\n"),
            }
        }
    }

    fn pull(&self, room: usize) -> BoxFuture<'static, Pulled> {
        let (handle, consumer) = (self.peer.handle.clone(), self.consumer.clone());
        let place = PlaceName::Subscription(self.subscription.clone());
        let portion = Portion {
            max: room.min(PULL_MAX),
            held_max: HELD_MAX as usize,
            bytes_max: PULL_BYTES_MAX,
        };
        async move {
            handle
                .pull_within(place, consumer, portion, PULL_WAIT)
                .await
        }
        .boxed()
    }

    /// Some of the journal after what the reader saw last; none when that is over.
    async fn replayed(&mut self) -> Result<Option<Bytes>, Rejection> {
        let Some(Replay { tail, until, .. }) = &mut self.replay else {
            return Ok(None);
        };
        if tail.cursor().sequence >= *until {
            self.replay = None;
            return Ok(None);
        }
        let batch = tokio::select! {
            biased;
            batch = tail.next(REPLAY_MAX) => batch?,
            () = self.door.stop.draining() => return Ok(None),
        };
        let mut chunk = BytesMut::new();
        if let Some(gap) = &batch.gap {
            chunk.put_slice(format!(": gap {}\n\n", gap.to_json()).as_bytes());
        }
        for entry in batch.entries.iter().filter(|one| one.sequence <= *until) {
            put_event(&mut chunk, &self.door.handle, entry);
        }
        self.door
            .handle
            .meter()
            .streamed
            .inc_by(batch.entries.len() as u64);
        if batch.caught_up || tail.cursor().sequence >= *until {
            self.replay = None;
        }
        Ok((!chunk.is_empty()).then(|| chunk.freeze()))
    }

    /// As many events as make one good piece; empty when all were told before.
    fn events(&mut self) -> Bytes {
        let mut chunk = BytesMut::new();
        let now = Instant::now();
        while chunk.len() < CHUNK_BYTES
            && let Some(delivery) = self.ready.pop_front()
        {
            if !self.told.has(delivery.entry.sequence) {
                put_event(&mut chunk, &self.door.handle, &delivery.entry);
            }
            self.held.push_back((now, delivery.id));
        }
        chunk.freeze()
    }

    /// Acknowledges what the connection took a while ago. All that was given before was taken: the
    /// connection has asked for more since.
    async fn acknowledge_old(&mut self) -> Result<(), Rejection> {
        let is_old = |(at, _): &(Instant, DeliveryId)| at.elapsed() >= CONFIRM;
        let count = self.held.iter().take_while(|one| is_old(one)).count();
        let done = self.held.drain(..count).map(|(_, id)| id).collect();
        acknowledge(&self.desk, &self.peer.handle, done).await
    }
}

impl Drop for Reader {
    /// What it held goes back as if it had not been handed out: most of it arrived, and saying of each
    /// that it was redelivered would only fill the journal.
    fn drop(&mut self) {
        let mut back: Vec<DeliveryId> = self.held.iter().map(|(_, id)| *id).collect();
        let written = back.iter().map(|id| id.sequence).collect();
        self.desk.keep_written(&self.subscription, written);
        back.extend(self.ready.iter().map(|delivery| delivery.id));
        let (handle, consumer) = (self.peer.handle.clone(), self.consumer.clone());
        let place = PlaceName::Subscription(self.subscription.clone());
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                // When these fail, the exchange is gone, and with it every lease.
                let _ = handle.give_back_unseen(back).await;
                // With it goes what a pull was bringing.
                let _ = handle.leave(place, consumer, Departure::Leaves).await;
            });
        }
    }
}

/// One event on one `data:` line. Line ends are only ever between the tokens of an envelope, where a
/// space means the same.
fn put_event(out: &mut BytesMut, handle: &Handle, entry: &Entry) {
    out.put_slice(format!("id: {}\ndata: ", handle.cursor(entry)).as_bytes());
    let space = |byte: &u8| {
        if matches!(byte, b'\r' | b'\n') {
            b' '
        } else {
            *byte
        }
    };
    out.extend(entry.envelope.iter().map(space));
    out.put_slice(b"\n\n");
}

#[cfg(test)]
mod tests {
    use super::Told;

    #[test]
    fn what_the_journal_told_or_an_earlier_stream_wrote_is_not_said_again() {
        let told = Told {
            after: 10,
            until: 20,
            written: [7, 12, 25].into(),
        };
        let has: Vec<u64> = (5..30).filter(|sequence| told.has(*sequence)).collect();
        let mut expected = vec![7];
        expected.extend(11..=20);
        assert_eq!(has, expected);
        assert!(!Told::default().has(1));
    }
}
