//! The seam under the journal: a folder of files, and two of its implementations.

use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A folder of files. Names are plain file names.
pub trait Disk: Send + Sync + 'static {
    /// The names of all files, in any order.
    ///
    /// # Errors
    /// The system's.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Opens a file that exists.
    ///
    /// # Errors
    /// `NotFound` and the system's.
    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>>;
    /// Creates a file. One that existed is emptied, also for those who have it open.
    ///
    /// # Errors
    /// The system's.
    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>>;
    /// Renames a file over whatever has the new name.
    ///
    /// # Errors
    /// `NotFound` and the system's.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file.
    ///
    /// # Errors
    /// `NotFound` and the system's.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Makes creations, renames and removals durable.
    ///
    /// # Errors
    /// The system's.
    fn sync_folder(&self) -> io::Result<()>;
}

/// One file of a [`Disk`].
pub trait DiskFile: Send + Sync {
    /// Its length in bytes.
    ///
    /// # Errors
    /// The system's.
    fn len(&self) -> io::Result<u64>;
    /// Whether it holds nothing.
    ///
    /// # Errors
    /// The system's.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Reads at `offset` until `buffer` is full or the file ends; returns how much.
    ///
    /// # Errors
    /// The system's.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes all of `bytes` at `offset`.
    ///
    /// # Errors
    /// The system's; then any part may have been written.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Cuts the file to `len` bytes; a shorter file stays as it is.
    ///
    /// # Errors
    /// The system's.
    fn truncate(&self, len: u64) -> io::Result<()>;
    /// Makes contents and length durable.
    ///
    /// # Errors
    /// The system's; then nothing is known about what is durable.
    fn sync(&self) -> io::Result<()>;
}

/// A folder of the file system.
#[derive(Debug)]
pub struct RealDisk {
    folder: PathBuf,
    is_read_only: bool,
}

impl RealDisk {
    /// Uses an existing folder.
    ///
    /// # Errors
    /// When `folder` is not a folder that can be read.
    pub fn open(folder: &Path) -> io::Result<Self> {
        std::fs::read_dir(folder)?;
        Ok(Self {
            folder: folder.to_owned(),
            is_read_only: false,
        })
    }

    /// Uses an existing folder without changing it: every change is refused.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn read_only(folder: &Path) -> io::Result<Self> {
        let opened = Self::open(folder)?;
        Ok(Self {
            is_read_only: true,
            ..opened
        })
    }

    fn check_writable(&self) -> io::Result<()> {
        match self.is_read_only {
            true => Err(io::ErrorKind::ReadOnlyFilesystem.into()),
            false => Ok(()),
        }
    }
}

impl Disk for RealDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.folder)? {
            let entry = entry?;
            if entry.file_type()?.is_file()
                && let Ok(name) = entry.file_name().into_string()
            {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        // A file that is not open for writing refuses the rest.
        let file = OpenOptions::new()
            .read(true)
            .write(!self.is_read_only)
            .open(self.folder.join(name))?;
        Ok(Arc::new(RealFile(file)))
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        self.check_writable()?;
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(true);
        Ok(Arc::new(RealFile(file.open(self.folder.join(name))?)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.check_writable()?;
        std::fs::rename(self.folder.join(from), self.folder.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.check_writable()?;
        std::fs::remove_file(self.folder.join(name))
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.check_writable()?;
        File::open(&self.folder)?.sync_all()
    }
}

#[derive(Debug)]
struct RealFile(File);

impl DiskFile for RealFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_at(&self, mut buffer: &mut [u8], mut offset: u64) -> io::Result<usize> {
        let mut total = 0;
        while !buffer.is_empty() {
            match self.0.read_at(buffer, offset) {
                Ok(0) => break,
                Ok(count) => {
                    total += count;
                    offset += count as u64;
                    buffer = buffer.get_mut(count..).unwrap_or_default();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(total)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        if len < self.len()? {
            self.0.set_len(len)?;
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

/// A folder in memory: gone with the process.
#[derive(Debug, Default)]
pub struct MemoryDisk {
    files: RwLock<BTreeMap<String, Arc<MemoryFile>>>,
}

#[derive(Debug, Default)]
struct MemoryFile(RwLock<Vec<u8>>);

impl Disk for MemoryDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.files.read().keys().cloned().collect())
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        match self.files.read().get(name) {
            Some(file) => Ok(Arc::<MemoryFile>::clone(file)),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn DiskFile>> {
        let mut files = self.files.write();
        let file = Arc::clone(files.entry(name.to_owned()).or_default());
        file.0.write().clear();
        Ok(file)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut files = self.files.write();
        let file = files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        files.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        match self.files.write().remove(name) {
            Some(_) => Ok(()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn sync_folder(&self) -> io::Result<()> {
        Ok(())
    }
}

impl DiskFile for MemoryFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.read().len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let bytes = self.0.read();
        let start = usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .min(bytes.len());
        let rest = bytes.get(start..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        Ok(count)
    }

    fn write_at(&self, written: &[u8], offset: u64) -> io::Result<()> {
        let mut bytes = self.0.write();
        let start = usize::try_from(offset).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let end = start
            .checked_add(written.len())
            .ok_or(io::ErrorKind::OutOfMemory)?;
        if bytes.len() < end && !written.is_empty() {
            bytes.resize(end, 0);
        }
        if let Some(to) = bytes.get_mut(start..end) {
            to.copy_from_slice(written);
        }
        Ok(())
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.0
            .write()
            .truncate(usize::try_from(len).unwrap_or(usize::MAX));
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
