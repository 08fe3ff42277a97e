//! Numbers and texts as compact bytes, for what is stored: records and snapshots.
//!
//! A *varint* is LEB128, at most ten bytes. A *text* is a varint length and that much UTF-8. Fixed
//! numbers are little-endian. Reading never panics and never reserves more than there are bytes.

use crate::{Party, Timestamp};
use std::fmt;

/// What is wrong with stored bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireError(pub &'static str);

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for WireError {}

const SHORT: WireError = WireError("expected more bytes");

/// Appends a varint.
pub fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a text.
pub fn put_text(out: &mut Vec<u8>, text: &str) {
    put_varint(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Appends a moment: eight bytes.
pub fn put_moment(out: &mut Vec<u8>, moment: Timestamp) {
    out.extend_from_slice(&moment.as_millis().to_le_bytes());
}

/// Reads from the front.
#[derive(Debug)]
pub struct Reader<'b> {
    rest: &'b [u8],
}

impl<'b> Reader<'b> {
    /// Reads `bytes`.
    #[must_use]
    pub fn new(bytes: &'b [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next `count` bytes.
    ///
    /// # Errors
    /// When there are fewer, like everything else here.
    pub fn take(&mut self, count: usize) -> Result<&'b [u8], WireError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(SHORT)?;
        self.rest = rest;
        Ok(taken)
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(SHORT)?;
        self.rest = rest;
        Ok(*taken)
    }

    /// The byte that comes next, without taking it.
    #[must_use]
    pub fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// One byte.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn byte(&mut self) -> Result<u8, WireError> {
        self.array().map(|[byte]| byte)
    }

    /// A varint.
    ///
    /// # Errors
    /// Also when it has more than 64 bits.
    pub fn varint(&mut self) -> Result<u64, WireError> {
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
        Err(WireError("expected a number of at most 64 bits"))
    }

    /// A varint of at most 32 bits.
    ///
    /// # Errors
    /// Also when it has more.
    pub fn small(&mut self) -> Result<u32, WireError> {
        let number = self.varint()?;
        u32::try_from(number).map_err(|_| WireError("expected a number of at most 32 bits"))
    }

    /// A text.
    ///
    /// # Errors
    /// Also when it is not UTF-8.
    pub fn text(&mut self) -> Result<&'b str, WireError> {
        let count = usize::try_from(self.varint()?).map_err(|_| SHORT)?;
        std::str::from_utf8(self.take(count)?).map_err(|_| WireError("expected UTF-8"))
    }

    /// A party in its canonical spelling.
    ///
    /// # Errors
    /// As [`Self::text`].
    pub fn party(&mut self) -> Result<Party, WireError> {
        self.text().map(Party::from_canonical)
    }

    /// A moment.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub fn moment(&mut self) -> Result<Timestamp, WireError> {
        let millis = i64::from_le_bytes(self.array()?);
        Ok(Timestamp::from_millis(millis))
    }

    /// A count, then that many items of at least one byte each.
    ///
    /// # Errors
    /// The first of an item.
    pub fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, WireError>,
    ) -> Result<Vec<T>, WireError> {
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

    /// That nothing follows.
    ///
    /// # Errors
    /// When something does.
    pub fn end(&self) -> Result<(), WireError> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(WireError("expected the end"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Reader, put_text, put_varint};

    #[test]
    fn numbers_and_texts_read_back() {
        let mut out = Vec::new();
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            put_varint(&mut out, number);
        }
        put_text(&mut out, "über");
        let mut reader = Reader::new(&out);
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            assert_eq!(reader.varint(), Ok(number));
        }
        assert_eq!(reader.text(), Ok("über"));
        assert_eq!(reader.end(), Ok(()));
    }

    #[test]
    fn what_is_short_too_long_or_no_text_is_an_error() {
        assert!(Reader::new(&[0x80]).varint().is_err());
        assert!(Reader::new(&[0xff; 10]).varint().is_err());
        assert!(
            Reader::new(&[0x80, 0x80, 0x80, 0x80, 0x10])
                .small()
                .is_err()
        );
        assert!(Reader::new(&[2, b'a']).text().is_err());
        assert!(Reader::new(&[1, 0xff]).text().is_err());
        assert!(
            Reader::new(&[0xff, 0xff, 0xff, 0x7f])
                .list(Reader::byte)
                .is_err()
        );
        assert!(Reader::new(&[1]).end().is_err());
    }
}
