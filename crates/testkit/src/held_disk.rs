//! A disk in memory whose syncs wait while it is held, so that a test can let requests pile up.

use journal::{Disk, DiskFile, MemoryDisk};
use parking_lot::{Condvar, Mutex};
use std::io;
use std::sync::Arc;

/// Whether syncs wait.
#[derive(Debug, Default)]
struct Hold {
    is_held: Mutex<bool>,
    changed: Condvar,
}

impl Hold {
    fn set(&self, is_held: bool) {
        *self.is_held.lock() = is_held;
        self.changed.notify_all();
    }

    fn wait(&self) {
        let mut is_held = self.is_held.lock();
        self.changed.wait_while(&mut is_held, |is_held| *is_held);
    }
}

/// The disk. Clones share it.
#[derive(Clone, Default)]
pub struct HeldDisk {
    inner: Arc<MemoryDisk>,
    hold: Arc<Hold>,
}

impl HeldDisk {
    /// Syncs wait from now on.
    pub fn hold(&self) {
        self.hold.set(true);
    }

    /// Syncs go on.
    pub fn release(&self) {
        self.hold.set(false);
    }

    fn file(&self, inner: Arc<dyn DiskFile>) -> Arc<dyn DiskFile> {
        let hold = Arc::clone(&self.hold);
        Arc::new(HeldFile { inner, hold })
    }
}

impl Disk for HeldDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        self.inner.list()
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        Ok(self.file(self.inner.open(name)?))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        Ok(self.file(self.inner.create(name)?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.inner.remove(name)
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.inner.sync_folder()
    }
}

struct HeldFile {
    inner: Arc<dyn DiskFile>,
    hold: Arc<Hold>,
}

impl DiskFile for HeldFile {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.inner.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.inner.write_at(bytes, offset)
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.inner.truncate(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.hold.wait();
        self.inner.sync()
    }
}
