//! One connection as the door sees it: its own way into the exchange, and what it leaves untaken.

use super::HttpSettings;
use broker::Handle;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;

/// Looks at what is due happen this often within the stall time: a reader that pauses for less is
/// only busy.
const LOOKS: u32 = 30;

/// Bytes that have come for a reader so far, whether or not it has taken them.
type Feed = Box<dyn Fn() -> u64 + Send + Sync>;

/// One connection.
pub(crate) struct Peer {
    /// Requests of this connection take turns with those of others.
    pub handle: Handle,
    feeds: Mutex<Feeds>,
    budget_bytes: u64,
    /// How long a write may wait before the connection counts as stalled.
    pub stall: Duration,
    /// It left its data untaken for too long; its readers are told when it takes data again.
    is_late: AtomicBool,
    /// Whether it was told that it is too slow, or was cut for it.
    is_slow: AtomicBool,
    /// Whether the connection broke, so that what was written last may not have arrived.
    pub is_broken: Arc<AtomicBool>,
    /// Its place among all connections, until nobody uses it any more.
    _room: Option<OwnedSemaphorePermit>,
}

#[derive(Default)]
struct Feeds {
    next: u64,
    /// Number, feed, and what had come when the connection stalled.
    open: Vec<(u64, Feed, u64)>,
}

/// Keeps a feed among those of its connection until it is dropped.
pub(crate) struct Owed {
    peer: Arc<Peer>,
    number: u64,
}

impl Peer {
    /// A connection without readers.
    pub(crate) fn new(
        handle: &Handle,
        settings: &HttpSettings,
        room: Option<OwnedSemaphorePermit>,
    ) -> Self {
        Self {
            handle: handle.connection(),
            feeds: Mutex::default(),
            budget_bytes: settings.reader_budget_bytes,
            stall: settings.write_stall(),
            is_late: AtomicBool::new(false),
            is_slow: AtomicBool::new(false),
            is_broken: Arc::default(),
            _room: room,
        }
    }

    /// A reader begins: what comes for it counts when the connection stalls.
    pub(crate) fn owe(self: &Arc<Self>, feed: impl Fn() -> u64 + Send + Sync + 'static) -> Owed {
        let mut feeds = self.feeds.lock();
        let number = feeds.next;
        feeds.next += 1;
        let seen = feed();
        feeds.open.push((number, Box::new(feed), seen));
        Owed {
            peer: Arc::clone(self),
            number,
        }
    }

    /// The connection begins to wait: only what comes from now on is counted.
    pub(crate) fn stalls(&self) {
        for (_, feed, seen) in &mut self.feeds.lock().open {
            *seen = feed();
        }
    }

    /// Whether more has come for its readers since it stalled than the budget allows.
    pub(crate) fn is_over_budget(&self) -> bool {
        let feeds = self.feeds.lock();
        let due = |(_, feed, seen): &(u64, Feed, u64)| feed().saturating_sub(*seen);
        feeds.open.iter().map(due).sum::<u64>() > self.budget_bytes
    }

    /// The time between two looks at what is due.
    pub(crate) fn look_every(&self) -> Duration {
        (self.stall / LOOKS).clamp(Duration::from_millis(1), Duration::from_secs(1))
    }

    /// Whether this connection has readers.
    pub(crate) fn has_readers(&self) -> bool {
        !self.feeds.lock().open.is_empty()
    }

    /// Notes that it left its data untaken for too long.
    pub(crate) fn note_late(&self) {
        self.is_late.store(true, Ordering::Release);
    }

    /// Whether it was late; asked once, because then it is told.
    pub(crate) fn take_late(&self) -> bool {
        self.is_late.load(Ordering::Acquire) && self.is_late.swap(false, Ordering::AcqRel)
    }

    /// Notes that it is too slow; true the first time.
    pub(crate) fn note_slow(&self) -> bool {
        !self.is_slow.swap(true, Ordering::AcqRel)
    }
}

impl Drop for Owed {
    fn drop(&mut self) {
        let mut feeds = self.peer.feeds.lock();
        feeds.open.retain(|(number, ..)| *number != self.number);
    }
}
