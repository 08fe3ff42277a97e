//! Claims as a part of snapshots.

use super::blocker::{Blocker, Blockers, Standing};
use super::{Claims, Held};
use crate::settings::Settings;
use crate::snapshot::Part;
use protocol::wire::{Reader, WireError, put_moment, put_text, put_varint};

const IS_RELEASED: u8 = 1;

const HAS_CORRELATION: u8 = 1;
const HAS_WORD: u8 = 1 << 1;
const IS_RELEASE: u8 = 1 << 2;
const IS_TOLD: u8 = 1 << 3;
const IS_HELD: u8 = 1 << 4;
const FLAGS_KNOWN: u8 = (1 << 5) - 1;

impl Part for Claims {
    const TAG: u8 = 8;
    const NAME: &'static str = "claims";
    const VERSION: u8 = 1;

    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.resources.len() as u64);
        for (resource, held) in &self.resources {
            for text in [
                resource,
                &held.version,
                held.by.as_str(),
                &held.message,
                &held.key,
            ] {
                put_text(out, text);
            }
            put_moment(out, held.at);
            out.push(u8::from(held.is_released) * IS_RELEASED);
        }
        put_varint(out, self.open.count() as u64);
        for open in self.open.iter() {
            let mut flags = 0;
            for (flag, is_set) in [
                (HAS_CORRELATION, open.correlation.is_some()),
                (HAS_WORD, open.has_word),
                (IS_RELEASE, open.is_release),
                (IS_TOLD, open.is_told),
                (IS_HELD, open.held.is_some()),
            ] {
                flags |= if is_set { flag } else { 0 };
            }
            out.push(flags);
            put_moment(out, open.at);
            for text in [
                &open.id,
                &open.resource,
                &open.base,
                open.loser.as_str(),
                &open.message,
                &open.key,
                &open.conversation,
            ] {
                put_text(out, text);
            }
            if let Some(held) = &open.held {
                for text in [&held.version, held.by.as_str(), &held.message] {
                    put_text(out, text);
                }
            }
            if let Some(correlation) = &open.correlation {
                put_text(out, correlation);
            }
        }
    }

    fn decode(reader: &mut Reader<'_>, _settings: &Settings) -> Result<Self, WireError> {
        let resources = reader.list(|reader| {
            let resource = Box::from(reader.text()?);
            let held = Held {
                version: reader.text()?.into(),
                by: reader.party()?,
                message: reader.text()?.into(),
                key: reader.text()?.into(),
                at: reader.moment()?,
                is_released: match reader.byte()? {
                    0 => false,
                    IS_RELEASED => true,
                    _ => return Err(WireError("expected known flags of a resource")),
                },
            };
            Ok((resource, held))
        })?;
        let listed = reader.list(blocker_from)?;
        let mut open = Blockers::default();
        for blocker in listed {
            open.add(blocker);
        }
        let may_owe_words = open.untold().next().is_some();
        Ok(Self {
            resources: resources.into_iter().collect(),
            open,
            may_owe_words,
        })
    }
}

fn blocker_from(reader: &mut Reader<'_>) -> Result<Blocker, WireError> {
    let flags = reader.byte()?;
    if flags & !FLAGS_KNOWN != 0 {
        return Err(WireError("expected known flags of a blocker"));
    }
    let has = |flag| flags & flag != 0;
    Ok(Blocker {
        at: reader.moment()?,
        id: reader.text()?.into(),
        resource: reader.text()?.into(),
        base: reader.text()?.into(),
        loser: reader.party()?,
        message: reader.text()?.into(),
        key: reader.text()?.into(),
        conversation: reader.text()?.into(),
        held: match has(IS_HELD) {
            true => Some(Standing {
                version: reader.text()?.into(),
                by: reader.party()?,
                message: reader.text()?.into(),
            }),
            false => None,
        },
        correlation: match has(HAS_CORRELATION) {
            true => Some(reader.text()?.into()),
            false => None,
        },
        has_word: has(HAS_WORD),
        is_release: has(IS_RELEASE),
        is_told: has(IS_TOLD),
    })
}
