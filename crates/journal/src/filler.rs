//! Writes zeros where records will be, while nobody waits.
//!
//! A sync after writing into a file that grows also has to write where the file's new blocks are; a
//! sync after writing into space that was written before has not.
//! Reserving space without writing it is slower than either.
//!
//! The active segment is filled first, then a spare that becomes the next segment. When to do it is
//! the caller's decision: each step costs a small write and a sync of its own.

use crate::segment::SPARE;
use crate::shared::Shared;
use crate::{Disk, DiskFile, Durability, Error, Options};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of one step, in segments of the usual size. A commit may have to wait for one step.
const STEP_BYTES_MAX: u64 = 256 << 10;
/// So many steps in a segment that is too small for steps of that size.
const STEPS_MIN: u64 = 16;
/// Steps beyond the size at which a segment is closed: room for the batch that reaches it.
const STEPS_BEHIND: u64 = 4;

/// Steps ahead of the newest record; beyond them space is taken that may never be used.
const STEPS_AHEAD_MAX: u64 = 64;

/// How far the spare is.
#[derive(Default)]
pub(crate) struct Spare(Mutex<Progress>);

#[derive(Default)]
enum Progress {
    #[default]
    Absent,
    Growing {
        file: Arc<dyn DiskFile>,
        written: u64,
    },
    Ready,
    /// The disk refused, or the journal is gone; there is none until a restart.
    GivenUp,
}

impl Spare {
    /// Gives the spare, if there is one, the name of a segment.
    pub(crate) fn take(&self, disk: &dyn Disk, name: &str) -> Result<bool, Error> {
        // A step that is under way has none ready, and may take as long as the disk likes.
        let Some(mut progress) = self.0.try_lock() else {
            return Ok(false);
        };
        if !matches!(*progress, Progress::Ready) {
            return Ok(false);
        }
        // Under the lock: the next spare is begun under the old name only when this one has left it.
        disk.rename(SPARE, name)?;
        *progress = Progress::Absent;
        Ok(true)
    }

    /// Waits for a step that is under way and lets no other begin.
    pub(crate) fn end(&self) {
        *self.0.lock() = Progress::GivenUp;
    }
}

/// Writes ahead from any thread, one small step at a time. Clones work on the same spare.
#[derive(Clone)]
pub struct Filler {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) spare: Arc<Spare>,
    pub(crate) is_poisoned: Arc<AtomicBool>,
    pub(crate) durability: Durability,
    pub(crate) step_bytes: u64,
    pub(crate) filled_bytes: u64,
}

/// How far the active segment is.
enum Active {
    /// To its end; the spare is next.
    Filled,
    /// Far enough ahead for now.
    FarEnough,
    /// There is more to do.
    NotYet,
}

impl std::fmt::Debug for Filler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Filler").finish_non_exhaustive()
    }
}

/// Bytes of a step, and the length to which segments are filled.
pub(crate) fn sizes(options: &Options) -> (u64, u64) {
    let step = (options.segment_bytes / STEPS_MIN).clamp(1, STEP_BYTES_MAX);
    let filled = options.segment_bytes.saturating_add(step * STEPS_BEHIND);
    (step, filled)
}

impl Filler {
    /// Writes and syncs one piece, unless a commit is under way. Returns whether there is more to do
    /// now; after a segment was closed there is again. Does nothing with [`Durability::Memory`], and
    /// nothing after the journal was closed or dropped.
    ///
    /// # Errors
    /// The disk's. When it failed to sync the active segment, the journal stops taking writes, as
    /// after a commit that failed; any other failure only ends the writing ahead: then, as after
    /// [`Error::Poisoned`], further steps have nothing to do.
    pub fn step(&self) -> Result<bool, Error> {
        if self.durability == Durability::Memory {
            return Ok(false);
        }
        let mut progress = self.spare.0.lock();
        if matches!(*progress, Progress::GivenUp) {
            return Ok(false);
        }
        let stepped = self.fill_active().and_then(|active| match active {
            Active::Filled => self.fill_spare(&mut progress),
            Active::FarEnough => Ok(false),
            Active::NotYet => Ok(true),
        });
        if stepped.is_err() {
            let is_begun = matches!(*progress, Progress::Growing { .. });
            *progress = Progress::GivenUp;
            if is_begun {
                // Perhaps the disk is full, and this gives back what others need more. Opening
                // removes what stays.
                let _ = self.disk.remove(SPARE);
            }
        }
        stepped
    }

    /// One piece of the active segment.
    fn fill_active(&self) -> Result<Active, Error> {
        let (active, contents, _) = self.shared.newest();
        // A commit holds it from its write to the end of its sync: nothing is waiting to be synced
        // that a failed sync here could lose unseen.
        let Some(mut written) = active.written.try_lock() else {
            return Ok(Active::NotYet);
        };
        if self.is_poisoned.load(Ordering::Acquire) {
            return Err(Error::Poisoned);
        }
        if *written >= self.filled_bytes {
            return Ok(Active::Filled);
        }
        if written.saturating_sub(active.end()) >= self.step_bytes * STEPS_AHEAD_MAX {
            return Ok(Active::FarEnough);
        }
        let length = self.step_bytes.min(self.filled_bytes - *written);
        contents.file.write_at(&zeros(length), *written)?;
        // Without syncs per commit nobody waits for these bytes, and the sync beside the appends
        // must be the only one to see errors.
        if self.durability == Durability::Fsync
            && let Err(error) = contents.file.sync()
        {
            self.is_poisoned.store(true, Ordering::Release);
            return Err(error.into());
        }
        *written += length;
        Ok(Active::NotYet)
    }

    /// One piece of the spare; returns whether more is to be done.
    fn fill_spare(&self, progress: &mut Progress) -> Result<bool, Error> {
        let (file, written) = match progress {
            Progress::Ready | Progress::GivenUp => return Ok(false),
            Progress::Growing { file, written } => (Arc::clone(file), *written),
            Progress::Absent => (self.disk.create(SPARE)?, 0),
        };
        *progress = Progress::Growing {
            file: Arc::clone(&file),
            written,
        };
        let length = self.step_bytes.min(self.filled_bytes - written);
        file.write_at(&zeros(length), written)?;
        file.sync()?;
        let written = written + length;
        let is_ready = written >= self.filled_bytes;
        *progress = match is_ready {
            true => Progress::Ready,
            false => Progress::Growing { file, written },
        };
        Ok(!is_ready)
    }
}

fn zeros(length: u64) -> Vec<u8> {
    vec![0; usize::try_from(length).unwrap_or(0)]
}
