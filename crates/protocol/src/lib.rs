//! Three agent protocols, one neutral view.
//!
//! This crate reads, validates and writes envelopes of **AEE**, **AEP** and **UAI-1**, each as its
//! own [`dialect`], and gives the [`Header`] that an exchange acts on. It is useful alone to anyone
//! who only wants to parse or validate.
//!
//! It is pure: no socket, no file, no clock, no randomness of its own. Time and random bits are
//! arguments.
//!
//! ```
//! use interwire_protocol::{decode, Rules, Timestamp};
//! let text = br#"{"v":"1","id":"01JFX7K2M4N8P1Q3R5S7T9V0W2","ts":"2026-02-28T10:30:00Z",
//!   "type":"task","from":"human.adam","to":"agent.sentinel","intent":"quox.security.scan",
//!   "corr":"CONV_01JFX7K0A2B4C6D8E0F2G4H6J8","reply_to":null,"trace":null,"priority":"high",
//!   "requires":null,"payload":{},"sig":null}"#;
//! let reading = decode(text, &Rules::at(Timestamp::from_millis(1_772_274_600_000)));
//! assert!(reading.is_valid());
//! assert_eq!(reading.header.unwrap().sender.as_str(), "human:adam");
//! ```
#![doc(html_no_source)]

pub mod base64;
pub mod canonical;
mod card;
pub mod cloudevents;
pub mod coordination;
pub mod dialect;
mod digest;
pub mod fault;
pub mod filter;
mod header;
pub mod id;
pub mod json;
mod party;
pub mod replay;
mod rules;
pub mod session;
mod settlement;
pub mod shape;
pub mod task;
mod timestamp;
pub mod translate;
pub mod verdict;
pub mod wire;

pub use card::{Announcement, Card, LEASE_MS, Skill, announcement};
pub use coordination::Coordination;
pub use dialect::{Dialect, Reading, Tiers, decode, decode_value};
pub use digest::{Digest, digest};
pub use fault::{Code, Fault, Rejection};
pub use filter::Filter;
pub use header::{Act, DialectName, Header, Intake, Priority};
pub use party::{KINDS, Party};
pub use rules::{AeePolicy, Mode, Rules};
pub use session::{SessionMove, SessionState};
pub use settlement::{Retry, Settlement, SettlementVerdict};
pub use task::{TaskState, Tasks};
pub use timestamp::Timestamp;
