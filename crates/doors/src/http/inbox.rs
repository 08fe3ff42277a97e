//! Pulling deliveries: from a party's inbox or from a durable subscription.

use super::call::{Answer, Call, typed};
use super::cloudevents::{self, Many, Shape};
use super::deliveries::write_list;
use super::door::Door;
use super::problem::bad_request;
use super::query::Query;
use super::{carriage, consumers, places};
use axum::http::{HeaderValue, StatusCode, header};
use broker::{Consumer, Delivery, Handle, PlaceName, Portion};
use protocol::{Party, Rejection};
use std::time::Duration;

/// Deliveries in one pull when the caller does not say.
pub(crate) const PULL_DEFAULT: u64 = 16;

pub(crate) async fn inbox(call: Call) -> Answer {
    let place = PlaceName::Inbox(Party::parse(call.param("party")));
    let mut query = call.query()?;
    let parse = |text: &str| match text {
        "deliveries" => Some(false),
        "place" => Some(true),
        _ => None,
    };
    match query.word("view", parse, "deliveries or place")? {
        Some(true) => {
            query.finish()?;
            let handle = call.peer.handle.clone();
            places::show(&handle, place).await
        }
        Some(false) | None => answer(call, query, place).await,
    }
}

pub(crate) async fn subscription(call: Call) -> Answer {
    let place = PlaceName::Subscription(call.param("name").into());
    let query = call.query()?;
    answer(call, query, place).await
}

async fn answer(call: Call, mut query: Query, place: PlaceName) -> Answer {
    let settings = &call.door.settings;
    let max = settings.page_max as u64;
    let most = query.number("max", PULL_DEFAULT.min(max), 1..=max)?;
    let wait = query.number("wait_ms", 0, 0..=settings.pull_wait_ms_max)?;
    let consumer = consumers::from_query(&mut query)?;
    let form = Shape::of_many(&mut query, &call.parts.headers)?;
    let party = match &place {
        PlaceName::Inbox(party) => Some(party.clone()),
        PlaceName::Subscription(_) => None,
    };
    let carriage = match &party {
        Some(party) => carriage::take(&mut query, &call.peer.handle, party).await?,
        None => None,
    };
    query.finish()?;
    if carriage.is_some() && matches!(form, Many::Events(_)) {
        let detail = "expected `carriage` with envelopes, got it with CloudEvents";
        return Err(bad_request("/carriage", detail));
    }
    let pull = Pull {
        place,
        consumer,
        max: usize::try_from(most).unwrap_or(usize::MAX),
        wait: Duration::from_millis(wait),
    };
    let (door, peer) = (call.door, call.peer);
    let pulled = pull.run(&door, &peer.handle).await?;
    let mut response = match form {
        Many::Events(form) => {
            let events = cloudevents::deliveries(&door.handle, &pulled, form);
            typed(StatusCode::OK, cloudevents::BATCH, events)
        }
        Many::Envelopes(wanted) => {
            let mut out = b"{\"deliveries\":".to_vec();
            match (carriage, &party) {
                (Some(carriage), Some(party)) => {
                    carriage::write_list(&mut out, &door.handle, &pulled, wanted, carriage, party);
                }
                _ => write_list(&mut out, &door.handle, &pulled, wanted),
            }
            out.push(b'}');
            typed(StatusCode::OK, "application/json", out)
        }
    };
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// What is pulled, by whom.
#[derive(Debug)]
pub(crate) struct Pull {
    pub place: PlaceName,
    pub consumer: Consumer,
    pub max: usize,
    pub wait: Duration,
}

impl Pull {
    /// Up to `max` deliveries, about as many bytes as one answer may have. Waits for the first only,
    /// and not beyond the beginning of a drain.
    pub(crate) async fn run(
        self,
        door: &Door,
        handle: &Handle,
    ) -> Result<Vec<Delivery>, Rejection> {
        let Self {
            place,
            consumer,
            max,
            wait,
        } = self;
        let portion = Portion {
            bytes_max: door.settings.reader_bytes_max,
            ..Portion::of(max)
        };
        let wait = if door.stop.is_draining() {
            Duration::ZERO
        } else {
            wait
        };
        tokio::select! {
            biased;
            pulled = handle.pull_within(place, consumer, portion, wait) => pulled,
            // Deliveries on their way to a pull that was given up return to the place.
            () = door.stop.draining(), if !wait.is_zero() => Ok(Vec::new()),
        }
    }
}
