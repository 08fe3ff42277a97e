//! The one writer.

use crate::retention::Held;
use crate::segment::{Contents, Header, Segment};
use crate::shared::Shared;
use crate::{Checkpoints, Disk, Dropped, Error, Filler, Reader, Recovery, Retention};
use crate::{checkpoint, filler, frame, recovery, sidecar};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What a commit survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The disk has it: survives a crash of the machine.
    Fsync,
    /// The system has it: survives the end of the process, at any moment.
    Os,
    /// The process has it.
    Memory,
}

/// How to open a journal.
#[derive(Clone, Debug)]
pub struct Options {
    /// A segment is closed when it has grown to this many bytes.
    pub segment_bytes: u64,
    /// What a commit survives.
    pub durability: Durability,
    /// Random bits that name a new journal; not used when one exists.
    pub lineage: u64,
    /// The wall clock in milliseconds since 1970, written into headers; see [`Journal::set_now`].
    pub now_ms: i64,
}

impl Options {
    /// 64 MiB segments, fsync.
    #[must_use]
    pub fn new(lineage: u64) -> Self {
        Self {
            segment_bytes: 64 << 20,
            durability: Durability::Fsync,
            lineage,
            now_ms: 0,
        }
    }
}

/// The writer. There is one per folder; the caller sees to that.
pub struct Journal {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) options: Options,
    pub(crate) held: Arc<Mutex<Held>>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) active: Arc<Segment>,
    /// Of the active segment.
    pub(crate) contents: Arc<Contents>,
    pub(crate) spare: Arc<filler::Spare>,
    /// The newest sequence that a sync has covered.
    pub(crate) synced: Arc<AtomicU64>,
    /// Appended records that are not written yet.
    pub(crate) pending: Vec<u8>,
    /// Where each pending record begins in `pending`, for the sparse index.
    pub(crate) starts: Vec<(u64, u64)>,
    pub(crate) next: u64,
    /// A write or sync failed; shared with [`Syncer`].
    pub(crate) is_poisoned: Arc<AtomicBool>,
    pub(crate) recovery: Recovery,
    pub(crate) checkpoints: Arc<checkpoint::Inside>,
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal")
            .field("next", &self.next)
            .field("active", &self.active)
            .finish()
    }
}

impl Journal {
    /// Opens the journal in a folder, or makes one.
    ///
    /// A torn tail, which no commit ever covered, is cut. Damage to what was durable refuses.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::UnknownFormat`], [`Error::Io`].
    pub fn open(disk: Arc<dyn Disk>, options: Options) -> Result<Self, Error> {
        recovery::open(disk, options)
    }

    /// What opening found.
    #[must_use]
    pub fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    /// The sequence that the next [`Self::append`] gets; the first record is 1.
    #[must_use]
    pub fn next_sequence(&self) -> u64 {
        self.next
    }

    /// Tells what the wall clock says, in milliseconds since 1970: the age of segments is judged by
    /// it. A clock that steps back is taken to stand still; for one that was set back between two lives
    /// see [`Reader::time_at`].
    pub fn set_now(&mut self, now_ms: i64) {
        self.shared.set_now(now_ms);
    }

    /// Buffers one record made of `parts` laid end to end and returns its sequence. Nothing is
    /// written before [`Self::commit`].
    ///
    /// # Panics
    /// When the parts together are longer than [`frame::BODY_BYTES_MAX`].
    pub fn append(&mut self, kind: u8, parts: &[&[u8]]) -> u64 {
        let sequence = self.next;
        self.next += 1;
        if self.is_poisoned() {
            // It will never be written, so keeping it would only fill memory.
            return sequence;
        }
        let back = sequence.saturating_sub(self.synced.load(Ordering::Acquire));
        let start = self.pending.len();
        self.starts.push((sequence, start as u64));
        // A distance that does not fit only makes recovery more careful about what it may cut.
        frame::write(
            &mut self.pending,
            self.active.key,
            sequence,
            u32::try_from(back).unwrap_or(u32::MAX),
            kind,
            parts,
        );
        assert!(
            self.pending.len() - start <= frame::HEAD_BYTES + frame::BODY_BYTES_MAX,
            "a record over the limit could be written and never read"
        );
        sequence
    }

    /// Writes all appended records with one write, syncs once, and only then shows them to readers.
    ///
    /// # Errors
    /// The disk's error the first time, [`Error::Poisoned`] ever after: what was appended is not
    /// durable, and nothing is written again before a restart.
    pub fn commit(&mut self) -> Result<(), Error> {
        if self.is_poisoned() {
            return Err(Error::Poisoned);
        }
        if self.pending.is_empty() {
            return Ok(());
        }
        self.write().inspect_err(|_| self.poison())
    }

    fn poison(&self) {
        self.is_poisoned.store(true, Ordering::Release);
    }

    fn is_poisoned(&self) -> bool {
        self.is_poisoned.load(Ordering::Acquire)
    }

    fn write(&mut self) -> Result<(), Error> {
        if self.active.end() >= self.options.segment_bytes {
            self.roll()?;
        }
        let start = self.active.end();
        self.write_pending(start)?;
        for (sequence, offset) in self.starts.drain(..) {
            self.contents.note(sequence, start + offset);
        }
        self.active.publish(start + self.pending.len() as u64);
        self.shared.publish(self.next - 1);
        self.pending.clear();
        Ok(())
    }

    fn write_pending(&self, start: u64) -> Result<(), Error> {
        let mut written = self.active.written.lock();
        // While this waited, the sync of what was written ahead may have failed.
        if self.is_poisoned() {
            return Err(Error::Poisoned);
        }
        let is_synced = self.options.durability == Durability::Fsync;
        let put = || {
            self.contents.file.write_at(&self.pending, start)?;
            if is_synced {
                self.contents.file.sync()?;
            }
            Ok(())
        };
        // Before the lock is given back: nothing is written ahead after a failure.
        put().inspect_err(|_: &Error| self.poison())?;
        if is_synced {
            self.synced.store(self.next - 1, Ordering::Release);
        }
        *written = (*written).max(start + self.pending.len() as u64);
        Ok(())
    }

    /// Seals the active segment and begins the next. Batches never span segments.
    fn roll(&mut self) -> Result<(), Error> {
        let last = self.shared.range().1;
        let mut written = self.active.written.lock();
        self.contents.file.truncate(self.active.end())?;
        // Nothing is written ahead into a closed segment.
        *written = u64::MAX;
        drop(written);
        if self.options.durability == Durability::Os {
            self.contents.file.sync()?;
            self.synced.store(last, Ordering::Release);
        }
        let sparse = self.contents.sparse();
        sidecar::write(
            self.disk.as_ref(),
            self.active.first,
            last,
            self.active.end(),
            &sparse,
        )?;
        let header = Header {
            lineage: self.shared.lineage,
            epoch: self.shared.epoch,
            first: last + 1,
            created_ms: self.shared.now(),
        };
        let (active, contents) = Segment::create(self.disk.as_ref(), header, &self.spare)?;
        self.active = Arc::new(active);
        self.contents = contents;
        self.shared.add(Arc::clone(&self.active));
        Ok(())
    }

    /// A reader of durable records.
    #[must_use]
    pub fn reader(&self) -> Reader {
        Reader {
            shared: Arc::clone(&self.shared),
        }
    }

    /// With [`Durability::Os`]: something that syncs beside the appends, never in front of them.
    #[must_use]
    pub fn syncer(&self) -> Syncer {
        Syncer {
            shared: Arc::clone(&self.shared),
            synced: Arc::clone(&self.synced),
            is_poisoned: Arc::clone(&self.is_poisoned),
        }
    }

    /// The state that is kept beside the records.
    #[must_use]
    pub fn checkpoints(&self) -> Checkpoints {
        Checkpoints {
            disk: Arc::clone(&self.disk),
            lineage: self.shared.lineage,
            epoch: self.shared.epoch,
            syncer: self.syncer(),
            inside: Arc::clone(&self.checkpoints),
        }
    }

    /// Something that drops the oldest records, from any thread.
    #[must_use]
    pub fn retention(&self) -> Retention {
        Retention {
            disk: Arc::clone(&self.disk),
            shared: Arc::clone(&self.shared),
            held: Arc::clone(&self.held),
            is_poisoned: Arc::clone(&self.is_poisoned),
        }
    }

    /// As [`Retention::drop_before`].
    ///
    /// # Errors
    /// As there.
    pub fn drop_before(&self, sequence: u64) -> Result<Dropped, Error> {
        self.retention().drop_before(sequence)
    }

    /// Something that writes zeros where records will be, while nobody waits; commits into them are
    /// faster. Nothing is written ahead without it.
    #[must_use]
    pub fn filler(&self) -> Filler {
        let (step_bytes, filled_bytes) = filler::sizes(&self.options);
        Filler {
            disk: Arc::clone(&self.disk),
            shared: Arc::clone(&self.shared),
            spare: Arc::clone(&self.spare),
            is_poisoned: Arc::clone(&self.is_poisoned),
            durability: self.options.durability,
            step_bytes,
            filled_bytes,
        }
    }

    /// Syncs, and notes that nothing was lost.
    ///
    /// # Errors
    /// [`Error::Poisoned`] after a failed write; then the journal is not clean.
    pub fn close(mut self) -> Result<(), Error> {
        self.commit()?;
        if self.options.durability != Durability::Memory {
            self.contents.file.sync()?;
        }
        // A sync beside the appends may have failed since the commit looked.
        if self.is_poisoned() {
            return Err(Error::Poisoned);
        }
        let mut held = self.held.lock();
        held.has_ended = true;
        held.manifest.clean_last = Some(self.next - 1);
        held.manifest.write(self.disk.as_ref())
    }
}

/// A [`Filler`] or a [`Retention`] may live longer, and the folder may be opened again.
impl Drop for Journal {
    fn drop(&mut self) {
        self.spare.end();
        self.held.lock().has_ended = true;
    }
}

/// Syncs what was written, from any thread.
#[derive(Clone, Debug)]
pub struct Syncer {
    shared: Arc<Shared>,
    synced: Arc<AtomicU64>,
    is_poisoned: Arc<AtomicBool>,
}

impl Syncer {
    /// The newest sequence that readers see.
    pub(crate) fn last(&self) -> u64 {
        self.shared.range().1
    }

    /// Makes everything committed so far survive a crash of the machine.
    ///
    /// # Errors
    /// The disk's the first time, [`Error::Poisoned`] ever after: what a failed sync lost, a later
    /// one that succeeds does not bring back, so the journal stops taking writes.
    pub fn sync(&self) -> Result<(), Error> {
        if self.is_poisoned.load(Ordering::Acquire) {
            return Err(Error::Poisoned);
        }
        let (_, contents, last) = self.shared.newest();
        if self.synced.load(Ordering::Acquire) >= last {
            return Ok(());
        }
        if let Err(error) = contents.file.sync() {
            self.is_poisoned.store(true, Ordering::Release);
            return Err(error.into());
        }
        self.synced.fetch_max(last, Ordering::AcqRel);
        Ok(())
    }
}
