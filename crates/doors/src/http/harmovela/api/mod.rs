//! The AEP daemon's HTTP API (AEP 10.2), below `/harmovela/api` and, under its older name, `/aep/api`.
//!
//! The shapes are the daemon's, so its clients work unchanged. What stands behind them is the exchange:
//! a subscription is a durable place of its own, what was read is acknowledged there, and a refusal
//! carries the same faults as on every door. `docs/aep-api.md` says what differs.

mod batches;
mod events;
mod faults;
mod filter;
mod ingest;
mod records;
mod state;
mod stream;
mod subscriptions;

pub(crate) use batches::Desk;
pub(crate) use events::read;
pub(crate) use faults::refusal_of;
pub(crate) use ingest::publish;
pub(crate) use records::{dead_letters, pending};
pub(crate) use state::{health, stats};
pub(crate) use stream::stream;
pub(crate) use subscriptions::{create, list, remove, show};
