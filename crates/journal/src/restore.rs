//! A journal made of a backup, in an empty folder.
//!
//! It goes on in another epoch: what the first journal acknowledged after the backup is not in it,
//! and its sequences are given out again. The epoch is moved by a random distance, because the first
//! journal may have moved on by itself, and may be restored more than once: no cursor of any of them
//! is taken for one of this.
//!
//! A restore that was not finished leaves a folder that does not open. It can be run again.

use crate::copying::{Copied, Copying};
use crate::journal::Durability;
use crate::listing::Listing;
use crate::manifest::{self, Manifest};
use crate::{Disk, Error, checkpoint, segment};

/// Its presence says that the files beside it are not all there yet.
pub(crate) const RESTORING: &str = "RESTORING";
/// Every unclean end without syncs moves an epoch by one; no journal lives through so many.
const EPOCHS_MIN: u32 = 1 << 10;
/// The random part, in bits. There is room for 256 restores of restores.
const EPOCHS_BITS: u32 = 24;

/// What was restored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// The first sequence.
    pub first: u64,
    /// The last; one below `first` when there are no records.
    pub last: u64,
    /// How many segments.
    pub segments: usize,
    /// Bytes of all segments.
    pub bytes: u64,
    /// The sequences of the checkpoints.
    pub checkpoints: Vec<u64>,
    /// The new epoch.
    pub epoch: u32,
}

/// Makes a journal in `to`, an empty folder, of the backup in `from`. `bits` are random; `progress`
/// is told how many bytes more were copied.
///
/// # Errors
/// [`Error::Occupied`]; [`Error::Unfit`] when `from` is no finished backup; [`Error::Corrupt`] and
/// [`Error::Unusable`] with the place of what is damaged in it. Then `to` is not a journal yet.
pub fn restore(
    from: &dyn Disk,
    to: &dyn Disk,
    bits: u64,
    progress: &mut dyn FnMut(u64),
) -> Result<Restored, Error> {
    let unfinished = Error::Unfit("expected a folder with a finished backup");
    let Some(manifest) = Manifest::read_as(from, manifest::BACKUP)? else {
        return Err(unfinished);
    };
    let Some(last) = manifest.clean_last else {
        return Err(unfinished);
    };
    let moved = EPOCHS_MIN + (bits & ((1 << EPOCHS_BITS) - 1)) as u32;
    let Some(epoch) = manifest.epoch.checked_add(moved) else {
        return Err(Error::Unfit(
            "it was restored too often: there is no epoch left",
        ));
    };
    clear(to)?;
    let mut restored = Restored {
        first: manifest.first,
        last,
        epoch,
        ..Restored::default()
    };
    let listing = Listing::of(from)?;
    let mut copying = Copying {
        from,
        to,
        manifest,
        progress,
    };
    for sequence in &listing.checkpoints {
        copying.whole(&checkpoint::name_of(*sequence))?;
        checkpoint::read(to, *sequence, manifest.lineage, manifest.epoch)?;
        restored.checkpoints.push(*sequence);
    }
    let mut next = manifest.first;
    for (at, (first, name)) in listing.segments.iter().enumerate() {
        if *first != next {
            let what = "expected the segment that follows the one before";
            return Err(Error::corrupt(name, 0, what));
        }
        let after = listing.segments.get(at + 1).map(|(first, _)| *first);
        next = after.unwrap_or(last + 1);
        let copied: Option<Copied> = copying.closed(name, *first, next, after.is_some())?;
        restored.bytes += copied.map_or(0, |copied| copied.bytes);
        restored.segments += 1;
    }
    if next != last + 1 {
        let name = segment::name_of(next);
        return Err(Error::corrupt(
            &name,
            0,
            "expected the last segment of the backup",
        ));
    }
    to.sync_folder()?;
    let begun = Manifest {
        epoch,
        durability: Durability::Fsync,
        ..manifest
    };
    begun.write(to)?;
    to.remove(RESTORING)?;
    to.sync_folder()?;
    Ok(restored)
}

/// Makes sure that there is nothing in the folder but what an unfinished restore left, which goes.
fn clear(to: &dyn Disk) -> Result<(), Error> {
    let listing = Listing::of(to)?;
    let is_ours = |name: &str| {
        segment::first_of(name).is_some()
            || crate::sidecar::first_of(name).is_some()
            || checkpoint::sequence_of(name).is_some()
            || name == format!("{}.new", manifest::NAME)
    };
    let has_begun = listing.has(RESTORING) && !listing.has(manifest::NAME);
    for name in listing.names() {
        // The lock of the process that restores.
        let is_harmless = name == "LOCK" || has_begun && (name == RESTORING || is_ours(name));
        if !is_harmless {
            return Err(Error::Occupied(name.clone()));
        }
    }
    if !has_begun {
        to.create(RESTORING)?.sync()?;
        to.sync_folder()?;
    }
    for name in listing.names().iter().filter(|name| is_ours(name)) {
        to.remove(name)?;
    }
    Ok(())
}
