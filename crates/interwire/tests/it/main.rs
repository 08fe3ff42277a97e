//! Every verb end to end: the real program, real processes, free ports.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a helper that fails fails its test"
)]

mod agents;
mod backup;
mod bench;
#[cfg(all(feature = "nats", feature = "redis"))]
mod bus;
mod cases;
mod claims;
mod conformance;
mod deliver;
mod demo;
#[cfg(all(feature = "nats", feature = "redis"))]
#[path = "../doors/driver.rs"]
#[allow(dead_code, reason = "the contract of doors asks for more")]
mod driver;
mod formats;
mod http;
#[cfg(feature = "mcp")]
mod mcp;
mod memory;
mod process;
mod proof;
#[cfg(any(feature = "mcp", all(feature = "nats", feature = "redis")))]
#[path = "../doors/python.rs"]
mod python;
mod questions;
mod raw;
mod replay;
mod run;
mod sequence;
mod serve;
#[cfg(all(feature = "nats", feature = "redis"))]
#[path = "../doors/server.rs"]
mod server;
mod settings;
mod signed;
mod stdio;
mod tasks;
mod tls;
mod tour;
mod trace;
mod translation;
mod verbs;
