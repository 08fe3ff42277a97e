//! How the process tells its doors to stop: once to drain, twice to end at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use tokio_util::sync::CancellationToken;

/// A stop sign that every door of the process shares. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    shared: Arc<Shared>,
}

/// How far it is; the tokens alone would cost a lock for every look.
const ASKED: u8 = 1;
const DRAINING: u8 = 2;

#[derive(Debug, Default)]
struct Shared {
    step: AtomicU8,
    asked: CancellationToken,
    drain: CancellationToken,
    end: CancellationToken,
}

impl Stop {
    /// A sign that nobody has asked yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The first call turns readiness off and leads to the drain; the second ends everything at once.
    pub fn ask(&self) {
        let shared = &self.shared;
        let first = shared
            .step
            .compare_exchange(0, ASKED, Ordering::AcqRel, Ordering::Acquire);
        shared.asked.cancel();
        if first.is_err() {
            self.drain();
            shared.end.cancel();
        }
    }

    /// Whether somebody has asked: no longer ready.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.shared.step.load(Ordering::Acquire) >= ASKED
    }

    /// Returns when somebody asks.
    pub async fn asked(&self) {
        self.shared.asked.cancelled().await;
    }

    /// Begins the drain; the door does so after its notice.
    pub(crate) fn drain(&self) {
        self.shared.step.store(DRAINING, Ordering::Release);
        self.shared.drain.cancel();
    }

    /// Whether the drain has begun.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.shared.step.load(Ordering::Acquire) >= DRAINING
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
    async fn the_first_ask_leads_to_the_drain_and_the_second_ends() {
        let stop = Stop::new();
        let end = stop.end();
        assert!(!stop.is_asked());
        stop.ask();
        stop.asked().await;
        assert!(stop.is_asked() && !stop.is_draining() && !end.is_cancelled());
        stop.drain();
        stop.draining().await;
        assert!(stop.is_draining() && !end.is_cancelled());
        stop.ask();
        assert!(end.is_cancelled() && stop.end().is_cancelled());
        stop.ask();
        assert!(stop.is_asked() && stop.is_draining());
    }

    #[tokio::test]
    async fn a_second_ask_does_not_wait_for_the_notice() {
        let stop = Stop::new();
        stop.ask();
        stop.ask();
        stop.draining().await;
        assert!(stop.end().is_cancelled());
    }
}
