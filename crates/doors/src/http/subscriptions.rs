//! `/v1/subscriptions`: durable subscriptions by name.

use super::call::{Answer, Call, json, no_content};
use super::members::Members;
use super::{delivery_settings, places};
use axum::body::Body;
use axum::http::{Response, StatusCode};
use broker::{DeliverySettings, Handle, SubscriptionView};
use protocol::json::{Limits, push_string, read};
use protocol::{Code, Fault, Filter, Party, Rejection};
use std::fmt::Write as _;

/// Longest name, in bytes.
const NAME_BYTES_MAX: usize = 128;

/// Bytes of a request to put a subscription.
const BODY_BYTES_MAX: usize = 256 << 10;

pub(crate) async fn list(call: Call) -> Answer {
    call.no_query()?;
    let text = list_text(&call.peer.handle).await?;
    Ok(json(StatusCode::OK, text))
}

/// `{"subscriptions":[...]}`.
pub(crate) async fn list_text(handle: &Handle) -> Result<String, Rejection> {
    let views = handle.subscriptions().await?;
    let defaults = handle.settings().exchange.delivery;
    let mut out = String::from("{\"subscriptions\":[");
    for (at, view) in views.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write_view(&mut out, view, defaults);
    }
    out.push_str("]}");
    Ok(out)
}

pub(crate) async fn show(call: Call) -> Answer {
    call.no_query()?;
    let handle = &call.peer.handle;
    let views = handle.subscriptions().await?;
    let name = call.param("name");
    match views.iter().find(|view| *view.name == *name) {
        Some(view) => Ok(answer(StatusCode::OK, view, handle)),
        None => Err(Fault::new(
            Code::NotFound,
            "",
            "ARCHITECTURE subscriptions",
            format!("expected the name of a durable subscription, got {name:?}"),
        )
        .into()),
    }
}

pub(crate) async fn put(call: Call) -> Answer {
    call.no_query()?;
    let handle = call.peer.handle.clone();
    let name = call.param("name").to_owned();
    check_name(&name)?;
    let body = call.json(BODY_BYTES_MAX).await?;
    let Wanted {
        filter,
        deliver_to,
        delivery,
    } = read_body(&body, handle.settings().exchange.delivery)?;
    let existed = handle
        .subscriptions()
        .await?
        .iter()
        .any(|view| *view.name == *name);
    let view = handle
        .put_subscription(&name, filter, deliver_to, delivery)
        .await?;
    let status = if existed {
        StatusCode::OK
    } else {
        StatusCode::CREATED
    };
    Ok(answer(status, &view, &handle))
}

pub(crate) async fn remove(call: Call) -> Answer {
    call.no_query()?;
    let name = call.param("name");
    call.peer.handle.remove_subscription(name).await?;
    Ok(no_content())
}

/// What a subscription is to be.
struct Wanted {
    filter: Filter,
    deliver_to: Option<Party>,
    /// Absent settings stay what they are.
    delivery: Option<DeliverySettings>,
}

/// `{"filter":{...},"deliver_to":"agent:w"?,"delivery":{...}?}`; an empty body wants everything.
fn read_body(body: &[u8], defaults: DeliverySettings) -> Result<Wanted, Rejection> {
    if body.is_empty() {
        return Ok(Wanted {
            filter: Filter::default(),
            deliver_to: None,
            delivery: None,
        });
    }
    let document = read(body, Limits::default())?;
    let mut members =
        Members::of(document.root(), Code::BadRequest).only(&["filter", "deliver_to", "delivery"]);
    let deliver_to = members.text("deliver_to").map(|text| Party::parse(&text));
    let (filter, delivery) = (members.get("filter"), members.get("delivery"));
    members.finish()?;
    Ok(Wanted {
        filter: match filter {
            Some(value) => {
                Filter::from_json(value).map_err(|refused| below("/filter", &refused))?
            }
            None => Filter::default(),
        },
        deliver_to,
        delivery: match delivery {
            Some(object) => Some(delivery_settings::read(object, defaults)?),
            None => None,
        },
    })
}

/// The same refusal with its pointers below `prefix`.
pub(crate) fn below(prefix: &str, refused: &Rejection) -> Rejection {
    let moved = |fault: &Fault| Fault {
        pointer: format!("{prefix}{}", fault.pointer),
        ..fault.clone()
    };
    let faults = refused.all().map(moved).collect();
    Rejection::from_faults(faults).unwrap_or_else(|| refused.clone())
}

fn check_name(name: &str) -> Result<(), Rejection> {
    let is_good = (1..=NAME_BYTES_MAX).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte));
    if is_good {
        return Ok(());
    }
    let detail = format!(
        "expected a name of 1 to {NAME_BYTES_MAX} letters, digits, `.`, `_`, `:` or `-`, got {name:?}"
    );
    Err(Fault::new(
        Code::PatternMismatch,
        "",
        "ARCHITECTURE subscriptions",
        detail,
    )
    .into())
}

fn answer(status: StatusCode, view: &SubscriptionView, handle: &Handle) -> Response<Body> {
    let mut out = String::new();
    write_view(&mut out, view, handle.settings().exchange.delivery);
    json(status, out)
}

fn write_view(out: &mut String, view: &SubscriptionView, defaults: DeliverySettings) {
    let SubscriptionView {
        id: _,
        name,
        filter,
        deliver_to,
        waiting,
        leased,
        dead,
        settings,
        is_paused,
    } = view;
    out.push_str("{\"name\":");
    push_string(out, name);
    let _ = write!(out, ",\"filter\":{},\"deliver_to\":", filter.to_json());
    match deliver_to {
        Some(party) => push_string(out, party.as_str()),
        None => out.push_str("null"),
    }
    places::write_counts(out, *waiting, *leased, *dead, *is_paused);
    delivery_settings::write(out, &settings.unwrap_or(defaults));
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::{check_name, read_body};
    use broker::DeliverySettings;

    #[test]
    fn names_are_short_and_plain() {
        for good in ["a", "agent:w", "ops.backup_2-x", &"n".repeat(128)] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in ["", "a b", "a/b", "\u{e9}", &"n".repeat(129)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn bodies_are_read_strictly() {
        let read = |body: &str| read_body(body.as_bytes(), DeliverySettings::default());
        let wanted = read(r#"{"filter":{"type":"task.*"},"deliver_to":"agent.w"}"#).unwrap();
        assert_eq!(wanted.filter.to_json(), r#"{"type":["task.*"]}"#);
        assert_eq!(wanted.deliver_to.unwrap().as_str(), "agent:w");
        assert!(wanted.delivery.is_none());
        let wanted = read(r#"{"delivery":{"lease_ms":5}}"#).unwrap();
        assert_eq!(wanted.delivery.unwrap().lease_ms, 5);
        assert!(read("").unwrap().filter.is_unconstrained());
        let pointer = |body| read(body).err().unwrap().first().pointer.clone();
        assert_eq!(pointer(r#"{"filters":{}}"#), "/filters");
        assert_eq!(pointer(r#"{"filter":{"typ":"x"}}"#), "/filter/typ");
        assert_eq!(pointer(r#"{"delivery":[]}"#), "/delivery");
    }
}
