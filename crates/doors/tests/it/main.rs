//! The HTTP door as its users meet it: a real listener over a real exchange.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that meets the unexpected should stop"
)]

mod cloudevents;
mod conversations;
mod dead_letters;
mod deliveries;
mod drain;
mod expiry;
mod groups;
mod harmovela;
mod harmovela_api;
mod in_band;
#[cfg(feature = "kafka")]
mod kafka;
mod lines;
mod load;
mod loops;
mod messages;
mod negotiation;
mod operations;
mod places;
mod problems;
mod receipts;
mod sessions;
mod socket;
mod socket_readers;
mod stream;
mod subscriptions;
mod tasks;
mod translation;
mod uaix;
mod validate;
mod world;
