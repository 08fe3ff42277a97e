//! `/v1/subscriptions`: durable subscriptions by name.

use super::call::{Answer, Call, json};
use super::members::Members;
use axum::body::Body;
use axum::http::{Response, StatusCode};
use broker::SubscriptionView;
use protocol::json::{Limits, push_string, read};
use protocol::{Code, Fault, Filter, Party, Rejection};
use std::fmt::Write as _;

/// Longest name, in bytes.
const NAME_BYTES_MAX: usize = 128;

/// Bytes of a request to put a subscription.
const BODY_BYTES_MAX: usize = 256 << 10;

pub(crate) async fn list(call: Call) -> Answer {
    call.no_query()?;
    let views = call.peer.handle.subscriptions().await?;
    let mut out = String::from("{\"subscriptions\":[");
    for (at, view) in views.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write_view(&mut out, view);
    }
    out.push_str("]}");
    Ok(json(StatusCode::OK, out))
}

pub(crate) async fn show(call: Call) -> Answer {
    call.no_query()?;
    let views = call.peer.handle.subscriptions().await?;
    let name = call.param("name");
    match views.iter().find(|view| *view.name == *name) {
        Some(view) => Ok(answer(StatusCode::OK, view)),
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
    let (filter, deliver_to) = read_body(&body)?;
    let existed = handle
        .subscriptions()
        .await?
        .iter()
        .any(|view| *view.name == *name);
    let view = handle
        .put_subscription(&name, filter, deliver_to, None)
        .await?;
    Ok(answer(
        if existed {
            StatusCode::OK
        } else {
            StatusCode::CREATED
        },
        &view,
    ))
}

pub(crate) async fn remove(call: Call) -> Answer {
    call.no_query()?;
    call.door
        .handle
        .remove_subscription(call.param("name"))
        .await?;
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    Ok(response)
}

/// `{"filter":{...},"deliver_to":"agent:w"?}`; an empty body wants everything.
fn read_body(body: &[u8]) -> Result<(Filter, Option<Party>), Rejection> {
    if body.is_empty() {
        return Ok((Filter::default(), None));
    }
    let document = read(body, Limits::default())?;
    let mut members =
        Members::of(document.root(), Code::BadRequest).only(&["filter", "deliver_to"]);
    let deliver_to = members.text("deliver_to").map(|text| Party::parse(&text));
    let filter = members.get("filter");
    members.finish()?;
    let filter = match filter {
        Some(value) => Filter::from_json(value).map_err(|refused| below("/filter", &refused))?,
        None => Filter::default(),
    };
    Ok((filter, deliver_to))
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

fn answer(status: StatusCode, view: &SubscriptionView) -> Response<Body> {
    let mut out = String::new();
    write_view(&mut out, view);
    json(status, out)
}

fn write_view(out: &mut String, view: &SubscriptionView) {
    out.push_str("{\"name\":");
    push_string(out, &view.name);
    let _ = write!(out, ",\"filter\":{},\"deliver_to\":", view.filter.to_json());
    match &view.deliver_to {
        Some(party) => push_string(out, party.as_str()),
        None => out.push_str("null"),
    }
    let _ = write!(
        out,
        ",\"waiting\":{},\"leased\":{}}}",
        view.waiting, view.leased
    );
}

#[cfg(test)]
mod tests {
    use super::{check_name, read_body};

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
        let (filter, party) =
            read_body(br#"{"filter":{"type":"task.*"},"deliver_to":"agent.w"}"#).unwrap();
        assert_eq!(filter.to_json(), r#"{"type":["task.*"]}"#);
        assert_eq!(party.unwrap().as_str(), "agent:w");
        assert!(read_body(b"").unwrap().0.is_unconstrained());
        assert!(read_body(br#"{"filters":{}}"#).is_err());
        let refused = read_body(br#"{"filter":{"typ":"x"}}"#).unwrap_err();
        assert_eq!(refused.first().pointer, "/filter/typ");
    }
}
