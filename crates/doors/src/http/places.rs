//! What an inbox or a durable subscription is as a place: its settings, what it holds, whether it hands
//! out.

use super::call::{Answer, Call, json};
use super::delivery_settings;
use super::members::Members;
use super::problem::bad_request;
use axum::http::StatusCode;
use broker::{Handle, PlaceName, PlaceView};
use protocol::json::{Limits, push_string, read};
use protocol::{Code, Party, Rejection};
use std::fmt::Write as _;

/// Bytes of a request to configure a place.
const BODY_BYTES_MAX: usize = 64 << 10;

/// Gives an inbox settings of its own: `{"delivery":{...}}`.
pub(crate) async fn put_inbox(call: Call) -> Answer {
    call.no_query()?;
    let handle = call.peer.handle.clone();
    let place = inbox(&call);
    let defaults = handle.settings().exchange.delivery;
    let body = call.json(BODY_BYTES_MAX).await?;
    let settings = {
        let document = read(&body, Limits::default())?;
        let members = Members::of(document.root(), Code::BadRequest).only(&["delivery"]);
        let delivery = members.get("delivery");
        members.finish()?;
        let delivery = delivery
            .ok_or_else(|| bad_request("/delivery", "expected `delivery` to be present"))?;
        delivery_settings::read(delivery, defaults)?
    };
    handle.configure(place.clone(), settings).await?;
    show(&handle, place).await
}

pub(crate) async fn pause_inbox(call: Call) -> Answer {
    let place = inbox(&call);
    pause(call, place, true).await
}

pub(crate) async fn resume_inbox(call: Call) -> Answer {
    let place = inbox(&call);
    pause(call, place, false).await
}

pub(crate) async fn pause_subscription(call: Call) -> Answer {
    let place = PlaceName::Subscription(call.param("name").into());
    pause(call, place, true).await
}

pub(crate) async fn resume_subscription(call: Call) -> Answer {
    let place = PlaceName::Subscription(call.param("name").into());
    pause(call, place, false).await
}

async fn pause(call: Call, place: PlaceName, is_paused: bool) -> Answer {
    call.no_query()?;
    let handle = call.peer.handle.clone();
    handle.pause(place.clone(), is_paused).await?;
    show(&handle, place).await
}

/// The place as it stands. An inbox that nobody has written to is empty, and delivers as all do.
pub(crate) async fn show(handle: &Handle, place: PlaceName) -> Answer {
    Ok(json(StatusCode::OK, text(handle, place).await?))
}

/// The place as a JSON object.
pub(crate) async fn text(handle: &Handle, place: PlaceName) -> Result<String, Rejection> {
    let view = handle.place(place.clone()).await?;
    let mut out = String::from("{");
    write_name(&mut out, Some(&place));
    match view {
        Some(view) => {
            let PlaceView {
                id: _,
                name: _,
                waiting,
                leased,
                dead,
                settings,
                is_paused,
            } = view;
            write_counts(&mut out, waiting, leased, dead, is_paused);
            delivery_settings::write(&mut out, &settings);
        }
        None => {
            write_counts(&mut out, 0, 0, 0, false);
            delivery_settings::write(&mut out, &handle.settings().exchange.delivery);
        }
    }
    out.push('}');
    Ok(out)
}

/// `,"waiting":...,"delivery":`, to be followed by the settings.
pub(crate) fn write_counts(
    out: &mut String,
    waiting: usize,
    leased: usize,
    dead: usize,
    is_paused: bool,
) {
    let _ = write!(
        out,
        ",\"waiting\":{waiting},\"leased\":{leased},\"dead\":{dead},\"paused\":{is_paused},\"delivery\":"
    );
}

/// `"inbox":"..."` or `"subscription":"..."`; null for one that is gone.
pub(crate) fn write_name(out: &mut String, place: Option<&PlaceName>) {
    match place {
        Some(PlaceName::Inbox(party)) => {
            out.push_str("\"inbox\":");
            push_string(out, party.as_str());
        }
        Some(PlaceName::Subscription(name)) => {
            out.push_str("\"subscription\":");
            push_string(out, name);
        }
        None => out.push_str("\"subscription\":null"),
    }
}

fn inbox(call: &Call) -> PlaceName {
    PlaceName::Inbox(Party::parse(call.param("party")))
}
