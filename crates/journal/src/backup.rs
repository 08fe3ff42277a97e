//! A consistent copy of a journal in another folder, also while somebody writes to it.
//!
//! It is made from the files alone, beside the writer and unknown to it. That is enough: a record is
//! acknowledged only when the files have it, closed segments do not change, and of the active one the
//! whole records are taken. What was acknowledged before the copy began is in it; of what is
//! published meanwhile, a first part.
//!
//! The copy has its manifest under another name, so that nobody takes it for a journal to write to:
//! two journals would then give out the same cursors. [`crate::restore`] makes a journal of it.

use crate::copying::{Copied, Copying};
use crate::journal::Durability;
use crate::listing::Listing;
use crate::manifest::{self, Manifest};
use crate::{Disk, Error, checkpoint, segment, sidecar};
use std::collections::BTreeMap;
use std::io;

/// How often what is new or gone is looked for again, when records are dropped meanwhile.
const PASSES_MAX: usize = 20;

/// Makes a hard link of the file with this name.
pub type Link<'o> = &'o mut dyn FnMut(&str) -> io::Result<()>;

/// How to make a backup.
pub struct BackupOptions<'o> {
    /// Closed segments are linked with it where that is possible, not copied. Their records are then
    /// not looked at.
    pub link: Option<Link<'o>>,
    /// Told how many bytes more were copied.
    pub progress: &'o mut dyn FnMut(u64),
}

impl std::fmt::Debug for BackupOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BackupOptions").finish_non_exhaustive()
    }
}

/// What is in a backup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backup {
    /// The first sequence.
    pub first: u64,
    /// The last; one below `first` when there are no records.
    pub last: u64,
    /// How many segments.
    pub segments: usize,
    /// How many of them are hard links.
    pub linked: usize,
    /// Bytes of all segments.
    pub bytes: u64,
    /// The sequences of the checkpoints.
    pub checkpoints: Vec<u64>,
    /// Checkpoints that are not in it because they cannot be used.
    pub unusable: Vec<checkpoint::Unusable>,
}

impl Backup {
    /// Whether an exchange can start from it: all records are there, or a checkpoint stands for those
    /// that were dropped.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.first == 1 || self.checkpoints.iter().any(|at| at + 1 >= self.first)
    }
}

/// Copies the journal in `from` into `to`, an empty folder.
///
/// # Errors
/// [`Error::Occupied`]; [`Error::Unfit`] when there is no journal; [`Error::Corrupt`] with the place
/// of what cannot be copied because it is damaged.
pub fn backup(
    from: &dyn Disk,
    to: &dyn Disk,
    mut options: BackupOptions<'_>,
) -> Result<Backup, Error> {
    if let Some(name) = to.list()?.into_iter().next() {
        return Err(Error::Occupied(name));
    }
    let mut done = BTreeMap::new();
    for _ in 0..PASSES_MAX {
        let Some((manifest, listing, _)) = Listing::look(from)? else {
            return Err(Error::Unfit("there is no journal in this folder"));
        };
        if let Some(backup) = pass(from, to, &mut options, manifest, &listing, &mut done)? {
            tidy(to, &listing)?;
            to.sync_folder()?;
            let closed = Manifest {
                clean_last: Some(backup.last),
                durability: Durability::Fsync,
                ..manifest
            };
            closed.write_as(to, manifest::BACKUP)?;
            return Ok(backup);
        }
    }
    Err(Error::Unfit(
        "the journal drops records faster than they can be copied",
    ))
}

/// A closed segment that is in the backup, and whether as a link.
type Done = BTreeMap<u64, (u64, bool)>;

/// Copies what is not there yet; none when something was dropped meanwhile.
fn pass(
    from: &dyn Disk,
    to: &dyn Disk,
    options: &mut BackupOptions<'_>,
    manifest: Manifest,
    listing: &Listing,
    done: &mut Done,
) -> Result<Option<Backup>, Error> {
    let mut backup = Backup {
        first: manifest.first,
        ..Backup::default()
    };
    let mut copying = Copying {
        from,
        to,
        manifest,
        progress: &mut *options.progress,
    };
    // Before the records, so that these go on from them however long the copying takes.
    for sequence in &listing.checkpoints {
        let name = checkpoint::name_of(*sequence);
        if !copying.whole(&name)? {
            return Ok(None);
        }
        match checkpoint::read(to, *sequence, manifest.lineage, manifest.epoch) {
            Ok(_) => backup.checkpoints.push(*sequence),
            Err(unusable) => {
                to.remove(&name)?;
                backup.unusable.push(unusable);
            }
        }
    }
    let mut next = manifest.first;
    for (at, (first, name)) in listing.segments.iter().enumerate() {
        if *first != next {
            let what = "expected the segment that follows the one before";
            return Err(Error::corrupt(name, 0, what));
        }
        let after = listing.segments.get(at + 1).map(|(first, _)| *first);
        let Some(after) = after else {
            match copying.tail(name, *first)? {
                Some(Copied { last, bytes }) => {
                    backup.bytes += bytes;
                    backup.segments = usize::from(bytes > 0);
                    next = last + 1;
                }
                None => return Ok(None),
            }
            continue;
        };
        if !done.contains_key(first) {
            let linked = match &mut options.link {
                Some(link) => link_closed(&mut copying, *link, name, *first)?,
                None => None,
            };
            let copied = match linked {
                Some(bytes) => Some((bytes, true)),
                None => {
                    let copied = copying.closed(name, *first, after, true)?;
                    copied.map(|copied| (copied.bytes, false))
                }
            };
            match copied {
                Some(copied) => done.insert(*first, copied),
                None => return Ok(None),
            };
        }
        next = after;
    }
    done.retain(|first, _| *first >= manifest.first);
    backup.last = next - 1;
    backup.segments += done.len();
    backup.linked = done.values().filter(|(_, is_linked)| *is_linked).count();
    backup.bytes += done.values().map(|(bytes, _)| bytes).sum::<u64>();
    Ok(Some(backup))
}

/// Links a closed segment and copies its sidecar. None when it cannot be linked, as into another
/// file system; then it is copied.
fn link_closed(
    copying: &mut Copying<'_>,
    link: Link<'_>,
    name: &str,
    first: u64,
) -> Result<Option<u64>, Error> {
    if link(name).is_err() {
        return Ok(None);
    }
    copying.whole(&sidecar::name_of(first))?;
    Ok(Some(copying.to.open(name)?.len()?))
}

/// Removes what an earlier pass copied and is no longer part of it.
fn tidy(to: &dyn Disk, listing: &Listing) -> Result<(), Error> {
    for name in to.list()? {
        let is_of_segment = |first| {
            let found = listing.segments.binary_search_by_key(&first, |(at, _)| *at);
            found.is_ok()
        };
        let is_wanted = match (
            segment::first_of(&name).or_else(|| sidecar::first_of(&name)),
            checkpoint::sequence_of(&name),
        ) {
            (Some(first), _) => is_of_segment(first),
            (None, Some(sequence)) => listing.checkpoints.contains(&sequence),
            (None, None) => true,
        };
        if !is_wanted {
            to.remove(&name)?;
        }
    }
    Ok(())
}
