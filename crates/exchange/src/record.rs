//! What the journal keeps, and its bytes.
//!
//! A record's kind is the journal's `kind` byte; the body starts with a version. Numbers called
//! *varint* are LEB128, at most ten bytes; a *text* is a varint length and that much UTF-8. Fixed
//! numbers are little-endian. `docs/records.md` has the tables.
//!
//! ```text
//! published             1 | head length u32 | envelope length u32 | head | envelope
//! subscription put      1 | id | name | filter as JSON | flags | [party, inbox id]
//! subscription removed  1 | id
//! acked                 1 | place | count | first sequence | distances to the next
//! ```
//!
//! The envelope comes last and untouched, so that a reader slices it out of the record without a
//! copy. The head holds the whole header except what the AEP flow machine acts on, which is read
//! again from the envelope when state is rebuilt.

mod published;
mod wire;

#[cfg(test)]
mod tests;

use crate::place::PlaceId;
use crate::publish::RecipientState;
use bytes::Bytes;
use protocol::{Filter, Header, Party, Timestamp, json};
use std::fmt;
use std::sync::Arc;
use wire::{Reader, put_text, put_varint};

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
    /// A durable subscription was created.
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
        /// The messages, ascending.
        sequences: Vec<u64>,
    },
}

/// What is wrong with a record's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordError(pub &'static str);

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for RecordError {}

impl Record {
    /// The journal's kind byte of [`Record::Published`].
    pub const PUBLISHED: u8 = 1;
    /// The journal's kind byte of [`Record::SubscriptionPut`].
    pub const SUBSCRIPTION_PUT: u8 = 2;
    /// The journal's kind byte of [`Record::SubscriptionRemoved`].
    pub const SUBSCRIPTION_REMOVED: u8 = 3;
    /// The journal's kind byte of [`Record::Acked`].
    pub const ACKED: u8 = 4;

    /// The journal's kind byte.
    #[must_use]
    pub fn kind(&self) -> u8 {
        match self {
            Self::Published { .. } => Self::PUBLISHED,
            Self::SubscriptionPut { .. } => Self::SUBSCRIPTION_PUT,
            Self::SubscriptionRemoved { .. } => Self::SUBSCRIPTION_REMOVED,
            Self::Acked { .. } => Self::ACKED,
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
            } => {
                put_varint(out, u64::from(id.0));
                put_text(out, name);
                put_text(out, &filter.to_json());
                out.push(u8::from(deliver_to.is_some()) | u8::from(inbox.is_some()) << 1);
                if let Some(party) = deliver_to {
                    put_text(out, party.as_str());
                }
                if let Some(inbox) = inbox {
                    put_varint(out, u64::from(inbox.0));
                }
            }
            Self::SubscriptionRemoved { id } => put_varint(out, u64::from(id.0)),
            Self::Acked { place, sequences } => {
                put_varint(out, u64::from(place.0));
                put_varint(out, sequences.len() as u64);
                let mut last = 0_u64;
                for &sequence in sequences {
                    // Wrapping, so that even a list out of order reads back as it was.
                    put_varint(out, sequence.wrapping_sub(last));
                    last = sequence;
                }
            }
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
            Self::ACKED => {
                let place = reader.place()?;
                let mut last = 0_u64;
                let sequences = reader.list(|reader| {
                    last = last.wrapping_add(reader.varint()?);
                    Ok(last)
                })?;
                Self::Acked { place, sequences }
            }
            _ => return Err(RecordError("expected a known kind of record")),
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
    if flags > 0b11 {
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
    Ok(Record::SubscriptionPut {
        id,
        name,
        filter,
        deliver_to,
        inbox,
    })
}

fn filter_from(text: &str) -> Result<Filter, RecordError> {
    let wrong = RecordError("expected a filter as JSON");
    let document = json::read(text.as_bytes(), json::Limits::default()).map_err(|_| wrong)?;
    Filter::from_json(document.root()).map_err(|_| wrong)
}
