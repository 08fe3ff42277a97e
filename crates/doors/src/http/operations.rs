//! What operators and load balancers ask: alive, ready, metrics, and a page for people.

use super::call::{Answer, Call, json, typed};
use axum::http::{HeaderValue, StatusCode, header};
use prometheus_client::encoding::text::encode;
use protocol::{Code, Fault};
use std::fmt::Write as _;

const METRICS_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub(crate) async fn healthz(call: Call) -> Answer {
    call.no_query()?;
    Ok(json(StatusCode::OK, "{\"status\":\"alive\"}".into()))
}

pub(crate) async fn readyz(call: Call) -> Answer {
    call.no_query()?;
    call.door.readiness()?;
    Ok(json(StatusCode::OK, "{\"status\":\"ready\"}".into()))
}

pub(crate) async fn metrics(call: Call) -> Answer {
    call.no_query()?;
    let mut text = String::new();
    encode(&mut text, &call.door.registry).map_err(|_| {
        Fault::new(
            Code::InternalError,
            "",
            "OPENAPI",
            "the metrics cannot be written",
        )
    })?;
    Ok(typed(StatusCode::OK, METRICS_TYPE, text))
}

pub(crate) async fn index(call: Call) -> Answer {
    call.no_query()?;
    let handle = &call.door.handle;
    let (counts, _) = handle.counts().await?;
    let state = match call.door.readiness() {
        Ok(()) => "ready".to_owned(),
        Err(rejection) => rejection.code().to_string(),
    };
    let facts = [
        ("state", state),
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("head cursor", handle.head().to_string()),
        ("inboxes", counts.inboxes.to_string()),
        ("durable subscriptions", counts.subscriptions.to_string()),
        ("live filters", counts.channels.to_string()),
        ("open tasks", counts.tasks_open.to_string()),
        ("waiting deliveries", counts.waiting.to_string()),
        ("leased deliveries", counts.leased.to_string()),
    ];
    let mut html = String::from(HEAD);
    for (name, value) in facts {
        let _ = write!(html, "<tr><th>{name}</th><td>{value}</td></tr>");
    }
    html.push_str(TAIL);
    let mut response = typed(StatusCode::OK, "text/html; charset=utf-8", html);
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

const HEAD: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
<meta name=\"viewport\" content=\"width=device-width\"><title>Interwire</title>\
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem}\
th{text-align:left;font-weight:400;padding-right:2rem;opacity:.7}code{font-size:.9em}</style>\
<h1>Interwire</h1><p>A message exchange for agents that speak AEE, AEP or UAI-1.</p><table>";

const TAIL: &str = "</table><h2>Read</h2><ul>\
<li><a href=\"/v1/messages?limit=100\">/v1/messages</a>: the journal, as lines</li>\
<li><a href=\"/v1/stream?from=earliest\">/v1/stream</a>: the journal, live</li>\
<li><a href=\"/v1/tasks\">/v1/tasks</a>: what was asked for and where it stands</li>\
<li><a href=\"/v1/subscriptions\">/v1/subscriptions</a>: durable subscriptions</li>\
<li><a href=\"/v1/openapi.json\">/v1/openapi.json</a>: every route</li>\
<li><a href=\"/metrics\">/metrics</a>, <a href=\"/healthz\">/healthz</a>, \
<a href=\"/readyz\">/readyz</a>: operations</li></ul>\
<h2>Publish</h2><pre><code>curl -H 'content-type: application/json' --data-binary @envelope.json \
/v1/messages</code></pre></html>";
