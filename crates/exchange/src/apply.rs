//! The same state again, from the records of the journal.
//!
//! Every number comes from the records, none is handed out here, so a journal whose oldest part was
//! dropped still gives every kept place its number. Leases are not stored: what was held is ready
//! again, in order, and its attempts count from one.

use crate::dedupe::known_from;
use crate::exchange::Exchange;
use crate::place::{PlaceId, PlaceName};
use crate::publish::inboxes_of_lines;
use crate::record::{Ending, Record};
use bytes::Bytes;
use protocol::{AeePolicy, DialectName, Intake, Mode, Rules, Timestamp, dialect};

impl Exchange {
    /// Rebuilds state from one durable record. Call it for every record, in order, before anything
    /// else.
    pub fn apply(&mut self, sequence: u64, record: Record) {
        match record {
            Record::Published {
                at,
                header,
                recipients,
                places,
                moves_flow,
                envelope,
            } => {
                self.dedupe
                    .remember_message(&header, &known_from(&recipients), sequence);
                self.tasks.apply(at, sequence, &header);
                self.claims.apply(at, &header, &self.directory);
                if moves_flow {
                    self.move_flow(at, header.dialect, &envelope);
                }
                let inboxes = inboxes_of_lines(&recipients, &places);
                for ((party, _), inbox) in recipients.iter().zip(inboxes) {
                    if let Some(place) = inbox {
                        self.places.open_inbox(place, party);
                    }
                }
                self.deliver(sequence, &header, &places);
                if header.intake == Intake::Work {
                    // Whether it was stopped is in the records that follow.
                    let _ = self.loop_guard.observe(&self.settings.loops, at, &header);
                }
            }
            Record::SubscriptionPut {
                id,
                name,
                filter,
                deliver_to,
                inbox,
                settings,
                push,
            } => {
                // Once more under its number: only where it pushes to has changed.
                if !self.subscriptions.is_place_of(id, &name) {
                    self.insert_subscription(id, &name, filter, deliver_to, inbox, settings);
                }
                self.subscriptions.set_push(&name, push);
            }
            Record::SubscriptionRemoved { id } => self.drop_subscription(id),
            Record::Acked {
                place, sequences, ..
            } => self.forget(place, &sequences),
            Record::Failed {
                place,
                at,
                deliveries,
                ..
            } => {
                self.places.change(place, |place, moments| {
                    for failed in deliveries {
                        place.failed_before(&failed, sequence, at, moments);
                    }
                });
            }
            Record::Ended {
                place,
                at,
                how,
                reason,
                sequences,
            } => match how {
                Ending::Dead => {
                    self.places.change(place, |place, moments| {
                        for sequence in sequences {
                            place.bury(sequence, at, &reason, moments);
                        }
                    });
                }
                Ending::Expired | Ending::Dropped => self.forget(place, &sequences),
            },
            Record::Redriven {
                place, sequence, ..
            } => {
                self.places
                    .change(place, |place, _| place.redrive(sequence));
            }
            Record::PlaceConfigured {
                place,
                name,
                settings,
            } => {
                if let PlaceName::Inbox(party) = &name {
                    self.places.open_inbox(place, party);
                }
                self.places
                    .change(place, |place, _| place.configure(settings));
            }
            Record::CardPut {
                at,
                party,
                source,
                card,
            } => self.directory.put(at, &party, source, card),
            Record::CardRemoved { party, source, .. } => self.directory.remove(&party, source),
            Record::PlacePaused { place, is_paused } => {
                self.places.change(place, |place, _| place.pause(is_paused));
            }
        }
    }

    fn forget(&mut self, place: PlaceId, sequences: &[u64]) {
        self.places.change(place, |place, moments| {
            for sequence in sequences {
                place.forget(*sequence, moments);
            }
        });
    }

    /// Reads an accepted event again and makes its move.
    fn move_flow(&mut self, at: Timestamp, dialect: DialectName, envelope: &Bytes) {
        let reading = dialect::decode_as(envelope, dialect, &rules_of_the_past(at));
        if let Some(header) = reading.header
            && let Some(facts) = header.flow
        {
            // It was legal when it was accepted. A refusal means that the events before it were
            // dropped from the journal; then there is no flow to move.
            let _ = self.flow.accept(&header.id, &facts);
        }
    }
}

/// Rules that accept whatever was accepted at `at`, under any settings.
fn rules_of_the_past(at: Timestamp) -> Rules {
    Rules {
        now: at,
        mode: Mode::Lenient,
        aee_policy: AeePolicy::Log,
        aep_accept_0_1: true,
        envelope_bytes_max: usize::MAX,
        depth_max: usize::MAX,
        recipients_max: usize::MAX,
    }
}
