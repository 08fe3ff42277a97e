//! A folder in memory that loses power the way real ones do.
//!
//! It keeps what was synced apart from what was merely written. [`CrashDisk::crash`] answers with a
//! folder as it could be found after power came back: synced bytes are there; of the others, any
//! part may be, sector by sector and torn at any byte; names whose folder was not synced may be the
//! old ones. A file system may do better than this, never worse.
//!
//! It also fails on command. A write that fails has written some part of its bytes. A sync that
//! fails leaves any part durable, and, as on Linux, what was lost is not written by a later sync
//! that succeeds, although reading still shows it.
//!
//! Bit rot is not modelled: tests flip bytes by writing them.

mod file;
mod folder;

use crate::Random;
use file::CrashFile;
use folder::Folder;
use journal::{Disk, DiskFile};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

/// The operations that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// `Disk::open`.
    Open,
    /// `Disk::create`.
    Create,
    /// `Disk::rename`.
    Rename,
    /// `Disk::remove`.
    Remove,
    /// `Disk::sync_folder`.
    SyncFolder,
    /// `DiskFile::read_at`.
    Read,
    /// `DiskFile::write_at`.
    Write,
    /// `DiskFile::truncate`.
    Truncate,
    /// `DiskFile::sync`.
    Sync,
}

/// Why an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// `EIO`: the medium.
    Broken,
    /// `ENOSPC`: no room.
    Full,
}

impl Cause {
    fn error(self) -> io::Error {
        io::Error::from_raw_os_error(match self {
            Self::Broken => 5,
            Self::Full => 28,
        })
    }
}

/// A folder in memory with a synced and an unsynced state. Clones are the same folder.
#[derive(Clone, Debug)]
pub struct CrashDisk {
    folder: Arc<Mutex<Folder>>,
    shared: Arc<Mutex<Shared>>,
}

/// What the folder and its files have in common.
#[derive(Debug)]
struct Shared {
    random: Random,
    counts: BTreeMap<Operation, u64>,
    faults: Vec<(Operation, u64, Cause)>,
    /// So many more operations, of any kind, until the power fails.
    power_left: Option<u64>,
}

impl Shared {
    /// Counts an operation; fails it when its turn has come.
    fn begin(&mut self, operation: Operation) -> io::Result<()> {
        let count = self.counts.entry(operation).or_default();
        *count += 1;
        let now = *count;
        match &mut self.power_left {
            Some(0) => return Err(Cause::Broken.error()),
            Some(left) => *left -= 1,
            None => {}
        }
        let due = self
            .faults
            .iter()
            .position(|(of, at, _)| *of == operation && *at == now);
        match due {
            Some(place) => Err(self.faults.swap_remove(place).2.error()),
            None => Ok(()),
        }
    }
}

impl CrashDisk {
    /// An empty folder; everything random about it follows from `seed`.
    pub fn new(seed: u64) -> Self {
        Self::holding(Folder::default(), Random::new(seed))
    }

    fn holding(folder: Folder, random: Random) -> Self {
        let shared = Shared {
            random,
            counts: BTreeMap::new(),
            faults: Vec::new(),
            power_left: None,
        };
        Self {
            folder: Arc::new(Mutex::new(folder)),
            shared: Arc::new(Mutex::new(shared)),
        }
    }

    /// Power fails now: a new folder holding one of the possible states. This one and its open
    /// files stay as they are, so that another crash of the same moment can be looked at.
    pub fn crash(&self) -> Self {
        let folder = self.folder.lock();
        let mut shared = self.shared.lock();
        let image = folder.crash(&mut shared.random);
        let random = Random::new(shared.random.number());
        Self::holding(image, random)
    }

    /// Lets `passing` more operations of this kind pass, and fails the next one, once.
    pub fn fail_after(&self, passing: u64, operation: Operation, cause: Cause) {
        let mut shared = self.shared.lock();
        let at = shared.counts.get(&operation).copied().unwrap_or(0) + passing + 1;
        shared.faults.push((operation, at, cause));
    }

    /// Lets `passing` more operations of any kind pass; during the next one the power fails, and
    /// from then on everything does. [`Self::crash`] then shows what could be found.
    pub fn power_off_after(&self, passing: u64) {
        self.shared.lock().power_left = Some(passing);
    }

    /// Whether the power failed.
    pub fn is_off(&self) -> bool {
        self.shared.lock().power_left == Some(0)
    }

    /// Takes back every failure that has not come yet.
    pub fn clear_faults(&self) {
        let mut shared = self.shared.lock();
        shared.faults.clear();
        shared.power_left = shared.power_left.filter(|left| *left == 0);
    }

    /// How many operations of this kind were begun since the folder was made.
    pub fn count(&self, operation: Operation) -> u64 {
        self.shared
            .lock()
            .counts
            .get(&operation)
            .copied()
            .unwrap_or(0)
    }

    fn handle(&self, file: Arc<Mutex<file::Content>>) -> Arc<dyn DiskFile> {
        Arc::new(CrashFile {
            content: file,
            shared: Arc::clone(&self.shared),
        })
    }
}

impl Disk for CrashDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.folder.lock().names())
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        self.shared.lock().begin(Operation::Open)?;
        Ok(self.handle(self.folder.lock().get(name)?))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        self.shared.lock().begin(Operation::Create)?;
        Ok(self.handle(self.folder.lock().create(name)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.shared.lock().begin(Operation::Rename)?;
        self.folder.lock().rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.shared.lock().begin(Operation::Remove)?;
        self.folder.lock().remove(name)
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.shared.lock().begin(Operation::SyncFolder)?;
        self.folder.lock().sync();
        Ok(())
    }
}
