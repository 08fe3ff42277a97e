//! The one clock: wall time at the start plus monotonic time since.
//!
//! A wall clock that steps back cannot make deadlines fire twice or never. A [`Clock::set_to`] clock
//! shows what it is told, for a [`Stepped`](crate::Stepped) exchange.

use protocol::Timestamp;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A clock. Clones show the same time.
#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    /// Never goes back.
    Machine {
        wall_at_start: Timestamp,
        start: Instant,
    },
    Set(Arc<AtomicI64>),
}

impl Clock {
    /// Starts the clock at the machine's wall time.
    #[must_use]
    pub fn start() -> Self {
        let since_epoch = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let millis = i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX);
        Self(Source::Machine {
            wall_at_start: Timestamp::from_millis(millis),
            start: Instant::now(),
        })
    }

    /// A clock that stands still until it is set again.
    #[must_use]
    pub fn set_to(moment: Timestamp) -> Self {
        Self(Source::Set(Arc::new(AtomicI64::new(moment.as_millis()))))
    }

    /// Sets a clock that [`Self::set_to`] made; the machine's cannot be set.
    pub fn set(&self, moment: Timestamp) {
        if let Source::Set(millis) = &self.0 {
            millis.store(moment.as_millis(), Ordering::Relaxed);
        }
    }

    /// The current moment.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Source::Machine {
                wall_at_start,
                start,
            } => {
                let elapsed = i64::try_from(start.elapsed().as_millis()).unwrap_or(i64::MAX);
                wall_at_start.plus_millis(elapsed)
            }
            Source::Set(millis) => Timestamp::from_millis(millis.load(Ordering::Relaxed)),
        }
    }

    /// How long until the clock will show `moment`; nothing for the past.
    #[must_use]
    pub fn until(&self, moment: Timestamp) -> Duration {
        let millis = moment.as_millis().saturating_sub(self.now().as_millis());
        Duration::from_millis(millis.max(0).unsigned_abs())
    }
}
