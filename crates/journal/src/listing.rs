//! The files of a folder, by what they are.

use crate::manifest::{self, Manifest};
use crate::{Disk, Error, checkpoint, segment, sidecar};

/// How often a folder that changes meanwhile is looked at again.
const LOOKS_MAX: usize = 100;

/// Which journal a folder holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Which journal.
    pub lineage: u64,
    /// Which life of it.
    pub epoch: u32,
    /// The first kept sequence.
    pub first: u64,
}

/// Which journal a folder holds, or which one it is a backup of; none when it holds none.
///
/// # Errors
/// When the folder cannot be read or its manifest is damaged.
pub fn identify(disk: &dyn Disk) -> Result<Option<Identity>, Error> {
    let looked = Listing::look(disk)?;
    Ok(looked.map(|(manifest, _, _)| Identity {
        lineage: manifest.lineage,
        epoch: manifest.epoch,
        first: manifest.first,
    }))
}

/// The files of a folder, by what they are; each list in order.
#[derive(Debug)]
pub(crate) struct Listing {
    pub segments: Vec<(u64, String)>,
    pub sidecars: Vec<u64>,
    pub checkpoints: Vec<u64>,
    names: Vec<String>,
}

impl Listing {
    pub(crate) fn of(disk: &dyn Disk) -> Result<Self, Error> {
        let mut names = disk.list()?;
        names.sort_unstable();
        let numbers = |of: fn(&str) -> Option<u64>| names.iter().filter_map(move |name| of(name));
        // Numbers of twenty digits are in order when their names are.
        Ok(Self {
            sidecars: numbers(sidecar::first_of).collect(),
            checkpoints: numbers(checkpoint::sequence_of).collect(),
            segments: names
                .iter()
                .filter_map(|name| Some((segment::first_of(name)?, name.clone())))
                .collect(),
            names,
        })
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.iter().any(|found| found == name)
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Takes out the segments below `first`: what a crash left of records that were dropped.
    /// Returns whether there are any.
    pub(crate) fn leave_out_below(&mut self, first: u64) -> bool {
        let below = self.segments.partition_point(|(at, _)| *at < first);
        self.segments.drain(..below);
        below > 0 || self.sidecars.iter().any(|at| *at < first)
    }

    /// The manifest of a journal or of a backup and the files that belong to it, also while a writer
    /// is at work; none without a manifest. Segments below the first kept sequence are left out;
    /// returns whether there were any.
    pub(crate) fn look(disk: &dyn Disk) -> Result<Option<(Manifest, Self, bool)>, Error> {
        let read = || match Manifest::read(disk) {
            Ok(None) => Manifest::read_as(disk, manifest::BACKUP),
            read => read,
        };
        let mut before = read()?;
        for _ in 0..LOOKS_MAX {
            let mut listing = Self::of(disk)?;
            let after = read()?;
            match after {
                // Records were dropped in between, or the journal was opened or closed.
                Some(_) | None if after != before => before = after,
                None => return Ok(None),
                Some(manifest) => {
                    let has_leftovers = listing.leave_out_below(manifest.first);
                    return Ok(Some((manifest, listing, has_leftovers)));
                }
            }
        }
        Err(Error::Unfit(
            "the folder changes faster than it can be read",
        ))
    }
}
