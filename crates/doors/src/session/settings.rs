//! What sessions can be told. Every limit has a unit in its name.

use std::time::Duration;

/// Settings of all sessions of one exchange.
#[derive(Clone, Debug)]
pub struct SessionSettings {
    /// Transports that are really served; capabilities name them.
    pub transports: Vec<&'static str>,
    /// Milliseconds between heartbeats of a session whose peer says nothing about them; 0 is off.
    pub heartbeat_ms: u64,
    /// Milliseconds for which a session that lost its connection can be resumed.
    pub resume_ms: u64,
    /// Sessions that wait to be resumed; the oldest is given up for one more.
    pub parked_max: usize,
    /// Subscriptions of one session.
    pub subscriptions_max: usize,
    /// Publishes in flight on one connection.
    pub in_flight_max: usize,
    /// Deliveries that one connection holds of one place without having acknowledged them.
    pub held_max: usize,
    /// Milliseconds between pings, where the transport has them.
    pub keep_alive_ms: u64,
    /// Milliseconds after which a drained peer should come back.
    pub drain_retry_ms: u64,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self {
            transports: Vec::new(),
            heartbeat_ms: 0,
            resume_ms: 300_000,
            parked_max: 10_000,
            subscriptions_max: 1_024,
            in_flight_max: 1_024,
            held_max: 256,
            keep_alive_ms: 15_000,
            drain_retry_ms: 1_000,
        }
    }
}

impl SessionSettings {
    pub(super) fn resume(&self) -> Duration {
        Duration::from_millis(self.resume_ms)
    }

    pub(super) fn keep_alive(&self) -> Duration {
        Duration::from_millis(self.keep_alive_ms.max(1))
    }
}
