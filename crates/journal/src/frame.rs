//! One record as bytes: a 24-byte head and the body. Layout in `docs/format.md`, section 3.

/// Bytes before the body.
pub const HEAD_BYTES: usize = 24;
/// A length beyond this is damage, not a record. Callers keep records below it.
pub const BODY_BYTES_MAX: usize = 64 << 20;

/// One record found in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'b> {
    /// Its sequence.
    pub sequence: u64,
    /// How far back the newest record was that was durable before this one was written.
    pub back: u32,
    /// What the body is; the journal does not look inside.
    pub kind: u8,
    /// The body.
    pub body: &'b [u8],
}

impl Frame<'_> {
    /// Bytes on disk.
    #[must_use]
    pub fn bytes(&self) -> usize {
        HEAD_BYTES + self.body.len()
    }

    /// The newest sequence known to be durable when this record was written.
    #[must_use]
    pub fn durable_before(&self) -> u64 {
        self.sequence.saturating_sub(u64::from(self.back))
    }
}

/// What stands at the start of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scan<'b> {
    /// A whole record.
    Whole(Frame<'b>),
    /// The start of a record whose end is beyond the bytes; it needs this many in all.
    Short {
        /// Bytes of the whole record, or of a head.
        needs: usize,
    },
    /// No record.
    Damaged(&'static str),
}

/// What the check sums of a journal's records begin with: the CRC of its lineage.
///
/// Without it a sender could put a whole record into a body, and recovery, which looks for records
/// behind a damaged place, would take it for one. Half of the lineage never leaves the folder.
#[must_use]
pub fn key(lineage: u64) -> u32 {
    crc32c::crc32c(&lineage.to_le_bytes())
}

/// Appends one record made of `parts` laid end to end.
pub fn write(out: &mut Vec<u8>, key: u32, sequence: u64, back: u32, kind: u8, parts: &[&[u8]]) {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    // Callers keep records below BODY_BYTES_MAX, far below 4 GiB.
    let length = (length as u32).to_le_bytes();
    let mut rest = [0_u8; 16];
    let (numbers, more) = rest.split_at_mut(8);
    numbers.copy_from_slice(&sequence.to_le_bytes());
    if let Some(first) = more.first_mut() {
        *first = kind;
    }
    if let Some(last) = more.get_mut(4..) {
        last.copy_from_slice(&back.to_le_bytes());
    }
    let mut crc = crc32c::crc32c_append(crc32c::crc32c_append(key, &length), &rest);
    for part in parts {
        crc = crc32c::crc32c_append(crc, part);
    }
    out.extend_from_slice(&length);
    out.extend_from_slice(&crc.to_le_bytes());
    out.extend_from_slice(&rest);
    for part in parts {
        out.extend_from_slice(part);
    }
}

/// Reads the length and sequence of the record at the start of `bytes`, without its check sum.
#[must_use]
pub fn peek(bytes: &[u8]) -> Option<(u64, usize)> {
    let length = u32::from_le_bytes(array(bytes, 0)?) as usize;
    Some((u64::from_le_bytes(array(bytes, 8)?), HEAD_BYTES + length))
}

/// Reads and checks the record at the start of `bytes`. Never panics, whatever the bytes.
#[must_use]
pub fn scan(bytes: &[u8], key: u32) -> Scan<'_> {
    let Some(head) = bytes.get(..HEAD_BYTES) else {
        return Scan::Short { needs: HEAD_BYTES };
    };
    let read = || {
        Some((
            u32::from_le_bytes(array(head, 0)?) as usize,
            u32::from_le_bytes(array(head, 4)?),
            u64::from_le_bytes(array(head, 8)?),
            *head.get(16)?,
            <[u8; 3]>::try_from(head.get(17..20)?).ok()?,
            u32::from_le_bytes(array(head, 20)?),
        ))
    };
    let Some((length, crc, sequence, kind, reserved, back)) = read() else {
        return Scan::Short { needs: HEAD_BYTES };
    };
    if length > BODY_BYTES_MAX {
        return Scan::Damaged("expected a length up to the record limit");
    }
    let Some(body) = bytes.get(HEAD_BYTES..HEAD_BYTES + length) else {
        return Scan::Short {
            needs: HEAD_BYTES + length,
        };
    };
    let covered = head.get(8..).unwrap_or_default();
    let start = crc32c::crc32c_append(key, head.get(..4).unwrap_or_default());
    if crc32c::crc32c_append(crc32c::crc32c_append(start, covered), body) != crc {
        return Scan::Damaged("expected a check sum that fits");
    }
    if reserved != [0; 3] {
        return Scan::Damaged("expected flags this version knows");
    }
    if sequence == 0 || back == 0 {
        return Scan::Damaged("expected a sequence and a distance above zero");
    }
    Scan::Whole(Frame {
        sequence,
        back,
        kind,
        body,
    })
}

pub(crate) fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::{HEAD_BYTES, Scan, scan, write};

    const KEY: u32 = 0xfeed_beef;

    #[test]
    fn a_record_reads_back_as_written() {
        let mut bytes = Vec::new();
        write(&mut bytes, KEY, 7, 3, 9, &[b"ab", b"", b"cde"]);
        let Scan::Whole(frame) = scan(&bytes, KEY) else {
            panic!("expected a record")
        };
        assert_eq!((frame.sequence, frame.back, frame.kind), (7, 3, 9));
        assert_eq!((frame.body, frame.durable_before()), (&b"abcde"[..], 4));
        assert_eq!(bytes.len(), HEAD_BYTES + 5);
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        let mut bytes = Vec::new();
        write(&mut bytes, KEY, 7, 3, 9, &[b"abcde"]);
        for bit in 0..bytes.len() * 8 {
            let mut broken = bytes.clone();
            broken[bit / 8] ^= 1 << (bit % 8);
            assert!(!matches!(scan(&broken, KEY), Scan::Whole(_)), "bit {bit}");
        }
    }

    #[test]
    fn every_cut_is_short_and_zeros_are_damage() {
        let mut bytes = Vec::new();
        write(&mut bytes, KEY, 7, 3, 9, &[b"abcde"]);
        for end in 0..bytes.len() {
            assert!(
                matches!(scan(&bytes[..end], KEY), Scan::Short { .. }),
                "cut at {end}"
            );
        }
        assert!(matches!(scan(&[0; 64], KEY), Scan::Damaged(_)));
    }

    #[test]
    fn a_record_of_another_journal_is_damage() {
        let mut bytes = Vec::new();
        write(&mut bytes, super::key(1), 7, 3, 9, &[b"abcde"]);
        assert!(matches!(scan(&bytes, super::key(1)), Scan::Whole(_)));
        assert!(matches!(scan(&bytes, super::key(2)), Scan::Damaged(_)));
    }
}
