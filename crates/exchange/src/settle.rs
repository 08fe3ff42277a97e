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

/// One result per delivery, in order: for one that is held on, until when.
pub type Results = Vec<Result<Option<Timestamp>, Rejection>>;

impl Exchange {
    /// Settles deliveries, one result each, in order: `lease_lost` for a late, settled or unknown
    /// one. `next_sequence` is the one that the first record will have. A place wakes when somebody may
    /// have something to pull there that could not before: what waited behind its conversation, or
    /// for room under a limit of the place or of the consumer.
    pub fn settle(
        &mut self,
        now: Timestamp,
        next_sequence: u64,
        deliveries: &[DeliveryId],
        how: &Settle,
    ) -> (Results, Outcome) {
        let mut wake = BTreeSet::new();
        let mut results = Vec::with_capacity(deliveries.len());
        let mut acked: BTreeMap<(PlaceId, Consumer), BTreeMap<u64, u32>> = BTreeMap::new();
        let mut failed: BTreeMap<PlaceId, BTreeSet<u64>> = BTreeMap::new();
        for delivery in deliveries {
            match self.settle_one(now, delivery, how) {
                None => results.push(Err(lease_lost(delivery))),
                Some(SettledOne {
                    consumer,
                    attempt,
                    until,
                    wakes,
                }) => {
                    if wakes {
                        wake.insert(delivery.place);
                    }
                    let (place, sequence) = (delivery.place, delivery.sequence);
                    match how {
                        Settle::Ack => {
                            let of_consumer = acked.entry((place, consumer)).or_default();
                            of_consumer.insert(sequence, attempt);
                        }
                        Settle::Nack { .. } | Settle::Reject { .. } => {
                            if !failed.entry(place).or_default().insert(sequence) {
                                results.push(Err(lease_lost(delivery)));
                                continue;
                            }
                        }
                        Settle::Extend { .. } => {}
                    }
                    results.push(Ok(until));
                }
            }
        }
        let mut outcome = Outcome::default();
        for ((place, consumer), deliveries) in acked {
            let is_plain = deliveries.values().all(|attempt| *attempt == 1);
            outcome.records.push(Record::Acked {
                place,
                at: now,
                consumer: consumer.as_deref().map(Into::into),
                by: None,
                sequences: deliveries.keys().copied().collect(),
                attempts: if is_plain {
                    Vec::new()
                } else {
                    deliveries.into_values().collect()
                },
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

    /// Checks the fence and does what needs no record.
    fn settle_one(
        &mut self,
        now: Timestamp,
        delivery: &DeliveryId,
        how: &Settle,
    ) -> Option<SettledOne> {
        let defaults = self.settings.delivery;
        let settled = self.places.change(delivery.place, |place, moments| {
            let held = place.held(delivery.sequence, delivery.fence, now)?;
            let (consumer, attempt) = (held.consumer.clone(), held.tries.attempts);
            let mut until = None;
            let mut wakes = false;
            match how {
                Settle::Ack => {
                    place.forget(delivery.sequence, moments);
                    wakes = place.has_ready();
                }
                Settle::Extend { lease_ms } => {
                    let own = place.settings_for(delivery.sequence, defaults);
                    let lease = lease_ms.unwrap_or(own.lease_ms).clamp(1, WAIT_MS_MAX);
                    let end = now.plus_millis(lease);
                    place.extend(delivery.sequence, end, moments);
                    until = Some(end);
                }
                // Failed together, after all fences were checked.
                Settle::Nack { .. } | Settle::Reject { .. } => {}
            }
            Some(SettledOne {
                consumer,
                attempt,
                until,
                wakes,
            })
        });
        settled.flatten()
    }
}

/// What came of one delivery whose fence was right.
struct SettledOne {
    /// Who held it.
    consumer: Consumer,
    /// How often it had been handed out.
    attempt: u32,
    /// Until when it is held on.
    until: Option<Timestamp>,
    /// Whether others can be served now.
    wakes: bool,
}

fn lease_lost(delivery: &DeliveryId) -> Rejection {
    let detail =
        format!("expected a delivery that is held, got {delivery}, which is not or no longer");
    Fault::new(Code::LeaseLost, "", "ARCHITECTURE leases", detail).into()
}
