//! The whole exchange in one thread: real journal, real exchange, real loop, real handle; a disk that
//! crashes, a clock that is set, clients that do anything. Everything follows from one number, so
//! that a run that fails is a run that can be looked at.
//!
//! | file | what it is |
//! |---|---|
//! | `event` | what can happen, and a list of it drawn from a seed |
//! | `messages` | the envelopes that clients send |
//! | `door` | a call of a client, made on the real handle |
//! | `world` | the events, one after the other |
//! | `model` | the judge: knows calls and answers, nothing of the code |
//! | `shrink` | a shorter list of events that fails, too |
//!
//! To add an operation: a [`Call`](crate::history::Call), its event, its line in `door`, its rule in
//! `model`.

mod door;
mod event;
mod messages;
mod model;
mod report;
mod shrink;
#[expect(
    clippy::indexing_slicing,
    reason = "every index is taken modulo the length of what it goes into"
)]
mod world;

pub use event::{Event, events};
pub use report::Report;
pub use shrink::shrink;
pub use world::{Failure, history_of, run, run_events};
