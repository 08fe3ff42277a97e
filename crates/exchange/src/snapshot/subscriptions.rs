//! The bytes of the subscriptions: name, number, filter, where matches go instead, and where they are
//! pushed.

use super::{Part, SnapshotError};
use crate::exchange::Exchange;
use crate::place::{PlaceId, PlaceName};
use crate::push::Push;
use crate::record::filter_from;
use crate::settings::Settings;
use crate::subscribe::Subscriptions;
use protocol::wire::{Reader, WireError, put_text, put_varint};

const HAS_FORWARD: u8 = 1;
const HAS_PUSH: u8 = 1 << 1;

impl Part for Subscriptions {
    const TAG: u8 = 4;
    const NAME: &'static str = "subscriptions";
    const VERSION: u8 = 1;

    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.count() as u64);
        for kept in self.iter() {
            put_text(out, kept.name);
            put_varint(out, u64::from(kept.id.0));
            put_text(out, &kept.filter.to_json());
            let has = |is_so, flag| if is_so { flag } else { 0 };
            out.push(has(kept.forward.is_some(), HAS_FORWARD) | has(kept.push.is_some(), HAS_PUSH));
            if let Some((party, inbox)) = kept.forward {
                put_text(out, party.as_str());
                put_varint(out, u64::from(inbox.0));
            }
            if let Some(push) = kept.push {
                put_text(out, &push.url);
                put_text(out, &push.secret);
            }
        }
    }

    fn decode(reader: &mut Reader<'_>, _: &Settings) -> Result<Self, WireError> {
        let mut subscriptions = Self::default();
        reader.list(|reader| {
            let name = reader.text()?;
            let id = PlaceId(reader.small()?);
            let filter = filter_from(reader.text()?)?;
            let flags = reader.byte()?;
            if flags & !(HAS_FORWARD | HAS_PUSH) != 0 {
                return Err(WireError("expected to know where matches go"));
            }
            let forward = match flags & HAS_FORWARD {
                0 => None,
                _ => Some((reader.party()?, PlaceId(reader.small()?))),
            };
            subscriptions.insert(id, name, filter, forward);
            if flags & HAS_PUSH != 0 {
                let push = Push {
                    url: reader.text()?.into(),
                    secret: reader.text()?.into(),
                };
                subscriptions.set_push(name, Some(push));
            }
            Ok(())
        })?;
        Ok(subscriptions)
    }
}

impl Exchange {
    /// Each subscription has the place of its name, and feeds an inbox that is there.
    pub(super) fn check_subscriptions(&self) -> Result<(), SnapshotError> {
        let mut count = 0;
        for kept in self.subscriptions.iter() {
            let name = self.place_name(kept.id);
            let has_place =
                matches!(name, Some(PlaceName::Subscription(own)) if **own == *kept.name);
            let is_fed = |(party, inbox)| self.places.inbox(party) == Some(inbox);
            if !has_place || !kept.forward.is_none_or(is_fed) {
                return Err(wrong("expected a place for each subscription"));
            }
            count += 1;
        }
        let places = self.places.iter();
        let own = places.filter(|(_, place)| matches!(place.name(), PlaceName::Subscription(_)));
        if own.count() != count {
            return Err(wrong("expected a subscription for each such place"));
        }
        Ok(())
    }
}

fn wrong(what: &'static str) -> SnapshotError {
    SnapshotError {
        part: Subscriptions::NAME,
        what,
    }
}
