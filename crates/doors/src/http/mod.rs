//! The HTTP door: one listener, JSON, HTTP/1.1 and HTTP/2 (cleartext), server-sent events and
//! WebSocket (`GET /v1/openapi.json`, `docs/socket.md`).
//!
//! Envelopes travel as the bytes that were sent. Refusals are problem documents (RFC 9457), whatever
//! refused. The door keeps no message: readers hold a place in the journal, and what they are sent is
//! shared. It knows no principals yet: bind it to a loopback address.

mod ask;
mod base64;
mod body;
mod call;
mod consumers;
mod conversations;
mod dead_letters;
mod deliveries;
mod delivery_settings;
mod door;
mod full;
mod harmovela;
mod inbox;
mod lines;
mod members;
mod messages;
mod meter;
mod openapi;
mod operations;
mod origin;
mod output;
mod peer;
mod percent;
mod places;
mod problem;
mod publish_lines;
mod query;
mod receipts;
mod refuge;
mod routes;
mod server;
mod settings;
mod socket;
mod stall;
mod stop;
mod stream;
mod subscriptions;
mod task_json;
mod task_stream;
mod tasks;
mod validate;

pub use routes::{ROUTES, Route, Verb};
pub use server::serve;
pub use settings::HttpSettings;
pub use stop::Stop;
