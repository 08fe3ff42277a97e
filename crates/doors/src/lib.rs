//! Doors: how frames get in and out. A door moves frames; it contains no rule.
//!
//! [`http`] is the one listener that people and agents meet first: JSON over HTTP/1.1 and HTTP/2,
//! server-sent events and WebSocket. Everything a door knows about the exchange it learns from a
//! [`broker::Handle`].

#[cfg(feature = "mcp")]
pub mod bridge;
pub mod http;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod webhook;
