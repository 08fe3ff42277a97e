//! One durable message as readers see it.

use crate::tail::unreadable;
use bytes::Bytes;
use exchange::{PlaceId, RecipientState};
use protocol::translate::translate;
use protocol::{DialectName, Fault, Header, Party, Rejection, Timestamp};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};

/// Bytes of all frames that are kept in the ring's memory. May be off for a moment, also below zero.
pub(crate) type FrameBytes = Arc<AtomicI64>;

/// Marks an entry that has left the ring; far from anything that can be added.
const LEFT: i64 = i64::MIN / 2;

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
    /// What it says in each dialect, made for the first who asks. Most are never asked for.
    renderings: OnceLock<Box<Renderings>>,
    /// What the frames add to while the entry is in the ring, and how much it was.
    frame_bytes: OnceLock<FrameBytes>,
    own_frame_bytes: AtomicI64,
}

/// What one entry says in each dialect.
#[derive(Debug, Default)]
struct Renderings {
    aee: OnceLock<Result<Bytes, Fault>>,
    aep: OnceLock<Result<Bytes, Fault>>,
    uai: OnceLock<Result<Bytes, Fault>>,
}

/// An envelope as one reader gets it.
#[derive(Clone, Copy, Debug)]
pub struct Shown<'e> {
    /// The bytes.
    pub envelope: &'e Bytes,
    /// What they are written in.
    pub dialect: DialectName,
    /// Why it is not the dialect that was asked for.
    pub untranslated: Option<&'e Fault>,
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
            renderings: OnceLock::new(),
            frame_bytes: OnceLock::new(),
            own_frame_bytes: AtomicI64::new(0),
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
        let built = || {
            let frame = build(self);
            self.keeps(frame.len());
            frame
        };
        self.event_frame.get_or_init(built).clone()
    }

    /// The socket frame of this entry for readers that chose the reference `reference`. Readers with
    /// the reference of the first one share its bytes; others build their own.
    pub fn socket_frame(&self, reference: &str, build: impl Fn(&Self) -> Bytes) -> Bytes {
        let built = || {
            let frame = build(self);
            self.keeps(frame.len());
            (reference.into(), frame)
        };
        let (first, frame) = self.socket_frame.get_or_init(built);
        if **first == *reference {
            frame.clone()
        } else {
            build(self)
        }
    }

    /// The envelope in the words of `dialect`, translated once for all readers; as it was sent when that
    /// is its own, when nobody asked for another, and when it cannot be said there.
    pub fn shown_in(&self, dialect: Option<DialectName>) -> Shown<'_> {
        let native = Shown {
            envelope: &self.envelope,
            dialect: self.header.dialect,
            untranslated: None,
        };
        let Some(dialect) = dialect.filter(|dialect| *dialect != native.dialect) else {
            return native;
        };
        let all = self.renderings.get_or_init(Box::default);
        let slot = match dialect {
            DialectName::Aee => &all.aee,
            DialectName::Aep => &all.aep,
            DialectName::Uai => &all.uai,
        };
        let rendering = slot.get_or_init(|| {
            let rendering = translate(&self.envelope, dialect).map(Bytes::from);
            self.keeps(rendering.as_ref().map_or(128, Bytes::len));
            rendering
        });
        match rendering {
            Ok(envelope) => Shown {
                envelope,
                dialect,
                untranslated: None,
            },
            Err(fault) => Shown {
                untranslated: Some(fault),
                ..native
            },
        }
    }

    /// A frame is kept from now on.
    fn keeps(&self, bytes: usize) {
        let bytes = i64::try_from(bytes).unwrap_or(0);
        let before = self.own_frame_bytes.fetch_add(bytes, Ordering::AcqRel);
        if before >= 0
            && let Some(all) = self.frame_bytes.get()
        {
            all.fetch_add(bytes, Ordering::AcqRel);
        }
    }

    /// Comes into the ring, before any reader can have built a frame; they count from now on.
    pub(crate) fn join(&self, all: &FrameBytes) {
        // An entry joins once.
        let _ = self.frame_bytes.set(Arc::clone(all));
    }

    /// Leaves the ring with what its frames weigh.
    pub(crate) fn leave(&self) {
        let own = self.own_frame_bytes.swap(LEFT, Ordering::AcqRel);
        if let Some(all) = self.frame_bytes.get() {
            all.fetch_sub(own.max(0), Ordering::AcqRel);
        }
    }

    /// What this entry costs in memory without its frames, about.
    pub(crate) fn bytes(&self) -> usize {
        self.envelope.len() + 512
    }
}
