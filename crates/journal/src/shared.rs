//! What the writer and the readers have in common: the segments and how far they are durable.

use crate::segment::{self, Contents, Segment};
use crate::{Disk, Dropped, Error, SegmentView, sidecar};
use parking_lot::{Mutex, RwLock};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Closed segments whose files are open, the places of their records in memory: about 32 KiB each.
/// Taking up another costs two small reads.
const TAKEN_UP_MAX: usize = 64;

/// What the writer and the readers have in common.
pub(crate) struct Shared {
    pub lineage: u64,
    pub epoch: u32,
    disk: Arc<dyn Disk>,
    segments: RwLock<Vec<Arc<Segment>>>,
    durable: AtomicU64,
    /// What the writer was told of the time, as [`Self::time_at`]; never back.
    now_ms: AtomicI64,
    /// How far the stamps of earlier lives are ahead of the clock of this one.
    ahead_ms: i64,
    /// Closed segments that are taken up, the longest first.
    taken_up: Mutex<VecDeque<Arc<Segment>>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("range", &self.range())
            .finish_non_exhaustive()
    }
}

impl Shared {
    pub(crate) fn new(
        disk: Arc<dyn Disk>,
        (lineage, epoch): (u64, u32),
        segments: Vec<Arc<Segment>>,
        durable: u64,
        now_ms: i64,
    ) -> Self {
        let newest = segments.last().map_or(now_ms, |newest| newest.begun_ms);
        let shared = Self {
            lineage,
            epoch,
            disk,
            segments: RwLock::new(segments),
            durable: AtomicU64::new(durable),
            now_ms: AtomicI64::new(i64::MIN),
            ahead_ms: newest.saturating_sub(now_ms).max(0),
            taken_up: Mutex::default(),
        };
        shared.set_now(now_ms);
        shared
    }

    pub(crate) fn set_now(&self, now_ms: i64) {
        let time_ms = self.time_at(now_ms);
        self.now_ms.fetch_max(time_ms, Ordering::AcqRel);
    }

    /// The journal's time when the wall clock shows `now_ms`. Stamps only tell how old something is, so
    /// they need not be right, but must not go back: after a clock that was set back they go on from
    /// the newest of them, and time passes as it does.
    pub(crate) fn time_at(&self, now_ms: i64) -> i64 {
        now_ms.saturating_add(self.ahead_ms)
    }

    pub(crate) fn now(&self) -> i64 {
        self.now_ms.load(Ordering::Acquire)
    }

    /// Where the kept records begin when all closed segments go that end below `sequence`, and what
    /// goes.
    pub(crate) fn below(&self, sequence: u64) -> (u64, Dropped) {
        let segments = self.segments.read();
        let first = |at: usize| segments.get(at).map_or(1, |segment| segment.first);
        let going = segments
            .windows(2)
            .take_while(|pair| pair.last().is_some_and(|next| next.first <= sequence))
            .count();
        let dropped = Dropped {
            records: first(going) - first(0),
            bytes: segments
                .iter()
                .take(going)
                .map(|segment| segment.end())
                .sum(),
            segments: going,
        };
        (first(going), dropped)
    }

    /// Readers no longer see what is before `first`.
    pub(crate) fn forget_below(&self, first: u64) {
        self.segments
            .write()
            .retain(|segment| segment.first >= first);
        // After the range, so that none is taken up again; before the files go, so that their space
        // is free when they are gone.
        self.taken_up.lock().retain(|segment| {
            let is_kept = segment.first >= first;
            if !is_kept {
                segment.put_down();
            }
            is_kept
        });
    }

    pub(crate) fn views(&self) -> Vec<SegmentView> {
        let (last, now_ms) = (self.durable.load(Ordering::Acquire), self.now());
        let segments = self.segments.read();
        let behind = segments.iter().skip(1).map(Some).chain([None]);
        let both = segments.iter().zip(behind);
        both.map(|(segment, next)| SegmentView {
            first: segment.first,
            // A segment that was begun since `last` was looked at is empty as far as that tells.
            last: next.map_or(last.max(segment.first - 1), |next| next.first - 1),
            bytes: segment.end(),
            begun_ms: segment.begun_ms,
            written_ms: next.map_or(now_ms, |next| next.begun_ms),
        })
        .collect()
    }

    /// The next segment is active; the one before is closed.
    pub(crate) fn add(&self, segment: Arc<Segment>) {
        let mut segments = self.segments.write();
        let closed = segments.last().map(Arc::clone);
        segments.push(segment);
        drop(segments);
        if let Some(closed) = closed {
            self.note_taken_up(&mut self.taken_up.lock(), closed);
        }
    }

    fn note_taken_up(&self, taken_up: &mut VecDeque<Arc<Segment>>, segment: Arc<Segment>) {
        taken_up.push_back(segment);
        while taken_up.len() > TAKEN_UP_MAX {
            if let Some(longest) = taken_up.pop_front() {
                longest.put_down();
            }
        }
    }

    /// The file of a segment and the places of its records, taken up when they are not.
    pub(crate) fn contents(&self, segment: &Arc<Segment>) -> Result<Arc<Contents>, Error> {
        if let Some(contents) = segment.contents() {
            return Ok(contents);
        }
        let file = self.disk.open(&segment.name)?;
        let found = match sidecar::read(self.disk.as_ref(), segment.first, file.as_ref())? {
            Some(found) => found,
            // Of a damaged segment, up to the damage; reading names it.
            None => segment::scan(file.as_ref(), segment.first, segment.key)?,
        };
        let contents = Arc::new(Contents::new(file, found.sparse));
        let mut taken_up = self.taken_up.lock();
        if let Some(faster) = segment.contents() {
            return Ok(faster);
        }
        // One that was dropped in the meantime is for this reader only.
        if self.range().0 <= segment.first {
            segment.take_up(&contents);
            self.note_taken_up(&mut taken_up, Arc::clone(segment));
        }
        Ok(contents)
    }

    pub(crate) fn publish(&self, sequence: u64) {
        self.durable.store(sequence, Ordering::Release);
    }

    pub(crate) fn range(&self) -> (u64, u64) {
        let last = self.durable.load(Ordering::Acquire);
        let first = self
            .segments
            .read()
            .first()
            .map_or(1, |segment| segment.first);
        (first, last)
    }

    /// The active segment with its contents and the newest durable sequence, taken so that the
    /// sequence is covered by it or by an older, already synced one.
    pub(crate) fn newest(&self) -> (Arc<Segment>, Arc<Contents>, u64) {
        let last = self.durable.load(Ordering::Acquire);
        let segments = self.segments.read();
        let active = segments.last().map(Arc::clone);
        // Under the lock: the active segment is taken up as long as it is the last.
        let contents = active.as_ref().and_then(|active| active.contents());
        drop(segments);
        match (active, contents) {
            (Some(active), Some(contents)) => (active, contents, last),
            // Without one there would be nothing to open.
            _ => unreachable!("a journal has an active segment"),
        }
    }

    pub(crate) fn holding(&self, sequence: u64) -> Option<Arc<Segment>> {
        let segments = self.segments.read();
        let after = segments.partition_point(|segment| segment.first <= sequence);
        segments.get(after.checked_sub(1)?).map(Arc::clone)
    }
}
