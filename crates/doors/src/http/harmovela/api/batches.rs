//! What was read through this API and is not acknowledged yet.
//!
//! A client of the daemon acknowledges nothing: it reads, and reads again. So the next read of a
//! subscription acknowledges what the one before it got, if that answer was given to the connection
//! whole and the connection did not break afterwards; else it comes again. A client that knows of it
//! says `ack=` with the batch that it has dealt with: then only that is acknowledged and everything
//! else comes again. All this is memory of the process: after a restart nothing is out.

use broker::{Cursor, DeliveryId, Handle};
use parking_lot::Mutex;
use protocol::Timestamp;
use protocol::id::{Ulid, UlidSource};
use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Most deliveries that readers of one subscription hold.
pub(super) const HELD_MAX: u32 = 16_384;

/// The batches of all subscriptions.
pub(crate) struct Desk {
    open: Mutex<HashMap<Box<str>, Vec<Batch>>>,
    /// What streams gave to connections that then ended.
    written: Mutex<HashMap<Box<str>, Vec<u64>>>,
    ids: Mutex<UlidSource>,
    /// Random per process: a batch of an earlier run is no batch of this one.
    run: u64,
    next: AtomicU64,
    /// The newest event acknowledged here; 0 for none.
    last_acknowledged: AtomicU64,
}

/// One answer's deliveries.
struct Batch {
    number: u64,
    deliveries: Vec<DeliveryId>,
    /// Whether the connection took the whole answer.
    is_given: bool,
    /// Whether the connection broke.
    is_broken: Arc<AtomicBool>,
}

/// What a read has to settle first.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) done: Vec<DeliveryId>,
    pub(super) again: Vec<DeliveryId>,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self {
            open: Mutex::default(),
            written: Mutex::default(),
            ids: Mutex::default(),
            run: RandomState::new().build_hasher().finish(),
            next: AtomicU64::new(1),
            last_acknowledged: AtomicU64::new(0),
        }
    }

    /// A new id for a subscription, greater than all before it.
    pub(super) fn new_id(&self, now: Timestamp) -> Ulid {
        // Every `RandomState` has keys of its own, taken from the system's random source.
        let bits = || u128::from(RandomState::new().build_hasher().finish());
        let random = (bits() << 64) | bits();
        self.ids.lock().next(now, random)
    }

    /// Takes what the next read of a subscription settles; `ack` is the batch that the reader names.
    pub(super) fn take_due(&self, subscription: &str, ack: Option<&str>) -> Due {
        let mut due = Due::default();
        let mut open = self.open.lock();
        let Some(batches) = open.get_mut(subscription) else {
            return due;
        };
        for batch in batches.extract_if(.., |batch| batch.is_given) {
            let is_done = match ack {
                Some(named) => named == self.token(batch.number),
                None => !batch.is_broken.load(Ordering::Acquire),
            };
            let to = if is_done {
                &mut due.done
            } else {
                &mut due.again
            };
            to.extend(batch.deliveries);
        }
        if batches.is_empty() {
            open.remove(subscription);
        }
        due
    }

    /// Notes what is on its way to a reader.
    fn hand(
        &self,
        subscription: &str,
        deliveries: Vec<DeliveryId>,
        is_broken: Arc<AtomicBool>,
    ) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut open = self.open.lock();
        open.entry(subscription.into()).or_default().push(Batch {
            number,
            deliveries,
            is_given: false,
            is_broken,
        });
        number
    }

    fn given(&self, subscription: &str, number: u64) {
        if let Some(batches) = self.open.lock().get_mut(subscription) {
            for batch in batches.iter_mut().filter(|batch| batch.number == number) {
                batch.is_given = true;
            }
        }
    }

    /// Takes back an answer that did not get to its reader.
    fn take_back(&self, subscription: &str, number: u64) -> Vec<DeliveryId> {
        let mut open = self.open.lock();
        let Some(batches) = open.get_mut(subscription) else {
            return Vec::new();
        };
        let ours = batches.extract_if(.., |batch| batch.number == number);
        let deliveries = ours.flat_map(|batch| batch.deliveries).collect();
        if batches.is_empty() {
            open.remove(subscription);
        }
        deliveries
    }

    /// The subscription is gone.
    pub(super) fn forget(&self, subscription: &str) {
        self.open.lock().remove(subscription);
        self.written.lock().remove(subscription);
    }

    /// A stream ends that gave these to its connection and does not know whether they arrived.
    pub(super) fn keep_written(&self, subscription: &str, sequences: Vec<u64>) {
        if !sequences.is_empty() {
            let mut written = self.written.lock();
            written.insert(subscription.into(), sequences);
        }
    }

    /// What the last stream of a subscription gave to its connection; told once.
    pub(super) fn take_written(&self, subscription: &str) -> Vec<u64> {
        self.written.lock().remove(subscription).unwrap_or_default()
    }

    pub(super) fn acknowledged(&self, sequence: u64) {
        self.last_acknowledged
            .fetch_max(sequence, Ordering::Relaxed);
    }

    /// The cursor of the newest event acknowledged here; `head` says in which journal.
    pub(super) fn last_acknowledged(&self, head: Cursor) -> Option<Cursor> {
        let sequence = self.last_acknowledged.load(Ordering::Relaxed);
        (sequence > 0).then_some(Cursor { sequence, ..head })
    }

    fn token(&self, number: u64) -> String {
        format!("batch_{:012x}_{number}", self.run >> 16)
    }
}

/// Deliveries between the exchange and a reader: those that do not arrive go back, as if they had never
/// been handed out.
pub(super) struct OnTheWay {
    desk: Arc<Desk>,
    handle: Handle,
    subscription: Box<str>,
    number: u64,
    is_given: bool,
}

impl OnTheWay {
    pub(super) fn new(
        desk: Arc<Desk>,
        handle: Handle,
        subscription: &str,
        deliveries: Vec<DeliveryId>,
        is_broken: Arc<AtomicBool>,
    ) -> Self {
        let number = desk.hand(subscription, deliveries, is_broken);
        Self {
            desk,
            handle,
            subscription: subscription.into(),
            number,
            is_given: false,
        }
    }

    /// The name of this batch.
    pub(super) fn token(&self) -> String {
        self.desk.token(self.number)
    }

    /// The connection took all of it.
    pub(super) fn given(mut self) {
        self.is_given = true;
        self.desk.given(&self.subscription, self.number);
    }
}

impl Drop for OnTheWay {
    fn drop(&mut self) {
        if !self.is_given {
            let deliveries = self.desk.take_back(&self.subscription, self.number);
            give_back(&self.handle, deliveries);
        }
    }
}

/// Gives deliveries back without waiting for it.
pub(super) fn give_back(handle: &Handle, deliveries: Vec<DeliveryId>) {
    if deliveries.is_empty() {
        return;
    }
    let handle = handle.clone();
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(async move {
            if let Err(refused) = handle.give_back_unseen(deliveries).await {
                // The exchange is gone, and with it every lease.
                tracing::debug!(%refused, "nothing is given back any more");
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::{Desk, Due};
    use broker::{DeliveryId, PlaceId};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    fn delivery(sequence: u64) -> DeliveryId {
        DeliveryId {
            place: PlaceId(1),
            sequence,
            fence: 1,
        }
    }

    #[test]
    fn a_read_acknowledges_what_arrived_and_nothing_else() {
        let desk = Desk::new();
        let connection = Arc::new(AtomicBool::new(false));
        let first = desk.hand("s", vec![delivery(1)], Arc::clone(&connection));
        assert_eq!(desk.take_due("s", None), Due::default(), "it is on its way");
        desk.given("s", first);
        assert_eq!(desk.take_due("t", None), Due::default(), "another's");
        assert_eq!(desk.take_due("s", None).done, [delivery(1)]);
        assert_eq!(desk.take_due("s", None), Due::default(), "only once");

        let second = desk.hand("s", vec![delivery(2)], Arc::clone(&connection));
        desk.given("s", second);
        connection.store(true, Ordering::Release);
        assert_eq!(desk.take_due("s", None).again, [delivery(2)], "it broke");

        let third = desk.hand("s", vec![delivery(3)], connection);
        assert_eq!(desk.take_back("s", third), [delivery(3)]);
        assert!(desk.open.lock().is_empty(), "nothing is kept for nothing");
    }

    #[test]
    fn a_reader_that_names_its_batch_gets_everything_else_again() {
        let desk = Desk::new();
        let whole = || Arc::new(AtomicBool::new(false));
        let first = desk.hand("s", vec![delivery(1)], whole());
        let second = desk.hand("s", vec![delivery(2)], whole());
        desk.given("s", first);
        desk.given("s", second);
        let due = desk.take_due("s", Some(&desk.token(first)));
        assert_eq!(
            (due.done, due.again),
            (vec![delivery(1)], vec![delivery(2)])
        );
        let third = desk.hand("s", vec![delivery(3)], whole());
        desk.given("s", third);
        assert_eq!(desk.take_due("s", Some("")).again, [delivery(3)]);
    }
}
