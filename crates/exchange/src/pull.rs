//! Handing out deliveries, and taking back those whose time is over.

use crate::delivery::Lease;
use crate::exchange::Exchange;
use crate::place::PlaceId;
use protocol::Timestamp;
use std::collections::BTreeSet;

impl Exchange {
    /// Leases up to `max` deliveries of a place, within its in-flight limit. Call
    /// [`expire`](Self::expire) first when a deadline has come.
    pub fn pull(&mut self, now: Timestamp, place: PlaceId, max: usize) -> Vec<Lease> {
        let until = now.plus_millis(self.settings.lease_ms);
        let in_flight_max = self.settings.in_flight_max;
        let fences = &mut self.fences;
        let leases = self.places.change(place, |queue, deadlines| {
            let room = in_flight_max.saturating_sub(queue.held_count()).min(max);
            let next = || queue.lease(|| fences.next(now), until, deadlines);
            let leases = std::iter::from_fn(next).take(room);
            leases
                .map(|(sequence, held)| Lease {
                    place,
                    sequence,
                    fence: held.fence,
                    attempt: held.attempt,
                    until: held.until,
                })
                .collect()
        });
        leases.unwrap_or_default()
    }

    /// Leases that ran out and nacks whose delay is over become ready; returns the places to wake.
    pub fn expire(&mut self, now: Timestamp) -> Vec<PlaceId> {
        let mut wake = BTreeSet::new();
        while let Some((place, sequence)) = self.places.pop_deadline(now) {
            self.places
                .change(place, |queue, _| queue.ready_again(sequence));
            wake.insert(place);
        }
        wake.into_iter().collect()
    }

    /// When to call [`expire`](Self::expire) next; may change with every other call.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.places.next_deadline()
    }
}
