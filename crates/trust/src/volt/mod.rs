//! VOLT 0.1: events in a hash chain, bundled with a manifest, signatures and attachments, so that
//! somebody without access to the exchange can check that nothing was edited (AEE 9).

pub mod canonical;
mod event;
mod manifest;
mod report;
mod schema;
mod signatures;
mod verify;

pub use event::{Actor, Chain, Event};
pub use manifest::{Attachment, Manifest};
pub use report::{Outcome, Reason, Report};
pub use verify::{Bundle, Options, verify};

/// The version that is written and read.
pub const VERSION: &str = "0.1";
/// What the first event has as its predecessor's hash.
pub const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";
