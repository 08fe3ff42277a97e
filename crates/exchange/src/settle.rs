//! What readers do with deliveries they hold: done, not now, never, still at it.
//!
//! Only the fence of the current lease settles a delivery, and only before the lease runs out.

use crate::delivery::{DeliveryId, Settle};
use crate::delivery_settings::WAIT_MS_MAX;
use crate::exchange::Exchange;
use crate::fail::Fail;
use crate::outcome::Outcome;
use crate::place::{Consumer, PlaceId};
use crate::record::{Failure, Record};
use protocol::{Code, Fault, Rejection, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

/// One result per delivery, in order.
pub type Results = Vec<Result<(), Rejection>>;

impl Exchange {
    /// Settles deliveries, one result each, in order: `lease_lost` for a late, settled or unknown
    /// one. `next_sequence` is the one that the first record will have. A place wakes when it has
    /// something to pull that it had not before, or could not hand out for its in-flight limit.
    pub fn settle(
        &mut self,
        now: Timestamp,
        next_sequence: u64,
        deliveries: &[DeliveryId],
        how: &Settle,
    ) -> (Results, Outcome) {
        let mut wake = BTreeSet::new();
        let mut results = Vec::with_capacity(deliveries.len());
        let mut acked: BTreeMap<(PlaceId, Consumer), Vec<u64>> = BTreeMap::new();
        let mut failed: BTreeMap<PlaceId, BTreeSet<u64>> = BTreeMap::new();
        for delivery in deliveries {
            match self.settle_one(now, delivery, how) {
                None => results.push(Err(lease_lost(delivery))),
                Some((consumer, wakes)) => {
                    if wakes {
                        wake.insert(delivery.place);
                    }
                    let (place, sequence) = (delivery.place, delivery.sequence);
                    match how {
                        Settle::Ack => acked.entry((place, consumer)).or_default().push(sequence),
                        Settle::Nack { .. } | Settle::Reject { .. } => {
                            if !failed.entry(place).or_default().insert(sequence) {
                                results.push(Err(lease_lost(delivery)));
                                continue;
                            }
                        }
                        Settle::Extend { .. } => {}
                    }
                    results.push(Ok(()));
                }
            }
        }
        let mut outcome = Outcome::default();
        for ((place, consumer), mut sequences) in acked {
            sequences.sort_unstable();
            outcome.records.push(Record::Acked {
                place,
                at: now,
                consumer: consumer.as_deref().map(Into::into),
                by: None,
                sequences,
            });
        }
        let fail = match how {
            Settle::Nack {
                retry_after_ms,
                reason,
            } => Some((Failure::Nacked, reason, *retry_after_ms)),
            Settle::Reject { reason } => Some((Failure::Rejected, reason, None)),
            Settle::Ack | Settle::Extend { .. } => None,
        };
        if let Some((why, error, retry_after_ms)) = fail {
            let how = Fail {
                why,
                error,
                retry_after_ms,
            };
            for (place, sequences) in failed {
                // What failed leaves room, and perhaps its conversation, for others.
                wake.insert(place);
                let sequences: Vec<u64> = sequences.into_iter().collect();
                self.fail(now, next_sequence, place, &sequences, &how, &mut outcome);
            }
        }
        outcome.wake = wake.into_iter().collect();
        (results, outcome)
    }

    /// Checks the fence and does what needs no record; tells who held it and whether others can now
    /// be served.
    fn settle_one(
        &mut self,
        now: Timestamp,
        delivery: &DeliveryId,
        how: &Settle,
    ) -> Option<(Consumer, bool)> {
        let defaults = self.settings.delivery;
        let settled = self.places.change(delivery.place, |place, moments| {
            let held = place.held(delivery.sequence, delivery.fence, now)?;
            let consumer = held.consumer.clone();
            let own = place.settings.as_deref().copied().unwrap_or(defaults);
            let was_full = place.held_count() >= own.in_flight_max as usize;
            let ready_before = place.ready_count();
            match how {
                Settle::Ack => {
                    place.forget(delivery.sequence, moments);
                }
                Settle::Extend { lease_ms } => {
                    let lease = lease_ms.unwrap_or(own.lease_ms).clamp(1, WAIT_MS_MAX);
                    place.extend(delivery.sequence, now.plus_millis(lease), moments);
                }
                // Failed together, after all fences were checked.
                Settle::Nack { .. } | Settle::Reject { .. } => {}
            }
            let has_room = place.held_count() < own.in_flight_max as usize;
            let wakes =
                place.has_ready() && (was_full && has_room || place.ready_count() > ready_before);
            Some((consumer, wakes))
        });
        settled.flatten()
    }
}

fn lease_lost(delivery: &DeliveryId) -> Rejection {
    let detail =
        format!("expected a delivery that is held, got {delivery}, which is not or no longer");
    Fault::new(Code::LeaseLost, "", "ARCHITECTURE leases", detail).into()
}
