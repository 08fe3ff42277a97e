//! Pages: 4 KiB each, with a check sum at the end that covers which page it is of which journal.
//!
//! A key file has nothing but pages, so whatever is read of it is proven before it is believed.

use crate::frame::array;
use crate::{DiskFile, Error};

/// Bytes of one page in the file.
pub(super) const PAGE_BYTES: usize = 4_096;
/// Bytes of it that hold something.
pub(super) const ROOM_BYTES: usize = PAGE_BYTES - 4;

/// Which page of which file: what its check sum is mixed with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub lineage: u64,
    /// The first sequence the file covers; files of one journal differ in it or in what they replace.
    pub first: u64,
    pub number: u64,
}

impl Place {
    fn sum(self, room: &[u8]) -> u32 {
        let mut sum = crc32c::crc32c(&self.lineage.to_le_bytes());
        sum = crc32c::crc32c_append(sum, &self.first.to_le_bytes());
        sum = crc32c::crc32c_append(sum, &self.number.to_le_bytes());
        crc32c::crc32c_append(sum, room)
    }
}

/// Appends a page that holds `room`, which is filled up with zeros.
pub(super) fn write(out: &mut Vec<u8>, place: Place, room: &[u8]) {
    debug_assert!(room.len() <= ROOM_BYTES);
    let start = out.len();
    out.extend_from_slice(room);
    out.resize(start + ROOM_BYTES, 0);
    let sum = place.sum(out.get(start..).unwrap_or_default());
    out.extend_from_slice(&sum.to_le_bytes());
}

/// The room of a page; `None` when its check sum does not fit.
pub(super) fn room(page: &[u8], place: Place) -> Option<&[u8]> {
    let room = page.get(..ROOM_BYTES)?;
    let sum = u32::from_le_bytes(array(page, ROOM_BYTES)?);
    (place.sum(room) == sum).then_some(room)
}

/// Reads `count` pages from `place` on into `buffer`, proven.
///
/// # Errors
/// `Io`, and `Corrupt` for a page that is short or does not fit its check sum.
pub(super) fn read(
    file: &dyn DiskFile,
    name: &str,
    place: Place,
    count: usize,
    buffer: &mut Vec<u8>,
) -> Result<(), Error> {
    buffer.resize(count * PAGE_BYTES, 0);
    let offset = place.number * PAGE_BYTES as u64;
    let read = file.read_at(buffer, offset)?;
    for (at, page) in buffer.chunks(PAGE_BYTES).enumerate() {
        let number = place.number + at as u64;
        let is_there = read >= (at + 1) * PAGE_BYTES;
        if !is_there || room(page, Place { number, ..place }).is_none() {
            let what = "expected a page of keys with a check sum that fits";
            return Err(Error::corrupt(name, number * PAGE_BYTES as u64, what));
        }
    }
    Ok(())
}
