//! Claims as a part of snapshots.

use super::{Blocker, Claims, Held};
use crate::settings::Settings;
use crate::snapshot::Part;
use protocol::dialect::uai::negotiate::Agreements;
use protocol::wire::{Reader, WireError, put_moment, put_text, put_varint};

const HAS_CORRELATION: u8 = 1;
const HAS_WORD: u8 = 1 << 1;

impl Part for Claims {
    const TAG: u8 = 7;
    const NAME: &'static str = "claims";
    const VERSION: u8 = 1;

    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.resources.len() as u64);
        for (resource, held) in &self.resources {
            for text in [resource, &held.version, held.by.as_str(), &held.message] {
                put_text(out, text);
            }
        }
        put_varint(out, self.open.len() as u64);
        for open in &self.open {
            let flags = (u8::from(open.correlation.is_some()) * HAS_CORRELATION)
                | (u8::from(open.has_word) * HAS_WORD);
            out.push(flags);
            put_moment(out, open.at);
            for text in [
                &open.id,
                &open.resource,
                &open.base,
                &open.version,
                open.loser.as_str(),
                &open.message,
                &open.conversation,
                &open.winner,
            ] {
                put_text(out, text);
            }
            if let Some(correlation) = &open.correlation {
                put_text(out, correlation);
            }
        }
        self.agreements.encode(out);
    }

    fn decode(reader: &mut Reader<'_>, _settings: &Settings) -> Result<Self, WireError> {
        let resources = reader.list(|reader| {
            let resource = Box::from(reader.text()?);
            let held = Held {
                version: reader.text()?.into(),
                by: reader.party()?,
                message: reader.text()?.into(),
            };
            Ok((resource, held))
        })?;
        let open = reader.list(|reader| {
            let flags = reader.byte()?;
            if flags > (HAS_CORRELATION | HAS_WORD) {
                return Err(WireError("expected known flags of a blocker"));
            }
            Ok(Blocker {
                at: reader.moment()?,
                id: reader.text()?.into(),
                resource: reader.text()?.into(),
                base: reader.text()?.into(),
                version: reader.text()?.into(),
                loser: reader.party()?,
                message: reader.text()?.into(),
                conversation: reader.text()?.into(),
                winner: reader.text()?.into(),
                correlation: match flags & HAS_CORRELATION {
                    0 => None,
                    _ => Some(reader.text()?.into()),
                },
                has_word: flags & HAS_WORD != 0,
            })
        })?;
        Ok(Self {
            resources: resources.into_iter().collect(),
            open: open.into(),
            agreements: Agreements::decode(reader)?,
        })
    }
}
