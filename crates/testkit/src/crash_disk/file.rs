//! The bytes of a crashing file: those that are synced, and the changes since.

use super::{Operation, Shared};
use crate::Random;
use journal::DiskFile;
use parking_lot::Mutex;
use std::io;
use std::sync::Arc;

/// What a disk writes as a whole.
const SECTOR_BYTES: usize = 512;

#[derive(Clone, Debug)]
enum Change {
    Write { bytes: Vec<u8>, offset: usize },
    Cut(usize),
}

impl Change {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Self::Write { bytes, offset } => {
                let end = offset + bytes.len();
                if content.len() < end && !bytes.is_empty() {
                    content.resize(end, 0);
                }
                if let Some(place) = content.get_mut(*offset..end) {
                    place.copy_from_slice(bytes);
                }
            }
            Self::Cut(len) => content.truncate(*len),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Content {
    current: Vec<u8>,
    durable: Vec<u8>,
    changes: Vec<Change>,
    /// After a failed sync reading shows bytes that are neither durable nor waiting to be.
    is_doubtful: bool,
}

impl Content {
    fn write(&mut self, bytes: &[u8], offset: usize) {
        let change = Change::Write {
            bytes: bytes.to_vec(),
            offset,
        };
        change.apply(&mut self.current);
        let change = if self.is_doubtful && !bytes.is_empty() {
            self.whole_sectors(offset, offset + bytes.len())
        } else {
            change
        };
        self.changes.push(change);
    }

    /// The system writes whole sectors, so a write brings along what it shows around it.
    fn whole_sectors(&self, start: usize, end: usize) -> Change {
        let offset = start - start % SECTOR_BYTES;
        let end = end.next_multiple_of(SECTOR_BYTES).min(self.current.len());
        let bytes = self.current.get(offset..end).unwrap_or_default().to_vec();
        Change::Write { bytes, offset }
    }

    pub(super) fn cut(&mut self, len: usize) {
        if len < self.current.len() {
            self.current.truncate(len);
            self.changes.push(Change::Cut(len));
        }
    }

    fn sync(&mut self) {
        for change in self.changes.drain(..) {
            change.apply(&mut self.durable);
        }
    }

    /// The sync failed: some of the changes are durable, and no later sync brings the others.
    fn half_sync(&mut self, random: &mut Random) {
        self.durable = self.image(random);
        self.changes.clear();
        self.is_doubtful = true;
    }

    /// This file as it could be found after a crash now.
    pub(super) fn crash(&self, random: &mut Random) -> Self {
        let image = self.image(random);
        Self {
            current: image.clone(),
            durable: image,
            ..Self::default()
        }
    }

    fn image(&self, random: &mut Random) -> Vec<u8> {
        match random.below(6) {
            0 => self.durable.clone(),
            // All of `changes`, not `current`: after a failed sync reading shows more than that.
            1 => self.torn(self.changes.len(), 0),
            2 | 3 => {
                let whole = random.index(self.changes.len());
                let torn_at = match self.changes.get(whole) {
                    Some(Change::Write { bytes, .. }) => random.index(bytes.len() + 1),
                    Some(Change::Cut(_)) | None => 0,
                };
                self.torn(whole, torn_at)
            }
            _ => self.by_sector(random),
        }
    }

    /// The first changes, and then the next one up to a byte.
    fn torn(&self, whole: usize, torn_at: usize) -> Vec<u8> {
        let mut image = self.durable.clone();
        for change in self.changes.iter().take(whole) {
            change.apply(&mut image);
        }
        if let Some(Change::Write { bytes, offset }) = self.changes.get(whole) {
            let part = bytes.get(..torn_at).unwrap_or(bytes).to_vec();
            Change::Write {
                bytes: part,
                offset: *offset,
            }
            .apply(&mut image);
        }
        image
    }

    /// Each sector, and the length, as of any moment since the last sync, independently: the disk
    /// may write sectors in any order, but never brings an older state of one back.
    fn by_sector(&self, random: &mut Random) -> Vec<u8> {
        let moments = self.changes.len() + 1;
        let mut state = self.durable.clone();
        let mut lengths = vec![state.len()];
        for change in &self.changes {
            change.apply(&mut state);
            lengths.push(state.len());
        }
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let chosen: Vec<usize> = (0..longest.div_ceil(SECTOR_BYTES))
            .map(|_| random.index(moments))
            .collect();
        let mut image = vec![0; longest];
        let mut state = self.durable.clone();
        for moment in 0..moments {
            for (sector, place) in image.chunks_mut(SECTOR_BYTES).enumerate() {
                if chosen.get(sector) == Some(&moment) {
                    let start = state.len().min(sector * SECTOR_BYTES);
                    let bytes = state.get(start..).unwrap_or_default();
                    for (to, from) in place.iter_mut().zip(bytes) {
                        *to = *from;
                    }
                }
            }
            if let Some(change) = self.changes.get(moment) {
                change.apply(&mut state);
            }
        }
        image.truncate(
            lengths
                .get(random.index(moments))
                .copied()
                .unwrap_or(longest),
        );
        image
    }
}

/// An open file.
#[derive(Debug)]
pub(super) struct CrashFile {
    pub(super) content: Arc<Mutex<Content>>,
    pub(super) shared: Arc<Mutex<Shared>>,
}

impl DiskFile for CrashFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.content.lock().current.len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.shared.lock().begin(Operation::Read)?;
        let content = self.content.lock();
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let bytes = content.current.get(start..).unwrap_or_default();
        for (to, from) in buffer.iter_mut().zip(bytes) {
            *to = *from;
        }
        Ok(buffer.len().min(bytes.len()))
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let offset = usize::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
        let mut shared = self.shared.lock();
        let begun = shared.begin(Operation::Write);
        let written = match &begun {
            Ok(()) => bytes.len(),
            Err(_) => shared.random.index(bytes.len() + 1),
        };
        drop(shared);
        self.content
            .lock()
            .write(bytes.get(..written).unwrap_or(bytes), offset);
        begun
    }

    fn truncate(&self, len: u64) -> io::Result<()> {
        self.shared.lock().begin(Operation::Truncate)?;
        self.content
            .lock()
            .cut(usize::try_from(len).unwrap_or(usize::MAX));
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut shared = self.shared.lock();
        let begun = shared.begin(Operation::Sync);
        let mut content = self.content.lock();
        match begun {
            Ok(()) => content.sync(),
            Err(_) => content.half_sync(&mut shared.random),
        }
        begun
    }
}
