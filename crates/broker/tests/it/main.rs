//! The running broker over real journals, from outside.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    missing_docs
)]

mod best_effort;
mod crash;
mod delivery;
mod fairness;
mod publish;
mod restart;
mod retention;
mod start;
mod tail;
mod tasks;
mod trace;
mod world;
