//! Opening a socket: the subprotocol, and buffers small enough for many idle readers.

use super::connection::Connection;
use super::deflate;
use super::inflate::Inflating;
use super::transport::{Socket, Transport};
use crate::http::call::{Answer, Call};
use crate::http::problem::bad_request;
use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use hyper::ext::Protocol;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use std::sync::Arc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

/// The one subprotocol of this route.
const SUBPROTOCOL: &str = "interwire.v1";

/// The library's default of 128 KiB would cost 140 KiB for every idle reader.
const READ_BUFFER_BYTES: usize = 4 << 10;

/// Bytes that are collected before they are written although nobody asked to flush.
const WRITE_BUFFER_BYTES: usize = 32 << 10;

/// A frame over our limit is answered and the socket lives on; only beyond this many times the
/// limit the connection is closed, because the library would have to hold the frame.
const HARD_LIMIT_FACTOR: usize = 4;

pub(crate) async fn open(call: Call) -> Answer {
    call.door.refuse_late()?;
    call.no_query()?;
    let (door, peer, request_id) = (
        Arc::clone(&call.door),
        Arc::clone(&call.peer),
        call.request_id.clone(),
    );
    upgrade(call, &[SUBPROTOCOL], |socket| async move {
        Connection::new(door, peer, request_id, socket).run().await;
    })
    .await
}

/// Upgrades a request to a socket that `serve` serves. The first of `subprotocols` that the peer offers
/// is chosen; a peer that offers none of them is refused, and one that offers nothing is served.
pub(crate) async fn upgrade<S>(
    call: Call,
    subprotocols: &'static [&'static str],
    serve: impl FnOnce(Socket) -> S + Send + 'static,
) -> Answer
where
    S: Future<Output = ()> + Send + 'static,
{
    let Call {
        door, mut parts, ..
    } = call;
    let on_upgrade = parts.extensions.remove::<OnUpgrade>();
    let (mut answer, on_upgrade) = match (answer(&parts), on_upgrade) {
        (Ok(answer), Some(on_upgrade)) => (answer, on_upgrade),
        (Err(what), _) => return Err(no_handshake(what)),
        (_, None) => return Err(no_handshake("a connection that can be upgraded")),
    };
    let offered: Vec<_> = parts
        .headers
        .get_all(header::SEC_WEBSOCKET_PROTOCOL)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .collect();
    let is_offered = |ours: &&&'static str| offered.iter().any(|theirs| *theirs == **ours);
    if let Some(chosen) = subprotocols.iter().find(is_offered) {
        let chosen = HeaderValue::from_static(chosen);
        answer
            .headers_mut()
            .insert(header::SEC_WEBSOCKET_PROTOCOL, chosen);
    } else if !offered.is_empty() {
        let detail = format!(
            "expected the subprotocol {}, got {}",
            subprotocols.join(" or "),
            offered.join(", ")
        );
        return Err(bad_request("", detail));
    }
    let deflate = if door.settings.compression {
        deflate::agree(&parts.headers).map(|(agreed, said)| {
            let name = header::SEC_WEBSOCKET_EXTENSIONS;
            answer.headers_mut().insert(name, said);
            agreed
        })
    } else {
        None
    };
    let frame_max = door.envelope_bytes_max() + door.settings.socket_frame_room_bytes;
    let hard_max = frame_max.saturating_mul(HARD_LIMIT_FACTOR);
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES)
        .max_write_buffer_size(
            frame_max
                .saturating_mul(2)
                .saturating_add(WRITE_BUFFER_BYTES * 2),
        )
        .max_message_size(Some(hard_max))
        .max_frame_size(Some(hard_max));
    // A socket belongs to the drain from now on, also before its task runs.
    let token = door.tasks.token();
    tokio::spawn(async move {
        let _token = token;
        let upgraded = match on_upgrade.await {
            Ok(upgraded) => TokioIo::new(upgraded),
            Err(error) => {
                tracing::debug!(%error, "a connection was not upgraded");
                return;
            }
        };
        let transport = match deflate {
            None => Transport::Plain(upgraded),
            Some(_) => Transport::Inflating(Box::new(Inflating::new(upgraded, hard_max))),
        };
        let stream = WebSocketStream::from_raw_socket(transport, Role::Server, Some(config)).await;
        serve(Socket { stream, deflate }).await;
    });
    Ok(answer)
}

/// The answer to a handshake over HTTP/1.1 (RFC 6455 4.2) or HTTP/2 (RFC 8441); else what was missing.
fn answer(parts: &Parts) -> Result<Response<Body>, &'static str> {
    let headers = &parts.headers;
    if !has(headers, &header::SEC_WEBSOCKET_VERSION, "13") {
        return Err("Sec-WebSocket-Version: 13");
    }
    let mut answer = Response::new(Body::empty());
    if parts.method == Method::CONNECT {
        let protocol = parts.extensions.get::<Protocol>();
        if protocol.is_none_or(|protocol| protocol.as_str() != "websocket") {
            return Err(":protocol websocket");
        }
        return Ok(answer);
    }
    if !has(headers, &header::CONNECTION, "upgrade") {
        return Err("Connection: upgrade");
    }
    if !has(headers, &header::UPGRADE, "websocket") {
        return Err("Upgrade: websocket");
    }
    let key = headers.get(header::SEC_WEBSOCKET_KEY);
    let key = key.ok_or("Sec-WebSocket-Key")?.as_bytes();
    let accept = HeaderValue::from_str(&derive_accept_key(key)).map_err(|_| "Sec-WebSocket-Key")?;
    *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let said = answer.headers_mut();
    said.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    said.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    said.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    Ok(answer)
}

/// Whether one of the words of a header is `word`.
fn has(headers: &HeaderMap, name: &header::HeaderName, word: &str) -> bool {
    headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|found| found.trim().eq_ignore_ascii_case(word))
}

fn no_handshake(missing: &str) -> protocol::Rejection {
    bad_request(
        "",
        format!("expected a WebSocket handshake (RFC 6455), got one without {missing}"),
    )
}
