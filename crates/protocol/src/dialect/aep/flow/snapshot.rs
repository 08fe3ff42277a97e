//! The bytes of a flow, and back. Entries come in the order they are forgotten in.

use super::amount::Amount;
use super::recent::{Key, Recent};
use super::{ENTRIES_MAX, Flow};
use crate::wire::{Reader, WireError, put_text, put_varint};

impl Flow {
    /// Appends its bytes; equal flows give equal bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.budgets.encode(out);
        self.commands.encode(out);
        self.queries.encode(out);
        self.deliveries.encode(out);
    }

    /// Reads a flow back whose kinds of entry are bounded as those of [`Flow::default`].
    ///
    /// # Errors
    /// Says what is wrong, whatever the bytes.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let mut flow = Self::bounded(ENTRIES_MAX);
        flow.budgets.decode(reader)?;
        flow.commands.decode(reader)?;
        flow.queries.decode(reader)?;
        flow.deliveries.decode(reader)?;
        Ok(flow)
    }
}

/// Appends entries, the oldest first.
pub(super) fn put_recent<V>(out: &mut Vec<u8>, recent: &Recent<V>, put: impl Fn(&mut Vec<u8>, &V)) {
    put_varint(out, recent.len() as u64);
    for (key, value) in recent.iter() {
        put_text(out, key);
        put(out, value);
    }
}

/// Reads what [`put_recent`] wrote.
pub(super) fn recent_from<V>(
    reader: &mut Reader<'_>,
    recent: &mut Recent<V>,
    take: impl Fn(&mut Reader<'_>) -> Result<V, WireError>,
) -> Result<(), WireError> {
    reader.list(|reader| {
        let key: Key = reader.text()?.into();
        let value = take(reader)?;
        if recent.get(&key).is_some() || recent.insert(key, value).is_some() {
            return Err(WireError("expected every entry once, and not too many"));
        }
        Ok(())
    })?;
    Ok(())
}

pub(super) fn put_amount(out: &mut Vec<u8>, amount: Amount) {
    out.extend_from_slice(&amount.millionths().to_le_bytes());
}

pub(super) fn amount_from(reader: &mut Reader<'_>) -> Result<Amount, WireError> {
    Ok(Amount::from_millionths(u128::from_le_bytes(
        reader.array()?,
    )))
}
