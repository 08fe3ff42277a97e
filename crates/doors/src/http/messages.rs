//! `/v1/messages`: publishing, reading one back, reading pages.

use super::body::{Media, read_whole};
use super::call::{Answer, Call, json, set_header, typed};
use super::cloudevents::{self, Many, Shape};
use super::problem::bad_request;
use super::stream::on_gap;
use super::{full, percent, publish_lines, rendering};
use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use broker::{From, OnGap, Receipt};
use protocol::Party;
use std::sync::Arc;

/// The cursor of the answered message.
const CURSOR: &str = "interwire-cursor";
/// The dialect of the answered message.
const DIALECT: &str = "interwire-dialect";
/// Where the next page begins.
pub(crate) const NEXT_CURSOR: &str = "interwire-next-cursor";
/// Whether the page ends at the newest message.
const CAUGHT_UP: &str = "interwire-caught-up";

/// What is missing before the page's first message, as JSON.
const GAP: &str = "interwire-gap";

/// Messages in a page when the caller does not say.
const PAGE_DEFAULT: u64 = 100;

/// Messages read at a time, so that large envelopes end the page before they fill the memory.
const PAGE_STEP: usize = 64;

pub(crate) async fn publish(call: Call) -> Answer {
    call.no_query()?;
    match Media::of(&call.parts.headers)? {
        Media::Json if cloudevents::is_binary(&call.parts.headers) => {
            cloudevents::publish_binary(call).await
        }
        Media::Json => publish_one(call).await,
        Media::Event => cloudevents::publish_structured(call).await,
        Media::Events => cloudevents::publish_batch(call).await,
        Media::Lines => {
            let answer = publish_lines::start(call.door, call.peer, call.request_id, call.body);
            let mut response = typed(StatusCode::OK, "application/x-ndjson", answer);
            response
                .headers_mut()
                .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            Ok(response)
        }
    }
}

async fn publish_one(call: Call) -> Answer {
    let (max, wait) = (
        call.door.envelope_bytes_max(),
        call.door.settings.body_wait(),
    );
    let envelope = read_whole(call.body, max, wait).await?;
    let receipt = call.peer.handle.accept(envelope).await?;
    Ok(accepted(&receipt))
}

/// The answer to a publish that was taken.
pub(crate) fn accepted(receipt: &Receipt) -> Response<Body> {
    let status = if receipt.duplicate {
        StatusCode::OK
    } else {
        StatusCode::CREATED
    };
    let mut response = json(status, receipt.to_json());
    set_header(&mut response, "location", &location(receipt));
    set_header(&mut response, CURSOR, &receipt.cursor.to_string());
    response
}

/// Names the sender too: ids belong to their sender.
fn location(receipt: &Receipt) -> String {
    let mut path = String::from("/v1/messages/");
    percent::encode(&mut path, &receipt.header.id);
    path.push_str("?sender=");
    percent::encode(&mut path, receipt.header.sender.as_str());
    path
}

pub(crate) async fn message(call: Call) -> Answer {
    let mut query = call.query()?;
    let sender = query.take("sender")?.map(|text| Party::parse(&text));
    let is_full = match query.take("view")?.as_deref() {
        None | Some("envelope") => false,
        Some("full") => true,
        Some(other) => {
            let detail = format!("expected `view` to be envelope or full, got {other:?}");
            return Err(bad_request("/view", detail));
        }
    };
    let shape = Shape::wanted(&mut query, &call.parts.headers)?;
    query.finish()?;
    if is_full && matches!(shape, Shape::In(_)) {
        let detail = "expected `as` without `view=full`, which shows what was sent";
        return Err(bad_request("/as", detail));
    }
    let handle = &call.peer.handle;
    let entry = handle.find(call.param("id"), sender).await?;
    let mut response = if is_full {
        let full = full::write(handle, &handle.fate(Arc::clone(&entry)).await?);
        typed(StatusCode::OK, "application/json", full)
    } else {
        cloudevents::answer(handle, &entry, shape)?
    };
    set_header(&mut response, CURSOR, &handle.cursor(&entry).to_string());
    let dialect = match shape {
        Shape::In(dialect) => dialect,
        Shape::Envelope | Shape::Structured(_) | Shape::Binary => entry.header.dialect,
    };
    set_header(&mut response, DIALECT, dialect.as_str());
    Ok(response)
}

pub(crate) async fn page(call: Call) -> Answer {
    let mut query = call.query()?;
    let from = query
        .take("from")?
        .map_or(From::Earliest, |text| From::parse(&text));
    let on_gap = on_gap(&mut query)?.unwrap_or(OnGap::Fail);
    let limit_max = call.door.settings.page_max as u64;
    let limit = query.number("limit", PAGE_DEFAULT.min(limit_max), 1..=limit_max)?;
    let form = Shape::of_many(&mut query, &call.parts.headers)?;
    let filter = query.filter()?;
    let handle = &call.peer.handle;
    let bytes_max = call.door.settings.reader_bytes_max;
    let mut room = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut lines = Vec::new();
    let step = room.min(PAGE_STEP);
    let mut page = handle.page_over(filter.clone(), from, step, on_gap).await?;
    let gap = page.gap;
    loop {
        room = room.saturating_sub(page.entries.len());
        for entry in &page.entries {
            match form {
                Many::Events(form) => {
                    lines.push(if lines.is_empty() { b'[' } else { b',' });
                    cloudevents::write(&mut lines, handle, entry, form);
                }
                Many::Envelopes(wanted) => {
                    let shown = entry.shown_in(wanted);
                    match shown.untranslated {
                        None => push_line(&mut lines, shown.envelope),
                        Some(fault) => {
                            push_line(&mut lines, &rendering::untranslated(fault, entry));
                        }
                    }
                }
            }
        }
        if room == 0 || page.is_last || lines.len() >= bytes_max {
            break;
        }
        let next = From::Cursor(page.next.to_string());
        let step = room.min(PAGE_STEP);
        let more = handle.page_over(filter.clone(), next, step, on_gap).await;
        match more {
            Ok(more) if more.gap.is_none() => page = more,
            // What is missing is told by the page that begins with it.
            Ok(_) | Err(_) => break,
        }
    }
    let media = match form {
        Many::Events(_) => {
            lines.extend_from_slice(if lines.is_empty() { b"[]" } else { b"]" });
            cloudevents::BATCH
        }
        Many::Envelopes(_) => "application/x-ndjson",
    };
    let mut response = typed(StatusCode::OK, media, lines);
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    set_header(&mut response, NEXT_CURSOR, &page.next.to_string());
    set_header(
        &mut response,
        CAUGHT_UP,
        if page.is_last { "true" } else { "false" },
    );
    if let Some(gap) = gap {
        set_header(&mut response, GAP, &gap.to_json());
    }
    Ok(response)
}

/// Appends an envelope as one line. Line breaks in JSON can only be insignificant space, so each
/// becomes one space; nothing else changes.
fn push_line(lines: &mut Vec<u8>, envelope: &[u8]) {
    let one_line = |byte: &u8| {
        if matches!(byte, b'\n' | b'\r') {
            b' '
        } else {
            *byte
        }
    };
    lines.extend(envelope.iter().map(one_line));
    lines.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::push_line;

    #[test]
    fn a_line_differs_from_the_envelope_only_in_its_line_breaks() {
        let mut lines = Vec::new();
        push_line(&mut lines, b"{\"a\":1.10,\r\n \"b\":\"\\n\"}");
        assert_eq!(lines, b"{\"a\":1.10,   \"b\":\"\\n\"}\n");
    }
}
