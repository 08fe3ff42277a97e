//! `POST /v1/ask`: publish a request and wait for its reply.
//!
//! The wait belongs to the task, not to the connection: who asks again with the same bytes, also after
//! a restart of the exchange, waits for the same reply.

use super::body::{Media, read_whole};
use super::call::{Answer, Call, set_header, typed};
use super::door::Door;
use super::task_stream;
use super::tasks::wants_events;
use axum::http::{HeaderValue, StatusCode, header};
use broker::{From, Receipt, TaskNews, TaskTail};
use protocol::{Code, Fault, Rejection};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Milliseconds to wait when the caller does not say.
const WAIT_DEFAULT_MS: u64 = 30_000;

pub(crate) async fn ask(call: Call) -> Answer {
    let settings = &call.door.settings;
    let max = settings.ask_wait_ms_max;
    let mut query = call.query()?;
    let timeout_ms = query.number("timeout_ms", WAIT_DEFAULT_MS.min(max), 1..=max)?;
    query.finish()?;
    Media::json(&call.parts.headers)?;
    let is_stream = wants_events(&call.parts.headers);
    let after = super::stream::last_event_id(&call.parts.headers).map(From::Cursor);
    let (bytes_max, wait) = (call.door.envelope_bytes_max(), settings.body_wait());
    let envelope = read_whole(call.body, bytes_max, wait).await?;
    let until = Instant::now() + Duration::from_millis(timeout_ms);
    let handle = call.peer.handle.clone();
    let (receipt, task) = handle.open_task(envelope).await?;
    let from = after.unwrap_or_else(|| From::Cursor(receipt.cursor.to_string()));
    let tail = handle.follow_task(&task, Some(&from)).await?;
    if is_stream {
        let (door, peer, request_id) = (call.door, call.peer, call.request_id);
        return task_stream::asked(door, peer, request_id, tail, receipt, until, timeout_ms).await;
    }
    reply(&call.door, tail, &receipt, until, timeout_ms).await
}

async fn reply(
    door: &Door,
    mut tail: TaskTail,
    receipt: &Receipt,
    until: Instant,
    timeout_ms: u64,
) -> Answer {
    loop {
        let news = tokio::select! {
            biased;
            news = timeout_at(until, tail.next()) => news,
            () = door.stop.draining() => return Err(draining()),
        };
        match news {
            Err(_) => return Err(no_reply(door, tail.id(), timeout_ms).await),
            Ok(Ok(TaskNews::Envelope(_) | TaskNews::Gap(_))) => {}
            Ok(Err(rejection)) => return Err(rejection),
            Ok(Ok(TaskNews::Ended { state, entry, .. })) => {
                let mut response =
                    typed(StatusCode::OK, "application/json", entry.envelope.clone());
                response
                    .headers_mut()
                    .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
                let cursor = door.handle.cursor(&entry).to_string();
                for (name, value) in [
                    ("interwire-cursor", cursor.as_str()),
                    ("interwire-dialect", entry.header.dialect.as_str()),
                    ("interwire-task", tail.id()),
                    ("interwire-task-state", state.as_str()),
                    ("interwire-request-cursor", &receipt.cursor.to_string()),
                ] {
                    set_header(&mut response, name, value);
                }
                return Ok(response);
            }
        }
    }
}

/// The wait is over and the task is not.
pub(crate) async fn no_reply(door: &Door, task: &str, timeout_ms: u64) -> Rejection {
    let state = match door.handle.task(task).await {
        Ok(history) => history.view.state,
        Err(rejection) => return rejection,
    };
    let detail = format!(
        "expected task {task:?} to end within {timeout_ms} ms, and it is {}; ask again with the same bytes",
        state.as_str()
    );
    Fault::new(Code::NoReply, "", "ARCHITECTURE tasks", detail).into()
}

fn draining() -> Rejection {
    let detail = "expected an exchange that waits for the reply, got one that is shutting down; \
                  ask again with the same bytes";
    Fault::new(Code::Draining, "", "ARCHITECTURE 4", detail).into()
}
