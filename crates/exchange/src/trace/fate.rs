//! What became of one message in one place, as the records tell it one after the other.

use crate::place::{DeliveryState, PlaceId};
use crate::record::{Ending, Failure, Record};
use protocol::Timestamp;

/// Where a delivery stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Fate {
    /// Nobody has taken it yet, or it waits again.
    #[default]
    Waiting,
    /// A consumer has it.
    Held {
        consumer: Option<Box<str>>,
        until: Timestamp,
    },
    /// It waits for its next attempt.
    Resting { until: Timestamp },
    /// Somebody took it.
    Acked {
        at: Timestamp,
        consumer: Option<Box<str>>,
        by: Option<Box<str>>,
    },
    /// It ended without that.
    Ended {
        at: Timestamp,
        how: Ending,
        reason: Box<str>,
    },
    /// Its place was removed.
    Removed,
}

impl Fate {
    /// The word on every surface.
    pub(super) fn as_str(&self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Held { .. } => "delivered",
            Self::Resting { .. } => "resting",
            Self::Acked { .. } => "acked",
            Self::Ended { how, .. } => how.as_str(),
            Self::Removed => "removed",
        }
    }

    /// Whether somebody should look at it.
    pub(super) fn is_bad(&self) -> bool {
        matches!(
            self,
            Self::Ended {
                how: Ending::Dead | Ending::Expired,
                ..
            }
        )
    }
}

/// One delivery: a message and a place.
#[derive(Clone, Debug)]
pub(super) struct Delivery {
    pub(super) place: PlaceId,
    pub(super) fate: Fate,
    /// How often it was handed out, as far as that is known.
    pub(super) attempts: u32,
    pub(super) failures: Vec<Failed>,
    /// When it was taken out of the dead letters.
    pub(super) redriven: Vec<Timestamp>,
}

/// One failed attempt.
#[derive(Clone, Debug)]
pub(super) struct Failed {
    pub(super) attempt: u32,
    pub(super) at: Timestamp,
    pub(super) why: Failure,
    pub(super) error: Box<str>,
}

impl Delivery {
    pub(super) fn new(place: PlaceId) -> Self {
        Self {
            place,
            fate: Fate::Waiting,
            attempts: 0,
            failures: Vec::new(),
            redriven: Vec::new(),
        }
    }

    /// Moves on by what a record says of this delivery of the message at `sequence`.
    pub(super) fn happened(&mut self, sequence: u64, record: &Record) {
        match record {
            Record::Acked {
                at,
                consumer,
                by,
                sequences,
                attempts,
                ..
            } => {
                let own = sequences.iter().position(|one| *one == sequence);
                let handed_out = own.and_then(|at| attempts.get(at)).copied().unwrap_or(1);
                self.attempts = self.attempts.max(handed_out);
                self.fate = Fate::Acked {
                    at: *at,
                    consumer: consumer.clone(),
                    by: by.clone(),
                };
            }
            Record::Failed {
                at,
                why,
                error,
                deliveries,
                ..
            } => {
                let mut failed = deliveries.iter().filter(|one| one.sequence == sequence);
                if let Some(failed) = failed.next() {
                    self.attempts = self.attempts.max(failed.attempt);
                    self.fate = Fate::Resting {
                        until: failed.again_at,
                    };
                    self.failures.push(Failed {
                        attempt: failed.attempt,
                        at: *at,
                        why: *why,
                        error: error.clone(),
                    });
                }
            }
            Record::Ended {
                at, how, reason, ..
            } => {
                self.fate = Fate::Ended {
                    at: *at,
                    how: *how,
                    reason: reason.clone(),
                };
            }
            Record::Redriven { at, .. } => {
                self.fate = Fate::Waiting;
                self.redriven.push(*at);
            }
            Record::Published { .. }
            | Record::SubscriptionPut { .. }
            | Record::SubscriptionRemoved { .. }
            | Record::PlaceConfigured { .. }
            | Record::PlacePaused { .. }
            | Record::CardPut { .. }
            | Record::CardRemoved { .. } => {}
        }
    }

    /// Says where it stands this moment, which no record tells: who holds it. Only of a delivery
    /// that is not over by its records; `None` is a place that no longer owes it.
    pub(super) fn stands(&mut self, state: Option<&DeliveryState>) {
        let state = match (&self.fate, state) {
            (Fate::Waiting | Fate::Resting { .. }, Some(state)) => state,
            _ => return,
        };
        match state {
            DeliveryState::Waiting { attempts } => {
                self.attempts = self.attempts.max(*attempts);
                self.fate = Fate::Waiting;
            }
            DeliveryState::Held {
                attempt,
                consumer,
                until,
            } => {
                self.attempts = self.attempts.max(*attempt);
                self.fate = Fate::Held {
                    consumer: consumer.as_deref().map(Into::into),
                    until: *until,
                };
            }
            DeliveryState::Resting { attempts, until } => {
                self.attempts = self.attempts.max(*attempts);
                self.fate = Fate::Resting { until: *until };
            }
            // A record says so, and better.
            DeliveryState::Dead { .. } => {}
        }
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self.fate, Fate::Waiting | Fate::Resting { .. })
    }
}
