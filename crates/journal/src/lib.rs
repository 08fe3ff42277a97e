//! The journal: an ordered log of bytes, durable before it is spoken of.
//!
//! It knows bytes and positions, never what an envelope is. One writer ([`Journal`]), any number of
//! [`Reader`]s, which see durable records only. Format: `docs/format.md`.

mod contract;
mod index;
pub use contract::*;
pub use index::{Index, IndexRow};
