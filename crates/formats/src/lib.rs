//! Messages of agent frameworks as AEE envelopes, and back.
//!
//! [`read`] finds the calls, results and messages in what a framework writes; [`wrap`] makes one
//! envelope of each; [`unwrap`] gives the framework's own form back, equal in its canonical form, or
//! writes it for envelopes that never came from there. `docs/formats.md` says what becomes what.
//!
//! It is pure: no file, no clock, no chance. The same document with the same [`Options`] gives the same
//! bytes, so an exchange takes a repeat for the duplicate that it is.
//!
//! ```
//! use interwire_formats::{unwrap, wrap, Options};
//! let message = br#"{"role":"tool","tool_call_id":"call_9XyZ0123456789abcdef","content":"fine"}"#;
//! let envelopes = wrap(message, None, &Options::default()).unwrap();
//! assert!(envelopes[0].contains(r#""reply_to":"call_9XyZ0123456789abcdef""#));
//! let texts: Vec<&[u8]> = envelopes.iter().map(String::as_bytes).collect();
//! assert_eq!(unwrap(&texts, None).unwrap().len(), 1);
//! ```
#![doc(html_no_source)]

mod declared;
mod detect;
mod envelope;
mod format;
mod ids;
mod intent;
mod item;
mod mark;
mod node;
pub mod page;
mod read;
mod tree;
mod unwrap;
mod wrap;
mod write;

pub use declared::card;
pub use detect::detect;
pub use format::Format;
pub use item::{Item, Kind};
pub use mark::MEMBER;
pub use read::{Reading, read};
pub use unwrap::{unwrap, write_anew};
pub use wrap::{Options, Tier, wrap};

use protocol::json::Limits;

/// What faults about formats name: `docs/formats.md`.
pub(crate) const RULE: &str = "FORMATS";

/// 16 MiB, and less deep than an exchange takes, because every part stands inside an envelope.
pub(crate) const LIMITS: Limits = Limits {
    bytes_max: 16 << 20,
    depth_max: 56,
};
