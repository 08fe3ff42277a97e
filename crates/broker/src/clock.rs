//! The one clock: wall time at the start plus monotonic time since.
//!
//! A wall clock that steps back cannot make deadlines fire twice or never.

use protocol::Timestamp;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A clock that never goes back.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    wall_at_start: Timestamp,
    start: Instant,
}

impl Clock {
    /// Starts the clock at the machine's wall time.
    #[must_use]
    pub fn start() -> Self {
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let millis = i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX);
        Self {
            wall_at_start: Timestamp::from_millis(millis),
            start: Instant::now(),
        }
    }

    /// The current moment.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        let elapsed = i64::try_from(self.start.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.wall_at_start.plus_millis(elapsed)
    }

    /// When the clock will show `moment`; at once for the past.
    #[must_use]
    pub fn instant_of(&self, moment: Timestamp) -> Instant {
        let millis = moment
            .as_millis()
            .saturating_sub(self.wall_at_start.as_millis())
            .max(0);
        self.start + Duration::from_millis(millis.unsigned_abs())
    }
}
