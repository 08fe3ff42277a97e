//! The readers of one socket by their reference.

use super::frame::Reference;
use crate::http::peer::Owed;
use broker::{Cursor, DeliveryId, PlaceName, Settle};
use futures_util::future::AbortHandle;
use protocol::Timestamp;
use std::collections::HashMap;
use std::time::Duration;

/// One reader.
pub(crate) struct Reader {
    pub kind: Kind,
    /// Gives up what the reader waits for.
    pub waits: AbortHandle,
}

/// Live or durable.
pub(crate) enum Kind {
    /// Follows the journal; everything up to the cursor was written.
    Live {
        cursor: Cursor,
        /// From when its place is known.
        owed: Option<Owed>,
    },
    /// Consumes a durable place.
    Durable(Durable),
}

/// A durable reader and what it holds.
#[derive(Debug)]
pub(crate) struct Durable {
    pub place: PlaceName,
    in_flight_max: usize,
    /// Unsettled deliveries and the end of their leases.
    in_flight: HashMap<DeliveryId, Timestamp>,
    is_full: bool,
}

/// What a durable reader does next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Pull up to so many.
    Pull(usize),
    /// Wait for a lease to end; a settled delivery comes earlier.
    Wait(Duration),
}

impl Durable {
    pub(crate) fn new(place: PlaceName, in_flight_max: usize) -> Self {
        Self {
            place,
            in_flight_max,
            in_flight: HashMap::new(),
            is_full: false,
        }
    }

    /// Notes a delivery that was handed to the peer.
    pub(crate) fn hold(&mut self, id: DeliveryId, until: Timestamp) {
        self.in_flight.insert(id, until);
    }

    /// Forgets a delivery or moves the end of its lease; true when the reader had been full and
    /// should look again.
    pub(crate) fn settle(
        &mut self,
        id: DeliveryId,
        how: &Settle,
        now: Timestamp,
        lease_ms: i64,
    ) -> bool {
        if !self.in_flight.contains_key(&id) {
            return false;
        }
        match how {
            Settle::Ack | Settle::Nack { .. } | Settle::Reject { .. } => {
                self.in_flight.remove(&id);
                self.is_full
            }
            Settle::Extend { lease_ms: asked } => {
                self.in_flight
                    .insert(id, now.plus_millis(asked.unwrap_or(lease_ms)));
                false
            }
        }
    }

    /// What to do now. Leases that are over belong to somebody else.
    pub(crate) fn step(&mut self, now: Timestamp) -> Step {
        self.in_flight.retain(|_, until| *until > now);
        let room = self.in_flight_max.saturating_sub(self.in_flight.len());
        self.is_full = room == 0;
        if !self.is_full {
            return Step::Pull(room);
        }
        let first = self.in_flight.values().min().copied().unwrap_or(now);
        let millis = first.as_millis().saturating_sub(now.as_millis()).max(1);
        Step::Wait(Duration::from_millis(millis.unsigned_abs()))
    }
}

/// All readers of one socket.
pub(crate) type Readers = HashMap<Reference, Reader>;

#[cfg(test)]
mod tests {
    use super::{Durable, Step};
    use broker::{DeliveryId, PlaceName, Settle};
    use exchange::PlaceId;
    use protocol::Timestamp;
    use std::time::Duration;

    fn id(sequence: u64) -> DeliveryId {
        DeliveryId {
            place: PlaceId(1),
            sequence,
            fence: 1,
        }
    }

    #[test]
    fn a_full_reader_waits_for_a_settlement_or_the_end_of_a_lease() {
        let at = Timestamp::from_millis;
        let mut reader = Durable::new(PlaceName::Subscription("s".into()), 2);
        assert_eq!(reader.step(at(0)), Step::Pull(2));
        reader.hold(id(1), at(100));
        assert!(!reader.settle(id(9), &Settle::Ack, at(0), 100), "not held");
        reader.hold(id(2), at(300));
        assert_eq!(reader.step(at(40)), Step::Wait(Duration::from_millis(60)));
        assert!(!reader.settle(id(1), &Settle::Extend { lease_ms: None }, at(40), 500));
        assert_eq!(reader.step(at(40)), Step::Wait(Duration::from_millis(260)));
        assert!(reader.settle(id(2), &Settle::Ack, at(50), 500));
        assert_eq!(reader.step(at(50)), Step::Pull(1));
        assert_eq!(reader.step(at(540)), Step::Pull(2));
    }
}
