//! Every verb end to end: the real program, real processes, free ports.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a helper that fails fails its test"
)]

mod backup;
mod bench;
mod cases;
mod conformance;
mod deliver;
mod demo;
mod http;
mod memory;
mod process;
mod raw;
mod replay;
mod serve;
mod settings;
mod stdio;
mod tasks;
mod tour;
mod trace;
mod verbs;
