//! `GET /harmovela`, subprotocol `harmovela-0.2`; `/aep` with `aep-0.1`, its older name.

use super::frames::SocketFrames;
use crate::http::call::{Answer, Call};
use crate::http::meter::Open;
use crate::http::socket::{DEFLATE, Writer, upgrade};
use crate::session;
use std::sync::Arc;

/// The subprotocols of this route. The older one has the same envelopes.
const SUBPROTOCOLS: [&str; 2] = ["harmovela-0.2", "aep-0.1"];

/// A socket for one session.
pub(crate) async fn open(call: Call) -> Answer {
    call.door.refuse_late()?;
    // The binding allows a `session_id` there; the session itself is opened by its event.
    let mut query = call.query()?;
    let _ = query.take("session_id")?;
    query.finish()?;
    let (door, peer) = (Arc::clone(&call.door), Arc::clone(&call.peer));
    upgrade(call, &SUBPROTOCOLS, |socket| async move {
        let _open = Open::count(&door.meter.sockets);
        let (host, handle) = (door.sessions.clone(), peer.handle.clone());
        let compression: &[&str] = match socket.deflate {
            Some(_) => &[DEFLATE],
            None => &[],
        };
        let writer = Writer::new(socket, Arc::clone(&peer));
        let meter = door.meter.clone();
        let frames = SocketFrames {
            writer,
            peer,
            meter,
        };
        session::run(host, handle, compression, frames).await;
    })
    .await
}
