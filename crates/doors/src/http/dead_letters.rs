//! `/v1/dead-letters`: what nobody is given again by itself, until somebody looks.

use super::call::{Answer, Call, json, no_content, typed};
use super::places::write_name;
use super::problem::bad_request;
use super::query::Query;
use super::receipts::write_failures;
use axum::http::{HeaderValue, StatusCode, header};
use broker::{DeadLetterView, DeliveryId, Handle, PlaceName};
use protocol::json::push_string;
use protocol::{Code, Fault, Party, Rejection};
use std::fmt::Write as _;

/// Dead letters in an answer when the caller does not say.
const LIMIT_DEFAULT: u64 = 100;

/// Dead letters read at a time, so that large envelopes end the answer before they fill the memory.
const STEP: usize = 64;

pub(crate) async fn list(call: Call) -> Answer {
    let mut query = call.query()?;
    let place = place(&mut query)?;
    let limit_max = call.door.settings.page_max as u64;
    let limit = query.number("limit", LIMIT_DEFAULT.min(limit_max), 1..=limit_max)?;
    let after = query.take("after")?;
    query.finish()?;
    let mut after = match after {
        Some(text) => Some(DeliveryId::parse(&text).ok_or_else(|| {
            let detail =
                format!("expected `after` to be the delivery of a dead letter, got {text:?}");
            bad_request("/after", detail)
        })?),
        None => None,
    };
    let handle = &call.peer.handle;
    let bytes_max = call.door.settings.reader_bytes_max;
    let mut room = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut out = b"{\"dead_letters\":[".to_vec();
    let mut is_first = true;
    let has_more = loop {
        let step = room.min(STEP);
        let letters = handle.dead_letters(place.clone(), after, step).await?;
        let has_more = letters.len() == step;
        for letter in &letters {
            if !std::mem::take(&mut is_first) {
                out.push(b',');
            }
            write_letter(&mut out, handle, letter);
            after = Some(letter.id);
        }
        room -= letters.len();
        if !has_more || room == 0 || out.len() >= bytes_max {
            break has_more;
        }
    };
    out.extend_from_slice(b"],\"next\":");
    match after.filter(|_| has_more) {
        Some(after) => out.extend_from_slice(format!("\"{after}\"}}").as_bytes()),
        None => out.extend_from_slice(b"null}"),
    }
    let mut response = typed(StatusCode::OK, "application/json", out);
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

pub(crate) async fn show(call: Call) -> Answer {
    call.no_query()?;
    let handle = &call.peer.handle;
    let letter = handle.dead_letter(delivery(&call)?).await?;
    let mut out = Vec::new();
    write_letter(&mut out, handle, &letter);
    let mut response = typed(StatusCode::OK, "application/json", out);
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

pub(crate) async fn redrive(call: Call) -> Answer {
    call.no_query()?;
    let id = delivery(&call)?;
    call.peer.handle.redrive(id).await?;
    Ok(json(
        StatusCode::OK,
        format!("{{\"delivery\":\"{id}\",\"redriven\":true}}"),
    ))
}

pub(crate) async fn remove(call: Call) -> Answer {
    call.no_query()?;
    let id = delivery(&call)?;
    call.peer.handle.drop_dead_letter(id).await?;
    Ok(no_content())
}

fn delivery(call: &Call) -> Result<DeliveryId, Rejection> {
    let text = call.param("delivery");
    DeliveryId::parse(text).ok_or_else(|| {
        let detail = format!("expected the delivery of a dead letter, got {text:?}");
        Fault::new(Code::NotFound, "", "ARCHITECTURE dead letters", detail).into()
    })
}

/// The place that is asked for: `inbox=agent.b`, `subscription=audit`, or either as `place=inbox/agent.b`.
pub(crate) fn place(query: &mut Query) -> Result<Option<PlaceName>, Rejection> {
    let inbox = |text: &str| PlaceName::Inbox(Party::parse(text));
    let subscription = |text: &str| PlaceName::Subscription(text.into());
    let parse = |text: &str| match text.split_once('/') {
        Some(("inbox", party)) => Some(inbox(party)),
        Some(("subscription", name)) => Some(subscription(name)),
        Some(_) | None => None,
    };
    let wanted = [
        query.word("place", parse, "inbox/PARTY or subscription/NAME")?,
        query.take("inbox")?.map(|text| inbox(&text)),
        query.take("subscription")?.map(|text| subscription(&text)),
    ];
    let mut wanted = wanted.into_iter().flatten();
    let place = wanted.next();
    if wanted.next().is_some() {
        let detail =
            "expected one of `place`, `inbox` and `subscription` in the query, got several";
        return Err(bad_request("", detail));
    }
    Ok(place)
}

/// The envelope comes last, as it was sent.
fn write_letter(out: &mut Vec<u8>, handle: &Handle, letter: &DeadLetterView) {
    let DeadLetterView {
        id,
        place,
        at,
        reason,
        attempts,
        failures,
        entry,
    } = letter;
    let header = &entry.header;
    let mut head = String::with_capacity(512);
    let _ = write!(head, "{{\"delivery\":\"{id}\",");
    write_name(&mut head, Some(place));
    head.push_str(",\"reason\":");
    push_string(&mut head, reason);
    let _ = write!(head, ",\"attempts\":{attempts},\"at\":\"{at}\",");
    write_failures(&mut head, failures);
    head.push_str(",\"id\":");
    push_string(&mut head, &header.id);
    head.push_str(",\"sender\":");
    push_string(&mut head, header.sender.as_str());
    let _ = write!(
        head,
        ",\"dialect\":\"{}\",\"cursor\":\"{}\",\"accepted_at\":\"{}\",\"envelope\":",
        header.dialect.as_str(),
        handle.cursor(entry),
        entry.at
    );
    out.extend_from_slice(head.as_bytes());
    out.extend_from_slice(&entry.envelope);
    out.push(b'}');
}
