//! The AEP binding on this listener: WebSocket, server-sent events and lines, under the
//! paths that existing clients call (AEP 9.2, 9.3).

pub(crate) mod api;
mod events;
mod frames;
mod ingest;
mod open;

pub(crate) use events::stream;
pub(crate) use frames::broken;
pub(crate) use ingest::ingest;
pub(crate) use open::open;
