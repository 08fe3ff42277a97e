//! The bytes of the remembered turns and of the budgets.

use super::budgets::{Budgets, Window};
use super::{LoopGuard, Turn};
use crate::settings::Settings;
use crate::snapshot::Part;
use protocol::wire::{Reader, WireError, put_moment, put_text, put_varint};

const IS_TOLD: u8 = 1;
const HAS_PARENT: u8 = 1 << 1;
/// The turn is the one that is found in its conversation, and by its id alone.
const IS_FOUND: [u8; 2] = [1 << 2, 1 << 3];
const KNOWN: u8 = (1 << 4) - 1;

impl Part for LoopGuard {
    const TAG: u8 = 6;
    const NAME: &'static str = "loops";
    const VERSION: u8 = 1;

    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.first);
        put_varint(out, self.turns.len() as u64);
        for (number, turn) in (self.first..).zip(&self.turns) {
            // A cause that was forgotten is as good as none.
            let parent = turn.parent.filter(|parent| *parent >= self.first);
            let mut flags = if turn.is_told { IS_TOLD } else { 0 };
            flags |= if parent.is_some() { HAS_PARENT } else { 0 };
            for (key, flag) in turn.keys.iter().zip(IS_FOUND) {
                let is_found = self.by_key.get(key) == Some(&number);
                flags |= if is_found { flag } else { 0 };
            }
            out.push(flags);
            put_text(out, &turn.id);
            put_text(out, turn.sender.as_str());
            put_text(out, &turn.cause);
            put_varint(out, u64::from(turn.hops));
            if let Some(parent) = parent {
                put_varint(out, number - parent);
            }
            for key in turn.keys {
                out.extend_from_slice(&key.to_le_bytes());
            }
        }
        self.pairs.encode(out);
        self.conversations.encode(out);
    }

    fn decode(reader: &mut Reader<'_>, _: &Settings) -> Result<Self, WireError> {
        let mut guard = Self {
            first: reader.varint()?,
            ..Self::default()
        };
        reader.list(|reader| {
            let number = guard
                .first
                .checked_add(guard.turns.len() as u64)
                .ok_or(WireError("expected the number of a turn"))?;
            let flags = reader.byte()?;
            if flags & !KNOWN != 0 {
                return Err(WireError("expected known flags of a turn"));
            }
            let (id, sender) = (reader.text()?.into(), reader.party()?);
            let (cause, hops) = (reader.text()?.into(), reader.small()?);
            let parent = match flags & HAS_PARENT {
                0 => None,
                _ => {
                    let distance = reader.varint()?;
                    let parent = number.checked_sub(distance).filter(|_| distance > 0);
                    let parent = parent.filter(|parent| *parent >= guard.first);
                    Some(parent.ok_or(WireError("expected a cause that is remembered"))?)
                }
            };
            let keys = [
                u64::from_le_bytes(reader.array()?),
                u64::from_le_bytes(reader.array()?),
            ];
            for (key, flag) in keys.iter().zip(IS_FOUND) {
                if flags & flag != 0 {
                    guard.by_key.insert(*key, number);
                }
            }
            guard.turns.push_back(Turn {
                id,
                sender,
                parent,
                cause,
                hops,
                is_told: flags & IS_TOLD != 0,
                keys,
            });
            Ok(())
        })?;
        guard.pairs = Budgets::decode(reader)?;
        guard.conversations = Budgets::decode(reader)?;
        Ok(guard)
    }
}

impl Budgets {
    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.order.len() as u64);
        for key in &self.order {
            let window = self.windows.get(key).copied().unwrap_or_default();
            out.extend_from_slice(&key.to_le_bytes());
            put_moment(out, window.start);
            put_varint(out, u64::from(window.turns));
        }
    }

    fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let mut budgets = Self::default();
        reader.list(|reader| {
            let key = u64::from_le_bytes(reader.array()?);
            let window = Window {
                start: reader.moment()?,
                turns: reader.small()?,
            };
            if budgets.windows.insert(key, window).is_some() {
                return Err(WireError("expected every budget once"));
            }
            budgets.order.push_back(key);
            Ok(())
        })?;
        Ok(budgets)
    }
}
