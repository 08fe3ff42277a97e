//! What can still be read of a damaged folder, in a new one.

use crate::filler::Spare;
use crate::frame::{self, Scan};
use crate::journal::{Journal, Options};
use crate::manifest::Manifest;
use crate::segment::{self, HEADER_BYTES, Header, Segment};
use crate::{Disk, Error, zeros};
use std::sync::Arc;

/// Kind of a placeholder that [`salvage`] writes for a record it could not read.
pub const LOST: u8 = 255;

/// Copies everything that can still be read from a damaged folder into an empty one, with the same
/// lineage, the next epoch and the same sequences; a record that cannot be read leaves a [`LOST`]
/// placeholder. Returns how many were copied and how many were lost.
///
/// # Errors
/// When a folder cannot be read or written at all.
pub fn salvage(from: &dyn Disk, to: Arc<dyn Disk>, options: Options) -> Result<(u64, u64), Error> {
    let mut names: Vec<(u64, String)> = from
        .list()?
        .into_iter()
        .filter_map(|name| segment::first_of(&name).map(|first| (first, name)))
        .collect();
    names.sort_unstable();
    let (lineage, epoch) = identity(from, &names, options.lineage)?;
    let (key, epoch) = (frame::key(lineage), epoch + 1);
    let first = names.first().map_or(1, |(first, _)| *first);
    let fresh = Manifest {
        lineage,
        epoch,
        created_ms: options.now_ms,
        clean_last: Some(first - 1),
        first,
        durability: options.durability,
    };
    fresh.write(to.as_ref())?;
    let header = Header {
        lineage,
        epoch,
        first,
        created_ms: options.now_ms,
    };
    drop(Segment::create(to.as_ref(), header, &Spare::default())?);
    let mut journal = Journal::open(to, options)?;
    let (mut copied, mut lost) = (0, 0);
    for (_, name) in &names {
        let file = from.open(name)?;
        let length = usize::try_from(file.len()?).unwrap_or(usize::MAX);
        let mut bytes = vec![0; length];
        let count = file.read_at(&mut bytes, 0)?;
        bytes.truncate(count);
        let mut at = HEADER_BYTES as usize;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            match frame::scan(rest, key) {
                Scan::Whole(found) if found.sequence >= journal.next_sequence() => {
                    while journal.next_sequence() < found.sequence {
                        journal.append(LOST, &[]);
                        lost += 1;
                    }
                    journal.append(found.kind, &[found.body]);
                    copied += 1;
                    at += found.bytes();
                    if copied % 1_024 == 0 {
                        journal.commit()?;
                    }
                }
                Scan::Whole(found) => at += found.bytes(),
                Scan::Short { .. } | Scan::Damaged(_) => at += zeros::skip(rest).max(1),
            }
        }
    }
    journal.close()?;
    Ok((copied, lost))
}

/// Lineage and epoch of a damaged folder: of its manifest, or of a segment's header.
fn identity(from: &dyn Disk, names: &[(u64, String)], otherwise: u64) -> Result<(u64, u32), Error> {
    if let Ok(Some(manifest)) = Manifest::read(from) {
        return Ok((manifest.lineage, manifest.epoch));
    }
    let mut found = (otherwise, 1);
    for (_, name) in names {
        if let Ok(header) = segment::read_header(name, from.open(name)?.as_ref())? {
            found = (header.lineage, header.epoch);
        }
    }
    Ok(found)
}
