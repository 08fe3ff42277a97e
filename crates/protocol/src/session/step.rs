//! What a session machine wants done.

use super::about::About;
use super::offer::Offer;
use super::subscription::Subscription;
use crate::{Fault, Header, Party};

/// One thing to do, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Send this event.
    Say(String),
    /// Publish what was heard, then tell [`Machine::published`](super::Machine::published).
    Publish {
        /// What the answer repeats.
        about: About,
        /// The neutral facts.
        header: Box<Header>,
        /// What the sender should know.
        warnings: Vec<Fault>,
    },
    /// Settle the delivery of that event, if this connection holds it, before anything that follows.
    Settle {
        /// The event that was delivered.
        event: Box<str>,
        /// What becomes of it.
        verdict: Verdict,
    },
    /// Look for a parked session, then call [`Machine::open`](super::Machine::open).
    Open {
        /// What the answer repeats.
        about: About,
        /// Who opens it.
        source: Box<str>,
        /// What it asks for.
        offer: Box<Offer>,
    },
    /// Begin to deliver what waits for that party.
    Attach {
        /// Whose inbox.
        party: Party,
        /// Whether everything has to be acknowledged, also what asks for no acknowledgement itself.
        is_acknowledged: bool,
    },
    /// Begin to follow. Tell [`Machine::subscribed`](super::Machine::subscribed) or
    /// [`Machine::refused`](super::Machine::refused).
    Subscribe {
        /// What the answer repeats; `None` when the subscription comes back with its session.
        about: Option<About>,
        /// What to follow, from where.
        subscription: Box<Subscription>,
    },
    /// Stop following for good.
    Unsubscribe(Box<str>),
    /// Nothing more will be said: close the connection.
    End(Ending),
}

/// What became of a delivery, in the peer's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// `event.acknowledged`.
    Done,
    /// `event.rejected` of something that may succeed later, or `event.redelivered`.
    Again(Box<str>),
    /// `event.rejected` for good, or `event.dead_lettered`.
    Never(Box<str>),
}

/// Why a machine ends its connection (AEP 9.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The offer could not be met.
    Refused,
    /// Nothing was heard for three heartbeats.
    Silent,
    /// The peer said `session.error`.
    Failed,
}

/// What a publisher is told.
#[derive(Clone, Copy, Debug)]
pub struct Accepted<'a> {
    /// The cursor.
    pub cursor: &'a str,
    /// The whole receipt, as JSON.
    pub receipt: &'a str,
}
