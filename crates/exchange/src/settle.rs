//! What readers do with deliveries they hold: done, not now, still at it.
//!
//! Only the fence of the current lease settles a delivery, and only before the lease runs out.

use crate::delivery::{DeliveryId, Settle};
use crate::exchange::Exchange;
use crate::place::{Deadlines, Held, Place, PlaceId};
use crate::record::Record;
use crate::settings::Settings;
use protocol::{Code, Fault, Rejection, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

/// Longest wait or lease a reader can ask for; more is cut to it. One day.
const WISH_MS_MAX: i64 = 86_400_000;

/// What [`Exchange::settle`] returns: a result per delivery, records to append, places to wake.
pub type Settled = (Vec<Result<(), Rejection>>, Vec<Record>, Vec<PlaceId>);

impl Exchange {
    /// Settles deliveries, one result each, in order: `lease_lost` for a late, settled or unknown
    /// one. Acknowledgements give one record per place. A place wakes when it has something to pull
    /// that it had not before, or could not hand out for its in-flight limit.
    pub fn settle(&mut self, now: Timestamp, deliveries: &[DeliveryId], how: Settle) -> Settled {
        let mut acked: BTreeMap<PlaceId, Vec<u64>> = BTreeMap::new();
        let mut wake = BTreeSet::new();
        let mut results = Vec::with_capacity(deliveries.len());
        let settings = &self.settings;
        for delivery in deliveries {
            let settled = self.places.change(delivery.place, |place, deadlines| {
                let held = place.held(delivery.sequence, delivery.fence, now)?;
                let was_full = place.held_count() >= settings.in_flight_max;
                settle_one(
                    place,
                    deadlines,
                    delivery.sequence,
                    held,
                    how,
                    now,
                    settings,
                );
                let has_room = place.held_count() < settings.in_flight_max;
                Some(was_full && has_room && place.has_ready())
            });
            match settled.flatten() {
                None => results.push(Err(lease_lost(delivery))),
                Some(wakes) => {
                    if wakes {
                        wake.insert(delivery.place);
                    }
                    if how == Settle::Ack {
                        acked
                            .entry(delivery.place)
                            .or_default()
                            .push(delivery.sequence);
                    }
                    results.push(Ok(()));
                }
            }
        }
        let records = acked.into_iter().map(|(place, mut sequences)| {
            sequences.sort_unstable();
            Record::Acked { place, sequences }
        });
        (results, records.collect(), wake.into_iter().collect())
    }
}

fn settle_one(
    place: &mut Place,
    deadlines: &mut Deadlines,
    sequence: u64,
    held: Held,
    how: Settle,
    now: Timestamp,
    settings: &Settings,
) {
    match how {
        Settle::Ack => place.release(sequence, deadlines),
        Settle::Nack { retry_after_ms } => {
            place.release(sequence, deadlines);
            let delay = retry_after_ms
                .unwrap_or(0)
                .min(WISH_MS_MAX)
                .max(settings.nack_delay_ms_min);
            place.rest(sequence, held.attempt, now.plus_millis(delay), deadlines);
        }
        Settle::Extend { lease_ms } => {
            let lease = lease_ms.unwrap_or(settings.lease_ms).clamp(1, WISH_MS_MAX);
            place.extend(sequence, now.plus_millis(lease), deadlines);
        }
    }
}

fn lease_lost(delivery: &DeliveryId) -> Rejection {
    let detail =
        format!("expected a delivery that is held, got {delivery}, which is not or no longer");
    Fault::new(Code::LeaseLost, "", "ARCHITECTURE leases", detail).into()
}
