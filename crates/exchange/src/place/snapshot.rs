//! The bytes of one place: everything but who holds what. What is kept of conversations begins with
//! the first pull, so there is nothing of it.

use super::lanes::{Candidate, Lanes};
use super::{Dead, Moments, OrderKey, Place, PlaceId, Resting, Tries};
use crate::record::delivery::{
    name_from, put_name, put_retry, put_settings, retry_from, settings_from,
};
use protocol::Priority;
use protocol::wire::{Reader, WireError, put_moment, put_text, put_varint};
use std::collections::BTreeMap;
use std::num::NonZeroU32;

const HAS_SETTINGS: u8 = 1;
const IS_PAUSED: u8 = 1 << 1;

const PRIORITIES: [Priority; 4] = [
    Priority::Low,
    Priority::Normal,
    Priority::High,
    Priority::Urgent,
];

impl Place {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, u64::from(self.id.0));
        put_name(out, &self.name);
        let has = |is_so, flag| if is_so { flag } else { 0 };
        out.push(has(self.settings.is_some(), HAS_SETTINGS) | has(self.is_paused, IS_PAUSED));
        if let Some(settings) = &self.settings {
            put_settings(out, settings);
        }
        self.encode_waiting(out);
        put_each(out, &self.resting, |out, resting| {
            put_way(out, resting.priority, resting.key, &resting.tries);
            put_moment(out, resting.since);
            put_moment(out, resting.until);
        });
        put_each(out, &self.dead, |out, dead| {
            put_way(out, dead.priority, dead.key, &dead.tries);
            put_moment(out, dead.at);
            put_text(out, &dead.reason);
        });
        put_each(out, &self.retries, |out, retry| put_retry(out, retry));
        put_each(out, &self.expiring, |out, moment| put_moment(out, *moment));
    }

    /// What is ready, in lanes; what is held or set aside belongs there when it is read back.
    fn encode_waiting(&self, out: &mut Vec<u8>) {
        let held = self.held.iter().map(|(sequence, held)| Candidate {
            sequence: *sequence,
            priority: held.priority,
            key: held.key,
            tries: held.tries.clone(),
        });
        let mut again: BTreeMap<u64, Candidate> = BTreeMap::new();
        for one in held.chain(self.conversations.iter()) {
            again.insert(one.sequence, one);
        }
        for one in self.lanes.again() {
            again.insert(one.sequence, one);
        }
        for priority in PRIORITIES {
            let fresh = self.lanes.fresh(priority);
            put_varint(out, fresh.len() as u64);
            let mut last = 0;
            for (sequence, key) in fresh {
                put_varint(out, sequence - last);
                put_key(out, key);
                last = sequence;
            }
        }
        put_each(out, &again, |out, one| {
            put_way(out, one.priority, one.key, &one.tries);
        });
    }

    /// Reads a place back; its moments join those of all places.
    pub(crate) fn decode(
        reader: &mut Reader<'_>,
        moments: &mut Moments,
    ) -> Result<Self, WireError> {
        let id = PlaceId(reader.small()?);
        let mut place = Self::new(id, name_from(reader)?);
        let flags = reader.byte()?;
        if flags & !(HAS_SETTINGS | IS_PAUSED) != 0 {
            return Err(WireError("expected known flags of a place"));
        }
        place.is_paused = flags & IS_PAUSED != 0;
        if flags & HAS_SETTINGS != 0 {
            place.settings = Some(Box::new(settings_from(reader)?));
        }
        place.lanes = lanes_from(reader)?;
        each(reader, |reader, sequence| {
            let (priority, key, tries) = way_from(reader)?;
            let (since, until) = (reader.moment()?, reader.moment()?);
            moments.leases.insert((until, id, sequence));
            place.resting.insert(
                sequence,
                Resting {
                    since,
                    until,
                    priority,
                    key,
                    tries,
                },
            );
            Ok(())
        })?;
        each(reader, |reader, sequence| {
            let (priority, key, tries) = way_from(reader)?;
            let dead = Dead {
                at: reader.moment()?,
                reason: reader.text()?.into(),
                priority,
                key,
                tries,
            };
            place.dead.insert(sequence, dead);
            Ok(())
        })?;
        each(reader, |reader, sequence| {
            let retry = retry_from(reader)?;
            place.retries.insert(sequence, Box::new(retry));
            Ok(())
        })?;
        each(reader, |reader, sequence| {
            let moment = reader.moment()?;
            moments.expiries.insert((moment, id, sequence));
            place.expiring.insert(sequence, moment);
            Ok(())
        })?;
        Ok(place)
    }
}

fn lanes_from(reader: &mut Reader<'_>) -> Result<Lanes, WireError> {
    let mut lanes = Lanes::default();
    for priority in PRIORITIES {
        each(reader, |reader, sequence| {
            lanes.push(sequence, priority, key_from(reader)?);
            Ok(())
        })?;
    }
    each(reader, |reader, sequence| {
        let (priority, key, tries) = way_from(reader)?;
        lanes.put_back(Candidate {
            sequence,
            priority,
            key,
            tries,
        });
        Ok(())
    })?;
    Ok(lanes)
}

/// A count, then each sequence as the distance to the one before, and what belongs to it.
fn put_each<V>(out: &mut Vec<u8>, map: &BTreeMap<u64, V>, put: impl Fn(&mut Vec<u8>, &V)) {
    put_varint(out, map.len() as u64);
    let mut last = 0;
    for (sequence, value) in map {
        put_varint(out, sequence - last);
        put(out, value);
        last = *sequence;
    }
}

/// Reads what [`put_each`] wrote.
fn each(
    reader: &mut Reader<'_>,
    mut take: impl FnMut(&mut Reader<'_>, u64) -> Result<(), WireError>,
) -> Result<(), WireError> {
    let mut last = 0_u64;
    reader.list(|reader| {
        let distance = reader.varint()?;
        last = last
            .checked_add(distance)
            .filter(|_| distance > 0)
            .ok_or(WireError("expected sequences in order"))?;
        take(reader, last)
    })?;
    Ok(())
}

fn put_way(out: &mut Vec<u8>, priority: Priority, key: OrderKey, tries: &Tries) {
    let number = PRIORITIES.iter().position(|known| *known == priority);
    out.push(number.unwrap_or(0) as u8);
    put_key(out, key);
    put_varint(out, u64::from(tries.attempts));
    put_varint(out, tries.failures.len() as u64);
    for failure in &tries.failures {
        put_varint(out, *failure);
    }
}

fn way_from(reader: &mut Reader<'_>) -> Result<(Priority, OrderKey, Tries), WireError> {
    let priority = PRIORITIES.get(usize::from(reader.byte()?));
    let priority = *priority.ok_or(WireError("expected the number of a priority"))?;
    let key = key_from(reader)?;
    let tries = Tries {
        attempts: reader.small()?,
        failures: reader.list(Reader::varint)?,
    };
    Ok((priority, key, tries))
}

/// Four bytes: keys are digests, which a varint would make longer.
fn put_key(out: &mut Vec<u8>, OrderKey(key): OrderKey) {
    out.extend_from_slice(&key.map_or(0, NonZeroU32::get).to_le_bytes());
}

fn key_from(reader: &mut Reader<'_>) -> Result<OrderKey, WireError> {
    Ok(OrderKey(NonZeroU32::new(u32::from_le_bytes(
        reader.array()?,
    ))))
}
