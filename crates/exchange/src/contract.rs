#![allow(missing_docs)]
// Signatures to build to; this file goes away as the real modules take over.
use bytes::Bytes;
use protocol::{Filter, Header, Party, Rejection, Timestamp};
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct Settings {
    pub lease_ms: i64,          // 30_000
    pub nack_delay_ms_min: i64, // 100: floor of every nack delay
    pub in_flight_max: usize,   // 1_024 leased deliveries per place
    pub places_max: usize,      // 1_000_000 inboxes and subscriptions
    pub fan_out_max: usize,     // 10_000 places per message
}

/// A durable place that messages wait in: a party's inbox or a named subscription.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PlaceName {
    Inbox(Party),
    Subscription(Box<str>),
}

/// Small number of a place, stable across restarts (assigned in journal order).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlaceId(pub u32);

/// A live, not durable, set of readers with one filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChannelId(pub u32);

/// What the journal keeps. `encode` appends the body's bytes; the record kind is the journal's `kind` byte.
/// Published: at, places (ids), inboxes (parties), header, then the envelope's bytes LAST and untouched,
/// so that a reader can slice them out of the record's `Bytes` without a copy.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    Published {
        at: Timestamp,
        header: Arc<Header>,
        recipients: Vec<Party>,
        inboxes: Vec<Party>,
        places: Vec<PlaceId>,
        envelope: Bytes,
    },
    SubscriptionPut {
        id: PlaceId,
        name: Box<str>,
        filter: Filter,
        deliver_to: Option<Party>,
    },
    SubscriptionRemoved {
        id: PlaceId,
    },
    Acked {
        place: PlaceId,
        sequences: Vec<u64>,
    },
}
impl Record {
    pub const PUBLISHED: u8 = 1;
    pub const SUBSCRIPTION_PUT: u8 = 2;
    pub const SUBSCRIPTION_REMOVED: u8 = 3;
    pub const ACKED: u8 = 4;
    pub fn kind(&self) -> u8 {
        0
    }
    /// Everything but a published envelope's bytes, which follow it.
    pub fn encode_head(&self, out: &mut Vec<u8>) {
        let _ = out;
    }
    /// Reads a body back. `Err` names what is wrong; never panics on any bytes.
    pub fn decode(kind: u8, body: &Bytes) -> Result<Self, RecordError> {
        let _ = (kind, body);
        Err(RecordError(""))
    }
}
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordError(pub &'static str);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecipientState {
    Stored,
    Refused,
}
impl RecipientState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Refused => "refused",
        }
    }
}
impl Lease {
    pub fn id(&self) -> DeliveryId {
        DeliveryId {
            place: self.place,
            sequence: self.sequence,
            fence: self.fence,
        }
    }
}
impl Default for Settings {
    fn default() -> Self {
        Self {
            lease_ms: 30_000,
            nack_delay_ms_min: 100,
            in_flight_max: 1024,
            places_max: 1_000_000,
            fan_out_max: 10_000,
        }
    }
}

#[derive(Debug)]
pub struct Publication {
    pub sequence: u64,
    pub duplicate: bool,
    /// One line per recipient, as the receipt shows them. For a duplicate: those of the first.
    pub recipients: Vec<(Party, RecipientState)>,
    /// To append; `None` for a duplicate.
    pub record: Option<Record>,
    /// Places that have something new to pull.
    pub wake: Vec<PlaceId>,
    /// Channels whose readers want it.
    pub channels: Vec<ChannelId>,
}

/// One delivery handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    pub place: PlaceId,
    pub sequence: u64,
    pub fence: u32,
    pub attempt: u32,
    pub until: Timestamp,
}

/// A delivery's identity as text, `<place>.<sequence>.<fence>`; opaque to users.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeliveryId {
    pub place: PlaceId,
    pub sequence: u64,
    pub fence: u32,
}
impl DeliveryId {
    pub fn parse(text: &str) -> Option<Self> {
        let _ = text;
        None
    }
}
impl std::fmt::Display for DeliveryId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.place.0, self.sequence, self.fence)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settle {
    Ack,
    Nack { retry_after_ms: Option<i64> },
    Extend { lease_ms: Option<i64> },
}

#[derive(Clone, Debug, PartialEq)]
pub struct SubscriptionView {
    pub id: PlaceId,
    pub name: Box<str>,
    pub filter: Filter,
    pub deliver_to: Option<Party>,
    pub waiting: usize,
    pub leased: usize,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub inboxes: usize,
    pub subscriptions: usize,
    pub channels: usize,
    pub dedupe_entries: usize,
    pub waiting: usize,
    pub leased: usize,
}

pub struct Exchange {}
impl Exchange {
    pub fn new(settings: Settings) -> Self {
        let _ = settings;
        Self {}
    }

    // publish.rs: dedupe -> flow -> recipients -> places + channels
    pub fn publish(
        &mut self,
        now: Timestamp,
        sequence: u64,
        header: Arc<Header>,
        envelope: Bytes,
    ) -> Result<Publication, Rejection> {
        let _ = (now, sequence, header, envelope);
        todo()
    }

    // subscribe.rs
    /// Creates or, with the same filter and deliver_to, confirms (then no record). Another filter under a name in use: `subscription_conflict`.
    pub fn put_subscription(
        &mut self,
        name: &str,
        filter: Filter,
        deliver_to: Option<Party>,
    ) -> Result<(SubscriptionView, Option<Record>), Rejection> {
        let _ = (name, filter, deliver_to);
        todo()
    }
    pub fn remove_subscription(&mut self, name: &str) -> Result<Record, Rejection> {
        let _ = name;
        todo()
    }
    pub fn subscriptions(&self) -> Vec<SubscriptionView> {
        Vec::new()
    }
    pub fn place_name(&self, id: PlaceId) -> Option<PlaceName> {
        let _ = id;
        None
    }
    pub fn place(&self, name: &PlaceName) -> Option<PlaceId> {
        let _ = name;
        None
    }

    // listen.rs: live channels, shared by equal filters, counted
    pub fn listen(&mut self, filter: Filter) -> ChannelId {
        let _ = filter;
        ChannelId(0)
    }
    pub fn unlisten(&mut self, id: ChannelId) {
        let _ = id;
    }

    // pull.rs, settle.rs
    pub fn pull(&mut self, now: Timestamp, place: PlaceId, max: usize) -> Vec<Lease> {
        let _ = (now, place, max);
        Vec::new()
    }
    /// One result per delivery, in order. `lease_lost` for a late or wrong one. Records for acks (one per place).
    pub fn settle(
        &mut self,
        now: Timestamp,
        deliveries: &[DeliveryId],
        how: Settle,
    ) -> (Vec<Result<(), Rejection>>, Vec<Record>, Vec<PlaceId>) {
        let _ = (now, deliveries, how);
        (Vec::new(), Vec::new(), Vec::new())
    }
    /// Leases that ran out and nacks whose delay is over become deliverable; returns places to wake.
    pub fn expire(&mut self, now: Timestamp) -> Vec<PlaceId> {
        let _ = now;
        Vec::new()
    }
    /// When to call `expire` next; may change after every other call.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        None
    }

    // apply.rs
    /// Rebuilds state from one durable record, in order.
    pub fn apply(&mut self, sequence: u64, record: Record) {
        let _ = (sequence, record);
    }

    /// Sequences under which this id was published: (sender, sequence).
    pub fn counts(&self) -> Counts {
        Counts::default()
    }
    pub fn aep_stats(&self) -> protocol::dialect::aep::flow::Stats {
        Default::default()
    }
}
fn todo<T>() -> Result<T, Rejection> {
    Err(protocol::Fault::new(protocol::Code::InternalError, "", "", "").into())
}
