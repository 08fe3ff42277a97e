//! A machine that stops after so many changes to its disk: the way to crash between every two.

use interwire_testkit::CrashDisk;
use journal::{Disk, DiskFile};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A disk whose changes fail, one and all, once `left` of them were made.
#[derive(Clone)]
pub struct Halting {
    disk: CrashDisk,
    left: Arc<AtomicU64>,
    changes: u64,
}

struct HaltingFile {
    file: Arc<dyn DiskFile>,
    left: Arc<AtomicU64>,
}

fn change(left: &AtomicU64) -> io::Result<()> {
    let took = |left: u64| left.checked_sub(1);
    match left.fetch_update(Ordering::AcqRel, Ordering::Acquire, took) {
        Ok(_) => Ok(()),
        Err(_) => Err(io::Error::other("the machine has stopped")),
    }
}

impl Halting {
    fn new(disk: CrashDisk, changes: u64) -> Self {
        Self {
            disk,
            left: Arc::new(AtomicU64::new(u64::MAX)),
            changes,
        }
    }

    /// Counts from now on.
    pub fn begin(&self) {
        self.left.store(self.changes, Ordering::Release);
    }

    fn file(&self, file: Arc<dyn DiskFile>) -> Arc<dyn DiskFile> {
        Arc::new(HaltingFile {
            file,
            left: Arc::clone(&self.left),
        })
    }
}

impl Disk for Halting {
    fn list(&self) -> io::Result<Vec<String>> {
        self.disk.list()
    }
    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        Ok(self.file(self.disk.open(name)?))
    }
    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        change(&self.left)?;
        Ok(self.file(self.disk.create(name)?))
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        change(&self.left)?;
        self.disk.rename(from, to)
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        change(&self.left)?;
        self.disk.remove(name)
    }
    fn sync_folder(&self) -> io::Result<()> {
        change(&self.left)?;
        self.disk.sync_folder()
    }
}

impl DiskFile for HaltingFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        change(&self.left)?;
        self.file.write_at(bytes, offset)
    }
    fn truncate(&self, len: u64) -> io::Result<()> {
        change(&self.left)?;
        self.file.truncate(len)
    }
    fn sync(&self) -> io::Result<()> {
        change(&self.left)?;
        self.file.sync()
    }
}

/// Runs `act` on copies of one disk, stopped after every number of changes until it ends well, and
/// gives `check` each folder that may be found then, with what `act` said. Changes are counted from
/// [`Halting::begin`] on.
pub fn stopped_everywhere<T>(
    seeds: std::ops::Range<u64>,
    prepare: impl Fn(&CrashDisk),
    mut act: impl FnMut(Halting) -> T,
    is_done: impl Fn(&T) -> bool,
    mut check: impl FnMut(CrashDisk, &T, &str),
) {
    for seed in seeds {
        for changes in 0.. {
            let disk = CrashDisk::new(seed);
            prepare(&disk);
            let acted = act(Halting::new(disk.clone(), changes));
            for crash in 0..3 {
                let place = format!("seed {seed}, after {changes} changes, crash {crash}");
                check(disk.crash(), &acted, &place);
            }
            let place = format!("seed {seed}, after {changes} changes, killed");
            check(disk, &acted, &place);
            if is_done(&acted) {
                assert!(changes > 3, "{changes} changes are too few to be true");
                break;
            }
        }
    }
}

/// Tells the other threads of a test that it is over, however it ends.
pub struct Over<'o>(pub &'o AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}
