//! Sealed keys: for every record that is older than what is kept in memory, the keys it took, in
//! sorted files beside the segments.
//!
//! What a key means is the caller's business; here it is a digest of 16 bytes with a sequence and 16
//! bytes more. A file answers for all records of its range, so that a key it does not hold was not
//! taken there. Most foreign keys are told apart by a filter in memory, the others by one read.
//! Files are merged by eights, so a look-up asks few of them however long the journal is. They can be
//! made again from the journal; a lost or damaged one leaves a gap that [`Keys::missing`] names.
//! Byte by byte: `docs/format.md`.

mod filter;
mod page;
mod run;
mod writer;

#[cfg(test)]
mod tests;

use crate::{Disk, Error};
use parking_lot::{Mutex, RwLock};
use run::Run;
use std::io;
use std::sync::Arc;

/// So many files of one size become one.
const FAN_IN: usize = 8;

/// The end of the names of files of keys.
const EXTENSION: &str = ".keys";

/// Whether a file of this name holds keys.
pub(crate) fn is_file(name: &str) -> bool {
    name.ends_with(EXTENSION)
}

/// Looks at every page of a file; returns where the first damage is, and what.
///
/// # Errors
/// `Io`.
pub(crate) fn check(
    disk: &dyn Disk,
    name: &str,
    lineage: u64,
) -> Result<Option<(u64, String)>, Error> {
    const PAGES_AT_ONCE: u64 = 64;
    let run = match Run::open(disk, name, lineage)? {
        Ok(run) => run,
        Err(why) => return Ok(Some((0, why.to_owned()))),
    };
    let pages = run.heading.entries_from() + run.heading.entry_pages;
    let (mut at, mut buffer) = (0, Vec::new());
    while at < pages {
        let count = PAGES_AT_ONCE.min(pages - at);
        match run.read(at, count as usize, &mut buffer) {
            Ok(()) => at += count,
            Err(Error::Corrupt { offset, what, .. }) => return Ok(Some((offset, what.to_owned()))),
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// A key that a record took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyEntry {
    /// A digest; anything else would not spread evenly.
    pub key: [u8; 16],
    /// The record.
    pub sequence: u64,
    /// What the caller wants to know about it.
    pub value: [u8; 16],
}

/// The keys of a folder. One thread may seal while another tidies.
pub struct Keys {
    disk: Arc<dyn Disk>,
    lineage: u64,
    filter_bytes_max: u64,
    /// The smallest usual file, by which sizes are told apart.
    unit: u64,
    shared: Arc<RwLock<Vec<Arc<Run>>>>,
    /// Held while the list of files changes.
    changing: Mutex<()>,
    /// Held while files are merged.
    tidying: Mutex<()>,
    removed: Vec<(String, &'static str)>,
}

/// Looks keys up, from any thread.
#[derive(Clone)]
pub struct KeyReader {
    /// From old to new; ranges follow each other.
    shared: Arc<RwLock<Vec<Arc<Run>>>>,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keys")
            .field("runs", &*self.shared.read())
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for KeyReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyReader")
            .field("runs", &*self.shared.read())
            .finish()
    }
}

impl Keys {
    /// Opens the key files of the journal `lineage` whose records are `first..=last`. Files that are
    /// damaged, of another journal, about records that are gone or that this journal never had (a
    /// crash may have lost them) are removed. `unit` is about how many keys [`Self::add`] gets;
    /// filters take at most `filter_bytes_max` of memory, the others are read from the files.
    ///
    /// # Errors
    /// `Io`.
    pub fn open(
        disk: Arc<dyn Disk>,
        lineage: u64,
        (first, last): (u64, u64),
        unit: u64,
        filter_bytes_max: u64,
    ) -> Result<Self, Error> {
        let mut keys = Self {
            disk,
            lineage,
            filter_bytes_max,
            unit: unit.max(1),
            shared: Arc::default(),
            changing: Mutex::default(),
            tidying: Mutex::default(),
            removed: Vec::new(),
        };
        let mut runs = Vec::new();
        for name in keys.disk.list()? {
            if writer::ASIDE.contains(&&*name) {
                keys.disk.remove(&name)?;
            } else if is_file(&name) {
                match Run::open(keys.disk.as_ref(), &name, lineage)? {
                    Ok(run) if run.heading.last > last => {
                        keys.remove(name, "it is about records that are not in the journal")?;
                    }
                    Ok(run) if run.heading.last < first => {
                        keys.remove(name, "its records are no longer kept")?;
                    }
                    Ok(run) => runs.push(Arc::new(run)),
                    Err(why) => keys.remove(name, why)?,
                }
            }
        }
        // The longer of two with one beginning replaced the shorter.
        runs.sort_by_key(|run| (run.heading.first, u64::MAX - run.heading.last));
        let mut kept: Vec<Arc<Run>> = Vec::new();
        for run in runs {
            let is_inside = |kept: &Arc<Run>| run.heading.last <= kept.heading.last;
            if kept.last().is_some_and(is_inside) {
                keys.remove(run.name.clone(), "a newer file replaced it")?;
            } else {
                kept.push(run);
            }
        }
        loop {
            match keys.arrange(kept.clone()) {
                Err(Error::Corrupt { segment, .. }) => {
                    kept.retain(|run| run.name != segment);
                    keys.remove(segment, "its filter is damaged")?;
                }
                arranged => return arranged.map(|()| keys),
            }
        }
    }

    /// Names of files that [`Self::open`] removed, and why.
    #[must_use]
    pub fn removed(&self) -> &[(String, &'static str)] {
        &self.removed
    }

    fn remove(&mut self, name: String, why: &'static str) -> Result<(), Error> {
        self.disk.remove(&name)?;
        self.removed.push((name, why));
        Ok(())
    }

    /// Ranges within `first..=last` for which no file answers.
    #[must_use]
    pub fn missing(&self, first: u64, last: u64) -> Vec<(u64, u64)> {
        let mut missing = Vec::new();
        let mut next = first;
        for run in self.shared.read().iter() {
            if run.heading.first > next && next <= last {
                missing.push((next, last.min(run.heading.first - 1)));
            }
            next = next.max(run.heading.last + 1);
        }
        if next <= last {
            missing.push((next, last));
        }
        missing
    }

    /// Seals the keys that the records `first..=last` took. They are durable when this returns.
    ///
    /// # Errors
    /// `Io`; then nothing has changed.
    pub fn add(&self, first: u64, last: u64, entries: Vec<KeyEntry>) -> Result<(), Error> {
        let _changing = self.changing.lock();
        let run = writer::seal(self.disk.as_ref(), self.lineage, (first, last), entries)?;
        let mut runs = self.runs();
        let at = runs.partition_point(|other| other.heading.first < first);
        runs.insert(at, Arc::new(run));
        self.arrange(runs)
    }

    /// Removes the files that turned out to be damaged from the folder, so that the next opening misses
    /// them; until then look-ups that need them are refused.
    ///
    /// # Errors
    /// `Io`.
    pub fn remove_damaged(&self) -> Result<(), Error> {
        for run in self.runs().iter().filter(|run| run.is_damaged()) {
            match self.disk.remove(&run.name) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Removes files about records before `keep_from`, the first that is kept, and merges files of
    /// one size when there are many. Returns whether it merged any: call it until it does not.
    /// `breathe` is called often on the way and may take its time.
    ///
    /// Damaged files go as by [`Self::remove_damaged`].
    ///
    /// # Errors
    /// `Io` and `Corrupt`; then look-ups find what they found before.
    pub fn tidy(&self, keep_from: u64, breathe: &mut dyn FnMut()) -> Result<bool, Error> {
        let _tidying = self.tidying.lock();
        self.remove_damaged()?;
        let mut runs = self.runs();
        runs.retain(|run| run.heading.last >= keep_from);
        // What is damaged is not merged, nor what it stands between.
        let from = runs.iter().rposition(|run| run.is_damaged());
        let runs = runs.get(from.map_or(0, |at| at + 1)..).unwrap_or_default();
        let inputs = self.group(runs, keep_from).to_vec();
        let merged = writer::merge(self.disk.as_ref(), &inputs, keep_from, breathe)?;
        let is_input = |run: &Arc<Run>| {
            inputs
                .iter()
                .any(|input| Arc::ptr_eq(&input.file, &run.file))
        };
        let is_old = |run: &Arc<Run>| run.heading.last < keep_from || is_input(run);
        let has_merged = merged.is_some();
        let _changing = self.changing.lock();
        // Others may have been sealed meanwhile; they are newer than all that was merged.
        let (old, mut runs): (Vec<_>, Vec<_>) = self.runs().into_iter().partition(is_old);
        if let Some(run) = merged {
            let at = runs.partition_point(|other| other.heading.first < run.heading.first);
            runs.insert(at, Arc::new(run));
        }
        if !old.is_empty() {
            self.arrange(runs)?;
        }
        for run in old.iter().filter(|run| !run.is_damaged()) {
            self.disk.remove(&run.name)?;
        }
        Ok(has_merged)
    }

    /// The files to merge next: the oldest alone when most of its range is no longer kept, else the
    /// newest ones when they are many and of one size.
    fn group<'r>(&self, runs: &'r [Arc<Run>], keep_from: u64) -> &'r [Arc<Run>] {
        if let [oldest, ..] = runs {
            let (first, last) = (oldest.heading.first, oldest.heading.last);
            if keep_from.saturating_sub(first) > (last - first) / 2 {
                return std::slice::from_ref(oldest);
            }
        }
        let size = |run: &Run| (run.heading.count / self.unit).max(1).ilog(FAN_IN as u64);
        let largest = runs.iter().map(|run| size(run)).max().unwrap_or(0);
        let many = (0..=largest).find_map(|limit| {
            let is_small = |run: &&Arc<Run>| size(run) <= limit;
            let count = runs.iter().rev().take_while(is_small).count();
            (count >= FAN_IN).then(|| runs.get(runs.len() - count..))
        });
        many.flatten().unwrap_or_default()
    }

    fn runs(&self) -> Vec<Arc<Run>> {
        self.shared.read().clone()
    }

    /// Shows files to look-ups, with filters in memory for as many as there is room, small files
    /// first: each file whose filter is not in memory costs every look-up a read.
    fn arrange(&self, mut runs: Vec<Arc<Run>>) -> Result<(), Error> {
        let mut order: Vec<usize> = (0..runs.len()).collect();
        order.sort_by_key(|at| runs.get(*at).map(|run| run.filter_bytes()));
        let mut room = self.filter_bytes_max;
        for at in order {
            let Some(run) = runs.get_mut(at) else {
                continue;
            };
            let is_resident = run.filter_bytes() <= room;
            room -= if is_resident { run.filter_bytes() } else { 0 };
            if is_resident != run.filter.is_some() {
                *run = Arc::new(run.with_filter(is_resident)?);
            }
        }
        *self.shared.write() = runs;
        Ok(())
    }

    /// Looks keys up in these files, now and later.
    #[must_use]
    pub fn reader(&self) -> KeyReader {
        KeyReader {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl KeyReader {
    /// The newest entry under a key, of records from `keep_from` on.
    ///
    /// # Errors
    /// `Io` and `Corrupt`: then nobody knows whether the key was taken.
    pub fn find(&self, key: &[u8; 16], keep_from: u64) -> Result<Option<KeyEntry>, Error> {
        for run in self.shared.read().iter().rev() {
            if let Some(entry) = run.find(key)?
                && entry.sequence >= keep_from
            {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }

    /// The last record that the files answer for, when they answer for every one from `first` on;
    /// `first - 1` when they answer for none.
    #[must_use]
    pub fn covered(&self, first: u64) -> u64 {
        let mut covered = first.saturating_sub(1);
        for run in self.shared.read().iter() {
            if run.heading.first > covered + 1 {
                break;
            }
            covered = covered.max(run.heading.last);
        }
        covered
    }

    /// How many files there are, how many keys they hold and how many bytes of memory they take.
    #[must_use]
    pub fn sizes(&self) -> (usize, u64, u64) {
        let runs = self.shared.read();
        let keys = runs.iter().map(|run| run.heading.count).sum();
        let resident = runs.iter().filter(|run| run.filter.is_some());
        let bytes = resident.map(|run| run.filter_bytes()).sum();
        (runs.len(), keys, bytes)
    }
}
