//! Numbers and texts in a record's bytes.

use super::{RecordError, VERSION};
use crate::place::PlaceId;
use protocol::Party;

const SHORT: RecordError = RecordError("expected more bytes");

pub(super) fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_varint(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Reads from the front.
pub(super) struct Reader<'b> {
    rest: &'b [u8],
}

impl<'b> Reader<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'b [u8], RecordError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(SHORT)?;
        self.rest = rest;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], RecordError> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(SHORT)?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8, RecordError> {
        self.array().map(|[byte]| byte)
    }

    pub(super) fn version(&mut self) -> Result<(), RecordError> {
        if self.byte()? == VERSION {
            Ok(())
        } else {
            Err(RecordError("expected record version 1"))
        }
    }

    pub(super) fn varint(&mut self) -> Result<u64, RecordError> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(RecordError("expected a number of at most 64 bits"))
    }

    pub(super) fn text(&mut self) -> Result<&'b str, RecordError> {
        let count = usize::try_from(self.varint()?).map_err(|_| SHORT)?;
        std::str::from_utf8(self.take(count)?).map_err(|_| RecordError("expected UTF-8"))
    }

    pub(super) fn party(&mut self) -> Result<Party, RecordError> {
        self.text().map(Party::from_canonical)
    }

    pub(super) fn place(&mut self) -> Result<PlaceId, RecordError> {
        let id =
            u32::try_from(self.varint()?).map_err(|_| RecordError("expected a place number"))?;
        Ok(PlaceId(id))
    }

    /// A count, then that many items of at least one byte each.
    pub(super) fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, RecordError>,
    ) -> Result<Vec<T>, RecordError> {
        let count = usize::try_from(self.varint()?).map_err(|_| SHORT)?;
        // Checked before anything is reserved: damage must not ask for all memory.
        if count > self.rest.len() {
            return Err(SHORT);
        }
        let mut items = Vec::with_capacity(count.min(4_096));
        for _ in 0..count {
            items.push(item(self)?);
        }
        Ok(items)
    }

    pub(super) fn end(&self) -> Result<(), RecordError> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(RecordError("expected the end of the record"))
        }
    }
}
