//! New ids and the present moment, for envelopes that are written here.

use protocol::Timestamp;
use protocol::id::UlidSource;

/// The present moment.
pub fn now() -> Timestamp {
    broker::Clock::start().now()
}

/// A new ULID of the present moment.
pub fn ulid() -> String {
    UlidSource::default()
        .next(now(), client::chance::wide_bits())
        .to_string()
}
