//! Pulling deliveries: from a party's inbox or from a durable subscription.

use super::call::{Answer, Call, typed};
use super::deliveries::write_list;
use super::door::Door;
use axum::http::{HeaderValue, StatusCode, header};
use broker::{Delivery, Handle, PlaceName};
use protocol::{Party, Rejection};
use std::time::Duration;

/// Deliveries in one pull when the caller does not say.
pub(crate) const PULL_DEFAULT: u64 = 16;

/// Deliveries taken from the exchange at a time, so that large envelopes cannot add up unseen.
const PULL_STEP: usize = 16;

pub(crate) async fn inbox(call: Call) -> Answer {
    let place = PlaceName::Inbox(Party::parse(call.param("party")));
    answer(call, place).await
}

pub(crate) async fn subscription(call: Call) -> Answer {
    let place = PlaceName::Subscription(call.param("name").into());
    answer(call, place).await
}

async fn answer(call: Call, place: PlaceName) -> Answer {
    let settings = &call.door.settings;
    let max = settings.page_max as u64;
    let mut query = call.query()?;
    let wanted = query.number("max", PULL_DEFAULT.min(max), 1..=max)?;
    let wait = query.number("wait_ms", 0, 0..=settings.pull_wait_ms_max)?;
    query.finish()?;
    let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
    let pulled = pull(
        &call.door,
        &call.peer.handle,
        place,
        wanted,
        Duration::from_millis(wait),
    )
    .await?;
    let mut out = b"{\"deliveries\":".to_vec();
    write_list(&mut out, &call.door.handle, &pulled);
    out.push(b'}');
    let mut response = typed(StatusCode::OK, "application/json", out);
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// Up to `max` deliveries, about as many bytes as one answer may have. Waits for the first only, and
/// not beyond the beginning of a drain.
pub(crate) async fn pull(
    door: &Door,
    handle: &Handle,
    place: PlaceName,
    max: usize,
    wait: Duration,
) -> Result<Vec<Delivery>, Rejection> {
    let first = max.min(PULL_STEP);
    let wait = if door.stop.is_draining() {
        Duration::ZERO
    } else {
        wait
    };
    let mut pulled = tokio::select! {
        biased;
        pulled = handle.pull(place.clone(), None, first, wait) => pulled?,
        // Deliveries on their way to a pull that was given up return to the place.
        () = door.stop.draining(), if !wait.is_zero() => return Ok(Vec::new()),
    };
    let mut step = pulled.len();
    while step == PULL_STEP && pulled.len() < max && bytes(&pulled) < door.settings.reader_bytes_max
    {
        let next = handle.pull(
            place.clone(),
            None,
            PULL_STEP.min(max - pulled.len()),
            Duration::ZERO,
        );
        let next = next.await?;
        step = next.len();
        pulled.extend(next);
    }
    Ok(pulled)
}

fn bytes(deliveries: &[Delivery]) -> usize {
    deliveries
        .iter()
        .map(|delivery| delivery.entry.envelope.len())
        .sum()
}
