//! State kept beside the journal, so that a start need not fold every record. Layout in
//! `docs/format.md`, section 5.
//!
//! What a checkpoint's body says is the caller's business. Here it is a file that is whole or is not
//! there: written aside, synced, renamed. The newest two are kept, so that one bad file costs time
//! and not a start; records after the *older* of them are what a start may need, so nothing newer
//! than [`Checkpoints::kept`] begins with should be dropped.
//!
//! No checkpoint is ahead of what the disk holds of the journal: writing one syncs the journal first
//! where commits do not, and opening removes those beyond the last record, before anything is
//! appended. So one of an earlier epoch is as good as one of this.

use crate::frame::{self, array};
use crate::manifest::FORMAT_VERSION;
use crate::{Disk, DiskFile, Error, Syncer};
use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

/// Bytes before the first piece.
const HEAD_BYTES: usize = 64;
/// Bytes of one piece's body.
const PIECE_BYTES: usize = 1 << 20;
/// Bytes around a piece's body: its length before, its check sum behind.
const AROUND_BYTES: u64 = 8;
const MAGIC: &[u8; 8] = b"IWJCKP01";
/// The file that a checkpoint is written into before it has a name.
pub(crate) const ASIDE: &str = "CHECKPOINT.new";
/// So many are kept.
const KEPT_MAX: usize = 2;

/// A state that was kept.
#[derive(Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The state is that after this record.
    pub sequence: u64,
    /// As it was given to [`Checkpoints::write`].
    pub body: Bytes,
}

impl fmt::Debug for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checkpoint")
            .field("sequence", &self.sequence)
            .field("bytes", &self.body.len())
            .finish()
    }
}

/// A checkpoint that cannot be used, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("checkpoint {file} cannot be used, byte {offset}: {what}")]
pub struct Unusable {
    /// The file.
    pub file: String,
    /// The sequence of its name.
    pub sequence: u64,
    /// Where in the file.
    pub offset: u64,
    /// What was expected there, or what the system said.
    pub what: String,
}

/// The checkpoints of a journal; cheap to clone, usable from any thread, also after the journal was
/// closed, until its folder is opened again.
#[derive(Clone)]
pub struct Checkpoints {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) lineage: u64,
    pub(crate) epoch: u32,
    pub(crate) syncer: Syncer,
    pub(crate) inside: Arc<Inside>,
}

/// What the clones share.
#[derive(Default)]
pub(crate) struct Inside {
    /// One is written at a time: there is one file aside.
    writing: Mutex<()>,
    /// Found unusable; the first to go.
    unusable: Mutex<BTreeSet<u64>>,
}

impl fmt::Debug for Checkpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checkpoints").finish_non_exhaustive()
    }
}

/// The file name of the checkpoint after `sequence`.
pub(crate) fn name_of(sequence: u64) -> String {
    format!("{sequence:020}.ckp")
}

/// The sequence of a checkpoint's file name; `None` for other files.
pub(crate) fn sequence_of(name: &str) -> Option<u64> {
    let sequence = name.strip_suffix(".ckp")?.parse().ok()?;
    (name_of(sequence) == name).then_some(sequence)
}

/// The sequences of all checkpoints in a folder, oldest first.
pub(crate) fn sequences(disk: &dyn Disk) -> io::Result<BTreeSet<u64>> {
    let names = disk.list()?;
    Ok(names.iter().filter_map(|name| sequence_of(name)).collect())
}

impl Checkpoints {
    /// Keeps the state after record `sequence`, which readers must already see. When it returns, the
    /// checkpoint is durable and at most one older one is left.
    ///
    /// # Errors
    /// The disk's; [`Error::Poisoned`] when the journal has failed. The checkpoints that were there
    /// are still there.
    pub fn write(&self, sequence: u64, body: &[u8]) -> Result<(), Error> {
        let mut writer = self.begin(sequence)?;
        writer.write_all(body)?;
        writer.keep()
    }

    /// As [`Self::write`], piece by piece. Waits for another one that is being written.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn begin(&self, sequence: u64) -> Result<CheckpointWriter<'_>, Error> {
        if sequence > self.syncer.last() {
            let what = "expected a checkpoint of records that are durable";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what).into());
        }
        let guard = self.inside.writing.lock();
        self.syncer.sync()?;
        let file = self.disk.create(ASIDE)?;
        let mut writer = CheckpointWriter {
            checkpoints: self,
            sequence,
            file,
            piece: Vec::with_capacity(PIECE_BYTES),
            crc: 0,
            at: 0,
            is_kept: false,
            _writing: guard,
        };
        let head = head(self.lineage, self.epoch, sequence);
        writer.crc = seed(&head, self.lineage);
        writer.put(&head)?;
        Ok(writer)
    }

    /// The newest usable checkpoint that is not newer than `at_most`. One that is broken or of
    /// another journal is logged and passed over; [`Self::look`] also returns why.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn latest(&self, at_most: u64) -> Result<Option<Checkpoint>, Error> {
        let (found, unusable) = self.look(at_most)?;
        for unusable in unusable {
            tracing::warn!(%unusable, "a checkpoint is passed over");
        }
        Ok(found)
    }

    /// As [`Self::latest`], with those that were passed over.
    ///
    /// # Errors
    /// As [`Self::latest`].
    pub fn look(&self, at_most: u64) -> Result<(Option<Checkpoint>, Vec<Unusable>), Error> {
        let mut passed = Vec::new();
        for sequence in sequences(self.disk.as_ref())?.into_iter().rev() {
            if sequence > at_most {
                continue;
            }
            match read(self.disk.as_ref(), sequence, self.lineage, self.epoch) {
                Ok(body) => return Ok((Some(Checkpoint { sequence, body }), passed)),
                Err(unusable) => {
                    self.inside.unusable.lock().insert(sequence);
                    passed.push(unusable);
                }
            }
        }
        Ok((None, passed))
    }

    /// The sequences of the checkpoints that are kept, oldest first; they may not all be usable.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn kept(&self) -> Result<Vec<u64>, Error> {
        Ok(sequences(self.disk.as_ref())?.into_iter().collect())
    }

    /// Removes all but the newest two that may be usable.
    fn thin(&self) -> Result<(), Error> {
        let kept = sequences(self.disk.as_ref())?;
        let mut unusable = self.inside.unusable.lock();
        let good = kept.iter().filter(|sequence| !unusable.contains(sequence));
        let newest: BTreeSet<u64> = good.rev().take(KEPT_MAX).copied().collect();
        for sequence in kept.difference(&newest) {
            self.disk.remove(&name_of(*sequence))?;
            unusable.remove(sequence);
        }
        Ok(())
    }
}

/// A checkpoint under way. Without [`Self::keep`] nothing comes of it.
pub struct CheckpointWriter<'c> {
    checkpoints: &'c Checkpoints,
    sequence: u64,
    file: Arc<dyn DiskFile>,
    piece: Vec<u8>,
    /// Over head and body so far.
    crc: u32,
    at: u64,
    is_kept: bool,
    _writing: MutexGuard<'c, ()>,
}

impl fmt::Debug for CheckpointWriter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckpointWriter")
            .field("sequence", &self.sequence)
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

impl CheckpointWriter<'_> {
    /// Makes it durable and the newest.
    ///
    /// # Errors
    /// The disk's; it may have been kept all the same, and what was there before still is.
    pub fn keep(mut self) -> Result<(), Error> {
        if !self.piece.is_empty() {
            self.put_piece()?;
        }
        // A piece without a body is the last.
        self.put_piece()?;
        self.file.sync()?;
        let disk = self.checkpoints.disk.as_ref();
        self.checkpoints
            .inside
            .unusable
            .lock()
            .remove(&self.sequence);
        disk.rename(ASIDE, &name_of(self.sequence))?;
        self.is_kept = true;
        disk.sync_folder()?;
        self.checkpoints.thin()
    }

    /// Writes what was collected as one piece.
    fn put_piece(&mut self) -> io::Result<()> {
        let mut piece = std::mem::take(&mut self.piece);
        // At most PIECE_BYTES.
        let length = (piece.len() as u32).to_le_bytes();
        self.crc = crc32c::crc32c_append(crc32c::crc32c_append(self.crc, &length), &piece);
        self.put(&length)?;
        piece.extend_from_slice(&self.crc.to_le_bytes());
        self.put(&piece)?;
        piece.clear();
        self.piece = piece;
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_at(bytes, self.at)?;
        self.at += bytes.len() as u64;
        Ok(())
    }
}

impl Write for CheckpointWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = PIECE_BYTES.saturating_sub(self.piece.len());
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.piece.extend_from_slice(taken);
        if self.piece.len() == PIECE_BYTES {
            self.put_piece()?;
        }
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for CheckpointWriter<'_> {
    fn drop(&mut self) {
        if !self.is_kept {
            // Perhaps the disk is full; what stays is written over or removed by opening.
            let _ = self.checkpoints.disk.remove(ASIDE);
        }
    }
}

fn head(lineage: u64, epoch: u32, sequence: u64) -> [u8; HEAD_BYTES] {
    let mut bytes = Vec::with_capacity(HEAD_BYTES);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
    bytes.extend_from_slice(&(HEAD_BYTES as u16).to_le_bytes());
    bytes.extend_from_slice(&epoch.to_le_bytes());
    bytes.extend_from_slice(&lineage.to_le_bytes());
    bytes.extend_from_slice(&sequence.to_le_bytes());
    bytes.resize(HEAD_BYTES - 4, 0);
    let crc = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&crc.to_le_bytes());
    array(&bytes, 0).unwrap_or([0; HEAD_BYTES])
}

/// What the check sums of the pieces go on from.
fn seed(head: &[u8], lineage: u64) -> u32 {
    crc32c::crc32c_append(frame::key(lineage), head)
}

/// The body of one checkpoint, when every byte of the file is as it was written.
pub(crate) fn read(
    disk: &dyn Disk,
    sequence: u64,
    lineage: u64,
    epoch: u32,
) -> Result<Bytes, Unusable> {
    let file = name_of(sequence);
    let found = disk
        .open(&file)
        .map_err(|error| (0, error.to_string()))
        .and_then(|file| read_file(file.as_ref(), sequence, lineage, epoch));
    found.map_err(|(offset, what)| Unusable {
        file,
        sequence,
        offset,
        what,
    })
}

fn read_file(
    file: &dyn DiskFile,
    sequence: u64,
    lineage: u64,
    epoch: u32,
) -> Result<Bytes, (u64, String)> {
    let length = file.len().map_err(|error| (0, error.to_string()))?;
    let mut head = [0; HEAD_BYTES];
    fill(file, &mut head, 0, "expected a head of 64 bytes")?;
    check_head(&head, sequence, lineage, epoch).map_err(|what| (0, what))?;
    // No more than the file has, whatever its pieces say of their lengths.
    let room = usize::try_from(length).unwrap_or_default();
    let mut body = Vec::with_capacity(room.saturating_sub(HEAD_BYTES));
    let (mut at, mut crc) = (HEAD_BYTES as u64, seed(&head, lineage));
    let mut piece = Vec::new();
    loop {
        let mut bytes = [0; 4];
        fill(file, &mut bytes, at, "expected a piece")?;
        let count = u32::from_le_bytes(bytes) as usize;
        if count > PIECE_BYTES {
            return Err((
                at,
                format!("expected a piece of up to {PIECE_BYTES} bytes, got {count}"),
            ));
        }
        piece.resize(count + 4, 0);
        fill(file, &mut piece, at + 4, "expected a whole piece").map_err(|(_, what)| (at, what))?;
        let (part, sum) = piece.split_at(count);
        crc = crc32c::crc32c_append(crc32c::crc32c_append(crc, &bytes), part);
        if sum != crc.to_le_bytes() {
            return Err((at, "expected a piece with a check sum that fits".into()));
        }
        body.extend_from_slice(part);
        at += count as u64 + AROUND_BYTES;
        if count == 0 {
            break;
        }
    }
    if at != length {
        return Err((at, "expected the end of the file".into()));
    }
    Ok(Bytes::from(body))
}

fn fill(file: &dyn DiskFile, buffer: &mut [u8], at: u64, what: &str) -> Result<(), (u64, String)> {
    match file.read_at(buffer, at) {
        Ok(count) if count == buffer.len() => Ok(()),
        Ok(_) => Err((at, what.into())),
        Err(error) => Err((at, error.to_string())),
    }
}

fn check_head(
    head: &[u8; HEAD_BYTES],
    sequence: u64,
    lineage: u64,
    epoch: u32,
) -> Result<(), String> {
    let crc = array(head, HEAD_BYTES - 4).map(u32::from_le_bytes);
    let covered = head.get(..HEAD_BYTES - 4).unwrap_or_default();
    if !head.starts_with(MAGIC) || crc != Some(crc32c::crc32c(covered)) {
        return Err("expected a head with a check sum that fits".into());
    }
    let version = array(head, 8).map_or(0, u16::from_le_bytes);
    if version != FORMAT_VERSION {
        return Err(format!(
            "expected format version {FORMAT_VERSION}, got {version}"
        ));
    }
    if array(head, 16).map(u64::from_le_bytes) != Some(lineage) {
        return Err("expected a checkpoint of this journal".into());
    }
    match array(head, 12).map(u32::from_le_bytes) {
        Some(of) if of <= epoch => {}
        Some(_) | None => return Err("expected an epoch up to the journal's".into()),
    }
    if array(head, 24).map(u64::from_le_bytes) != Some(sequence) {
        return Err("expected the sequence of the file's name".into());
    }
    Ok(())
}
