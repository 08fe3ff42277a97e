//! What the journal keeps, and its bytes.
//!
//! A record's kind is the journal's `kind` byte; the body starts with a version. Numbers called
//! *varint* are LEB128, at most ten bytes; a *text* is a varint length and that much UTF-8. Fixed
//! numbers are little-endian. `docs/records.md` has the tables.
//!
//! ```text
//! published             1 | head length u32 | envelope length u32 | head | envelope
//! subscription put      1 | id | name | filter as JSON | flags | [party] | [inbox id] | [settings] | [push]
//! subscription removed  1 | id
//! acked                 1 | place | at | consumer | by | count | first sequence | distances
//! failed                1 | place | at | why | error | count | (sequence, attempt, again at)...
//! ended                 1 | place | at | how | reason | count | first sequence | distances
//! redriven              1 | place | at | sequence
//! place configured      1 | place | kind of name | name | settings
//! place paused          1 | place | paused
//! card put              1 | at | party | source | card as JSON
//! card removed          1 | at | party | sources
//! ```
//!
//! The envelope comes last and untouched, so that a reader slices it out of the record without a
//! copy. The head holds the whole header except what the AEP flow machine acts on, which is read
//! again from the envelope when state is rebuilt.

mod cards;
mod coordination;
pub(crate) mod delivery;
mod published;
mod step;
pub(crate) mod wire;

#[cfg(test)]
mod tests;

use crate::delivery_settings::DeliverySettings;
use crate::directory::CardSource;
use crate::place::{PlaceId, PlaceName};
use crate::publish::RecipientState;
use crate::push::Push;
use bytes::Bytes;
use protocol::{Card, Filter, Header, Party, Timestamp, json};
use std::sync::Arc;
use wire::{ReadRecord as _, Reader, put_text, put_varint};

/// The version of every body this build writes, and the only one it reads.
const VERSION: u8 = 1;

/// One change of state, as the journal keeps it.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// A message was accepted.
    Published {
        /// When.
        at: Timestamp,
        /// Its facts; after [`Record::decode`] without `flow`.
        header: Arc<Header>,
        /// The lines of its receipt: parties and channels as the sender named them, then parties
        /// that a wildcard stood for.
        recipients: Vec<(Party, RecipientState)>,
        /// The places that got it: first the inboxes of the stored lines that have one, in order,
        /// then the others.
        places: Vec<PlaceId>,
        /// Whether it moved the AEP flow machine, so that rebuilding must read the envelope.
        moves_flow: bool,
        /// The bytes as they arrived.
        envelope: Bytes,
    },
    /// A durable subscription was created; with the number of one that is there, it pushes elsewhere.
    SubscriptionPut {
        /// Its place.
        id: PlaceId,
        /// Its name.
        name: Box<str>,
        /// What it wants.
        filter: Filter,
        /// The party whose inbox it feeds, instead of its own place.
        deliver_to: Option<Party>,
        /// That party's inbox.
        inbox: Option<PlaceId>,
        /// How it delivers, when not as everybody does.
        settings: Option<DeliverySettings>,
        /// Where its deliveries are pushed.
        push: Option<Push>,
    },
    /// A durable subscription was removed, with all that waited in its place.
    SubscriptionRemoved {
        /// Its place.
        id: PlaceId,
    },
    /// Deliveries of one place were acknowledged.
    Acked {
        /// The place.
        place: PlaceId,
        /// When.
        at: Timestamp,
        /// The consumer that held them, when it has a name.
        consumer: Option<Box<str>>,
        /// The id of the message that said so, when one did.
        by: Option<Box<str>>,
        /// The messages, ascending.
        sequences: Vec<u64>,
        /// How often each had been handed out; empty when all were once.
        attempts: Vec<u32>,
    },
    /// Attempts to deliver failed.
    Failed {
        /// The place.
        place: PlaceId,
        /// When.
        at: Timestamp,
        /// How they failed.
        why: Failure,
        /// What the reader said.
        error: Box<str>,
        /// The deliveries.
        deliveries: Vec<FailedDelivery>,
    },
    /// Deliveries are over without an acknowledgement.
    Ended {
        /// The place.
        place: PlaceId,
        /// When.
        at: Timestamp,
        /// How.
        how: Ending,
        /// Why.
        reason: Box<str>,
        /// The messages, ascending.
        sequences: Vec<u64>,
    },
    /// A dead letter is delivered again.
    Redriven {
        /// The place.
        place: PlaceId,
        /// When.
        at: Timestamp,
        /// The message.
        sequence: u64,
    },
    /// A place got settings of its own; an inbox that was not open is open then.
    PlaceConfigured {
        /// The place.
        place: PlaceId,
        /// Its name.
        name: PlaceName,
        /// How it delivers from now on.
        settings: DeliverySettings,
    },
    /// A place stopped or went on handing out.
    PlacePaused {
        /// The place.
        place: PlaceId,
        /// Whether it stopped.
        is_paused: bool,
    },
    /// An agent's card of one source is this from now on.
    CardPut {
        /// When.
        at: Timestamp,
        /// The agent.
        party: Party,
        /// Where the card comes from.
        source: CardSource,
        /// The card.
        card: Arc<Card>,
    },
    /// An agent has no card of a source any more.
    CardRemoved {
        /// When.
        at: Timestamp,
        /// The agent.
        party: Party,
        /// The source; `None` for all.
        source: Option<CardSource>,
    },
}

/// How an attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The reader gave it back.
    Nacked,
    /// The reader did not settle it in time.
    LeaseExpired,
    /// The reader will never take it.
    Rejected,
    /// The reader is gone without a word.
    ConsumerGone,
}

impl Failure {
    const ALL: [Self; 4] = [
        Self::Nacked,
        Self::LeaseExpired,
        Self::Rejected,
        Self::ConsumerGone,
    ];

    /// The word on every surface.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nacked => "nacked",
            Self::LeaseExpired => "lease_expired",
            Self::Rejected => "rejected",
            Self::ConsumerGone => "consumer_gone",
        }
    }
}

/// One failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedDelivery {
    /// The message.
    pub sequence: u64,
    /// Which attempt it was.
    pub attempt: u32,
    /// When the next may begin.
    pub again_at: Timestamp,
}

/// How a delivery ended that nobody acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Its message was too old.
    Expired,
    /// It became a dead letter.
    Dead,
    /// Somebody let go of it.
    Dropped,
}

impl Ending {
    const ALL: [Self; 3] = [Self::Expired, Self::Dead, Self::Dropped];

    /// The word on every surface.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Expired => "expired",
            Self::Dead => "dead",
            Self::Dropped => "dropped",
        }
    }
}

/// What is wrong with a record's bytes.
pub use protocol::wire::WireError as RecordError;

impl Record {
    /// The journal's kind byte of [`Record::Published`].
    pub const PUBLISHED: u8 = 1;
    /// The journal's kind byte of [`Record::SubscriptionPut`].
    pub const SUBSCRIPTION_PUT: u8 = 2;
    /// The journal's kind byte of [`Record::SubscriptionRemoved`].
    pub const SUBSCRIPTION_REMOVED: u8 = 3;
    /// The journal's kind byte of [`Record::Acked`].
    pub const ACKED: u8 = 4;
    /// The journal's kind byte of [`Record::Failed`].
    pub const FAILED: u8 = 5;
    /// The journal's kind byte of [`Record::Ended`].
    pub const ENDED: u8 = 6;
    /// The journal's kind byte of [`Record::Redriven`].
    pub const REDRIVEN: u8 = 7;
    /// The journal's kind byte of [`Record::PlaceConfigured`].
    pub const PLACE_CONFIGURED: u8 = 8;
    /// The journal's kind byte of [`Record::PlacePaused`].
    pub const PLACE_PAUSED: u8 = 9;
    /// The journal's kind byte of [`Record::CardPut`].
    pub const CARD_PUT: u8 = 10;
    /// The journal's kind byte of [`Record::CardRemoved`].
    pub const CARD_REMOVED: u8 = 11;

    /// The journal's kind byte.
    #[must_use]
    pub fn kind(&self) -> u8 {
        match self {
            Self::Published { .. } => Self::PUBLISHED,
            Self::SubscriptionPut { .. } => Self::SUBSCRIPTION_PUT,
            Self::SubscriptionRemoved { .. } => Self::SUBSCRIPTION_REMOVED,
            Self::Acked { .. } => Self::ACKED,
            Self::Failed { .. } => Self::FAILED,
            Self::Ended { .. } => Self::ENDED,
            Self::Redriven { .. } => Self::REDRIVEN,
            Self::PlaceConfigured { .. } => Self::PLACE_CONFIGURED,
            Self::PlacePaused { .. } => Self::PLACE_PAUSED,
            Self::CardPut { .. } => Self::CARD_PUT,
            Self::CardRemoved { .. } => Self::CARD_REMOVED,
        }
    }

    /// Whether records of this kind say what became of deliveries.
    #[must_use]
    pub fn is_of_deliveries(kind: u8) -> bool {
        matches!(
            kind,
            Self::ACKED | Self::FAILED | Self::ENDED | Self::REDRIVEN
        )
    }

    /// The deliveries that it says something about: of one place, these messages.
    #[must_use]
    pub fn deliveries(&self) -> Option<(PlaceId, Vec<u64>)> {
        match self {
            Self::Acked {
                place, sequences, ..
            }
            | Self::Ended {
                place, sequences, ..
            } => Some((*place, sequences.clone())),
            Self::Failed {
                place, deliveries, ..
            } => {
                let sequences = deliveries.iter().map(|failed| failed.sequence);
                Some((*place, sequences.collect()))
            }
            Self::Redriven {
                place, sequence, ..
            } => Some((*place, vec![*sequence])),
            Self::Published { .. }
            | Self::SubscriptionPut { .. }
            | Self::SubscriptionRemoved { .. }
            | Self::PlaceConfigured { .. }
            | Self::PlacePaused { .. }
            | Self::CardPut { .. }
            | Self::CardRemoved { .. } => None,
        }
    }

    /// Appends the body, except a published envelope's bytes, which follow it.
    pub fn encode_head(&self, out: &mut Vec<u8>) {
        out.push(VERSION);
        match self {
            Self::Published {
                at,
                header,
                recipients,
                places,
                moves_flow,
                envelope,
            } => {
                let head = published::Head {
                    at: *at,
                    header,
                    recipients,
                    places,
                    moves_flow: *moves_flow,
                };
                head.encode(envelope.len(), out);
            }
            Self::SubscriptionPut {
                id,
                name,
                filter,
                deliver_to,
                inbox,
                settings,
                push,
            } => {
                put_varint(out, u64::from(id.0));
                put_text(out, name);
                put_text(out, &filter.to_json());
                let flags = [
                    deliver_to.is_some(),
                    inbox.is_some(),
                    settings.is_some(),
                    push.is_some(),
                ];
                out.push(
                    flags
                        .iter()
                        .rev()
                        .fold(0, |bits, flag| bits << 1 | u8::from(*flag)),
                );
                if let Some(party) = deliver_to {
                    put_text(out, party.as_str());
                }
                if let Some(inbox) = inbox {
                    put_varint(out, u64::from(inbox.0));
                }
                if let Some(settings) = settings {
                    delivery::put_settings(out, settings);
                }
                if let Some(push) = push {
                    put_text(out, &push.url);
                    put_text(out, &push.secret);
                }
            }
            Self::SubscriptionRemoved { id } => put_varint(out, u64::from(id.0)),
            Self::Acked { .. }
            | Self::Failed { .. }
            | Self::Ended { .. }
            | Self::Redriven { .. }
            | Self::PlaceConfigured { .. }
            | Self::PlacePaused { .. } => delivery::encode(self, out),
            Self::CardPut { .. } | Self::CardRemoved { .. } => cards::encode(self, out),
        }
    }

    /// Reads a body back.
    ///
    /// # Errors
    /// Says what is wrong; never panics, whatever the bytes.
    pub fn decode(kind: u8, body: &Bytes) -> Result<Self, RecordError> {
        if kind == Self::PUBLISHED {
            return published::decode(body);
        }
        let mut reader = Reader::new(body);
        reader.version()?;
        let record = match kind {
            Self::SUBSCRIPTION_PUT => decode_subscription(&mut reader)?,
            Self::SUBSCRIPTION_REMOVED => Self::SubscriptionRemoved {
                id: reader.place()?,
            },
            Self::CARD_PUT | Self::CARD_REMOVED => cards::decode(kind, &mut reader)?,
            _ => delivery::decode(kind, &mut reader)?,
        };
        reader.end()?;
        Ok(record)
    }

    /// The envelope's bytes of a published record's body, without reading the head and without a
    /// copy.
    ///
    /// # Errors
    /// When the body is not that of a published record.
    pub fn envelope(body: &Bytes) -> Result<Bytes, RecordError> {
        published::split(body).map(|(_, envelope)| envelope)
    }
}

fn decode_subscription(reader: &mut Reader<'_>) -> Result<Record, RecordError> {
    let id = reader.place()?;
    let name = reader.text()?.into();
    let filter = filter_from(reader.text()?)?;
    let flags = reader.byte()?;
    if flags > 0b1111 {
        return Err(RecordError("expected known flags of a subscription"));
    }
    let deliver_to = if flags & 1 == 0 {
        None
    } else {
        Some(reader.party()?)
    };
    let inbox = if flags & 2 == 0 {
        None
    } else {
        Some(reader.place()?)
    };
    let settings = if flags & 4 == 0 {
        None
    } else {
        Some(delivery::settings_from(reader)?)
    };
    let push = if flags & 8 == 0 {
        None
    } else {
        Some(Push {
            url: reader.text()?.into(),
            secret: reader.text()?.into(),
        })
    };
    Ok(Record::SubscriptionPut {
        id,
        name,
        filter,
        deliver_to,
        inbox,
        settings,
        push,
    })
}

pub(crate) fn filter_from(text: &str) -> Result<Filter, RecordError> {
    let wrong = RecordError("expected a filter as JSON");
    let document = json::read(text.as_bytes(), json::Limits::default()).map_err(|_| wrong)?;
    Filter::from_json(document.root()).map_err(|_| wrong)
}
