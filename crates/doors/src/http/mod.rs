//! The HTTP door: one listener, JSON, HTTP/1.1 and HTTP/2 (cleartext), server-sent events and
//! WebSocket (`GET /v1/openapi.json`, `docs/socket.md`).
//!
//! Envelopes travel as the bytes that were sent. Refusals are problem documents (RFC 9457), whatever
//! refused. The door keeps no message: readers hold a place in the journal, and what they are sent is
//! shared. It knows no principals yet: bind it to a loopback address.

pub(crate) mod agents;
pub(crate) mod ask;
mod body;
pub(crate) mod call;
mod carriage;
mod cloudevents;
mod consumers;
mod conversations;
mod dead_letters;
pub(crate) mod deliveries;
mod delivery_settings;
pub(crate) mod door;
mod full;
mod grpc;
mod harmovela;
pub(crate) mod inbox;
mod lines;
mod mcp;
mod members;
mod messages;
mod meter;
mod openapi;
mod operations;
mod origin;
mod output;
pub(crate) mod peer;
pub(crate) mod percent;
pub(crate) mod places;
pub(crate) mod problem;
mod publish_lines;
mod query;
mod receipts;
mod refuge;
pub(crate) mod rendering;
mod routes;
mod server;
mod settings;
mod socket;
mod stall;
mod stop;
mod stream;
pub(crate) mod subscriptions;
pub(crate) mod task_json;
mod task_stream;
mod tasks;
mod tls;
mod translate;
mod uaix;
mod validate;

pub use routes::{ROUTES, Route, Verb};
pub use server::{serve, serve_with};
pub use settings::HttpSettings;
pub use stop::Stop;
pub use tls::{Tls, TlsError};
