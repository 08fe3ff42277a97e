//! Handing out deliveries.

use crate::delivery::Lease;
use crate::exchange::Exchange;
use crate::fail::Fail;
use crate::outcome::{Notice, Outcome};
use crate::place::{Consumer, PlaceId};
use crate::record::Failure;
use protocol::Timestamp;

const GONE: Fail<'_> = Fail {
    why: Failure::ConsumerGone,
    error: "",
    retry_after_ms: None,
};

impl Exchange {
    /// Leases up to `max` deliveries of a place to a consumer, within the place's in-flight limit and
    /// so that the consumer holds at most `held_max` there. Call [`expire`](Self::expire) first when
    /// a deadline has come.
    pub fn pull(
        &mut self,
        now: Timestamp,
        place: PlaceId,
        consumer: &Consumer,
        max: usize,
        held_max: usize,
    ) -> (Vec<Lease>, Outcome) {
        let defaults = self.settings.delivery;
        let recovered_to = self.recovered_to;
        let fences = &mut self.fences;
        let mut outcome = Outcome::default();
        let leases = self.places.change(place, |queue, moments| {
            let own = queue.settings.as_deref().copied().unwrap_or(defaults);
            let in_flight_max = own.in_flight_max as usize;
            let room = in_flight_max.saturating_sub(queue.held_count());
            let own_room = held_max.saturating_sub(queue.held_count_of(consumer));
            let room = room.min(own_room).min(max);
            let mut leases = Vec::with_capacity(room.min(queue.ready_count()));
            while leases.len() < room {
                let Some(candidate) = queue.choose(consumer, own.order) else {
                    break;
                };
                let (sequence, failed) = (candidate.sequence, candidate.tries.failed());
                let lease_ms = queue.settings_for(sequence, defaults).lease_ms;
                let until = now.plus_millis(lease_ms);
                let held = queue.hold(candidate, fences.next(now), consumer, until, moments);
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
        outcome.touched = leases.iter().map(|lease| lease.sequence).collect();
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

    /// Consumers of a place that have something to pull which nobody else may have.
    #[must_use]
    pub fn summoned(&self, place: PlaceId) -> Vec<Consumer> {
        let place = self.places.get(place);
        place.map_or_else(Vec::new, |place| place.summoned().cloned().collect())
    }

    /// A consumer has left: what it held is ready again at once and counts as no failure.
    pub fn leave(&mut self, place: PlaceId, consumer: &Consumer) -> Outcome {
        let gave_back = self.places.change(place, |queue, moments| {
            let held = queue.held_by(consumer);
            for sequence in &held {
                queue.give_back(*sequence, moments);
            }
            held
        });
        let touched = gave_back.unwrap_or_default();
        Outcome {
            wake: touched.first().map(|_| place).into_iter().collect(),
            touched,
            ..Outcome::default()
        }
    }

    /// A consumer is gone without a word. What it held is ready again at once, but counts as failed:
    /// a message that kills whoever reads it must not do so for ever. `next_sequence` is the one that
    /// the first record will have.
    pub fn lose(
        &mut self,
        now: Timestamp,
        next_sequence: u64,
        place: PlaceId,
        consumer: &Consumer,
    ) -> Outcome {
        let held = self.places.get(place).map(|queue| queue.held_by(consumer));
        let held = held.unwrap_or_default();
        let mut outcome = Outcome::default();
        if !held.is_empty() {
            outcome.wake.push(place);
            self.fail(now, next_sequence, place, &held, &GONE, &mut outcome);
        }
        outcome
    }

    /// Leases that never reached their reader are as if they had not been.
    pub fn give_back(&mut self, leases: &[Lease]) {
        for lease in leases {
            self.places.change(lease.place, |queue, moments| {
                queue.never_went(lease.sequence, lease.fence, moments);
            });
        }
    }

    /// Says up to which record state was rebuilt, and what the clock shows now. What was owed then may
    /// have been handed out before. Waits go on by this clock.
    pub fn recovered(&mut self, now: Timestamp, sequence: u64) {
        self.recovered_to = sequence;
        self.places.resume_waits(now);
        self.tasks.resume_waits(now);
    }
}
