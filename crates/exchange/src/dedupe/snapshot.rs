//! The bytes of the keys in memory: what is stored elsewhere is not in a snapshot.

use super::{Dedupe, First, Key};
use crate::settings::Settings;
use crate::snapshot::Part;
use protocol::wire::{Reader, WireError, put_varint};

impl Part for Dedupe {
    const TAG: u8 = 1;
    const NAME: &'static str = "keys";
    const VERSION: u8 = 1;

    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.covered);
        put_varint(out, self.owned().count() as u64);
        let mut last = self.covered;
        for (Key(key), first) in self.owned() {
            put_varint(out, first.sequence - last);
            out.extend_from_slice(&key);
            out.extend_from_slice(&first.fingerprint);
            last = first.sequence;
        }
    }

    fn decode(reader: &mut Reader<'_>, _: &Settings) -> Result<Self, WireError> {
        let covered = reader.varint()?;
        let mut dedupe = Self {
            covered,
            frozen_to: covered,
            ..Self::default()
        };
        let mut last = covered;
        reader.list(|reader| {
            let distance = reader.varint()?;
            last = last
                .checked_add(distance)
                .filter(|sequence| *sequence > covered)
                .ok_or(WireError("expected sequences in order"))?;
            let key = Key(reader.array()?);
            let first = First {
                sequence: last,
                fingerprint: reader.array()?,
            };
            if dedupe.recent.get(key).is_some() {
                return Err(WireError("expected every key once"));
            }
            dedupe.recent.insert(key, first);
            Ok(())
        })?;
        Ok(dedupe)
    }
}
