//! Opening a socket: the subprotocol, and buffers small enough for many idle readers.

use super::connection::Connection;
use crate::http::call::{Answer, Call};
use crate::http::problem::bad_request;
use axum::extract::FromRequestParts as _;
use axum::extract::ws::{WebSocket, WebSocketUpgrade};
use axum::http::HeaderValue;
use std::sync::Arc;

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
    serve: impl FnOnce(WebSocket) -> S + Send + 'static,
) -> Answer
where
    S: Future<Output = ()> + Send,
{
    let Call {
        door, mut parts, ..
    } = call;
    let mut upgrade = WebSocketUpgrade::from_request_parts(&mut parts, &())
        .await
        .map_err(|refused| {
            bad_request(
                "",
                format!("expected a WebSocket handshake (RFC 6455), got none: {refused}"),
            )
        })?;
    let offered: Vec<_> = upgrade
        .requested_protocols()
        .filter_map(|protocol| protocol.to_str().ok())
        .map(str::to_owned)
        .collect();
    let is_offered = |ours: &&&'static str| offered.iter().any(|theirs| theirs == **ours);
    if let Some(chosen) = subprotocols.iter().find(is_offered) {
        upgrade.set_selected_protocol(HeaderValue::from_static(chosen));
    } else if !offered.is_empty() {
        let detail = format!(
            "expected the subprotocol {}, got {}",
            subprotocols.join(" or "),
            offered.join(", ")
        );
        return Err(bad_request("", detail));
    }
    let frame_max = door.envelope_bytes_max() + door.settings.socket_frame_room_bytes;
    let hard_max = frame_max.saturating_mul(HARD_LIMIT_FACTOR);
    // A socket belongs to the drain from now on, also before its task runs.
    let token = door.tasks.token();
    Ok(upgrade
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(WRITE_BUFFER_BYTES)
        .max_write_buffer_size(
            frame_max
                .saturating_mul(2)
                .saturating_add(WRITE_BUFFER_BYTES * 2),
        )
        .max_message_size(hard_max)
        .max_frame_size(hard_max)
        .on_upgrade(move |socket| async move {
            let _token = token;
            serve(socket).await;
        }))
}
