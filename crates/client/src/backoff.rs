//! How long to wait before trying again: doubling, capped, with jitter, and never less than the
//! exchange asked for.
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
    /// The wait after one more failure. Without a hint it is between half and all of the doubled
    /// step; with one, between the hint and half as much again, or the step when that is longer.
    pub(crate) fn next(&mut self, hint_ms: Option<u64>) -> Duration {
        let step = FIRST_MS
            .saturating_mul(1 << self.failures.min(16))
            .min(MAX_MS);
        self.failures = self.failures.saturating_add(1);
        let least = (step / 2).max(hint_ms.unwrap_or(0));
        let jitter = (step / 2).max(hint_ms.unwrap_or(0) / 2);
        Duration::from_millis(least.saturating_add(chance::bits() % (jitter + 1)))
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
            let wait = backoff.next(None).as_millis();
            assert!(wait >= step / 2 && wait <= step, "{wait} for {step}");
        }
        backoff.reset();
        assert!(backoff.next(None).as_millis() <= 100);
    }

    #[test]
    fn a_hint_is_honoured_and_spread() {
        let waits: Vec<_> = (0..200)
            .map(|_| Backoff::default().next(Some(3_000)).as_millis())
            .collect();
        assert!(waits.iter().all(|wait| (3_000..=4_500).contains(wait)));
        let different: std::collections::HashSet<_> = waits.iter().collect();
        assert!(different.len() > 50, "{} of 200 differ", different.len());
    }
}
