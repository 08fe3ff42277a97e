//! One connection's way into the loop, with bounds of its own.
//!
//! What a connection has waiting is bounded before it reaches what all have in common, so that a
//! storm of one connection makes that connection wait, and nobody else.

use crate::Settings;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Reads of the file that one connection may have under way; its other readers wait for these.
const FILE_READS_MAX: usize = 4;

/// A bound in messages and in bytes.
#[derive(Debug)]
pub(crate) struct Gate {
    messages: Arc<Semaphore>,
    messages_max: usize,
    bytes: Arc<Semaphore>,
    bytes_max: usize,
}

/// A share of a gate; given back when dropped.
#[derive(Debug)]
pub(crate) struct Share {
    _messages: OwnedSemaphorePermit,
    _bytes: OwnedSemaphorePermit,
}

impl Gate {
    pub(crate) fn new(messages_max: usize, bytes_max: usize) -> Self {
        let (messages_max, bytes_max) = (bound(messages_max), bound(bytes_max));
        Self {
            messages: Arc::new(Semaphore::new(messages_max)),
            messages_max,
            bytes: Arc::new(Semaphore::new(bytes_max)),
            bytes_max,
        }
    }

    /// A share, if there is room for it now. More than the gate can hold never goes through at once.
    pub(crate) fn try_enter(&self, messages: usize, bytes: usize) -> Option<Share> {
        if messages > self.messages_max || bytes > self.bytes_max {
            return None;
        }
        let (messages, bytes) = self.cost(messages, bytes);
        let messages = Arc::clone(&self.messages).try_acquire_many_owned(messages);
        let bytes = Arc::clone(&self.bytes).try_acquire_many_owned(bytes);
        Some(Share {
            _messages: messages.ok()?,
            _bytes: bytes.ok()?,
        })
    }

    /// Waits for a share; first come, first served. What is larger than the whole gate takes all of
    /// it. `None` never happens while the gate lives.
    pub(crate) async fn enter(&self, messages: usize, bytes: usize) -> Option<Share> {
        let (messages, bytes) = self.cost(messages, bytes);
        let messages = Arc::clone(&self.messages).acquire_many_owned(messages);
        let messages = messages.await.ok()?;
        let bytes = Arc::clone(&self.bytes).acquire_many_owned(bytes);
        Some(Share {
            _messages: messages,
            _bytes: bytes.await.ok()?,
        })
    }

    fn cost(&self, messages: usize, bytes: usize) -> (u32, u32) {
        let cost = |wanted: usize, max: usize| u32::try_from(wanted.min(max)).unwrap_or(u32::MAX);
        (
            cost(messages, self.messages_max),
            cost(bytes, self.bytes_max),
        )
    }
}

fn bound(max: usize) -> usize {
    max.clamp(1, Semaphore::MAX_PERMITS.min(u32::MAX as usize))
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Lane {
    /// Requests of one number keep their order; different numbers take turns.
    pub number: u64,
    /// What of this connection waits for the loop.
    pub gate: Gate,
    /// Reads of the file under way for this connection.
    pub file_reads: Arc<Semaphore>,
}

impl Lane {
    /// The lane of everybody who has none: bounded by what all have in common.
    pub(crate) fn common(settings: &Settings) -> Self {
        Self::new(0, settings.queue_max, settings.queue_bytes_max)
    }

    /// A fresh lane.
    pub(crate) fn next(numbers: &AtomicU64, settings: &Settings) -> Self {
        Self::new(
            numbers.fetch_add(1, Ordering::Relaxed) + 1,
            settings.connection_queue_max,
            settings.connection_queue_bytes_max,
        )
    }

    fn new(number: u64, messages_max: usize, bytes_max: usize) -> Self {
        Self {
            number,
            gate: Gate::new(messages_max, bytes_max),
            file_reads: Arc::new(Semaphore::new(FILE_READS_MAX)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Gate;

    #[tokio::test]
    async fn a_gate_is_bounded_both_ways_and_lets_the_too_large_pass_alone() {
        let gate = Gate::new(2, 100);
        let one = gate.try_enter(1, 60).expect("room");
        assert!(gate.try_enter(1, 60).is_none(), "bytes");
        let two = gate.try_enter(1, 40).expect("room");
        assert!(gate.try_enter(1, 0).is_none(), "messages");
        drop((one, two));
        assert!(gate.try_enter(3, 10).is_none(), "not together");
        assert!(gate.try_enter(1, 101).is_none(), "not without waiting");
        let large = gate.enter(1, 1_000).await.expect("room for all");
        assert!(gate.try_enter(1, 1).is_none());
        drop(large);
        assert!(gate.try_enter(1, 1).is_some());
    }
}
