//! Rust client of an Interwire exchange.
//!
//! [`Client`] speaks the HTTP doors: publish, ask, inboxes, live streams, tasks, look-ups. [`Socket`] speaks the
//! `interwire.v1` WebSocket: the same in both directions over one connection.
//!
//! Envelopes go in and come out as the bytes they are. This crate reads receipts, deliveries and
//! problem documents; it never parses an envelope and never writes one again.
//!
//! ```no_run
//! # async fn tour() -> Result<(), interwire_client::Error> {
//! use interwire_client::{Client, Filter, From};
//! let client = Client::connect("http://127.0.0.1:4747")?;
//! let receipt = client.publish(&b"{\"v\":\"1\"}"[..]).await?;
//! println!("durable at {}", receipt.cursor);
//!
//! let reply = client.ask(&b"{\"v\":\"1\"}"[..], std::time::Duration::from_secs(30)).await?;
//! println!("{}: {} bytes", reply.state, reply.envelope.len());
//!
//! let mut inbox = client.inbox("agent:sentinel");
//! let delivery = inbox.next().await?;
//! println!("{} bytes, attempt {}", delivery.envelope.len(), delivery.attempt);
//! delivery.ack().await?;
//!
//! let mut live = client.subscribe(Filter::new().with("type", "task.*"), From::Latest);
//! println!("{:?}", live.next().await?);
//! # Ok(()) }
//! ```

mod agents;
mod ask;
mod backoff;
pub mod chance;
mod client;
mod dead_letters;
mod error;
mod fate;
mod filter;
mod gap;
mod ids;
mod inbox;
mod lines;
mod lookup;
mod places;
mod publish;
mod receipt;
mod socket;
mod sse;
mod subscribe;
mod subscriptions;
mod tasks;
mod trace;
mod trust;

pub use agents::{AgentQuery, AgentText};
pub use ask::{AskEvent, Asking, Reply};
pub use client::Client;
pub use dead_letters::{DeadLetter, DeadLetters};
pub use error::{Error, Problem, ProblemFault};
pub use fate::{FailedAttempt, MessageReceipt, RecipientReceipt, TaskReceipt, Watch, Worker};
pub use filter::{Filter, From};
pub use gap::{Follow, Gap, Mode, OnGap};
pub use ids::Ids;
pub use inbox::{Delivery, Inbox, Place, Settled};
pub use lines::Lines;
pub use lookup::{Message, Page, Verdict};
pub use places::{DeliverySettings, PlaceState};
pub use publish::{BatchLine, Outcome};
pub use receipt::{Receipt, Recipient, Warning};
pub use socket::{
    Parting, Socket, SocketDelivery, SocketEvent, SocketReader, SocketWatch, Submitted,
};
pub use sse::{Frame, Parser};
pub use subscribe::{Event, Subscription};
pub use subscriptions::{DurableSubscription, Pushing};
pub use tasks::{TaskQuery, TaskText};
pub use trace::{TraceFormat, TraceOptions, TraceText};
pub use trust::Trust;
