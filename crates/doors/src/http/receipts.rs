//! `/v1/messages/{id}/receipt`: what became of a message, once or as it happens.

use super::call::{Answer, Call, json, set_header, typed};
use super::door::{Door, RequestId};
use super::meter::Open;
use super::places::write_name;
use super::problem;
use super::task_json::write_workers;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use broker::{AttemptView, Entry, Fate, Handle, PlaceFate, RecipientFate, Standing};
use futures_util::stream;
use protocol::json::push_string;
use protocol::{Party, Rejection, Timestamp};
use std::convert::Infallible;
use std::fmt::Write as _;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

pub(crate) async fn receipt(call: Call) -> Answer {
    let mut query = call.query()?;
    let sender = query.take("sender")?.map(|text| Party::parse(&text));
    query.finish()?;
    let handle = &call.peer.handle;
    let entry = handle.find(call.param("id"), sender).await?;
    if !wants_events(&call.parts.headers) {
        let fate = handle.fate(entry).await?;
        return Ok(json(StatusCode::OK, to_json(handle, &fate)));
    }
    call.door.refuse_late()?;
    let watcher = Watcher::new(handle.clone(), entry).await?;
    let reader = Reader::new(call.door, call.request_id, watcher);
    let body = stream::unfold(reader, |mut reader| async move {
        let chunk = reader.chunk().await?;
        Some((Ok::<_, Infallible>(chunk), reader))
    });
    let mut response = typed(StatusCode::OK, "text/event-stream", Body::from_stream(body));
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    set_header(&mut response, "x-accel-buffering", "no");
    Ok(response)
}

fn wants_events(headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(header::ACCEPT).iter();
    accepted.any(|value| {
        let text = value.to_str().unwrap_or_default();
        text.to_ascii_lowercase().contains("text/event-stream")
    })
}

/// Follows what becomes of one message.
pub(crate) struct Watcher {
    handle: Handle,
    entry: Arc<Entry>,
    news: watch::Receiver<u64>,
    /// What was told last.
    told: String,
    /// Whether there is nothing left to tell.
    is_over: bool,
}

impl Watcher {
    pub(crate) async fn new(handle: Handle, entry: Arc<Entry>) -> Result<Self, Rejection> {
        let news = handle.watch(entry.sequence).await?;
        Ok(Self {
            handle,
            entry,
            news,
            told: String::new(),
            is_over: false,
        })
    }

    /// The receipt as it is now, and then each time that it is another; `None` after it was final.
    /// Cancelling the wait loses nothing.
    pub(crate) async fn next(&mut self) -> Option<Result<String, Rejection>> {
        while !self.is_over {
            self.news.borrow_and_update();
            let fate = match self.handle.fate(Arc::clone(&self.entry)).await {
                Ok(fate) => fate,
                Err(refused) => {
                    self.is_over = true;
                    return Some(Err(refused));
                }
            };
            let now = to_json(&self.handle, &fate);
            if now != self.told {
                self.is_over = fate.is_final();
                self.told.clone_from(&now);
                return Some(Ok(now));
            }
            if self.news.changed().await.is_err() {
                self.is_over = true;
            }
        }
        None
    }
}

/// One open stream.
struct Reader {
    door: Arc<Door>,
    request_id: RequestId,
    watcher: Watcher,
    keep_alive: Interval,
    is_over: bool,
    _open: Open,
}

impl Reader {
    fn new(door: Arc<Door>, request_id: RequestId, watcher: Watcher) -> Self {
        let period = door.settings.keep_alive();
        let mut keep_alive = interval_at(Instant::now() + period, period);
        keep_alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let open = Open::count(&door.meter.streams);
        Self {
            door,
            request_id,
            watcher,
            keep_alive,
            is_over: false,
            _open: open,
        }
    }

    async fn chunk(&mut self) -> Option<Bytes> {
        if self.is_over {
            return None;
        }
        let next = tokio::select! {
            biased;
            () = self.door.stop.draining() => {
                self.is_over = true;
                let retry = self.door.settings.drain_retry_ms;
                let text = format!("retry: {retry}\nevent: draining\ndata: {{\"retry_ms\":{retry}}}\n\n");
                return Some(text.into());
            }
            next = self.watcher.next() => next?,
            _ = self.keep_alive.tick() => return Some(Bytes::from_static(b": keep-alive\n\n")),
        };
        match next {
            Ok(receipt) => Some(format!("event: receipt\ndata: {receipt}\n\n").into()),
            Err(refused) => {
                self.is_over = true;
                let refused = self.door.advise(refused);
                let mut data = String::new();
                problem::write(&mut data, &refused, "", Some(self.request_id.as_str()));
                Some(format!("event: fault\ndata: {data}\n\n").into())
            }
        }
    }
}

/// The receipt as one JSON object.
pub(crate) fn to_json(handle: &Handle, fate: &Fate) -> String {
    let entry = &fate.entry;
    let header = &entry.header;
    let mut out = String::with_capacity(512);
    out.push_str("{\"id\":");
    push_string(&mut out, &header.id);
    out.push_str(",\"sender\":");
    push_string(&mut out, header.sender.as_str());
    let _ = write!(
        out,
        ",\"cursor\":\"{}\",\"dialect\":\"{}\",\"accepted_at\":\"{}\",\"final\":{},\"recipients\":",
        handle.cursor(entry),
        header.dialect.as_str(),
        entry.at,
        fate.is_final()
    );
    write_recipients(&mut out, fate);
    if let Some(task) = &fate.task {
        out.push_str(",\"task\":{\"id\":");
        push_string(&mut out, &task.id);
        let _ = write!(out, ",\"state\":\"{}\",\"workers\":", task.state.as_str());
        write_workers(&mut out, task);
        out.push('}');
    }
    out.push('}');
    out
}

/// A list with one object for each recipient.
pub(crate) fn write_recipients(out: &mut String, fate: &Fate) {
    out.push('[');
    for (at, recipient) in fate.recipients.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        let RecipientFate { party, inbox, .. } = recipient;
        out.push_str("{\"party\":");
        push_string(out, party.as_str());
        match inbox {
            Some(inbox) => write_fate(out, inbox, fate.entry.at),
            None => {
                let state = recipient.standing().as_str();
                let _ = write!(out, ",\"state\":\"{state}\",\"at\":\"{}\"", fate.entry.at);
            }
        }
        out.push('}');
    }
    out.push(']');
}

/// A list with one object for each place.
pub(crate) fn write_deliveries(out: &mut String, fate: &Fate) {
    out.push('[');
    let inboxes = fate.recipients.iter().filter_map(|one| one.inbox.as_ref());
    for (at, place) in inboxes.chain(&fate.others).enumerate() {
        if at > 0 {
            out.push(',');
        }
        out.push('{');
        write_name(out, place.name.as_ref());
        write_fate(out, place, fate.entry.at);
        out.push('}');
    }
    out.push(']');
}

/// The members that say where a message stands in a place.
fn write_fate(out: &mut String, fate: &PlaceFate, accepted_at: Timestamp) {
    let PlaceFate {
        place: _,
        name: _,
        standing,
        attempts,
        at,
        until,
        consumer,
        message,
        reason,
        failures,
    } = fate;
    let _ = write!(
        out,
        ",\"state\":\"{}\",\"attempts\":{attempts}",
        standing.as_str()
    );
    let at = at.or((*standing == Standing::Stored).then_some(accepted_at));
    let until_name = match standing {
        Standing::Delivered => "lease_until",
        Standing::Stored
        | Standing::Acked
        | Standing::Expired
        | Standing::Dead
        | Standing::Refused
        | Standing::Duplicate
        | Standing::Removed => "again_at",
    };
    for (name, moment) in [("at", at), (until_name, *until)] {
        if let Some(moment) = moment {
            let _ = write!(out, ",\"{name}\":\"{moment}\"");
        }
    }
    let reason = Some(reason).filter(|reason| !reason.is_empty());
    for (name, text) in [
        ("consumer", consumer.as_ref()),
        ("message", message.as_ref()),
        ("reason", reason),
    ] {
        if let Some(text) = text {
            let _ = write!(out, ",\"{name}\":");
            push_string(out, text);
        }
    }
    if !failures.is_empty() {
        out.push(',');
        write_failures(out, failures);
    }
}

/// `"failures":[{"attempt","at","why","error"}]`.
pub(crate) fn write_failures(out: &mut String, failures: &[AttemptView]) {
    out.push_str("\"failures\":[");
    for (at, failure) in failures.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        let AttemptView {
            attempt,
            at,
            why,
            error,
        } = failure;
        let _ = write!(
            out,
            "{{\"attempt\":{attempt},\"at\":\"{at}\",\"why\":\"{why}\",\"error\":"
        );
        push_string(out, error);
        out.push('}');
    }
    out.push(']');
}
