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
use protocol::{Header, SettlementVerdict, Timestamp};

impl Exchange {
    /// Settles what the message says about one that waits in its sender's inbox. The message that is
    /// settled came from one of the parties that this one goes to. Nothing happens when the inbox
    /// does not owe it (any more).
    pub(crate) fn settle_in_band(
        &mut self,
        now: Timestamp,
        next_sequence: u64,
        header: &Header,
        outcome: &mut Outcome,
    ) {
        let Some(settlement) = &header.settles else {
            return;
        };
        let Some(place) = self.places.inbox(&header.sender) else {
            return;
        };
        let Some(sequence) = self.owed_under(place, header, &settlement.id) else {
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

    /// The message with this id, from one of the header's recipients, that the place owes.
    fn owed_under(&self, place: PlaceId, header: &Header, id: &str) -> Option<u64> {
        let first = |sender| self.dedupe.first(Key::new(sender, id));
        let mut found = header
            .recipients
            .iter()
            .filter_map(first)
            .map(|first| first.sequence);
        found.find(|sequence| self.delivery_state(place, *sequence).is_some())
    }
}
