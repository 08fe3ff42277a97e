//! The state of one bus: whether it can be reached, and the waits while it cannot.

use super::{Kind, Meter};
use crate::http::Stop;
use std::time::Duration;
use tokio::sync::watch;

/// The first wait after a failure, and the longest.
const WAIT_MS: u64 = 100;
const WAIT_MS_MAX: u64 = 5_000;

/// Shared by everything that works on one bus. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Link {
    pub kind: Kind,
    pub stop: Stop,
    pub meter: Meter,
    is_up: watch::Sender<bool>,
}

impl Link {
    pub(crate) fn new(kind: Kind, stop: Stop, meter: Meter) -> Self {
        meter.up(kind, false);
        Self {
            kind,
            stop,
            meter,
            is_up: watch::Sender::new(false),
        }
    }

    /// Notes that the bus answers.
    pub(crate) fn up(&self) {
        let changed = self
            .is_up
            .send_if_modified(|is_up| !std::mem::replace(is_up, true));
        if changed {
            self.meter.up(self.kind, true);
            tracing::info!(bus = self.kind.as_str(), "the bus is there");
        }
    }

    /// Notes that the bus does not answer.
    pub(crate) fn down(&self, why: &dyn std::fmt::Display) {
        let changed = self
            .is_up
            .send_if_modified(|is_up| std::mem::replace(is_up, false));
        if changed {
            self.meter.up(self.kind, false);
            tracing::warn!(bus = self.kind.as_str(), %why, "the bus is gone");
        } else {
            tracing::debug!(bus = self.kind.as_str(), %why, "the bus does not answer");
        }
    }

    /// Waits as long as the `failures`-th failure in a row asks for, from one; false when the exchange
    /// stops.
    pub(crate) async fn rest(&self, failures: u32) -> bool {
        let wait = backoff(failures);
        tokio::select! {
            () = tokio::time::sleep(wait) => !self.stop.is_asked(),
            () = self.stop.asked() => false,
        }
    }
}

/// 100 ms, doubled with every failure up to 5 s.
pub(crate) fn backoff(failures: u32) -> Duration {
    let doubled = WAIT_MS.saturating_mul(1 << failures.saturating_sub(1).min(10));
    Duration::from_millis(doubled.min(WAIT_MS_MAX))
}

#[cfg(test)]
mod tests {
    use super::backoff;

    #[test]
    fn waits_double_up_to_five_seconds() {
        let waits = [0, 1, 2, 3, 7, 1_000].map(|failures| backoff(failures).as_millis());
        assert_eq!(waits, [100, 100, 200, 400, 5_000, 5_000]);
    }
}
