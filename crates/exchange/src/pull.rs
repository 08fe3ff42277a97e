//! Handing out deliveries.

use crate::delivery::Lease;
use crate::exchange::Exchange;
use crate::outcome::{Notice, Outcome};
use crate::place::{Consumer, OrderKey, PlaceId};
use protocol::Timestamp;

impl Exchange {
    /// Leases up to `max` deliveries of a place to a consumer, within the place's in-flight limit.
    /// Call [`expire`](Self::expire) first when a deadline has come.
    pub fn pull(
        &mut self,
        now: Timestamp,
        place: PlaceId,
        consumer: &Consumer,
        max: usize,
    ) -> (Vec<Lease>, Outcome) {
        let defaults = self.settings.delivery;
        let recovered_to = self.recovered_to;
        let fences = &mut self.fences;
        let mut outcome = Outcome::default();
        let leases = self.places.change(place, |queue, moments| {
            let own = queue.settings.as_deref().copied().unwrap_or(defaults);
            let in_flight_max = own.in_flight_max as usize;
            let room = in_flight_max.saturating_sub(queue.held_count()).min(max);
            let mut leases = Vec::with_capacity(room.min(queue.ready_count()));
            let mut last = OrderKey::default();
            while leases.len() < room {
                let Some(candidate) = queue.choose(consumer, own.order, last) else {
                    break;
                };
                let (sequence, failed) = (candidate.sequence, candidate.tries.failed());
                last = candidate.key;
                let lease_ms = queue.settings_for(sequence, defaults).lease_ms;
                let until = now.plus_millis(lease_ms);
                let held = queue.hold(
                    candidate,
                    fences.next(now),
                    consumer.clone(),
                    until,
                    moments,
                );
                let attempt = held.tries.attempts;
                leases.push(Lease {
                    place,
                    sequence,
                    fence: held.fence,
                    attempt,
                    redelivered: attempt > 1 || failed > 0 || sequence <= recovered_to,
                    until,
                });
            }
            leases
        });
        let leases = leases.unwrap_or_default();
        let again = leases.iter().filter(|lease| lease.attempt > 1);
        outcome
            .notices
            .extend(again.map(|lease| Notice::Redelivered {
                place,
                sequence: lease.sequence,
                attempt: lease.attempt,
            }));
        (leases, outcome)
    }

    /// How many deliveries of a place are ready to be handed out.
    #[must_use]
    pub fn ready_count(&self, place: PlaceId) -> usize {
        self.places
            .get(place)
            .map_or(0, crate::place::Place::ready_count)
    }

    /// A consumer has left: what it held is ready again at once and counts as no failure.
    pub fn leave(&mut self, place: PlaceId, consumer: &Consumer) -> Vec<PlaceId> {
        let gave_back = self.places.change(place, |queue, moments| {
            let held = queue.held_by(consumer);
            for sequence in &held {
                queue.give_back(*sequence, moments);
            }
            !held.is_empty()
        });
        gave_back
            .filter(|gave| *gave)
            .map(|_| place)
            .into_iter()
            .collect()
    }

    /// Leases that never reached their reader are as if they had not been.
    pub fn give_back(&mut self, leases: &[Lease]) {
        for lease in leases {
            self.places.change(lease.place, |queue, moments| {
                queue.never_went(lease.sequence, moments);
            });
        }
    }

    /// Says up to which record state was rebuilt. What was owed then may have been handed out before.
    pub fn recovered(&mut self, sequence: u64) {
        self.recovered_to = sequence;
    }
}
