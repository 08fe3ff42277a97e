//! A place in a journal, as text that users keep and give back.

use std::fmt;

/// Lineage, epoch and sequence. As text it is opaque, one spelling only:
/// `<lineage, 8 hex digits>-<epoch>-<sequence>`. Reading from a cursor begins just after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cursor {
    /// Which journal.
    pub lineage: u64,
    /// Which life of it.
    pub epoch: u32,
    /// Everything up to here has been read; 0 is before the first record.
    pub sequence: u64,
}

/// Why a text is not a cursor to read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorFault {
    /// Not a cursor, or ahead of everything this journal holds.
    Unknown,
    /// Of another journal.
    Foreign,
    /// Of this journal, of another epoch: acknowledged records may have been lost in between.
    EpochChanged,
    /// Older than the first kept record.
    Expired,
}

impl Cursor {
    /// Reads the one spelling.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let (lineage, epoch, sequence) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() || lineage.len() != 8 {
            return None;
        }
        let cursor = Self {
            lineage: u64::from_str_radix(lineage, 16).ok()?,
            epoch: epoch.parse().ok()?,
            sequence: sequence.parse().ok()?,
        };
        // One spelling only: no plus signs, no leading zeros, no upper case.
        (cursor.to_string() == text).then_some(cursor)
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // 32 bits tell journals apart; the rest of the lineage stays inside.
        write!(
            f,
            "{:08x}-{}-{}",
            self.lineage & 0xFFFF_FFFF,
            self.epoch,
            self.sequence
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Cursor;

    #[test]
    fn there_is_one_spelling() {
        let cursor = Cursor {
            lineage: 0x1a,
            epoch: 2,
            sequence: 30,
        };
        assert_eq!(cursor.to_string(), "0000001a-2-30");
        assert_eq!(Cursor::parse("0000001a-2-30"), Some(cursor));
        for text in [
            "",
            "0000001a-2",
            "0000001a-2-30-4",
            "0000001A-2-30",
            "1a-2-30",
            "0000001a-02-30",
            "0000001a-2-+30",
            "0000001a-2-030",
            "0000001a-2-30 ",
            "0000001a--30",
            "earliest",
        ] {
            assert_eq!(Cursor::parse(text), None, "{text}");
        }
    }
}
