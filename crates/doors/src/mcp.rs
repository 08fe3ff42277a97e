//! The Model Context Protocol door: an agent in any MCP host sends, asks, reads and answers with tools.
//!
//! One implementation of the tools serves both transports: `interwire mcp` over standard input and
//! output, with an exchange somewhere else behind it, and `/mcp` of this process. They differ in how
//! the exchange is reached ([`Exchange`]) and in nothing else. A refusal is the exchange's own fault,
//! as the result of the tool; the protocol never fails because of what a tool was told.

mod arguments;
mod ask;
mod compose;
mod exchange;
mod find;
pub(crate) mod http;
mod identity;
mod inbox;
mod local;
mod progress;
mod refusal;
mod reply;
mod resources;
mod server;
mod summary;
mod tools;
mod wake;

pub use exchange::{Delivered, Ended, Exchange, Pairs, Settling, TraceForm};
pub use identity::new_id;
pub use refusal::Refusal;
pub use server::Server;
