//! One task as server-sent events: its past, what comes, its end.
//!
//! Envelopes as on `/v1/stream`. The envelope that ended the task is one of them for a reader of the
//! task, and `event: reply` for who asked. `event: end` follows and says how it ended.

use super::call::{Answer, Call, set_header, typed};
use super::door::{Door, RequestId};
use super::meter::Open;
use super::peer::Peer;
use super::{problem, stream};
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, StatusCode, header};
use broker::{Entry, From, Receipt, TaskNews, TaskTail};
use futures_util::stream as streams;
use protocol::json::push_string;
use protocol::{Rejection, TaskState};
use std::convert::Infallible;
use std::fmt::Write as _;
use std::sync::Arc;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until};

/// `GET /v1/tasks/{id}` for who wants events.
pub(crate) async fn follow(call: Call, id: &str) -> Answer {
    call.door.refuse_late()?;
    let after = stream::last_event_id(&call.parts.headers).map(From::Cursor);
    let tail = call.peer.handle.follow_task(id, after.as_ref()).await?;
    let reader = Reader::new(call.door, call.peer, call.request_id, tail);
    Ok(answer(reader))
}

/// The rest of `POST /v1/ask` for who wants events.
pub(crate) async fn asked(
    door: Arc<Door>,
    peer: Arc<Peer>,
    request_id: RequestId,
    tail: TaskTail,
    receipt: Receipt,
    until: Instant,
    timeout_ms: u64,
) -> Answer {
    let mut reader = Reader::new(door, peer, request_id, tail);
    reader.asked = Some(Asked {
        receipt,
        until,
        timeout_ms,
    });
    Ok(answer(reader))
}

fn answer(reader: Reader) -> axum::http::Response<Body> {
    let body = streams::unfold(reader, |mut reader| async move {
        let chunk = reader.chunk().await?;
        Some((Ok::<_, Infallible>(chunk), reader))
    });
    let mut response = typed(StatusCode::OK, "text/event-stream", Body::from_stream(body));
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Asks proxies of the nginx family not to hold the stream back.
    set_header(&mut response, "x-accel-buffering", "no");
    response
}

struct Asked {
    receipt: Receipt,
    until: Instant,
    timeout_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Opening,
    Following,
    Ended,
}

/// One open stream of one task.
struct Reader {
    door: Arc<Door>,
    peer: Arc<Peer>,
    request_id: RequestId,
    tail: TaskTail,
    /// Set for who asked.
    asked: Option<Asked>,
    /// The place to resume from.
    cursor: Option<String>,
    keep_alive: Interval,
    phase: Phase,
    _open: Open,
}

impl Reader {
    fn new(door: Arc<Door>, peer: Arc<Peer>, request_id: RequestId, tail: TaskTail) -> Self {
        let period = door.settings.keep_alive();
        let mut keep_alive = interval_at(Instant::now() + period, period);
        keep_alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let open = Open::count(&door.meter.streams);
        Self {
            door,
            peer,
            request_id,
            tail,
            asked: None,
            cursor: None,
            keep_alive,
            phase: Phase::Opening,
            _open: open,
        }
    }

    /// The next piece of the body; `None` ends it.
    async fn chunk(&mut self) -> Option<Bytes> {
        match self.phase {
            Phase::Ended => None,
            Phase::Opening => {
                self.phase = Phase::Following;
                Some(self.opening())
            }
            Phase::Following if self.peer.take_late() => Some(self.slow()),
            Phase::Following => Some(self.next().await),
        }
    }

    /// It left its data untaken for too long; it may come back for the rest.
    fn slow(&mut self) -> Bytes {
        self.phase = Phase::Ended;
        if self.peer.note_slow() {
            self.door.meter.slow_consumers.inc();
        }
        tracing::warn!(request_id = %self.request_id, "slow consumer");
        let data = match &self.cursor {
            Some(cursor) => format!("{{\"cursor\":\"{cursor}\"}}"),
            None => "{}".to_owned(),
        };
        self.control("slow_consumer", &data)
    }

    /// A place to resume from at once; the receipt for who asked.
    fn opening(&mut self) -> Bytes {
        let mut out = format!(
            ": interwire\nretry: {}\n",
            self.door.settings.drain_retry_ms
        );
        if let Some(asked) = &self.asked {
            let mut task = String::new();
            push_string(&mut task, self.tail.id());
            let _ = write!(
                out,
                "event: receipt\nid: {}\ndata: {{\"task\":{task},\"receipt\":{}}}\n",
                asked.receipt.cursor,
                asked.receipt.to_json()
            );
            self.cursor = Some(asked.receipt.cursor.to_string());
        }
        out.push('\n');
        out.into()
    }

    async fn next(&mut self) -> Bytes {
        if self.door.stop.is_draining() {
            return self.draining();
        }
        let until = self.asked.as_ref().map(|asked| asked.until);
        let is_late = async {
            match until {
                Some(until) => sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            news = self.tail.next() => match news {
                Ok(TaskNews::Envelope(entry)) => self.envelope("", &entry),
                Ok(TaskNews::Gap(gap)) => {
                    self.cursor = Some(gap.to.to_string());
                    self.control("gap", &gap.to_json())
                }
                Ok(TaskNews::Ended { state, entry, is_repeat }) => self.end(state, &entry, is_repeat),
                Err(_) if self.door.stop.is_draining() => self.draining(),
                Err(rejection) => self.fault(&rejection),
            },
            () = self.door.stop.draining() => self.draining(),
            () = is_late => self.late().await,
            _ = self.keep_alive.tick() => Bytes::from_static(b": keep-alive\n\n"),
        }
    }

    fn envelope(&mut self, name: &str, entry: &Arc<Entry>) -> Bytes {
        let handle = &self.door.handle;
        self.door.handle.meter().streamed.inc();
        let cursor = handle.cursor(entry).to_string();
        let frame = if name.is_empty() {
            entry.event_frame(|entry| stream::event(handle, entry))
        } else {
            stream::named(name, &cursor, &entry.envelope)
        };
        self.cursor = Some(cursor);
        frame
    }

    fn end(&mut self, state: TaskState, entry: &Arc<Entry>, is_repeat: bool) -> Bytes {
        self.phase = Phase::Ended;
        let last = if self.asked.is_some() {
            self.envelope("reply", entry)
        } else if is_repeat {
            Bytes::new()
        } else {
            self.envelope("", entry)
        };
        let mut data = String::from("{\"task\":");
        push_string(&mut data, self.tail.id());
        let _ = write!(data, ",\"state\":\"{}\",\"id\":", state.as_str());
        push_string(&mut data, &entry.header.id);
        data.push('}');
        self.cursor = Some(self.door.handle.cursor(entry).to_string());
        [last, self.control("end", &data)].concat().into()
    }

    async fn late(&mut self) -> Bytes {
        let wait = self.asked.as_ref().map_or(0, |asked| asked.timeout_ms);
        let rejection = super::ask::no_reply(&self.door, self.tail.id(), wait).await;
        self.fault(&rejection)
    }

    fn draining(&mut self) -> Bytes {
        self.phase = Phase::Ended;
        let retry = self.door.settings.drain_retry_ms;
        let data = match &self.cursor {
            Some(cursor) => format!("{{\"cursor\":\"{cursor}\",\"retry_ms\":{retry}}}"),
            None => format!("{{\"retry_ms\":{retry}}}"),
        };
        self.control("draining", &data)
    }

    fn fault(&mut self, rejection: &Rejection) -> Bytes {
        self.phase = Phase::Ended;
        let mut data = String::new();
        let rejection = self.door.advise(rejection.clone());
        problem::write(&mut data, &rejection, "", Some(self.request_id.as_str()));
        self.control("fault", &data)
    }

    fn control(&self, name: &str, data: &str) -> Bytes {
        let id = match &self.cursor {
            Some(cursor) => format!("id: {cursor}\n"),
            None => String::new(),
        };
        format!("event: {name}\n{id}data: {data}\n\n").into()
    }
}
