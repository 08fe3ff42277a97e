//! `GET .../subscriptions/{id}/events`: what waits, at most 100 at a time.

use super::batches::{Desk, Due, OnTheWay, give_back};
use super::subscriptions::find;
use crate::http::call::{Answer, Call, typed};
use crate::http::inbox::Pull;
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, StatusCode, header};
use broker::{Delivery, DeliveryId, Handle, PlaceName, Settle};
use futures_util::stream;
use protocol::Rejection;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

/// Events in one answer.
const EVENTS_MAX: u64 = 100;

/// Bytes of one piece of the answer.
const PIECE_BYTES: usize = 64 << 10;

/// 200 `{"events":[...],"batch":"..."}`; `batch` is null when there are none.
///
/// It is done in a task of its own, so that a client who leaves half way leaves nothing half done.
pub(crate) async fn read(call: Call) -> Answer {
    call.door.refuse_late()?;
    let mut query = call.query()?;
    let max = query.number("max", EVENTS_MAX, 1..=EVENTS_MAX)?;
    let wait = query.number("wait_ms", 0, 0..=call.door.settings.pull_wait_ms_max)?;
    let ack = query.take("ack")?;
    query.finish()?;
    let id: Box<str> = call.param("id").into();
    let (door, peer) = (Arc::clone(&call.door), Arc::clone(&call.peer));
    let handle = peer.handle.clone();
    find(&handle, &id).await?;
    let desk = Arc::clone(&door.desk);
    let is_broken = Arc::clone(&peer.is_broken);
    let reading = async move {
        let due = desk.take_due(&id, ack.as_deref());
        settle(&desk, &handle, due).await?;
        let place = PlaceName::Subscription(id.clone());
        let pull = Pull {
            place,
            consumer: None,
            max: usize::try_from(max).unwrap_or(usize::MAX),
            wait: Duration::from_millis(wait),
        };
        let pulled = pull.run(&door, &handle).await?;
        let deliveries = pulled.iter().map(|delivery| delivery.id).collect();
        let way = OnTheWay::new(desk, handle, &id, deliveries, is_broken);
        Ok::<_, Rejection>((pulled, way))
    };
    let (pulled, way) = match tokio::spawn(reading).await {
        Ok(read) => read?,
        Err(_) => return Err(broker_gone()),
    };
    let body = write(&pulled, &way);
    let mut response = typed(StatusCode::OK, "application/json", pieces(body, way));
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// Acknowledges and gives back what is due. What is not settled comes again.
pub(super) async fn settle(desk: &Desk, handle: &Handle, due: Due) -> Result<(), Rejection> {
    let Due { done, again } = due;
    if !again.is_empty() {
        handle.give_back_unseen(again).await?;
    }
    acknowledge(desk, handle, done).await
}

/// Acknowledges; when the exchange takes no more writes, what was read comes again.
pub(super) async fn acknowledge(
    desk: &Desk,
    handle: &Handle,
    done: Vec<DeliveryId>,
) -> Result<(), Rejection> {
    if done.is_empty() {
        return Ok(());
    }
    let newest = done.iter().map(|id| id.sequence).max().unwrap_or_default();
    match handle.settle(done.clone(), Settle::Ack).await {
        Ok(results) => {
            for refused in results.into_iter().filter_map(Result::err) {
                // Its lease ran out, or somebody else settled it.
                tracing::debug!(%refused, "a read event was not acknowledged");
            }
            desk.acknowledged(newest);
            Ok(())
        }
        Err(refused) => {
            give_back(handle, done);
            Err(refused)
        }
    }
}

fn broker_gone() -> Rejection {
    use protocol::{Code, Fault};
    let detail = "expected the read to come to its end, got none";
    Fault::new(Code::StorageFailed, "", "ARCHITECTURE 4", detail).into()
}

fn write(pulled: &[Delivery], way: &OnTheWay) -> Bytes {
    let mut out = b"{\"events\":[".to_vec();
    for (at, delivery) in pulled.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(&delivery.entry.envelope);
    }
    out.extend_from_slice(b"],\"batch\":");
    if pulled.is_empty() {
        out.extend_from_slice(b"null}");
    } else {
        out.extend_from_slice(format!("\"{}\"}}", way.token()).as_bytes());
    }
    out.into()
}

/// The answer in pieces: the connection asks for the end after it took everything before it.
fn pieces(whole: Bytes, way: OnTheWay) -> Body {
    let body = stream::unfold((whole, Some(way)), |(mut rest, mut way)| async move {
        if rest.is_empty() {
            if let Some(way) = way.take() {
                way.given();
            }
            return None;
        }
        let piece = rest.split_to(rest.len().min(PIECE_BYTES));
        Some((Ok::<_, Infallible>(piece), (rest, way)))
    });
    Body::from_stream(body)
}
