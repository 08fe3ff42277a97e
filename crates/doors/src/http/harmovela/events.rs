//! `GET /harmovela/events` and `/aep/events`: events as the AEP binding writes them (AEP 9.3).
//!
//! `id:` is the event's own id and `event:` its type. A reader comes back with either an event id or a
//! cursor in `Last-Event-ID`.

use crate::http::call::{Answer, Call};
use crate::http::stream;
use broker::{Entry, From, Handle, OnGap};
use bytes::Bytes;
use protocol::{Code, Rejection};

pub(crate) async fn stream(call: Call) -> Answer {
    call.door.refuse_late()?;
    let mut query = call.query()?;
    // Names the session; what its reader wants is said by the filter.
    let _ = query.take("session_id")?;
    let from = query.take("from")?.or(query.take("from_cursor")?);
    let follow = stream::follow(&mut query)?;
    let filter = query.filter()?;
    let handle = &call.peer.handle;
    let from = match stream::last_event_id(&call.parts.headers).or(from) {
        None => From::Latest,
        Some(text) => place_of(handle, &text, follow.on_gap).await?,
    };
    let tail = handle.follow(filter, &from, follow).await?;
    Ok(stream::answer(call, tail, stream::Form::Own(event)))
}

/// Where a reader goes on that saw this last: an event's id, or what `from` takes.
pub(super) async fn place_of(
    handle: &Handle,
    text: &str,
    on_gap: OnGap,
) -> Result<From, Rejection> {
    let From::Cursor(cursor) = From::parse(text) else {
        return Ok(From::parse(text));
    };
    match handle.position(&From::Cursor(cursor.clone()), on_gap).await {
        Err(refused) if refused.code() == Code::CursorUnknown => {
            match handle.find(text, None).await {
                Ok(entry) => Ok(From::Cursor(handle.cursor(&entry).to_string())),
                Err(not) if not.code() == Code::AmbiguousId => Err(not),
                Err(_) => Err(refused),
            }
        }
        Ok(_) | Err(_) => Ok(From::Cursor(cursor)),
    }
}

/// One event. What could break a line of the stream is never in an id or a type.
fn event(handle: &Handle, entry: &Entry) -> Bytes {
    let is_plain = |text: &str| !text.is_empty() && !text.chars().any(char::is_control);
    let header = &entry.header;
    let kind = if is_plain(&header.kind) {
        &*header.kind
    } else {
        "message"
    };
    if is_plain(&header.id) {
        stream::named(kind, &header.id, &entry.envelope)
    } else {
        stream::named(kind, &handle.cursor(entry).to_string(), &entry.envelope)
    }
}
