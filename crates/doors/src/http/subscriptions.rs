//! `/v1/subscriptions`: durable subscriptions by name.

use super::call::{Answer, Call, json, no_content};
use super::members::Members;
use super::{delivery_settings, places};
use crate::webhook::{Networks, check_secret, check_url, new_secret};
use axum::body::Body;
use axum::http::{Response, StatusCode};
use broker::{DeliverySettings, Handle, Push, SubscriptionView};
use protocol::json::{Limits, Value, push_string, read};
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
    let networks = call.door.settings.webhooks.networks.clone();
    let name = call.param("name").to_owned();
    check_name(&name)?;
    let body = call.json(BODY_BYTES_MAX).await?;
    let Wanted {
        filter,
        deliver_to,
        delivery,
        push,
    } = read_body(&body, handle.settings().exchange.delivery)?;
    let views = handle.subscriptions().await?;
    let existing = views.into_iter().find(|view| *view.name == *name);
    let status = match &existing {
        Some(_) => StatusCode::OK,
        None => StatusCode::CREATED,
    };
    let (push, new_secret) = match push {
        None => (None, None),
        Some(None) => (Some(None), None),
        Some(Some(wanted)) => {
            let kept = existing.and_then(|view| view.push);
            let (push, new_secret) = settle_push(wanted, kept, &networks).await?;
            (Some(Some(push)), new_secret)
        }
    };
    let view = handle
        .put_pushed(&name, filter, deliver_to, delivery, push)
        .await?;
    let mut out = String::new();
    let defaults = handle.settings().exchange.delivery;
    write_view_with(&mut out, &view, defaults, new_secret.as_deref());
    Ok(json(status, out))
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
    /// Absent: as it is; null: none any more.
    push: Option<Option<WantedPush>>,
}

/// Where deliveries are to be pushed.
struct WantedPush {
    url: String,
    secret: Option<String>,
}

/// Checks the address, and finds the secret: the given one, else the one it has, else a new one,
/// which is the second of the pair.
async fn settle_push(
    wanted: WantedPush,
    kept: Option<Push>,
    networks: &Networks,
) -> Result<(Push, Option<String>), Rejection> {
    check_url(&wanted.url, networks)
        .await
        .map_err(|detail| webhook_fault("/push/url", detail))?;
    let url = wanted.url.into();
    if let Some(secret) = wanted.secret {
        check_secret(&secret).map_err(|error| webhook_fault("/push/secret", error.to_string()))?;
        let secret = secret.into();
        return Ok((Push { url, secret }, None));
    }
    if let Some(kept) = kept {
        let secret = kept.secret;
        return Ok((Push { url, secret }, None));
    }
    let detail = "expected `secret`: the system has no randomness to make one";
    let new = new_secret().ok_or_else(|| webhook_fault("/push/secret", detail.into()))?;
    let secret = new.as_str().into();
    Ok((Push { url, secret }, Some(new)))
}

fn webhook_fault(pointer: &str, detail: String) -> Rejection {
    Fault::new(Code::BadRequest, pointer, "WEBHOOKS", detail).into()
}

/// `{"filter":{...},"deliver_to":"agent:w"?,"delivery":{...}?}`; an empty body wants everything.
fn read_body(body: &[u8], defaults: DeliverySettings) -> Result<Wanted, Rejection> {
    if body.is_empty() {
        return Ok(Wanted {
            filter: Filter::default(),
            deliver_to: None,
            delivery: None,
            push: None,
        });
    }
    let document = read(body, Limits::default())?;
    let mut members = Members::of(document.root(), Code::BadRequest).only(&[
        "filter",
        "deliver_to",
        "delivery",
        "push",
    ]);
    let deliver_to = members.text("deliver_to").map(|text| Party::parse(&text));
    let (filter, delivery) = (members.get("filter"), members.get("delivery"));
    members.finish()?;
    let push = match document.root().get("push") {
        None => None,
        Some(value) if value.is_null() => Some(None),
        Some(value) => Some(Some(
            read_push(value).map_err(|refused| below("/push", &refused))?,
        )),
    };
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
        push,
    })
}

/// `{"url":"https://...","secret":"whsec_..."?}`.
fn read_push(value: Value<'_>) -> Result<WantedPush, Rejection> {
    let mut members = Members::of(value, Code::BadRequest).only(&["url", "secret"]);
    let (url, secret) = (members.text("url"), members.text("secret"));
    if members.get("url").is_none() {
        members.refuse("url", "expected `url` to be present".into());
    }
    members.finish()?;
    Ok(WantedPush {
        url: url.unwrap_or_default().into_owned(),
        secret: secret.map(std::borrow::Cow::into_owned),
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
    write_view_with(out, view, defaults, None);
}

/// As [`write_view`], with a secret that was just made: it is shown this once.
fn write_view_with(
    out: &mut String,
    view: &SubscriptionView,
    defaults: DeliverySettings,
    new_secret: Option<&str>,
) {
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
        push,
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
    out.push_str(",\"push\":");
    match push {
        Some(push) => {
            out.push_str("{\"url\":");
            push_string(out, &push.url);
            if let Some(secret) = new_secret {
                out.push_str(",\"secret\":");
                push_string(out, secret);
            }
            out.push('}');
        }
        None => out.push_str("null"),
    }
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
        assert!(read("{}").unwrap().push.is_none());
        assert!(read(r#"{"push":null}"#).unwrap().push.unwrap().is_none());
        assert_eq!(pointer(r#"{"push":{}}"#), "/push/url");
        assert_eq!(pointer(r#"{"push":{"url":"x","key":1}}"#), "/push/key");
    }
}
