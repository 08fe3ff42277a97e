//! The exchange through its public door: one file per promise.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that meets the unexpected should stop"
)]

mod claims;
mod dedupe;
mod directory;
mod groups;
mod handoffs;
mod keys;
mod leases;
mod library;
mod live;
mod loops;
mod model;
mod owed;
mod rebuild;
mod retain;
mod routing;
mod snapshot;
mod subscriptions;
mod tasks;
mod trace;
mod trace_written;
mod world;
