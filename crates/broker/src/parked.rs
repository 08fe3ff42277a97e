//! Pulls that found nothing and wait for a delivery.

use crate::request::Pulled;
use exchange::{Consumer, PlaceName};
use protocol::Timestamp;
use std::collections::{HashMap, VecDeque};
use tokio::sync::oneshot;

/// Callers who left are swept this often, so that a place nobody writes to cannot collect them.
const SWEEP_EVERY_MS: i64 = 1_000;

/// One waiting pull. Its caller keeps the time.
pub(crate) struct Waiting {
    pub max: usize,
    pub held_max: usize,
    pub consumer: Consumer,
    pub reply: oneshot::Sender<Pulled>,
}

/// All waiting pulls, by place, first come first served.
#[derive(Default)]
pub(crate) struct Parked {
    places: HashMap<PlaceName, VecDeque<Waiting>>,
    next_sweep: Option<Timestamp>,
}

impl Parked {
    pub(crate) fn park(&mut self, now: Timestamp, place: PlaceName, waiting: Waiting) {
        self.places.entry(place).or_default().push_back(waiting);
        self.next_sweep
            .get_or_insert_with(|| now.plus_millis(SWEEP_EVERY_MS));
    }

    /// Puts a pull back at the head of its queue.
    pub(crate) fn put_back(&mut self, place: PlaceName, waiting: Waiting) {
        self.places.entry(place).or_default().push_front(waiting);
    }

    /// The longest waiting pull whose caller is still there.
    pub(crate) fn next(&mut self, place: &PlaceName) -> Option<Waiting> {
        let queue = self.places.get_mut(place)?;
        while let Some(waiting) = queue.pop_front() {
            if !waiting.reply.is_closed() {
                return Some(waiting);
            }
        }
        self.places.remove(place);
        None
    }

    /// The longest waiting pull of one consumer.
    pub(crate) fn next_of(&mut self, place: &PlaceName, consumer: &Consumer) -> Option<Waiting> {
        let queue = self.places.get_mut(place)?;
        let is_theirs =
            |waiting: &Waiting| waiting.consumer == *consumer && !waiting.reply.is_closed();
        queue.remove(queue.iter().position(is_theirs)?)
    }

    /// Ends the waiting pulls of a consumer that goes: nothing may be handed to it any more.
    pub(crate) fn dismiss(&mut self, place: &PlaceName, consumer: &Consumer) {
        while let Some(waiting) = self.next_of(place, consumer) {
            // A caller who has gone away does not need it.
            drop(waiting.reply.send(Ok(Vec::new())));
        }
    }

    /// How many pulls wait for a place.
    pub(crate) fn count(&self, place: &PlaceName) -> usize {
        self.places.get(place).map_or(0, VecDeque::len)
    }

    /// Whether somebody waits for a place.
    pub(crate) fn has(&self, place: &PlaceName) -> bool {
        self.places
            .get(place)
            .is_some_and(|queue| queue.iter().any(|waiting| !waiting.reply.is_closed()))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub(crate) fn next_sweep(&self) -> Option<Timestamp> {
        self.next_sweep
    }

    /// Lets go of callers who left; tells of each place where one did.
    pub(crate) fn sweep(&mut self, now: Timestamp, mut left: impl FnMut(&PlaceName)) {
        if self.next_sweep.is_none_or(|at| at > now) {
            return;
        }
        self.places.retain(|place, queue| {
            let count = queue.len();
            queue.retain(|waiting| !waiting.reply.is_closed());
            if queue.len() < count {
                left(place);
            }
            !queue.is_empty()
        });
        self.next_sweep = (!self.places.is_empty()).then(|| now.plus_millis(SWEEP_EVERY_MS));
    }
}
