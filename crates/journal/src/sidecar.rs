//! The sidecar of a closed segment: what a scan of it would find, so that nobody need scan it.
//! Layout in `docs/format.md`, section 4. Losing it costs a scan, nothing else.

use crate::segment::{self, Scanned};
use crate::{Disk, DiskFile, Error, frame};

/// The name of a closed segment's sidecar.
pub(crate) fn name_of(first: u64) -> String {
    format!("{first:020}.idx")
}

/// The first sequence of a sidecar's file name; `None` for other files.
pub(crate) fn first_of(name: &str) -> Option<u64> {
    segment::first_of(&format!("{}.seg", name.strip_suffix(".idx")?))
}

/// The sidecar of a segment of `end` bytes that ends with the record `last`.
pub(crate) fn encode(first: u64, last: u64, end: u64, sparse: &[(u64, u64)]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(44 + sparse.len() * 16);
    bytes.extend_from_slice(b"IWJIDX01");
    for number in [first, last, end, sparse.len() as u64] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    for (sequence, offset) in sparse {
        bytes.extend_from_slice(&sequence.to_le_bytes());
        bytes.extend_from_slice(&offset.to_le_bytes());
    }
    let crc = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&crc.to_le_bytes());
    bytes
}

/// Writes it.
pub(crate) fn write(
    disk: &dyn Disk,
    first: u64,
    last: u64,
    end: u64,
    sparse: &[(u64, u64)],
) -> Result<(), Error> {
    let file = disk.create(&name_of(first))?;
    file.write_at(&encode(first, last, end, sparse), 0)?;
    file.sync()?;
    Ok(())
}

/// A sidecar that fits its segment; anything else counts as absent.
pub(crate) fn read(
    disk: &dyn Disk,
    first: u64,
    segment: &dyn DiskFile,
) -> Result<Option<Scanned>, Error> {
    let file = match disk.open(&name_of(first)) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let length = usize::try_from(file.len()?).unwrap_or(0);
    let mut bytes = vec![0; length];
    if file.read_at(&mut bytes, 0)? != length {
        return Ok(None);
    }
    let read = || {
        let covered = bytes.get(..length.checked_sub(4)?)?;
        let crc = u32::from_le_bytes(frame::array(&bytes, length - 4)?);
        let number = |at| frame::array(covered, at).map(u64::from_le_bytes);
        if !covered.starts_with(b"IWJIDX01") || crc32c::crc32c(covered) != crc {
            return None;
        }
        let (named, last, end) = (number(8)?, number(16)?, number(24)?);
        let count = usize::try_from(number(32)?).ok()?;
        let mut sparse = Vec::with_capacity(count.min(length / 16));
        for entry in 0..count {
            sparse.push((number(40 + entry * 16)?, number(48 + entry * 16)?));
        }
        (named == first && last >= first).then_some(Scanned {
            end,
            last,
            durable_before: last,
            unproven_from: end,
            sparse,
            damage: None,
        })
    };
    // A segment that is shorter or longer than its sidecar says is looked at itself.
    let is_same_length = |found: &Scanned| segment.len().is_ok_and(|len| len == found.end);
    Ok(read().filter(is_same_length))
}
