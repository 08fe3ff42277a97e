//! How long to wait before trying again: doubling, capped, with full jitter.
//!
//! Jitter keeps a thousand clients from coming back in the same millisecond after a restart.

use crate::chance;
use std::time::Duration;

const FIRST_MS: u64 = 100;
const MAX_MS: u64 = 5_000;

/// The waits of one series of failures.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// The wait after one more failure: between half and all of the doubled step.
    pub(crate) fn next(&mut self) -> Duration {
        let step = FIRST_MS
            .saturating_mul(1 << self.failures.min(16))
            .min(MAX_MS);
        self.failures = self.failures.saturating_add(1);
        Duration::from_millis(step / 2 + chance::bits() % (step / 2 + 1))
    }

    /// Success: the next series starts small again.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::Backoff;

    #[test]
    fn waits_grow_to_the_cap_and_start_again_after_success() {
        let mut backoff = Backoff::default();
        for step in [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000] {
            let wait = backoff.next().as_millis();
            assert!(wait >= step / 2 && wait <= step, "{wait} for {step}");
        }
        backoff.reset();
        assert!(backoff.next().as_millis() <= 100);
    }
}
