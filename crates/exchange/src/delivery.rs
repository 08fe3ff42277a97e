//! One attempt to hand one message to one place.

use crate::place::PlaceId;
use protocol::Timestamp;
use std::fmt;

/// One delivery handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// From where.
    pub place: PlaceId,
    /// Which message.
    pub sequence: u64,
    /// Tells this attempt from every other.
    pub fence: u32,
    /// 1 for the first; attempts that neither failed nor were acknowledged before a restart are not
    /// counted.
    pub attempt: u32,
    /// Whether it may have been handed out before.
    pub redelivered: bool,
    /// When it runs out.
    pub until: Timestamp,
}

impl Lease {
    /// The identity that settles it.
    #[must_use]
    pub fn id(&self) -> DeliveryId {
        DeliveryId {
            place: self.place,
            sequence: self.sequence,
            fence: self.fence,
        }
    }
}

/// A delivery's identity; as text `<place>.<sequence>.<fence>`, opaque to users.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeliveryId {
    /// From where.
    pub place: PlaceId,
    /// Which message.
    pub sequence: u64,
    /// Which attempt.
    pub fence: u32,
}

impl DeliveryId {
    /// Reads the text back; `None` for anything that [`fmt::Display`] does not write.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let place = PlaceId(number(parts.next()?)?.try_into().ok()?);
        let sequence = number(parts.next()?)?;
        let fence = number(parts.next()?)?.try_into().ok()?;
        parts.next().is_none().then_some(Self {
            place,
            sequence,
            fence,
        })
    }
}

fn number(text: &str) -> Option<u64> {
    let plain = text.bytes().all(|c| c.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    if plain { text.parse().ok() } else { None }
}

impl fmt::Display for DeliveryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.place.0, self.sequence, self.fence)
    }
}

/// What a reader does with deliveries it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settle {
    /// Done; never deliver it here again.
    Ack,
    /// Not done; deliver it again after a while, at least the setting's floor, unless it has failed
    /// too often.
    Nack {
        /// The reader's wish; the place's backoff when absent.
        retry_after_ms: Option<i64>,
        /// Why, for whoever looks at it later.
        reason: Box<str>,
    },
    /// Never deliver it here again by itself: it becomes a dead letter at once.
    Reject {
        /// Why.
        reason: Box<str>,
    },
    /// Still at it; hold it this long from now.
    Extend {
        /// The reader's wish; a whole lease when absent.
        lease_ms: Option<i64>,
    },
}

/// Hands out fences. Leases are not stored, so fences must differ from those of an earlier run: a
/// reader that slept through a restart must not settle what was handed to someone else. The moment
/// of the first lease, scattered over all 32 bits, starts the count.
#[derive(Debug, Default)]
pub(crate) struct Fences {
    last: Option<u32>,
}

impl Fences {
    pub(crate) fn next(&mut self, now: Timestamp) -> u32 {
        let fence = match self.last {
            Some(last) => last.wrapping_add(1),
            None => scatter(now),
        };
        self.last = Some(fence);
        fence
    }
}

fn scatter(now: Timestamp) -> u32 {
    // The finaliser of SplitMix64: neighbouring milliseconds end far apart.
    let mut bits = now.as_millis() as u64;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (bits >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::{DeliveryId, Fences, PlaceId};
    use protocol::Timestamp;

    #[test]
    fn delivery_ids_read_back() {
        for (place, sequence, fence) in [(0, 0, 0), (u32::MAX, u64::MAX, u32::MAX), (7, 12, 3)] {
            let id = DeliveryId {
                place: PlaceId(place),
                sequence,
                fence,
            };
            assert_eq!(DeliveryId::parse(&id.to_string()), Some(id));
        }
        for text in [
            "",
            "1",
            "1.2",
            "1.2.3.4",
            "1.2.",
            "+1.2.3",
            "01.2.3",
            "1.-2.3",
            "4294967296.1.1",
            "a.b.c",
        ] {
            assert_eq!(DeliveryId::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_later_run_starts_its_fences_elsewhere() {
        let fences = |now| {
            let mut fences = Fences::default();
            [(); 1_000].map(|()| fences.next(Timestamp::from_millis(now)))
        };
        let (one, other) = (fences(1_772_274_600_000), fences(1_772_274_600_001));
        assert!(one.iter().all(|fence| !other.contains(fence)));
    }
}
