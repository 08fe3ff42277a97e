//! New ids and the present moment, for envelopes that are written here.

use client::Ids;
use protocol::Timestamp;
use std::sync::LazyLock;

/// The present moment.
pub fn now() -> Timestamp {
    broker::Clock::start().now()
}

/// A new ULID, greater than all before it.
pub fn ulid() -> String {
    static IDS: LazyLock<Ids> = LazyLock::new(Ids::new);
    IDS.next().to_string()
}
