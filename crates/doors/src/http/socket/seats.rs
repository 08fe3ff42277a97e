//! The places that one socket reads from, each under a name.

use crate::http::consumers::Consumers;
use broker::PlaceName;
use std::collections::HashMap;
use std::sync::Arc;

/// What a socket takes part in.
#[derive(Debug, Default)]
pub(crate) struct Seats {
    taken: HashMap<(PlaceName, Arc<str>), Seat>,
}

#[derive(Debug, Default)]
struct Seat {
    /// Durable readers.
    readers: usize,
    /// Whether there was a single pull, which has no end but the socket's.
    has_pulled: bool,
}

impl Seats {
    /// A durable reader begins.
    pub(crate) fn sit(&mut self, consumers: &Consumers, place: &PlaceName, name: &Arc<str>) {
        self.seat(consumers, place, name).readers += 1;
    }

    /// A single pull.
    pub(crate) fn stay(&mut self, consumers: &Consumers, place: &PlaceName, name: &Arc<str>) {
        self.seat(consumers, place, name).has_pulled = true;
    }

    /// A durable reader ends; true when the consumer has left the place by that.
    pub(crate) fn rise(
        &mut self,
        consumers: &Consumers,
        place: &PlaceName,
        name: &Arc<str>,
    ) -> bool {
        let key = (place.clone(), Arc::clone(name));
        let Some(seat) = self.taken.get_mut(&key) else {
            return false;
        };
        seat.readers = seat.readers.saturating_sub(1);
        if seat.readers > 0 || seat.has_pulled {
            return false;
        }
        self.taken.remove(&key);
        consumers.part(place, name)
    }

    /// The socket ends: consumers that have left by that.
    pub(crate) fn leave(&mut self, consumers: &Consumers) -> Vec<(PlaceName, Arc<str>)> {
        let seats = std::mem::take(&mut self.taken).into_keys();
        seats
            .filter(|(place, name)| consumers.part(place, name))
            .collect()
    }

    fn seat(&mut self, consumers: &Consumers, place: &PlaceName, name: &Arc<str>) -> &mut Seat {
        let key = (place.clone(), Arc::clone(name));
        self.taken.entry(key).or_insert_with(|| {
            consumers.join(place, name);
            Seat::default()
        })
    }
}
