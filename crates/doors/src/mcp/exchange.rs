//! What the tools need of an exchange, wherever it is.

use super::Refusal;
use bytes::Bytes;
use protocol::Timestamp;
use serde_json::Value;
use std::future::Future;
use std::time::Duration;
use tokio::sync::mpsc;

/// A filter as the routes spell it: one field again means any of, different fields mean all of.
pub type Pairs = Vec<(String, String)>;

/// One envelope handed to a party.
#[derive(Clone, Debug)]
pub struct Delivered {
    /// Names this delivery when it is settled.
    pub delivery: String,
    /// How often it has been handed out, from 1.
    pub attempt: u32,
    /// RFC 3339 moment after which somebody else may get it.
    pub lease_until: String,
    /// Where it stands in the journal.
    pub cursor: String,
    /// The bytes.
    pub envelope: Bytes,
}

/// What is said about deliveries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settling {
    /// Done.
    Ack,
    /// Not done: again, after a while if one is given.
    Nack {
        /// Milliseconds until then.
        retry_after_ms: Option<u64>,
        /// Why.
        reason: String,
    },
    /// Never: a dead letter at once.
    Reject {
        /// Why.
        reason: String,
    },
}

/// How a trace is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceForm {
    /// A tree for people and models.
    Text,
    /// One JSON object.
    Json,
    /// A Mermaid flowchart.
    Mermaid,
}

/// The end of a task that was asked for.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The task.
    pub task: String,
    /// How it ended: `completed`, `failed`, `cancelled` or `timed_out`.
    pub state: String,
    /// Where the reply stands in the journal.
    pub cursor: String,
    /// The envelope that ended it.
    pub envelope: Bytes,
    /// The receipt of the request.
    pub receipt: Value,
}

/// One exchange. Documents are those of its HTTP routes.
///
/// Dropping the future of a call gives the call up; nothing is lost by that.
pub trait Exchange: Clone + Send + Sync + 'static {
    /// The present moment.
    fn now(&self) -> Timestamp;

    /// Publishes; the receipt.
    fn publish(&self, envelope: Bytes) -> impl Future<Output = Result<Value, Refusal>> + Send;

    /// Publishes a request and waits for the end of its task. What comes before goes to `progress`.
    fn ask(
        &self,
        envelope: Bytes,
        timeout: Duration,
        progress: mpsc::Sender<Bytes>,
    ) -> impl Future<Output = Result<Ended, Refusal>> + Send;

    /// Up to `max` deliveries of the inbox of a party; waits up to `wait` for the first.
    fn pull(
        &self,
        party: &str,
        max: usize,
        wait: Duration,
    ) -> impl Future<Output = Result<Vec<Delivered>, Refusal>> + Send;

    /// Settles deliveries; one result for each, in order.
    fn settle(
        &self,
        deliveries: Vec<String>,
        how: Settling,
    ) -> impl Future<Output = Result<Vec<Result<(), Refusal>>, Refusal>> + Send;

    /// The message with this id, from `sender` when several used it.
    fn message(
        &self,
        id: &str,
        sender: Option<&str>,
    ) -> impl Future<Output = Result<Bytes, Refusal>> + Send;

    /// Messages that pass a filter, the oldest first.
    fn page(
        &self,
        filter: Pairs,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Bytes>, Refusal>> + Send;

    /// The trace of a conversation, message, task or correlation.
    fn trace(
        &self,
        id: &str,
        form: TraceForm,
    ) -> impl Future<Output = Result<String, Refusal>> + Send;

    /// One task with its past.
    fn task(&self, id: &str) -> impl Future<Output = Result<Value, Refusal>> + Send;

    /// Tasks, the newest first.
    fn tasks(&self, limit: usize) -> impl Future<Output = Result<Value, Refusal>> + Send;

    /// Agents of the directory with these words in their name or cards, offline ones too.
    fn agents(
        &self,
        words: &str,
        limit: usize,
    ) -> impl Future<Output = Result<Value, Refusal>> + Send;

    /// All durable subscriptions.
    fn subscriptions(&self) -> impl Future<Output = Result<Value, Refusal>> + Send;

    /// The inbox of a party as a place: what waits in it.
    fn place(&self, party: &str) -> impl Future<Output = Result<Value, Refusal>> + Send;

    /// Tells when something comes that passes the filter, from the moment this returns until the
    /// receiver is dropped. Several messages may be told at once. Comes back by itself after an
    /// exchange was away, and then tells, because something may have come.
    fn watch(
        &self,
        filter: Pairs,
    ) -> impl Future<Output = Result<mpsc::Receiver<()>, Refusal>> + Send;
}
