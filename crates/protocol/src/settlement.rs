//! What one message says about the delivery of another: in each dialect an ordinary envelope can
//! acknowledge what its sender was given.

/// What a sender asks of the deliveries of its own message (AEP 6, `delivery.retry`). It is advice:
/// whoever delivers keeps it within its own limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retry {
    /// After so many failed attempts the delivery is given up.
    pub max_attempts: Option<u32>,
    /// The wait after the first failed attempt, in milliseconds.
    pub backoff_ms: Option<i64>,
    /// By what the wait grows, in thousandths.
    pub backoff_multiplier_milli: Option<u32>,
    /// The longest wait, in milliseconds.
    pub backoff_ms_max: Option<i64>,
    /// How long a reader may take to acknowledge, in milliseconds.
    pub ack_timeout_ms: Option<i64>,
}

/// A message that settles the delivery of another to its sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// The id of the message that was delivered.
    pub id: Box<str>,
    /// What became of it.
    pub verdict: SettlementVerdict,
}

/// What a message says became of another that was delivered to its sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettlementVerdict {
    /// It arrived and needs no other delivery: AEP `event.acknowledged`, an AEE `result` or `error`
    /// in reply, a UAI-1 ack that is received, accepted, rejected, duplicate or for a human to see.
    Acknowledged,
    /// Not now: AEP `event.rejected`, a UAI-1 ack that is deferred.
    Again {
        /// Why.
        reason: Box<str>,
    },
    /// Never: AEP `event.rejected` whose error is not retryable.
    Never {
        /// Why.
        reason: Box<str>,
    },
}
