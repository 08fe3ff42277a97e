//! Messages that settle the delivery of another: every dialect can acknowledge with an envelope.
//!
//! It is the party's own word, so no lease is asked for: whoever answers a message has got it, even
//! when its lease ran out in between.

use crate::dedupe::Key;
use crate::exchange::Exchange;
use crate::fail::Fail;
use crate::outcome::Outcome;
use crate::place::{DeliveryState, PlaceId};
use crate::record::{Failure, Record};
use protocol::{Header, Rejection, SettlementVerdict, Timestamp};

impl Exchange {
    /// The delivery that the message speaks of: one that waits in its sender's inbox, of a message
    /// from one of the parties that this one goes to. None when the inbox does not owe it (any more).
    ///
    /// # Errors
    /// `storage_failed` when older messages cannot be asked.
    pub(crate) fn spoken_of(&self, header: &Header) -> Result<Option<(PlaceId, u64)>, Rejection> {
        let (Some(settlement), Some(place)) = (&header.settles, self.places.inbox(&header.sender))
        else {
            return Ok(None);
        };
        for sender in &header.recipients {
            let found = self.dedupe.look(Key::of_id(sender, &settlement.id))?;
            if let Some(first) = found
                && self.delivery_state(place, first.sequence).is_some()
            {
                return Ok(Some((place, first.sequence)));
            }
        }
        Ok(None)
    }

    /// Settles the delivery that the message speaks of.
    pub(crate) fn settle_in_band(
        &mut self,
        now: Timestamp,
        next_sequence: u64,
        header: &Header,
        spoken_of: Option<(PlaceId, u64)>,
        outcome: &mut Outcome,
    ) {
        let (Some(settlement), Some((place, sequence))) = (&header.settles, spoken_of) else {
            return;
        };
        match &settlement.verdict {
            SettlementVerdict::Acknowledged => {
                let state = self.delivery_state(place, sequence);
                let (attempts, consumer) = match &state {
                    Some(DeliveryState::Held {
                        attempt, consumer, ..
                    }) => (*attempt, consumer.as_deref().map(Into::into)),
                    Some(
                        DeliveryState::Waiting { attempts }
                        | DeliveryState::Resting { attempts, .. }
                        | DeliveryState::Dead { attempts, .. },
                    ) => (*attempts, None),
                    None => (0, None),
                };
                self.places
                    .change(place, |queue, moments| queue.forget(sequence, moments));
                outcome.wake.push(place);
                outcome.records.push(Record::Acked {
                    place,
                    at: now,
                    consumer,
                    by: Some(header.id.clone()),
                    sequences: vec![sequence],
                    attempts: if attempts == 1 {
                        Vec::new()
                    } else {
                        vec![attempts]
                    },
                });
            }
            SettlementVerdict::Again { reason } | SettlementVerdict::Never { reason } => {
                let is_final = matches!(settlement.verdict, SettlementVerdict::Never { .. });
                let how = Fail {
                    why: if is_final {
                        Failure::Rejected
                    } else {
                        Failure::Nacked
                    },
                    error: reason,
                    retry_after_ms: None,
                };
                outcome.wake.push(place);
                self.fail(now, next_sequence, place, &[sequence], &how, outcome);
            }
        }
    }
}
