//! Dead letters: what nobody is given again by itself, until somebody looks.

use crate::exchange::Exchange;
use crate::outcome::Outcome;
use crate::place::{DeliveryState, PlaceId};
use crate::record::{Ending, Record};
use protocol::Timestamp;
use std::ops::Bound;

/// One dead letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// Where.
    pub place: PlaceId,
    /// Which message.
    pub sequence: u64,
    /// Since when.
    pub at: Timestamp,
    /// Why.
    pub reason: Box<str>,
    /// How often it was handed out.
    pub attempts: u32,
    /// The journal's records of its failed attempts, which say how each failed.
    pub failures: Vec<u64>,
}

impl Exchange {
    /// Up to `max` dead letters of a place, or of all, after a place and sequence, in that order.
    #[must_use]
    pub fn dead_letters(
        &self,
        place: Option<PlaceId>,
        after: Option<(PlaceId, u64)>,
        max: usize,
    ) -> Vec<DeadLetter> {
        let mut letters = Vec::new();
        let first = after.map_or(PlaceId(0), |(place, _)| place);
        let only = place.and_then(|id| Some((id, self.places.get(id)?)));
        let all = self.places.with_dead(first).filter(|_| place.is_none());
        for (id, place) in only.into_iter().chain(all) {
            let from = match after {
                Some((place, sequence)) if place == id => Bound::Excluded(sequence),
                Some((place, _)) if place > id => continue,
                Some(_) | None => Bound::Unbounded,
            };
            let dead = place.dead().range((from, Bound::Unbounded));
            let rest = max - letters.len();
            letters.extend(dead.take(rest).map(|(sequence, dead)| DeadLetter {
                place: id,
                sequence: *sequence,
                at: dead.at,
                reason: dead.reason.clone(),
                attempts: dead.tries.attempts,
                failures: dead.tries.failures.clone(),
            }));
            if letters.len() == max {
                break;
            }
        }
        letters
    }

    /// One dead letter.
    #[must_use]
    pub fn dead_letter(&self, place: PlaceId, sequence: u64) -> Option<DeadLetter> {
        let dead = self.places.get(place)?.dead().get(&sequence)?;
        Some(DeadLetter {
            place,
            sequence,
            at: dead.at,
            reason: dead.reason.clone(),
            attempts: dead.tries.attempts,
            failures: dead.tries.failures.clone(),
        })
    }

    /// Delivers a dead letter again, with a fresh count of failures. `None` when there is none. This
    /// is a new delivery of the same message, so dedupe has no say in it.
    pub fn redrive(&mut self, now: Timestamp, place: PlaceId, sequence: u64) -> Option<Outcome> {
        let redriven = self
            .places
            .change(place, |queue, _| queue.redrive(sequence));
        redriven.filter(|redriven| *redriven).map(|_| Outcome {
            records: vec![Record::Redriven {
                place,
                at: now,
                sequence,
            }],
            wake: vec![place],
            ..Outcome::default()
        })
    }

    /// Lets go of a dead letter. `None` when there is none.
    pub fn drop_dead_letter(
        &mut self,
        now: Timestamp,
        place: PlaceId,
        sequence: u64,
    ) -> Option<Outcome> {
        self.dead_letter(place, sequence)?;
        self.places
            .change(place, |queue, moments| queue.forget(sequence, moments));
        Some(Outcome {
            records: vec![Record::Ended {
                place,
                at: now,
                how: Ending::Dropped,
                reason: "dropped".into(),
                sequences: vec![sequence],
            }],
            ..Outcome::default()
        })
    }

    /// Where one delivery stands; `None` when the place no longer owes it.
    #[must_use]
    pub fn delivery_state(&self, place: PlaceId, sequence: u64) -> Option<DeliveryState> {
        self.places.get(place)?.state_of(sequence)
    }

    /// The journal's records of the failed attempts of a delivery that is owed or dead.
    #[must_use]
    pub fn failures(&self, place: PlaceId, sequence: u64) -> Vec<u64> {
        let Some(place) = self.places.get(place) else {
            return Vec::new();
        };
        let dead = || Some(place.dead().get(&sequence)?.tries.clone());
        let tries = place.tries_of(sequence).or_else(dead);
        tries.map_or_else(Vec::new, |tries| tries.failures)
    }
}
