//! The bodies of records about deliveries and the places they come from.

use super::wire::{ReadRecord as _, Reader, put_text, put_varint};
use super::{Ending, FailedDelivery, Failure, Record, RecordError};
use crate::delivery_settings::{DeliverySettings, Order};
use crate::place::{PlaceId, PlaceName};
use protocol::{Party, Retry, Timestamp};

const HAS_CONSUMER: u8 = 1;
const HAS_BY: u8 = 1 << 1;
const HAS_ATTEMPTS: u8 = 1 << 2;
const INBOX: u8 = 0;
const SUBSCRIPTION: u8 = 1;

/// Appends what follows the version.
pub(super) fn encode(record: &Record, out: &mut Vec<u8>) {
    match record {
        Record::Acked {
            place,
            at,
            consumer,
            by,
            sequences,
            attempts,
        } => {
            put_place(out, *place);
            put_moment(out, *at);
            let has = |text: &Option<Box<str>>, flag| if text.is_some() { flag } else { 0 };
            let attempts_follow = if attempts.is_empty() { 0 } else { HAS_ATTEMPTS };
            out.push(has(consumer, HAS_CONSUMER) | has(by, HAS_BY) | attempts_follow);
            for text in [consumer, by].into_iter().flatten() {
                put_text(out, text);
            }
            put_sequences(out, sequences);
            if !attempts.is_empty() {
                put_varint(out, attempts.len() as u64);
            }
            for count in attempts {
                put_varint(out, u64::from(*count));
            }
        }
        Record::Failed {
            place,
            at,
            why,
            error,
            deliveries,
        } => {
            put_place(out, *place);
            put_moment(out, *at);
            out.push(position(&Failure::ALL, why));
            put_text(out, error);
            put_varint(out, deliveries.len() as u64);
            for failed in deliveries {
                put_varint(out, failed.sequence);
                put_varint(out, u64::from(failed.attempt));
                put_moment(out, failed.again_at);
            }
        }
        Record::Ended {
            place,
            at,
            how,
            reason,
            sequences,
        } => {
            put_place(out, *place);
            put_moment(out, *at);
            out.push(position(&Ending::ALL, how));
            put_text(out, reason);
            put_sequences(out, sequences);
        }
        Record::Redriven {
            place,
            at,
            sequence,
        } => {
            put_place(out, *place);
            put_moment(out, *at);
            put_varint(out, *sequence);
        }
        Record::PlaceConfigured {
            place,
            name,
            settings,
        } => {
            put_place(out, *place);
            put_name(out, name);
            put_settings(out, settings);
        }
        Record::PlacePaused { place, is_paused } => {
            put_place(out, *place);
            out.push(u8::from(*is_paused));
        }
        Record::Published { .. }
        | Record::SubscriptionPut { .. }
        | Record::SubscriptionRemoved { .. }
        | Record::CardPut { .. }
        | Record::CardRemoved { .. } => {}
    }
}

/// Reads what follows the version.
pub(super) fn decode(kind: u8, reader: &mut Reader<'_>) -> Result<Record, RecordError> {
    match kind {
        Record::ACKED => {
            let (place, at) = (reader.place()?, moment(reader)?);
            let flags = reader.byte()?;
            if flags & !(HAS_CONSUMER | HAS_BY | HAS_ATTEMPTS) != 0 {
                return Err(RecordError("expected known flags of an acknowledgement"));
            }
            let mut text = |flag| -> Result<Option<Box<str>>, RecordError> {
                match flags & flag {
                    0 => Ok(None),
                    _ => Ok(Some(reader.text()?.into())),
                }
            };
            Ok(Record::Acked {
                place,
                at,
                consumer: text(HAS_CONSUMER)?,
                by: text(HAS_BY)?,
                sequences: sequences(reader)?,
                attempts: match flags & HAS_ATTEMPTS {
                    0 => Vec::new(),
                    _ => reader.list(small)?,
                },
            })
        }
        Record::FAILED => Ok(Record::Failed {
            place: reader.place()?,
            at: moment(reader)?,
            why: word(&Failure::ALL, reader.byte()?)?,
            error: reader.text()?.into(),
            deliveries: reader.list(|reader| {
                Ok(FailedDelivery {
                    sequence: reader.varint()?,
                    attempt: small(reader)?,
                    again_at: moment(reader)?,
                })
            })?,
        }),
        Record::ENDED => Ok(Record::Ended {
            place: reader.place()?,
            at: moment(reader)?,
            how: word(&Ending::ALL, reader.byte()?)?,
            reason: reader.text()?.into(),
            sequences: sequences(reader)?,
        }),
        Record::REDRIVEN => Ok(Record::Redriven {
            place: reader.place()?,
            at: moment(reader)?,
            sequence: reader.varint()?,
        }),
        Record::PLACE_CONFIGURED => Ok(Record::PlaceConfigured {
            place: reader.place()?,
            name: name_from(reader)?,
            settings: settings_from(reader)?,
        }),
        Record::PLACE_PAUSED => Ok(Record::PlacePaused {
            place: reader.place()?,
            is_paused: match reader.byte()? {
                0 => false,
                1 => true,
                _ => return Err(RecordError("expected a yes or no")),
            },
        }),
        _ => Err(RecordError("expected a known kind of record")),
    }
}

pub(crate) fn put_settings(out: &mut Vec<u8>, settings: &DeliverySettings) {
    put_signed(out, settings.lease_ms);
    put_varint(out, u64::from(settings.max_attempts));
    put_signed(out, settings.backoff_ms);
    put_varint(out, u64::from(settings.backoff_multiplier_milli));
    put_signed(out, settings.backoff_ms_max);
    put_varint(out, u64::from(settings.in_flight_max));
    out.push(match settings.order {
        Order::Conversation => 0,
        Order::None => 1,
    });
}

pub(crate) fn settings_from(reader: &mut Reader<'_>) -> Result<DeliverySettings, RecordError> {
    Ok(DeliverySettings {
        lease_ms: signed(reader)?,
        max_attempts: small(reader)?,
        backoff_ms: signed(reader)?,
        backoff_multiplier_milli: small(reader)?,
        backoff_ms_max: signed(reader)?,
        in_flight_max: small(reader)?,
        order: word(&[Order::Conversation, Order::None], reader.byte()?)?,
    })
}

/// A flag per member that is there, then those members.
pub(crate) fn put_retry(out: &mut Vec<u8>, retry: &Retry) {
    let members = [
        retry.max_attempts.map(i64::from),
        retry.backoff_ms,
        retry.backoff_multiplier_milli.map(i64::from),
        retry.backoff_ms_max,
        retry.ack_timeout_ms,
    ];
    let flags = members
        .iter()
        .rev()
        .fold(0, |bits, member| bits << 1 | u8::from(member.is_some()));
    out.push(flags);
    for member in members.into_iter().flatten() {
        put_signed(out, member);
    }
}

pub(crate) fn retry_from(reader: &mut Reader<'_>) -> Result<Retry, RecordError> {
    let flags = reader.byte()?;
    if flags >= 1 << 5 {
        return Err(RecordError("expected known flags of a retry policy"));
    }
    let mut member = |at: u8| match flags >> at & 1 {
        0 => Ok(None),
        _ => signed(reader).map(Some),
    };
    let count =
        |number: Option<i64>| number.map(|number| u32::try_from(number).unwrap_or(u32::MAX));
    Ok(Retry {
        max_attempts: count(member(0)?),
        backoff_ms: member(1)?,
        backoff_multiplier_milli: count(member(2)?),
        backoff_ms_max: member(3)?,
        ack_timeout_ms: member(4)?,
    })
}

pub(crate) fn put_name(out: &mut Vec<u8>, name: &PlaceName) {
    match name {
        PlaceName::Inbox(party) => {
            out.push(INBOX);
            put_text(out, party.as_str());
        }
        PlaceName::Subscription(name) => {
            out.push(SUBSCRIPTION);
            put_text(out, name);
        }
    }
}

pub(crate) fn name_from(reader: &mut Reader<'_>) -> Result<PlaceName, RecordError> {
    match reader.byte()? {
        INBOX => Ok(PlaceName::Inbox(Party::from_canonical(reader.text()?))),
        SUBSCRIPTION => Ok(PlaceName::Subscription(reader.text()?.into())),
        _ => Err(RecordError("expected a known kind of place")),
    }
}

fn put_place(out: &mut Vec<u8>, place: PlaceId) {
    put_varint(out, u64::from(place.0));
}

fn put_moment(out: &mut Vec<u8>, moment: Timestamp) {
    out.extend_from_slice(&moment.as_millis().to_le_bytes());
}

fn moment(reader: &mut Reader<'_>) -> Result<Timestamp, RecordError> {
    reader
        .array()
        .map(i64::from_le_bytes)
        .map(Timestamp::from_millis)
}

/// Small numbers of either sign stay short: the sign goes to the lowest bit.
pub(super) fn put_signed(out: &mut Vec<u8>, number: i64) {
    put_varint(out, (number.wrapping_shl(1) ^ (number >> 63)) as u64);
}

pub(super) fn signed(reader: &mut Reader<'_>) -> Result<i64, RecordError> {
    let bits = reader.varint()?;
    Ok((bits >> 1) as i64 ^ -((bits & 1) as i64))
}

fn small(reader: &mut Reader<'_>) -> Result<u32, RecordError> {
    u32::try_from(reader.varint()?).map_err(|_| RecordError("expected a number of at most 32 bits"))
}

fn put_sequences(out: &mut Vec<u8>, sequences: &[u64]) {
    put_varint(out, sequences.len() as u64);
    let mut last = 0_u64;
    for &sequence in sequences {
        // Wrapping, so that even a list out of order reads back as it was.
        put_varint(out, sequence.wrapping_sub(last));
        last = sequence;
    }
}

fn sequences(reader: &mut Reader<'_>) -> Result<Vec<u64>, RecordError> {
    let mut last = 0_u64;
    reader.list(|reader| {
        last = last.wrapping_add(reader.varint()?);
        Ok(last)
    })
}

fn position<T: PartialEq>(words: &[T], word: &T) -> u8 {
    words
        .iter()
        .position(|known| known == word)
        .map_or(u8::MAX, |at| at as u8)
}

fn word<T: Copy>(words: &[T], number: u8) -> Result<T, RecordError> {
    words
        .get(usize::from(number))
        .copied()
        .ok_or(RecordError("expected the number of a known word"))
}
