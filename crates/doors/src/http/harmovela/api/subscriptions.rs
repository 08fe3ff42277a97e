//! `.../subscriptions`: durable subscriptions under the daemon's shapes.
//!
//! An id is `sub_` and a ULID, whose time is the subscription's `created_at`; it is the name of the
//! subscription on every other door. Only what has such a name is seen here: the subscriptions of
//! sessions, buses and other doors are their owners' affair.

use super::batches::HELD_MAX;
use super::filter;
use crate::http::call::{Answer, Call, json};
use crate::http::problem::bad_request;
use axum::http::StatusCode;
use broker::{DeliverySettings, Handle, Order, SubscriptionView};
use protocol::id::{IdForm, ulid_time};
use protocol::json::push_string;
use protocol::{Code, Fault, Rejection, Timestamp};

/// Bytes of a request to subscribe.
const BODY_BYTES_MAX: usize = 256 << 10;

/// Subscriptions in one answer when the caller does not say.
const LIMIT_DEFAULT: u64 = 1_000;

/// Milliseconds that read events stay with their reader: a day. A reader that polls seldom has not
/// failed.
const LEASE_MS: i64 = 86_400_000;

const PREFIX: &str = "sub_";

/// 201 `{"id","filter","created_at"}`.
pub(crate) async fn create(call: Call) -> Answer {
    call.no_query()?;
    let (door, peer) = (call.door.clone(), call.peer.clone());
    let wait = door.settings.body_wait();
    let body = crate::http::body::read_whole(call.body, BODY_BYTES_MAX, wait).await?;
    let filter = filter::read(&body)?;
    let handle = &peer.handle;
    let id = format!("{PREFIX}{}", door.desk.new_id(handle.now()));
    let settings = DeliverySettings {
        lease_ms: LEASE_MS,
        in_flight_max: HELD_MAX,
        // One reader, in the order of the journal.
        order: Order::None,
        ..handle.settings().exchange.delivery
    };
    let view = handle
        .put_subscription(&id, filter, None, Some(settings))
        .await?;
    let mut out = String::new();
    write(&mut out, &view);
    Ok(json(StatusCode::CREATED, out))
}

/// `{"subscriptions":[...],"next":"sub_..."}`, the oldest first; `next` is null at the end.
pub(crate) async fn list(call: Call) -> Answer {
    let mut query = call.query()?;
    let max = call.door.settings.page_max as u64;
    let limit = query.number("limit", LIMIT_DEFAULT.min(max), 1..=max)?;
    let after = query.take("after")?;
    query.finish()?;
    if let Some(id) = after.as_deref().filter(|id| !is_ours(id)) {
        let detail = format!("expected `after` to be the id of a subscription, got {id:?}");
        return Err(bad_request("/after", detail));
    }
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut after = after.unwrap_or_else(|| PREFIX.to_owned());
    let mut found: Vec<SubscriptionView> = Vec::new();
    let has_more = loop {
        let step = limit + 1;
        let views = call
            .peer
            .handle
            .subscriptions_after(&after, PREFIX, step)
            .await?;
        let is_last = views.len() < step;
        if let Some(last) = views.last() {
            after = last.name.to_string();
        }
        found.extend(views.into_iter().filter(|view| is_ours(&view.name)));
        if found.len() > limit {
            break true;
        }
        if is_last {
            break false;
        }
    };
    found.truncate(limit);
    let mut out = String::from("{\"subscriptions\":[");
    for (at, view) in found.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write(&mut out, view);
    }
    out.push_str("],\"next\":");
    match found.last().filter(|_| has_more) {
        Some(last) => push_string(&mut out, &last.name),
        None => out.push_str("null"),
    }
    out.push('}');
    Ok(json(StatusCode::OK, out))
}

pub(crate) async fn show(call: Call) -> Answer {
    call.no_query()?;
    let view = find(&call.peer.handle, call.param("id")).await?;
    let mut out = String::new();
    write(&mut out, &view);
    Ok(json(StatusCode::OK, out))
}

/// `{"deleted":true}`.
pub(crate) async fn remove(call: Call) -> Answer {
    call.no_query()?;
    let id = call.param("id");
    if !is_ours(id) {
        return Err(not_found(id));
    }
    match call.peer.handle.remove_subscription(id).await {
        Ok(()) => {
            call.door.desk.forget(id);
            Ok(json(StatusCode::OK, "{\"deleted\":true}".into()))
        }
        Err(refused) if refused.code() == Code::NotFound => Err(not_found(id)),
        Err(refused) => Err(refused),
    }
}

/// A subscription of this API.
pub(super) async fn find(handle: &Handle, id: &str) -> Result<SubscriptionView, Rejection> {
    if !is_ours(id) {
        return Err(not_found(id));
    }
    let view = handle.subscription(id).await?;
    view.ok_or_else(|| not_found(id))
}

fn is_ours(id: &str) -> bool {
    id.starts_with(PREFIX) && IdForm::of(id) == IdForm::PrefixedUlid
}

fn not_found(id: &str) -> Rejection {
    let id: String = id.chars().take(128).collect();
    let detail = format!("expected the id of a subscription, got {id:?}");
    Fault::new(Code::NotFound, "", "ARCHITECTURE subscriptions", detail).into()
}

fn write(out: &mut String, view: &SubscriptionView) {
    out.push_str("{\"id\":");
    push_string(out, &view.name);
    out.push_str(",\"filter\":");
    filter::write(out, &view.filter);
    let created = ulid_time(&view.name).unwrap_or(Timestamp::from_millis(0));
    out.push_str(&format!(",\"created_at\":\"{created}\"}}"));
}
