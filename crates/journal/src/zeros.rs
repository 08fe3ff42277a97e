//! Zeros behind the last record: space that was written ahead, not records that were torn.
//!
//! No record begins with a sequence of zero, so zeros are never taken for one. See
//! `docs/format.md`, section 2.

use crate::DiskFile;
use std::io;

/// Bytes looked at in one comparison.
const BLOCK_BYTES: usize = 4 << 10;
/// Bytes per read.
const READ_BYTES: u64 = 256 << 10;
static ZEROS: [u8; BLOCK_BYTES] = [0; BLOCK_BYTES];

/// Where the zeros at the end of a file begin; not before `from`. It reads from the end, so that it
/// costs as much as there are zeros.
pub(crate) fn begin(file: &dyn DiskFile, from: u64) -> io::Result<u64> {
    let mut end = file.len()?;
    let mut buffer = Vec::new();
    while end > from {
        let start = end.saturating_sub(READ_BYTES).max(from);
        buffer.resize(usize::try_from(end - start).unwrap_or(usize::MAX), 0);
        let count = file.read_at(&mut buffer, start)?;
        let read = buffer.get(..count).unwrap_or_default();
        if !are_all(read) {
            let zeros = read.iter().rev().take_while(|byte| **byte == 0).count();
            return Ok(start + (count - zeros) as u64);
        }
        end = start;
    }
    Ok(end)
}

/// How far a search for a record can go on from the start of `bytes` because there are only zeros.
/// A record's sequence is in bytes 8 to 15 of its head and never zero.
pub(crate) fn skip(bytes: &[u8]) -> usize {
    match bytes.get(..BLOCK_BYTES) {
        Some(block) if block == ZEROS => BLOCK_BYTES - 15,
        Some(_) | None => 0,
    }
}

fn are_all(bytes: &[u8]) -> bool {
    bytes
        .chunks(BLOCK_BYTES)
        .all(|block| ZEROS.starts_with(block))
}

#[cfg(test)]
mod tests {
    use super::{BLOCK_BYTES, READ_BYTES, begin, skip};
    use crate::{Disk, MemoryDisk, frame};

    #[test]
    fn the_last_byte_that_is_not_zero_is_found_wherever_it_is() {
        let file = MemoryDisk::default().create("a").unwrap();
        let length = READ_BYTES * 2 + 77;
        file.write_at(&[0], length - 1).unwrap();
        assert_eq!(begin(file.as_ref(), 0).unwrap(), 0);
        assert_eq!(begin(file.as_ref(), 9).unwrap(), 9);
        assert_eq!(begin(file.as_ref(), length + 5).unwrap(), length);
        for at in [0, 76, 77, READ_BYTES, READ_BYTES + 76, length - 1] {
            file.write_at(&[1], at).unwrap();
            assert_eq!(begin(file.as_ref(), 0).unwrap(), at + 1);
            assert_eq!(begin(file.as_ref(), at).unwrap(), at + 1);
            assert_eq!(begin(file.as_ref(), at + 1).unwrap(), at + 1);
            file.write_at(&[0], at).unwrap();
        }
    }

    #[test]
    fn no_record_is_skipped_wherever_it_begins() {
        let mut record = Vec::new();
        // The record that begins with the most zeros there can be.
        frame::write(&mut record, 7, 1 << 56, 1, 1, &[]);
        record[4..8].fill(0);
        for at in 1..3 * BLOCK_BYTES {
            let mut bytes = vec![0; at];
            bytes.extend_from_slice(&record);
            bytes.resize(4 * BLOCK_BYTES, 0);
            let mut found = 0;
            while found < at {
                found += skip(&bytes[found..]).max(1);
            }
            assert_eq!(found, at);
        }
    }
}
