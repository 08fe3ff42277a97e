//! New ids for messages: each greater than all before it, on any thread, whatever the clock does.

use crate::chance;
use protocol::Timestamp;
use protocol::id::{Ulid, UlidSource};
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

type Clock = Box<dyn Fn() -> Timestamp + Send + Sync>;

/// A source of ULIDs that threads share. A clock that steps back does not make its ids step back.
pub struct Ids {
    source: Mutex<UlidSource>,
    clock: Clock,
}

impl Ids {
    /// A source that takes the machine's time.
    #[must_use]
    pub fn new() -> Self {
        Self::with_clock(|| {
            let since = SystemTime::now().duration_since(UNIX_EPOCH);
            let millis = since.unwrap_or_default().as_millis();
            Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
        })
    }

    /// A source that takes the time from `clock`.
    #[must_use]
    pub fn with_clock(clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self {
            source: Mutex::default(),
            clock: Box::new(clock),
        }
    }

    /// The next id.
    #[must_use]
    pub fn next(&self) -> Ulid {
        let random = chance::wide_bits();
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        source.next((self.clock)(), random)
    }
}

impl Default for Ids {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Ids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ids").finish_non_exhaustive()
    }
}
