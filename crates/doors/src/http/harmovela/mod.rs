//! The AEP binding on this listener: WebSocket, server-sent events, lines, and the daemon's own API,
//! under the paths that existing clients call (AEP 9.2, 9.3, 10.2).

mod frames;
mod open;

pub(crate) use open::open;
