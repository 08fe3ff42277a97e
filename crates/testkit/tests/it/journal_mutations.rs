//! The model notices disks that lie, and so would notice a journal that forgets a sync: from above
//! the disk the two look the same.

use crate::world::World;
use interwire_testkit::CrashDisk;
use journal::{Disk, DiskFile, Durability};
use std::io;
use std::sync::Arc;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Lie {
    /// `DiskFile::sync` does nothing.
    Sync,
    /// `DiskFile::sync` does nothing for files whose names begin so when they are written.
    SyncOf(&'static str),
    /// `Disk::sync_folder` does nothing.
    SyncFolder,
    /// A sync that failed says that it did not.
    SyncFailed,
    /// A write that failed says that it did not.
    WriteFailed,
    /// `DiskFile::truncate` does nothing, so torn tails stay.
    Truncate,
}

struct Liar {
    disk: CrashDisk,
    lie: Lie,
}

struct LyingFile {
    file: Arc<dyn DiskFile>,
    name: String,
    lie: Lie,
}

impl Liar {
    fn wrap(&self, name: &str, file: Arc<dyn DiskFile>) -> Arc<dyn DiskFile> {
        Arc::new(LyingFile {
            file,
            name: name.to_owned(),
            lie: self.lie,
        })
    }
}

impl Disk for Liar {
    fn list(&self) -> io::Result<Vec<String>> {
        self.disk.list()
    }
    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        Ok(self.wrap(name, self.disk.open(name)?))
    }
    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        Ok(self.wrap(name, self.disk.create(name)?))
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.disk.remove(name)
    }
    fn sync_folder(&self) -> io::Result<()> {
        if self.lie == Lie::SyncFolder {
            Ok(())
        } else {
            self.disk.sync_folder()
        }
    }
}

impl DiskFile for LyingFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let written = self.file.write_at(bytes, offset);
        if self.lie == Lie::WriteFailed {
            Ok(())
        } else {
            written
        }
    }
    fn truncate(&self, len: u64) -> io::Result<()> {
        if self.lie == Lie::Truncate {
            Ok(())
        } else {
            self.file.truncate(len)
        }
    }
    fn sync(&self) -> io::Result<()> {
        let is_forgotten = match self.lie {
            Lie::Sync => true,
            Lie::SyncOf(prefix) => self.name.starts_with(prefix),
            _ => false,
        };
        if is_forgotten {
            return Ok(());
        }
        let synced = self.file.sync();
        if self.lie == Lie::SyncFailed {
            Ok(())
        } else {
            synced
        }
    }
}

/// In what share of the runs, in percent, the model sees that a promise was broken.
fn caught(durability: Durability, wrap: fn(CrashDisk) -> Arc<dyn Disk>) -> u64 {
    let runs = 60;
    let count = (0..runs)
        .filter(|seed| World::new(*seed, durability, wrap).run().is_err())
        .count();
    count as u64 * 100 / runs
}

fn lying(disk: CrashDisk, lie: Lie) -> Arc<dyn Disk> {
    Arc::new(Liar { disk, lie })
}

#[test]
fn a_forgotten_sync_is_caught() {
    let share = caught(Durability::Fsync, |disk| lying(disk, Lie::Sync));
    assert!(share > 50, "in {share} of 100 runs");
}

#[test]
fn a_forgotten_sync_of_the_manifest_is_caught() {
    let share = caught(Durability::Fsync, |disk| {
        lying(disk, Lie::SyncOf("MANIFEST"))
    });
    assert!(share > 20, "in {share} of 100 runs");
}

#[test]
fn a_forgotten_sync_of_a_checkpoint_is_caught() {
    let broken = |disk| lying(disk, Lie::SyncOf("CHECKPOINT"));
    let runs = 60;
    let count = (0..runs)
        .filter(|seed| {
            let mut world = World::new(*seed, Durability::Fsync, broken).keeping_state();
            world.run().is_err()
        })
        .count();
    assert!(count > 3, "in {count} of {runs} runs");
}

#[test]
fn a_forgotten_sync_of_the_folder_is_caught() {
    let share = caught(Durability::Fsync, |disk| lying(disk, Lie::SyncFolder));
    assert!(share > 50, "in {share} of 100 runs");
}

#[test]
fn a_sync_failure_that_is_passed_over_is_caught() {
    let share = caught(Durability::Fsync, |disk| lying(disk, Lie::SyncFailed));
    assert!(share > 20, "in {share} of 100 runs");
}

#[test]
fn a_write_failure_that_is_passed_over_is_caught() {
    let share = caught(Durability::Fsync, |disk| lying(disk, Lie::WriteFailed));
    assert!(share > 1, "in {share} of 100 runs");
}

#[test]
fn a_torn_tail_that_stays_is_caught() {
    let share = caught(Durability::Fsync, |disk| lying(disk, Lie::Truncate));
    assert!(share > 1, "in {share} of 100 runs");
}

#[test]
fn a_forgotten_sync_of_a_closed_segment_is_caught_without_syncs_per_commit() {
    let share = caught(Durability::Os, |disk| lying(disk, Lie::Sync));
    assert!(share > 20, "in {share} of 100 runs");
}
