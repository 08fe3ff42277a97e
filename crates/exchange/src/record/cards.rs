//! The bodies of records about cards of agents.

use super::wire::{Reader, put_text};
use super::{Record, RecordError};
use crate::directory::{CardSource, card_from};
use protocol::wire::put_moment;

/// In place of a source: all of them.
const EVERY_SOURCE: u8 = u8::MAX;

/// Appends what follows the version.
pub(super) fn encode(record: &Record, out: &mut Vec<u8>) {
    if let Record::CardPut {
        at,
        party,
        source,
        card,
    } = record
    {
        put_moment(out, *at);
        put_text(out, party.as_str());
        out.push(source.number());
        put_text(out, card.document());
    }
    if let Record::CardRemoved { at, party, source } = record {
        put_moment(out, *at);
        put_text(out, party.as_str());
        out.push(source.map_or(EVERY_SOURCE, CardSource::number));
    }
}

/// Reads what follows the version.
pub(super) fn decode(kind: u8, reader: &mut Reader<'_>) -> Result<Record, RecordError> {
    let (at, party) = (reader.moment()?, reader.party()?);
    if kind == Record::CARD_PUT {
        return Ok(Record::CardPut {
            at,
            party,
            source: CardSource::from_number(reader.byte()?)?,
            card: card_from(reader.text()?)?,
        });
    }
    Ok(Record::CardRemoved {
        at,
        party,
        source: match reader.byte()? {
            EVERY_SOURCE => None,
            number => Some(CardSource::from_number(number)?),
        },
    })
}
