//! What time does: leases run out, waits end, messages get too old, tasks pass their deadlines.

use crate::exchange::Exchange;
use crate::fail::{Fail, end};
use crate::outcome::Outcome;
use crate::place::PlaceId;
use crate::record::{Ending, Failure};
use bytes::Bytes;
use protocol::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

const LEASE_EXPIRED: Fail<'_> = Fail {
    why: Failure::LeaseExpired,
    error: "",
    retry_after_ms: None,
};

impl Exchange {
    /// Does everything that was due at `now`: leases that ran out are failed attempts, waits end, and
    /// messages whose time is over leave the places where nobody holds them. Of tasks whose time is
    /// over it is said that they are: that envelope is the move. `next_sequence` is the one that the
    /// first record will have.
    pub fn expire(&mut self, now: Timestamp, next_sequence: u64) -> Outcome {
        let mut outcome = Outcome::default();
        let mut wake = BTreeSet::new();
        let mut lost: BTreeMap<PlaceId, Vec<u64>> = BTreeMap::new();
        while let Some((place, sequence)) = self.places.pop_lease(now) {
            let was_resting = self.places.change(place, |queue, moments| {
                let is_resting = queue.is_resting(sequence);
                queue.ready_again(sequence, moments);
                is_resting
            });
            match was_resting {
                Some(true) => {
                    wake.insert(place);
                }
                Some(false) => lost.entry(place).or_default().push(sequence),
                None => {}
            }
        }
        for (place, sequences) in lost {
            wake.insert(place);
            self.fail(
                now,
                next_sequence,
                place,
                &sequences,
                &LEASE_EXPIRED,
                &mut outcome,
            );
        }
        self.end_expired(now, &mut outcome);
        let spoken = self.tasks.expire(now).into_iter();
        let owed = self.claims.owed_words();
        outcome.speak.extend(spoken.chain(owed).map(Bytes::from));
        outcome.wake = wake.into_iter().collect();
        outcome
    }

    /// Messages that nobody needs any more leave, unless a consumer is at work on them.
    fn end_expired(&mut self, now: Timestamp, outcome: &mut Outcome) {
        let mut ended: BTreeMap<PlaceId, Vec<u64>> = BTreeMap::new();
        while let Some((place, sequence)) = self.places.pop_expiry(now) {
            let is_over = self.places.change(place, |queue, moments| {
                !queue.is_held(sequence) && queue.forget(sequence, moments)
            });
            if is_over == Some(true) {
                ended.entry(place).or_default().push(sequence);
            }
        }
        for (place, sequences) in ended {
            end(now, place, Ending::Expired, "", sequences, outcome);
        }
    }

    /// When to call [`expire`](Self::expire) next; may change with every other call.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let deadlines = [
            self.places.next_deadline(),
            self.tasks.next_due(),
            self.claims.next_due(),
        ];
        deadlines.into_iter().flatten().min()
    }
}
