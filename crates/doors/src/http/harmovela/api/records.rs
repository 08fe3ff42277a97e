//! `GET .../pending` and `GET .../dlq`: what is owed and what is dead, place by place.

use crate::http::call::{Answer, Call, typed};
use crate::http::dead_letters::place as place_of;
use crate::http::problem::bad_request;
use crate::http::query::Query;
use axum::http::{HeaderValue, StatusCode, header};
use broker::{AttemptView, DeadLetterView, DeliveryId, DeliveryState, Handle, OwedView, PlaceName};
use protocol::json::push_string;
use protocol::{Rejection, Timestamp};
use std::fmt::Write as _;

/// Records in one answer when the caller does not say.
const LIMIT_DEFAULT: u64 = 1_000;

/// What part of the records is asked for.
struct Wanted {
    place: Option<PlaceName>,
    after: Option<DeliveryId>,
    limit: usize,
}

impl Wanted {
    fn read(call: &Call) -> Result<Self, Rejection> {
        let mut query = call.query()?;
        let max = call.door.settings.page_max as u64;
        let limit = query.number("limit", LIMIT_DEFAULT.min(max), 1..=max)?;
        let after = after(&mut query)?;
        let place = place_of(&mut query)?;
        query.finish()?;
        Ok(Self {
            place,
            after,
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
        })
    }
}

fn after(query: &mut Query) -> Result<Option<DeliveryId>, Rejection> {
    let Some(text) = query.take("after")? else {
        return Ok(None);
    };
    let parsed = DeliveryId::parse(&text).ok_or_else(|| {
        let detail = format!("expected `after` to be the `next` of an answer, got {text:?}");
        bad_request("/after", detail)
    });
    parsed.map(Some)
}

/// `{"pending":n,"records":[...],"next":"..."}`: `pending` counts all there are, `next` goes on.
pub(crate) async fn pending(call: Call) -> Answer {
    let Wanted {
        place,
        after,
        limit,
    } = Wanted::read(&call)?;
    let handle = &call.peer.handle;
    let page = handle.owed(place.clone(), after, limit).await?;
    let total = total(handle, place, |owed, _| owed).await?;
    let mut out = format!("{{\"pending\":{total},\"records\":[");
    for (at, owed) in page.found.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write_owed(&mut out, handle, owed);
    }
    Ok(answer(out, page.next))
}

/// `{"deadLettered":n,"records":[...],"next":"..."}`.
pub(crate) async fn dead_letters(call: Call) -> Answer {
    let Wanted {
        place,
        after,
        limit,
    } = Wanted::read(&call)?;
    let handle = &call.peer.handle;
    let letters = handle.dead_letters(place.clone(), after, limit).await?;
    let total = total(handle, place, |_, dead| dead).await?;
    let mut out = format!("{{\"deadLettered\":{total},\"records\":[");
    for (at, letter) in letters.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write_letter(&mut out, handle, letter);
    }
    let next = letters.last().filter(|_| letters.len() == limit);
    Ok(answer(out, next.map(|letter| letter.id)))
}

/// How many deliveries a place, or all places, owe and have given up.
async fn total(
    handle: &Handle,
    place: Option<PlaceName>,
    of: fn(usize, usize) -> usize,
) -> Result<usize, Rejection> {
    Ok(match place {
        Some(place) => {
            let view = handle.place(place).await?;
            view.map_or(0, |view| of(view.waiting + view.leased, view.dead))
        }
        None => {
            let (counts, _) = handle.counts().await?;
            of(counts.waiting + counts.leased, counts.dead)
        }
    })
}

fn answer(mut out: String, next: Option<DeliveryId>) -> axum::http::Response<axum::body::Body> {
    match next {
        Some(next) => {
            let _ = write!(out, "],\"next\":\"{next}\"}}");
        }
        None => out.push_str("],\"next\":null}"),
    }
    let mut response = typed(StatusCode::OK, "application/json", out);
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn write_owed(out: &mut String, handle: &Handle, owed: &OwedView) {
    let (attempts, until) = match &owed.state {
        DeliveryState::Waiting { attempts } | DeliveryState::Dead { attempts, .. } => {
            (*attempts, None)
        }
        DeliveryState::Held { attempt, until, .. } => (*attempt, Some(*until)),
        DeliveryState::Resting { attempts, until } => (*attempts, Some(*until)),
    };
    write_head(out, handle, &owed.place, &owed.entry);
    let _ = write!(out, ",\"attempts\":{attempts}");
    write_moments(out, &owed.failures);
    write_moment(out, "nextRetryAt", until);
    let _ = write!(out, ",\"delivery\":\"{}\"}}", owed.id);
}

fn write_letter(out: &mut String, handle: &Handle, letter: &DeadLetterView) {
    write_head(out, handle, &letter.place, &letter.entry);
    let _ = write!(out, ",\"attempts\":{}", letter.attempts);
    write_moments(out, &letter.failures);
    write_moment(out, "nextRetryAt", None);
    write_moment(out, "deadLetteredAt", Some(letter.at));
    let code = letter
        .failures
        .last()
        .map_or("delivery_failed", |one| one.why);
    let _ = write!(
        out,
        ",\"reason\":{{\"error\":{{\"code\":\"{code}\",\"message\":"
    );
    push_string(out, &letter.reason);
    let _ = write!(
        out,
        ",\"retryable\":false}}}},\"delivery\":\"{}\"}}",
        letter.id
    );
}

/// `{"eventId",...,"cursor"`, to be followed by the rest. An inbox is named as in `place=` of
/// `/v1/dead-letters`.
fn write_head(out: &mut String, handle: &Handle, place: &PlaceName, entry: &broker::Entry) {
    out.push_str("{\"eventId\":");
    push_string(out, &entry.header.id);
    out.push_str(",\"source\":");
    push_string(out, entry.header.sender.as_str());
    out.push_str(",\"subscriptionId\":");
    match place {
        PlaceName::Subscription(name) => push_string(out, name),
        PlaceName::Inbox(party) => push_string(out, &format!("inbox/{}", party.as_str())),
    }
    let _ = write!(
        out,
        ",\"sequence\":{},\"cursor\":\"{}\"",
        entry.sequence,
        handle.cursor(entry)
    );
}

/// Moments of attempts are known of those that failed.
fn write_moments(out: &mut String, failures: &[AttemptView]) {
    write_moment(out, "firstAttemptAt", failures.first().map(|one| one.at));
    write_moment(out, "lastAttemptAt", failures.last().map(|one| one.at));
}

fn write_moment(out: &mut String, name: &str, moment: Option<Timestamp>) {
    let _ = match moment {
        Some(moment) => write!(out, ",\"{name}\":\"{moment}\""),
        None => write!(out, ",\"{name}\":null"),
    };
}
