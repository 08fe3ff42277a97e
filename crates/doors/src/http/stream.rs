//! `/v1/stream`: the journal as server-sent events.
//!
//! Every event carries its cursor as `id:`, so a browser's own reconnect resumes without a gap. A
//! stream holds a place, and at most one batch of shared messages: what a slow reader does not take
//! is not queued for it. What it cannot get is told as an event `gap` before what comes after it.

use super::call::{Answer, Call, set_header, typed};
use super::cloudevents::{self, Many, Shape};
use super::door::{Door, RequestId};
use super::meter::Open;
use super::peer::{Owed, Peer};
use super::problem;
use super::query::Query;
use super::rendering::{self, As};
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use broker::{Batch, Cursor, Entry, Follow, From, Handle, Mode, OnGap, Tail};
use bytes::{BufMut as _, BytesMut};
use futures_util::stream;
use protocol::cloudevents::DataForm;
use protocol::{Rejection, base64};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::sync::Arc;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

/// Messages taken from the journal at a time.
const BATCH_MAX: usize = 64;

/// Bytes after which a piece of the body is sent on.
const CHUNK_BYTES: usize = 64 << 10;

pub(crate) async fn open(call: Call) -> Answer {
    call.door.refuse_late()?;
    let mut query = call.query()?;
    let from = query.take("from")?;
    let follow = follow(&mut query)?;
    let form = match Shape::of_many(&mut query, &call.parts.headers)? {
        Many::Envelopes(wanted) => Form::In(wanted),
        Many::Events(form) => Form::Own(cloudevent(form)),
    };
    let filter = query.filter()?;
    let from = match last_event_id(&call.parts.headers) {
        Some(id) => From::Cursor(id),
        None => from.map_or(From::Latest, |text| From::parse(&text)),
    };
    let tail = call.peer.handle.follow(filter, &from, follow).await?;
    Ok(answer(call, tail, form))
}

/// How one message is written, where it is not written as everybody's. Few ask for such, so they are not
/// kept for everyone.
pub(crate) type Write = fn(&Handle, &Entry) -> Bytes;

/// How messages are written.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// As they are, or in that dialect.
    In(As),
    /// As another binding wants it.
    Own(Write),
}

/// The answer to a reader that has its place.
pub(crate) fn answer(call: Call, tail: Tail, form: Form) -> Response<Body> {
    let reader = Reader::new(call.door, call.peer, call.request_id, tail, form);
    let body = stream::unfold(reader, |mut reader| async move {
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

/// How the reader wants to follow.
pub(crate) fn follow(query: &mut Query) -> Result<Follow, Rejection> {
    let on_gap = on_gap(query)?.unwrap_or_default();
    let mode = query.word("mode", Mode::parse, "complete or best_effort")?;
    let mode = mode.unwrap_or_default();
    Ok(Follow { on_gap, mode })
}

/// What the reader wants to happen at a gap.
pub(crate) fn on_gap(query: &mut Query) -> Result<Option<OnGap>, Rejection> {
    query.word("on_gap", OnGap::parse, "skip or fail")
}

/// What a returning reader saw last; it knows better than the address it was first given.
pub(crate) fn last_event_id(headers: &HeaderMap) -> Option<String> {
    let text = std::str::from_utf8(headers.get("last-event-id")?.as_bytes())
        .ok()?
        .trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// One open stream.
struct Reader {
    door: Arc<Door>,
    request_id: RequestId,
    peer: Arc<Peer>,
    tail: Tail,
    /// Taken from the tail, not yet written.
    ready: VecDeque<Arc<Entry>>,
    /// Everything up to here was written.
    cursor: Cursor,
    keep_alive: Interval,
    /// When the last chunk was given to the connection.
    given: Option<Instant>,
    phase: Phase,
    form: Form,
    _owed: Owed,
    _open: Open,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Opening,
    Following,
    Ended,
}

impl Reader {
    fn new(
        door: Arc<Door>,
        peer: Arc<Peer>,
        request_id: RequestId,
        tail: Tail,
        form: Form,
    ) -> Self {
        let period = door.settings.keep_alive();
        let mut keep_alive = interval_at(Instant::now() + period, period);
        keep_alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let open = Open::count(&door.meter.streams);
        let (cursor, feed) = (tail.cursor(), tail.feed());
        let owed = peer.owe(move || feed.bytes());
        Self {
            door,
            peer,
            request_id,
            tail,
            ready: VecDeque::new(),
            cursor,
            keep_alive,
            given: None,
            phase: Phase::Opening,
            form,
            _owed: owed,
            _open: open,
        }
    }

    /// The next piece of the body; `None` ends it. Asked for only when the connection has room, so
    /// a long time between two calls means that the reader does not take its data.
    async fn chunk(&mut self) -> Option<Bytes> {
        let chunk = match self.phase {
            Phase::Ended => return None,
            Phase::Opening => {
                self.phase = Phase::Following;
                self.primer()
            }
            Phase::Following if self.is_too_slow() => {
                self.phase = Phase::Ended;
                if self.peer.note_slow() {
                    self.door.meter.slow_consumers.inc();
                }
                tracing::warn!(request_id = %self.request_id, "slow consumer");
                self.control(
                    "slow_consumer",
                    &format!("{{\"cursor\":\"{}\"}}", self.cursor),
                )
            }
            Phase::Following => self.follow().await,
        };
        self.given = Some(Instant::now());
        Some(chunk)
    }

    /// Whether its connection was late, or this stream of a connection with several was.
    fn is_too_slow(&self) -> bool {
        let waited = self.given.map(|at| at.elapsed()).unwrap_or_default();
        self.peer.take_late() || waited >= self.peer.stall
    }

    async fn follow(&mut self) -> Bytes {
        loop {
            if self.door.stop.is_draining() {
                self.phase = Phase::Ended;
                return self.draining();
            }
            if !self.ready.is_empty() {
                return self.events();
            }
            let next = tokio::select! {
                biased;
                batch = self.tail.next(BATCH_MAX) => batch,
                () = self.door.stop.draining() => continue,
                _ = self.keep_alive.tick() => return Bytes::from_static(b": keep-alive\n\n"),
            };
            match next {
                Ok(Batch {
                    gap,
                    entries,
                    caught_up,
                }) => {
                    self.ready.extend(entries);
                    if let Some(gap) = gap {
                        self.cursor = gap.to;
                        return self.control("gap", &gap.to_json());
                    }
                    if caught_up {
                        let seen = self.events();
                        let data = format!("{{\"cursor\":\"{}\"}}", self.cursor);
                        return [seen, self.control("caught_up", &data)].concat().into();
                    }
                }
                Err(_) if self.door.stop.is_draining() => {}
                Err(rejection) => {
                    self.phase = Phase::Ended;
                    return self.fault(rejection);
                }
            }
        }
    }

    /// A comment with an id: even a reader that never gets an event has a place to resume from.
    fn primer(&self) -> Bytes {
        format!(
            ": interwire\nid: {}\nretry: {}\n\n",
            self.cursor, self.door.settings.drain_retry_ms
        )
        .into()
    }

    /// As many events as make one good piece.
    fn events(&mut self) -> Bytes {
        let mut chunk = BytesMut::new();
        let mut count = 0;
        while chunk.len() < CHUNK_BYTES
            && let Some(entry) = self.ready.pop_front()
        {
            let handle = &self.door.handle;
            let frame = match self.form {
                Form::In(None) => entry.event_frame(|entry| event(handle, entry)),
                Form::In(wanted) => event_in(handle, &entry, wanted),
                Form::Own(write) => write(handle, &entry),
            };
            chunk.extend_from_slice(&frame);
            self.cursor = handle.cursor(&entry);
            count += 1;
        }
        if self.ready.is_empty() {
            // Past everything that the filter kept from this reader, too.
            self.cursor = self.tail.cursor();
        }
        self.door.handle.meter().streamed.inc_by(count);
        chunk.freeze()
    }

    fn draining(&self) -> Bytes {
        let retry = self.door.settings.drain_retry_ms;
        let data = format!("{{\"cursor\":\"{}\",\"retry_ms\":{retry}}}", self.cursor);
        [
            Bytes::from(format!("retry: {retry}\n")),
            self.control("draining", &data),
        ]
        .concat()
        .into()
    }

    fn fault(&self, rejection: Rejection) -> Bytes {
        let mut data = String::new();
        let rejection = self.door.advise(rejection);
        problem::write(&mut data, &rejection, "", Some(self.request_id.as_str()));
        self.control("fault", &data)
    }

    fn control(&self, name: &str, data: &str) -> Bytes {
        format!("event: {name}\nid: {}\ndata: {data}\n\n", self.cursor).into()
    }
}

/// The event of one message. Line feeds become several `data:` lines, which every client joins
/// again; a carriage return cannot travel in an event, so such an envelope goes as base64.
pub(crate) fn event(handle: &Handle, entry: &Entry) -> Bytes {
    let mut head = String::with_capacity(48);
    let _ = writeln!(head, "id: {}", handle.cursor(entry));
    frame(&head, &entry.envelope)
}

/// The event of one message in another dialect; `untranslated` with the reason and the message as it was
/// sent, when that cannot say it.
fn event_in(handle: &Handle, entry: &Entry, wanted: As) -> Bytes {
    let shown = entry.shown_in(wanted);
    let cursor = handle.cursor(entry).to_string();
    match shown.untranslated {
        None => frame(&format!("id: {cursor}\n"), shown.envelope),
        Some(fault) => named(
            "untranslated",
            &cursor,
            &rendering::untranslated(fault, entry),
        ),
    }
}

/// Writes events whose data are CloudEvents.
fn cloudevent(form: DataForm) -> Write {
    match form {
        DataForm::Json => |handle, entry| as_cloudevent(handle, entry, DataForm::Json),
        DataForm::Base64 => |handle, entry| as_cloudevent(handle, entry, DataForm::Base64),
    }
}

/// The event of one message whose data is a CloudEvent.
fn as_cloudevent(handle: &Handle, entry: &Entry, form: DataForm) -> Bytes {
    let mut text = Vec::with_capacity(entry.envelope.len() + 512);
    cloudevents::write(&mut text, handle, entry, form);
    frame(&format!("id: {}\n", handle.cursor(entry)), &text)
}

/// The event of one envelope under a name of its own; `_base64` is added where that is needed.
pub(crate) fn named(name: &str, cursor: &str, envelope: &[u8]) -> Bytes {
    let has_return = envelope.contains(&b'\r');
    let name = if has_return {
        format!("{name}_base64")
    } else {
        name.to_owned()
    };
    let mut out = format!("id: {cursor}\nevent: {name}\n").into_bytes();
    put_data(&mut out, envelope);
    out.into()
}

fn frame(head: &str, envelope: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(head.len() + envelope.len() + 64);
    out.put_slice(head.as_bytes());
    if envelope.contains(&b'\r') {
        out.put_slice(b"event: base64\n");
    }
    put_data(&mut out, envelope);
    out.into()
}

/// The data and the end of an event.
fn put_data(out: &mut Vec<u8>, envelope: &[u8]) {
    if envelope.contains(&b'\r') {
        out.put_slice(b"data: ");
        base64::encode(out, envelope);
        out.put_slice(b"\n");
    } else {
        for line in envelope.split(|byte| *byte == b'\n') {
            out.put_slice(b"data: ");
            out.put_slice(line);
            out.put_slice(b"\n");
        }
    }
    out.put_slice(b"\n");
}

#[cfg(test)]
mod tests {
    use super::frame;

    #[test]
    fn line_feeds_are_several_data_lines_and_carriage_returns_are_base64() {
        assert_eq!(&frame("id: 1\n", b"{}")[..], b"id: 1\ndata: {}\n\n");
        assert_eq!(
            &frame("id: 1\n", b"{\n }\n")[..],
            b"id: 1\ndata: {\ndata:  }\ndata: \n\n"
        );
        assert_eq!(
            &frame("", b"{\r\n}")[..],
            b"event: base64\ndata: ew0KfQ==\n\n"
        );
    }
}
