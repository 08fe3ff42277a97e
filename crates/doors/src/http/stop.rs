//! How the process tells its doors to stop: once to drain, twice to end at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use tokio_util::sync::CancellationToken;

/// A stop sign that every door of the process shares. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// How often it was asked; the tokens alone would cost a lock for every look.
    asked: AtomicU8,
    drain: CancellationToken,
    end: CancellationToken,
}

impl Stop {
    /// A sign that nobody has asked yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The first call begins the drain; the second ends everything at once.
    pub fn ask(&self) {
        match self.shared.asked.fetch_add(1, Ordering::AcqRel) {
            0 => self.shared.drain.cancel(),
            _ => {
                self.shared.asked.store(2, Ordering::Release);
                self.shared.end.cancel();
            }
        }
    }

    /// Whether the drain has begun.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.shared.asked.load(Ordering::Acquire) > 0
    }

    /// Returns when the drain begins.
    pub async fn draining(&self) {
        self.shared.drain.cancelled().await;
    }

    /// Ends when this sign does, and can be ended earlier on its own.
    pub(crate) fn end(&self) -> CancellationToken {
        self.shared.end.child_token()
    }
}

#[cfg(test)]
mod tests {
    use super::Stop;

    #[tokio::test]
    async fn the_first_ask_drains_and_the_second_ends() {
        let stop = Stop::new();
        let end = stop.end();
        assert!(!stop.is_draining());
        stop.ask();
        stop.draining().await;
        assert!(stop.is_draining() && !end.is_cancelled());
        stop.ask();
        assert!(end.is_cancelled() && stop.end().is_cancelled());
        stop.ask();
        assert!(stop.is_draining());
    }
}
