//! One durable message as readers see it.

use crate::tail::unreadable;
use bytes::Bytes;
use exchange::{PlaceId, RecipientState};
use protocol::{Header, Party, Rejection, Timestamp};
use std::sync::{Arc, OnceLock};

/// A published envelope with its place in the journal. Shared by every reader.
#[derive(Debug)]
pub struct Entry {
    /// Its sequence in the journal.
    pub sequence: u64,
    /// When it was accepted.
    pub at: Timestamp,
    /// The neutral facts.
    pub header: Arc<Header>,
    /// The bytes as they arrived.
    pub envelope: Bytes,
    /// One line per recipient, as the first receipt listed them.
    pub recipients: Vec<(Party, RecipientState)>,
    /// The places that got it, inboxes of recipients first.
    pub places: Vec<PlaceId>,
    /// Frames that doors built once for all readers; each door fills its own.
    event_frame: OnceLock<Bytes>,
    socket_frame: OnceLock<(Box<str>, Bytes)>,
}

impl Entry {
    pub(crate) fn new(
        sequence: u64,
        at: Timestamp,
        header: Arc<Header>,
        envelope: Bytes,
        recipients: Vec<(Party, RecipientState)>,
        places: Vec<PlaceId>,
    ) -> Self {
        Self {
            sequence,
            at,
            header,
            envelope,
            recipients,
            places,
            event_frame: OnceLock::new(),
            socket_frame: OnceLock::new(),
        }
    }

    /// Reads a message back from a journal record; none for records that are not messages.
    ///
    /// # Errors
    /// `storage_failed` for a message that cannot be read: no reader may pass it over in silence.
    pub fn from_record(record: &journal::Record) -> Result<Option<Self>, Rejection> {
        if record.kind != exchange::Record::PUBLISHED {
            return Ok(None);
        }
        match exchange::Record::decode(record.kind, &record.body) {
            Ok(exchange::Record::Published {
                at,
                header,
                recipients,
                places,
                envelope,
                ..
            }) => Ok(Some(Self::new(
                record.sequence,
                at,
                header,
                envelope,
                recipients,
                places,
            ))),
            Ok(_) => Ok(None),
            Err(error) => {
                tracing::error!(
                    sequence = record.sequence,
                    what = error.0,
                    "a message cannot be read"
                );
                Err(unreadable())
            }
        }
    }

    /// The server-sent event of this entry, built by the first reader that needs it.
    pub fn event_frame(&self, build: impl FnOnce(&Self) -> Bytes) -> Bytes {
        self.event_frame.get_or_init(|| build(self)).clone()
    }

    /// The socket frame of this entry for readers that chose the reference `reference`. Readers with
    /// the reference of the first one share its bytes; others build their own.
    pub fn socket_frame(&self, reference: &str, build: impl Fn(&Self) -> Bytes) -> Bytes {
        let (first, frame) = self
            .socket_frame
            .get_or_init(|| (reference.into(), build(self)));
        if **first == *reference {
            frame.clone()
        } else {
            build(self)
        }
    }

    /// What this entry costs in memory, about.
    pub(crate) fn bytes(&self) -> usize {
        self.envelope.len() + 512
    }
}
