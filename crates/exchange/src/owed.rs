//! What is owed: deliveries that are neither done nor dead, for those who look.
//!
//! Places are looked at some at a time, by their numbers, as in [`crate::retain`], and of each place
//! only as many deliveries as are asked for, so that nobody waits long for somebody's look.

use crate::exchange::Exchange;
use crate::place::{DeliveryState, PlaceId};
use crate::retain::Looked;

/// One delivery that a place owes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwedDelivery {
    /// Where.
    pub place: PlaceId,
    /// Which message.
    pub sequence: u64,
    /// Where it stands; never dead.
    pub state: DeliveryState,
    /// The journal's records of its failed attempts, which say how each failed.
    pub failures: Vec<u64>,
}

impl Exchange {
    /// Up to `max` deliveries that `count` places from a number on owe, after the place and sequence
    /// `after`, in that order. `next` says where to go on when fewer were found.
    #[must_use]
    pub fn owed_from(
        &self,
        from: PlaceId,
        count: u32,
        after: Option<(PlaceId, u64)>,
        max: usize,
    ) -> Looked<Vec<OwedDelivery>> {
        let (ids, next) = self.places.numbers(from, count);
        let mut found = Vec::new();
        for id in ids.map(PlaceId) {
            if found.len() >= max {
                break;
            }
            found.extend(self.owed_of(id, after, max - found.len()));
        }
        Looked { found, next }
    }

    /// Up to `max` deliveries that one place owes, after the place and sequence `after`.
    #[must_use]
    pub fn owed_of(
        &self,
        id: PlaceId,
        after: Option<(PlaceId, u64)>,
        max: usize,
    ) -> Vec<OwedDelivery> {
        let from = match after {
            Some((place, _)) if place > id => return Vec::new(),
            Some((place, sequence)) if place == id => sequence.saturating_add(1),
            Some(_) | None => 0,
        };
        let Some(place) = self.places.get(id) else {
            return Vec::new();
        };
        let owed = place.owed_from(from, max).into_iter();
        owed.filter_map(|sequence| {
            let tries = place.tries_of(sequence).unwrap_or_default();
            Some(OwedDelivery {
                place: id,
                sequence,
                state: place.state_of(sequence)?,
                failures: tries.failures,
            })
        })
        .collect()
    }
}
