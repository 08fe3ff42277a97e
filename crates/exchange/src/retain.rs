//! What old messages are still owed, and letting go of them.
//!
//! A place is looked at in constant time or in the time of what it lets go, but there may be a million
//! of them: they are looked at some at a time, by their numbers, so that nobody waits long.

use crate::exchange::Exchange;
use crate::fail::end;
use crate::outcome::Outcome;
use crate::place::PlaceId;
use crate::record::Ending;
use protocol::Timestamp;

/// Why a delivery ended whose message was too old to be kept.
pub const RETENTION: &str = "retention";

/// Some places, and what to go on with.
#[derive(Debug)]
pub struct Looked<T> {
    /// What was found there.
    pub found: T,
    /// The number to go on from; `None` when all places were looked at.
    pub next: Option<PlaceId>,
}

impl Exchange {
    /// The oldest message that any place owes or keeps as a dead letter.
    #[must_use]
    pub fn oldest_owed(&self) -> Option<u64> {
        self.oldest_owed_from(PlaceId(0), u32::MAX).found
    }

    /// The oldest message that `count` places from a number on owe or keep as a dead letter.
    #[must_use]
    pub fn oldest_owed_from(&self, from: PlaceId, count: u32) -> Looked<Option<u64>> {
        let (ids, next) = self.places.numbers(from, count);
        let places = ids.filter_map(|id| self.places.get(PlaceId(id)));
        Looked {
            found: places.filter_map(crate::place::Place::oldest).min(),
            next,
        }
    }

    /// `count` places from a number on let go of every delivery of a message before `first`, held or
    /// not: a reader that settles one learns that it lost its lease.
    pub fn let_go_before(
        &mut self,
        now: Timestamp,
        first: u64,
        from: PlaceId,
        count: u32,
    ) -> Looked<Outcome> {
        let (ids, next) = self.places.numbers(from, count);
        let mut outcome = Outcome::default();
        for id in ids.map(PlaceId) {
            let gone = self.places.change(id, |place, moments| {
                let gone = place.owed_before(first);
                for sequence in &gone {
                    place.forget(*sequence, moments);
                }
                gone
            });
            let gone = gone.unwrap_or_default();
            end(now, id, Ending::Dropped, RETENTION, gone, &mut outcome);
        }
        Looked {
            found: outcome,
            next,
        }
    }
}
