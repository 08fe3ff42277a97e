//! The bytes of the directory: every agent by name, when its cards were changed, and its cards.

use super::{CardSource, Directory};
use crate::settings::Settings;
use crate::snapshot::Part;
use protocol::Card;
use protocol::wire::{Reader, WireError, put_moment, put_text, put_varint};
use std::sync::Arc;

impl Part for Directory {
    const TAG: u8 = 7;
    const NAME: &'static str = "directory";
    const VERSION: u8 = 1;

    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.listed.len() as u64);
        for (party, listed) in &self.listed {
            put_text(out, party.as_str());
            put_moment(out, listed.changed_at);
            put_varint(out, listed.cards.len() as u64);
            for (source, card) in &listed.cards {
                out.push(source.number());
                put_text(out, card.document());
            }
        }
    }

    fn decode(reader: &mut Reader<'_>, _: &Settings) -> Result<Self, WireError> {
        let mut directory = Self::default();
        reader.list(|reader| {
            let (party, at) = (reader.party()?, reader.moment()?);
            let cards = reader.list(|reader| {
                let source = CardSource::from_number(reader.byte()?)?;
                Ok((source, card_from(reader.text()?)?))
            })?;
            for (source, card) in cards {
                directory.put(at, &party, source, card);
            }
            Ok(())
        })?;
        Ok(directory)
    }
}

impl CardSource {
    /// Its number in stored bytes.
    pub(crate) fn number(self) -> u8 {
        let at = Self::ALL.iter().position(|source| *source == self);
        at.and_then(|at| u8::try_from(at).ok()).unwrap_or_default()
    }

    /// The reverse of [`Self::number`].
    pub(crate) fn from_number(number: u8) -> Result<Self, WireError> {
        let source = Self::ALL.get(usize::from(number)).copied();
        source.ok_or(WireError("expected a known source of a card"))
    }
}

/// A card from its document.
pub(crate) fn card_from(document: &str) -> Result<Arc<Card>, WireError> {
    let card = Card::restore(document).map_err(|_| WireError("expected a card"))?;
    Ok(Arc::new(card))
}
