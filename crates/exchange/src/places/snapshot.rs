//! The bytes of all places, in the order of their numbers.

use super::Places;
use crate::place::{Place, PlaceName};
use crate::settings::Settings;
use crate::snapshot::Part;
use protocol::wire::{Reader, WireError, put_varint};

impl Part for Places {
    const TAG: u8 = 3;
    const NAME: &'static str = "places";
    const VERSION: u8 = 2;

    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, u64::from(self.next));
        put_varint(out, self.by_id.len() as u64);
        let mut places: Vec<_> = self.iter().collect();
        places.sort_unstable_by_key(|(id, _)| *id);
        for (_, place) in places {
            place.encode(out);
        }
    }

    fn decode(reader: &mut Reader<'_>, _: &Settings) -> Result<Self, WireError> {
        let mut places = Self::default();
        let next = reader.small()?;
        reader.list(|reader| {
            let place = Place::decode(reader, &mut places.moments)?;
            let id = place.id();
            if id.0 < places.next || id.0 >= next {
                return Err(WireError("expected places in the order of their numbers"));
            }
            match place.name() {
                PlaceName::Inbox(party) if places.inbox(party).is_some() => {
                    return Err(WireError("expected one inbox for a party"));
                }
                PlaceName::Inbox(party) => places.open_inbox(id, &party.clone()),
                PlaceName::Subscription(_) => places.open(id, place.name().clone()),
            }
            places.waiting += place.waiting();
            places.dead += place.dead_count();
            if place.dead_count() > 0 {
                places.with_dead.insert(id);
            }
            places.by_id.insert(id, Box::new(place));
            Ok(())
        })?;
        places.next = next;
        Ok(places)
    }
}
