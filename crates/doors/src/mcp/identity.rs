//! New ids for envelopes that are written here.

use parking_lot::Mutex;
use protocol::Timestamp;
use protocol::id::UlidSource;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::LazyLock;

/// A new ULID for a message written at `now`, greater than all before it in this process.
#[must_use]
pub fn new_id(now: Timestamp) -> String {
    static SOURCE: LazyLock<Mutex<UlidSource>> = LazyLock::new(Mutex::default);
    // Every `RandomState` has keys of its own, taken from the system's random source.
    let bits = || u128::from(RandomState::new().build_hasher().finish());
    let random = (bits() << 64) | bits();
    SOURCE.lock().next(now, random).to_string()
}
