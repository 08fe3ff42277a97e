//! The body of a published message: facts first, the envelope's bytes last.
//!
//! Replay reads one of these per message, so it allocates only what the header owns.

use super::wire::{ReadRecord as _, Reader, put_text, put_varint};
use super::{Record, RecordError, coordination, delivery, step};
use crate::place::PlaceId;
use crate::publish::RecipientState;
use bytes::Bytes;
use protocol::{Act, DialectName, Digest, Header, Intake, Party, Priority, Timestamp};
use std::sync::Arc;

/// Version, head length, envelope length.
const FIXED_BYTES: usize = 9;

const CONVERSATION: u16 = 1;
const CORRELATION: u16 = 1 << 1;
const CAUSE: u16 = 1 << 2;
const TASK: u16 = 1 << 3;
const SESSION: u16 = 1 << 4;
const INTENT: u16 = 1 << 5;
const DEADLINE: u16 = 1 << 6;
const IDEMPOTENCY_KEY: u16 = 1 << 7;
const LOG: u16 = 1 << 8;
const MOVES_FLOW: u16 = 1 << 9;
const RETRY: u16 = 1 << 10;
const STEP: u16 = 1 << 11;
const ORIGIN: u16 = 1 << 12;
const REPLAY: u16 = 1 << 13;
const COORDINATION: u16 = 1 << 14;
const FLAGS_KNOWN: u16 = (1 << 15) - 1;

/// The receipt line is the next of the header's recipients, so its text is not repeated.
const LINE_IN_ORDER: u8 = 1;
const LINE_REFUSED: u8 = 1 << 1;
const LINE_DUPLICATE: u8 = 1 << 2;
const LINE_DEAD: u8 = 1 << 3;

const DIALECTS: [DialectName; 3] = [DialectName::Aee, DialectName::Aep, DialectName::Uai];
const PRIORITIES: [Priority; 4] = [
    Priority::Low,
    Priority::Normal,
    Priority::High,
    Priority::Urgent,
];

/// Everything but the envelope.
pub(super) struct Head<'r> {
    pub(super) at: Timestamp,
    pub(super) header: &'r Header,
    pub(super) recipients: &'r [(Party, RecipientState)],
    pub(super) places: &'r [PlaceId],
    pub(super) moves_flow: bool,
}

impl Head<'_> {
    /// Appends what follows the version.
    pub(super) fn encode(&self, envelope_bytes: usize, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[0; FIXED_BYTES - 1]);
        self.encode_facts(out);
        self.encode_receipt(out);
        // Envelopes and so headers are limited far below 4 GiB.
        let head = (out.len() - start - (FIXED_BYTES - 1)) as u32;
        let lengths = [head.to_le_bytes(), (envelope_bytes as u32).to_le_bytes()].concat();
        if let Some(place) = out.get_mut(start..start + lengths.len()) {
            place.copy_from_slice(&lengths);
        }
    }

    fn encode_facts(&self, out: &mut Vec<u8>) {
        let header = self.header;
        out.extend_from_slice(&self.at.as_millis().to_le_bytes());
        out.extend_from_slice(&header.fingerprint.0);
        out.push(number_of(&DIALECTS, &header.dialect));
        out.push(number_of(&Act::ALL, &header.act));
        out.push(number_of(&PRIORITIES, &header.priority));
        let texts = [
            (CONVERSATION, &header.conversation),
            (CORRELATION, &header.correlation),
            (CAUSE, &header.cause),
            (TASK, &header.task),
            (SESSION, &header.session),
            (INTENT, &header.intent),
        ];
        let mut flags = 0;
        for (flag, text) in texts {
            flags |= if text.is_some() { flag } else { 0 };
        }
        for (flag, is_set) in [
            (DEADLINE, header.deadline.is_some()),
            (IDEMPOTENCY_KEY, header.idempotency_key.is_some()),
            (ORIGIN, header.origin.is_some()),
            (REPLAY, header.replay_of.is_some()),
            (LOG, header.intake == Intake::Log),
            (MOVES_FLOW, self.moves_flow),
            (RETRY, header.retry.is_some()),
            (STEP, header.step.is_some()),
            (COORDINATION, header.coordination.is_some()),
        ] {
            flags |= if is_set { flag } else { 0 };
        }
        out.extend_from_slice(&flags.to_le_bytes());
        put_text(out, &header.id);
        put_text(out, header.sender.as_str());
        put_text(out, &header.kind);
        for text in texts.into_iter().filter_map(|(_, text)| text.as_deref()) {
            put_text(out, text);
        }
        if let Some(deadline) = header.deadline {
            out.extend_from_slice(&deadline.as_millis().to_le_bytes());
        }
        let Header {
            idempotency_key,
            origin,
            replay_of,
            ..
        } = header;
        for text in [idempotency_key, origin, replay_of].into_iter().flatten() {
            put_text(out, text);
        }
        if let Some(retry) = &header.retry {
            delivery::put_retry(out, retry);
        }
        if let Some(step) = &header.step {
            step::put_step(out, step);
        }
        if let Some(coordination) = &header.coordination {
            coordination::put(out, coordination);
        }
        put_varint(out, header.recipients.len() as u64);
        for party in &header.recipients {
            put_text(out, party.as_str());
        }
        put_varint(out, header.topics.len() as u64);
        for topic in &header.topics {
            put_text(out, topic);
        }
    }

    fn encode_receipt(&self, out: &mut Vec<u8>) {
        put_varint(out, self.recipients.len() as u64);
        let mut named = self.header.recipients.iter();
        for (party, state) in self.recipients {
            let in_order = named.next() == Some(party);
            let state = match state {
                RecipientState::Stored => 0,
                RecipientState::Refused => LINE_REFUSED,
                RecipientState::Duplicate => LINE_DUPLICATE,
                RecipientState::Dead => LINE_DEAD,
            };
            out.push(state | if in_order { LINE_IN_ORDER } else { 0 });
            if !in_order {
                put_text(out, party.as_str());
            }
        }
        put_varint(out, self.places.len() as u64);
        for place in self.places {
            put_varint(out, u64::from(place.0));
        }
    }
}

/// The head and the envelope of a body.
pub(super) fn split(body: &Bytes) -> Result<(&[u8], Bytes), RecordError> {
    let mut reader = Reader::new(body);
    reader.version()?;
    let wrong = RecordError("expected head and envelope to fill the record");
    let [head, envelope] =
        [reader.array()?, reader.array()?].map(|n| u64::from(u32::from_le_bytes(n)));
    if FIXED_BYTES as u64 + head + envelope != body.len() as u64 {
        return Err(wrong);
    }
    let head = reader.take(usize::try_from(head).map_err(|_| wrong)?)?;
    Ok((head, body.slice(FIXED_BYTES + head.len()..)))
}

pub(super) fn decode(body: &Bytes) -> Result<Record, RecordError> {
    let (head, envelope) = split(body)?;
    let mut reader = Reader::new(head);
    let at = Timestamp::from_millis(i64::from_le_bytes(reader.array()?));
    let (header, moves_flow) = decode_facts(&mut reader)?;
    let mut named = header.recipients.iter();
    let recipients = reader.list(|reader| {
        let line = reader.byte()?;
        let next = named.next();
        let party = match (line & LINE_IN_ORDER != 0, next) {
            (false, _) => reader.party()?,
            (true, Some(party)) => party.clone(),
            (true, None) => return Err(RecordError("expected a recipient for the receipt line")),
        };
        match line & !LINE_IN_ORDER {
            0 => Ok((party, RecipientState::Stored)),
            LINE_REFUSED => Ok((party, RecipientState::Refused)),
            LINE_DUPLICATE => Ok((party, RecipientState::Duplicate)),
            LINE_DEAD => Ok((party, RecipientState::Dead)),
            _ => Err(RecordError("expected known flags of a receipt line")),
        }
    })?;
    let places = reader.list(Reader::place)?;
    reader.end()?;
    Ok(Record::Published {
        at,
        header: Arc::new(header),
        recipients,
        places,
        moves_flow,
        envelope,
    })
}

fn decode_facts(reader: &mut Reader<'_>) -> Result<(Header, bool), RecordError> {
    let fingerprint = Digest(reader.array()?);
    let dialect = numbered(&DIALECTS, reader.byte()?)?;
    let act = numbered(&Act::ALL, reader.byte()?)?;
    let priority = numbered(&PRIORITIES, reader.byte()?)?;
    let flags = u16::from_le_bytes(reader.array()?);
    if flags & !FLAGS_KNOWN != 0 {
        return Err(RecordError("expected known flags of a message"));
    }
    let has = |flag: u16| flags & flag != 0;
    let id: Box<str> = reader.text()?.into();
    let sender = reader.party()?;
    let kind = reader.text()?.into();
    let text = |reader: &mut Reader<'_>, flag| -> Result<Option<Box<str>>, RecordError> {
        Ok(if has(flag) {
            Some(reader.text()?.into())
        } else {
            None
        })
    };
    let conversation = text(reader, CONVERSATION)?;
    let correlation = text(reader, CORRELATION)?;
    let cause = text(reader, CAUSE)?;
    let task = text(reader, TASK)?;
    let session = text(reader, SESSION)?;
    let intent = text(reader, INTENT)?;
    let deadline = match has(DEADLINE) {
        true => Some(Timestamp::from_millis(i64::from_le_bytes(reader.array()?))),
        false => None,
    };
    let idempotency_key = text(reader, IDEMPOTENCY_KEY)?;
    let origin = text(reader, ORIGIN)?;
    let replay_of = text(reader, REPLAY)?;
    let retry = match has(RETRY) {
        true => Some(Box::new(delivery::retry_from(reader)?)),
        false => None,
    };
    let step = match has(STEP) {
        true => Some(step::step_from(reader)?),
        false => None,
    };
    let coordination = match has(COORDINATION) {
        true => Some(Box::new(coordination::read(reader)?)),
        false => None,
    };
    let header = Header {
        dialect,
        id,
        sender,
        act,
        kind,
        recipients: reader.list(Reader::party)?,
        topics: reader.list(|reader| reader.text().map(Into::into))?,
        conversation,
        correlation,
        cause,
        task,
        session,
        intent,
        priority,
        deadline,
        intake: if has(LOG) { Intake::Log } else { Intake::Work },
        idempotency_key,
        origin,
        replay_of,
        retry,
        settles: None,
        step,
        flow: None,
        coordination,
        fingerprint,
    };
    Ok((header, has(MOVES_FLOW)))
}

/// The stored number of a word: its position, which never changes.
fn number_of<T: PartialEq>(words: &[T], word: &T) -> u8 {
    words
        .iter()
        .position(|known| known == word)
        .map_or(u8::MAX, |at| at as u8)
}

fn numbered<T: Copy>(words: &[T], number: u8) -> Result<T, RecordError> {
    words
        .get(usize::from(number))
        .copied()
        .ok_or(RecordError("expected the number of a known word"))
}
