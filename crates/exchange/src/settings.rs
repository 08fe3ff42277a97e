//! The limits and times an exchange works with.

/// Limits and times, with their units in their names.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long a pulled delivery is reserved for its reader.
    pub lease_ms: i64,
    /// The shortest wait after a nack, so that a short outage does not burn every attempt.
    pub nack_delay_ms_min: i64,
    /// Most leased deliveries of one place.
    pub in_flight_max: usize,
    /// Most inboxes and durable subscriptions together.
    pub places_max: usize,
    /// Most places that one message may go to.
    pub fan_out_max: usize,
}

impl Default for Settings {
    /// 30 s leases, 100 ms after a nack, 1,024 in flight, a million places, 10,000 per message.
    fn default() -> Self {
        Self {
            lease_ms: 30_000,
            nack_delay_ms_min: 100,
            in_flight_max: 1_024,
            places_max: 1_000_000,
            fan_out_max: 10_000,
        }
    }
}
