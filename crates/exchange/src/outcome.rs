//! What a change of state asks of the broker, besides its answer.

use crate::place::PlaceId;
use crate::record::Record;
use bytes::Bytes;

/// Records to append, places to wake, things to say.
///
/// The records come in order and directly after what the caller appended itself; state already
/// counts on their sequences. What is said is published after them in the same commit.
#[derive(Debug, Default)]
pub struct Outcome {
    /// To append, in order.
    pub records: Vec<Record>,
    /// Places that have something to pull that they had not before.
    pub wake: Vec<PlaceId>,
    /// Messages of which a delivery changed, besides those that the records tell of.
    pub touched: Vec<u64>,
    /// Envelopes that the exchange itself publishes, as `service:interwire`. Their ids follow from
    /// their causes, so that one that is said again after a crash is a duplicate.
    pub speak: Vec<Bytes>,
    /// Facts that subscribers of the message's dialect are told.
    pub notices: Vec<Notice>,
}

/// A fact about one delivery that the broker puts into the dialect of its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// It was handed out again.
    Redelivered {
        /// From where.
        place: PlaceId,
        /// Which message.
        sequence: u64,
        /// Which attempt this is.
        attempt: u32,
    },
    /// It became a dead letter.
    DeadLettered {
        /// Where.
        place: PlaceId,
        /// Which message.
        sequence: u64,
        /// How often it had been handed out.
        attempts: u32,
        /// Why.
        reason: Box<str>,
    },
    /// Its time was over before anybody took it.
    Expired {
        /// Where.
        place: PlaceId,
        /// Which message.
        sequence: u64,
    },
}

impl Outcome {
    /// Adds what another change asks.
    pub fn extend(&mut self, other: Self) {
        self.records.extend(other.records);
        self.wake.extend(other.wake);
        self.touched.extend(other.touched);
        self.speak.extend(other.speak);
        self.notices.extend(other.notices);
    }
}
