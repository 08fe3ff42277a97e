//! `/v1/tasks`: what was asked for, where it stands, calling it off.

use super::call::{Answer, Call, json};
use super::members::Members;
use super::problem::bad_request;
use super::query::Query;
use super::{task_json, task_stream};
use axum::http::{HeaderMap, StatusCode, header};
use protocol::json::{Limits, read};
use protocol::task::TaskFilter;
use protocol::{Code, Party, Rejection, TaskState};

/// Tasks in a list when the caller does not say.
const LIST_DEFAULT: u64 = 100;

/// Bytes of a request to cancel.
const BODY_BYTES_MAX: usize = 16 << 10;

pub(crate) async fn list(call: Call) -> Answer {
    let mut query = call.query()?;
    let max = call.door.settings.page_max as u64;
    let limit = query.number("limit", LIST_DEFAULT.min(max), 1..=max)?;
    let filter = TaskFilter {
        states: states(&mut query)?,
        conversation: query.take("conversation")?.map(Into::into),
        party: query.take("party")?.map(|text| Party::parse(&text)),
    };
    query.finish()?;
    let handle = &call.peer.handle;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut tasks = handle.tasks(filter, limit.saturating_add(1)).await?;
    let has_more = tasks.len() > limit;
    tasks.truncate(limit);
    Ok(json(
        StatusCode::OK,
        task_json::list(handle, &tasks, has_more),
    ))
}

/// One task: as JSON with its past, or as server-sent events until it ends.
pub(crate) async fn show(call: Call) -> Answer {
    call.no_query()?;
    let id = call.param("id").to_owned();
    if wants_events(&call.parts.headers) {
        return task_stream::follow(call, &id).await;
    }
    let history = call.peer.handle.task(&id).await?;
    let text = task_json::history(&call.peer.handle, &history);
    Ok(json(StatusCode::OK, text))
}

pub(crate) async fn cancel(call: Call) -> Answer {
    call.no_query()?;
    let handle = call.peer.handle.clone();
    let id = call.param("id").to_owned();
    let body = call.json(BODY_BYTES_MAX).await?;
    let (from, reason) = read_cancel(&body)?;
    let receipt = handle.cancel_task(&id, from, reason).await?;
    Ok(json(StatusCode::ACCEPTED, receipt.to_json()))
}

/// Nothing, or `{"reason"?, "as"?}`.
fn read_cancel(body: &[u8]) -> Result<(Option<Party>, Option<String>), Rejection> {
    if body.trim_ascii().is_empty() {
        return Ok((None, None));
    }
    let document = read(body, Limits::default())?;
    let mut members = Members::of(document.root(), Code::BadRequest).only(&["reason", "as"]);
    let reason = members.text("reason").map(Into::into);
    let party = members.text("as").map(|text| Party::parse(&text));
    members.finish()?;
    Ok((party, reason))
}

/// `state=`, repeated: the state's own words, `open` for all that may go on, `ended` for the rest.
fn states(query: &mut Query) -> Result<Vec<TaskState>, Rejection> {
    let mut states = Vec::new();
    for word in query.take_all("state") {
        let of = |is_ended: bool| {
            let all = TaskState::ALL.into_iter();
            all.filter(move |state| state.is_terminal() == is_ended)
        };
        match (word.as_str(), TaskState::parse(&word)) {
            ("open", _) => states.extend(of(false)),
            ("ended", _) => states.extend(of(true)),
            (_, Some(state)) => states.push(state),
            (_, None) => {
                let words: Vec<_> = TaskState::ALL.into_iter().map(TaskState::as_str).collect();
                let detail = format!(
                    "expected `state` to be open, ended, {}, got {word:?}",
                    words.join(", ")
                );
                return Err(bad_request("/state", detail));
            }
        }
    }
    Ok(states)
}

/// Whether the caller would rather have events than one JSON text.
pub(crate) fn wants_events(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(','))
        .any(|part| {
            let mut parts = part.split(';').map(str::trim);
            parts.next() == Some("text/event-stream") && !parts.any(|part| part == "q=0")
        })
}
