//! `/v1/socket`: publishing, following and consuming over one WebSocket (`interwire.v1`).
//!
//! One task per connection reads and writes. Publishes are pipelined: their results come back
//! through one channel and many receipts leave with one flush. Readers hold places, not messages;
//! each puts at most one batch on its way, in turn with the others.

mod connection;
mod consume;
mod deflate;
mod follow;
mod frame;
mod handshake;
mod inflate;
mod operate;
mod pipeline;
mod publish;
mod readers;
mod seats;
mod transport;
mod watch;
mod watch_task;
mod work;
mod writer;

pub(crate) use connection::unreadable_code;
pub(crate) use deflate::NAME as DEFLATE;
pub(crate) use handshake::{open, upgrade};
pub(crate) use writer::{Broken, Writer, patiently};
