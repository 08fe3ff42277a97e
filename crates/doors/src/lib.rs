//! Doors: how frames get in and out. A door moves frames; it contains no rule.
//!
//! [`http`] is the one listener that people and agents meet first: JSON over HTTP/1.1 and HTTP/2,
//! server-sent events and WebSocket. [`bus`] are message brokers that agents use already. [`session`]
//! runs AEP sessions over any duplex of text frames. Everything a door knows about the exchange it
//! learns from a [`broker::Handle`].

#[cfg(feature = "mcp")]
pub mod bridge;
#[cfg_attr(
    not(any(feature = "nats", feature = "kafka")),
    allow(
        dead_code,
        unused_imports,
        reason = "there is no bus that uses all of it"
    )
)]
pub mod bus;
pub mod http;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod session;
pub mod webhook;
