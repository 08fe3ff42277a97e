//! Dropping the oldest records: whole closed segments, with word of it in the manifest first.
//!
//! Files are removed and never used again for newer records. A file that is used again is faster to
//! write than a new one, but spares that were written ahead already are, and a hard link of a backup
//! or a reader that still has the file open would see other bytes in it.

use crate::manifest::Manifest;
use crate::shared::Shared;
use crate::{Disk, Error, segment, sidecar};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What was dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// How many records.
    pub records: u64,
    /// Bytes of their segments.
    pub bytes: u64,
    /// How many segments.
    pub segments: usize,
}

/// The manifest as it is on the disk, and whose it is.
#[derive(Debug)]
pub(crate) struct Held {
    pub manifest: Manifest,
    /// The journal is gone; the folder may be another's.
    pub has_ended: bool,
    /// Files may be left of what was dropped.
    pub has_leftovers: bool,
}

/// Drops records from any thread; clones work on the same journal. Does nothing after the journal
/// was closed or dropped.
#[derive(Clone)]
pub struct Retention {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) held: Arc<Mutex<Held>>,
    pub(crate) is_poisoned: Arc<AtomicBool>,
}

impl std::fmt::Debug for Retention {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Retention").finish_non_exhaustive()
    }
}

impl Retention {
    /// Removes the closed segments that hold only records below `sequence`; those that share a
    /// segment with newer ones stay, and so does the active segment.
    ///
    /// Readers see the new range once the manifest has it, before any file goes. Whatever becomes of
    /// the files then, the next call or the next opening removes them.
    ///
    /// # Errors
    /// The disk's, and [`Error::Poisoned`]. The manifest may or may not have the new range then;
    /// asking again is safe.
    pub fn drop_before(&self, sequence: u64) -> Result<Dropped, Error> {
        let mut held = self.held.lock();
        if held.has_ended {
            return Ok(Dropped::default());
        }
        if self.is_poisoned.load(Ordering::Acquire) {
            return Err(Error::Poisoned);
        }
        let (first, dropped) = self.shared.below(sequence);
        if dropped.segments > 0 {
            let manifest = Manifest {
                first,
                ..held.manifest
            };
            manifest.write(self.disk.as_ref())?;
            held.manifest = manifest;
            held.has_leftovers = true;
            self.shared.forget_below(first);
        }
        if held.has_leftovers {
            remove_before(self.disk.as_ref(), first)?;
            held.has_leftovers = false;
        }
        Ok(dropped)
    }
}

/// Removes the segments before `first`, oldest first, each before its sidecar.
pub(crate) fn remove_before(disk: &dyn Disk, first: u64) -> Result<(), Error> {
    let mut names: Vec<(u64, bool, String)> = disk
        .list()?
        .into_iter()
        .filter_map(|name| {
            let segment = segment::first_of(&name);
            let of = segment.or_else(|| sidecar::first_of(&name))?;
            (of < first).then_some((of, segment.is_none(), name))
        })
        .collect();
    names.sort_unstable();
    for (_, _, name) in names {
        disk.remove(&name)?;
    }
    Ok(())
}
