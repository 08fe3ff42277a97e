//! A live reader by cursor: file first, then memory, then whatever comes, without a gap between.
//!
//! What a reader cannot get any more is told as a [`Gap`] before anything that comes after it.

use crate::channel::{Channel, Next};
use crate::find::Scanned;
use crate::gap::{Follow, Gap, GapReason, Mode, OnGap};
use crate::handle::Shared;
use crate::lane::Lane;
use crate::request::{Queued, Request};
use crate::{Entry, find};
use protocol::{Code, Fault, Filter, Rejection};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, watch};

/// Bytes of messages that one step gives, or one message: a reader holds no more than this while it
/// does not take its data.
const BATCH_BYTES_MAX: usize = 256 << 10;

/// What one step of a reader gives.
#[derive(Debug)]
pub struct Batch {
    /// What is missing before the entries.
    pub gap: Option<Gap>,
    /// The next messages, in journal order. May be empty when only the rest is news.
    pub entries: Vec<Arc<Entry>>,
    /// True once: everything that was there when the reader came has been read.
    pub caught_up: bool,
}

impl Batch {
    fn of(entries: Vec<Arc<Entry>>) -> Self {
        Self {
            gap: None,
            entries,
            caught_up: false,
        }
    }

    fn gap(gap: Gap) -> Self {
        Self {
            gap: Some(gap),
            ..Self::of(Vec::new())
        }
    }

    fn caught_up() -> Self {
        Self {
            caught_up: true,
            ..Self::of(Vec::new())
        }
    }
}

/// A reader of everything that passes a filter, from a place in the journal on, for ever.
///
/// It holds a position, not messages: a reader that stops pulling costs nothing.
#[derive(Debug)]
pub struct Tail {
    shared: Arc<Shared>,
    lane: Arc<Lane>,
    channel: Arc<Channel>,
    turn: watch::Receiver<u64>,
    follow: Follow,
    /// The last sequence this reader has seen or passed.
    position: u64,
    /// The channel's matches up to the position, where they were counted.
    ordinal: Option<u64>,
    was_caught_up: bool,
    _one_of_all: OwnedSemaphorePermit,
}

/// How much has come for a reader, whether or not it has taken it.
#[derive(Clone, Debug)]
pub struct Feed {
    channel: Arc<Channel>,
}

impl Feed {
    /// Bytes of all messages that have passed the filter since somebody began to listen.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.channel.bytes()
    }
}

impl Tail {
    pub(crate) fn new(
        shared: Arc<Shared>,
        lane: Arc<Lane>,
        channel: Arc<Channel>,
        position: u64,
        follow: Follow,
        one_of_all: OwnedSemaphorePermit,
    ) -> Self {
        let turn = channel.watch();
        Self {
            shared,
            lane,
            channel,
            turn,
            follow,
            position,
            ordinal: None,
            was_caught_up: false,
            _one_of_all: one_of_all,
        }
    }

    /// The filter.
    #[must_use]
    pub fn filter(&self) -> &Filter {
        &self.channel.filter
    }

    /// The cursor to resume from: everything up to here has been given out.
    #[must_use]
    pub fn cursor(&self) -> journal::Cursor {
        self.shared.reader.cursor(self.position)
    }

    /// What comes for this reader while it does not take its data.
    #[must_use]
    pub fn feed(&self) -> Feed {
        Feed {
            channel: Arc::clone(&self.channel),
        }
    }

    /// The next messages, at most `max`; waits until there is something to tell.
    ///
    /// Cancelling the wait loses nothing.
    ///
    /// # Errors
    /// `storage_failed` when the file cannot be read; `cursor_expired` at a gap, if that was asked for.
    pub async fn next(&mut self, max: usize) -> Result<Batch, Rejection> {
        loop {
            self.turn.borrow_and_update();
            if self.follow.mode == Mode::BestEffort
                && let Some(gap) = self.skip()
            {
                return self.tell(gap);
            }
            match self.channel.after(self.position, max) {
                Next::ReadFile { until } => {
                    let scanned = self.read_file(until, max).await?;
                    if let Some(batch) = self.give(scanned)? {
                        return Ok(batch);
                    }
                }
                Next::Matches(sequences) if sequences.is_empty() => {
                    if !self.was_caught_up {
                        self.was_caught_up = true;
                        return Ok(Batch::caught_up());
                    }
                    if self.turn.changed().await.is_err() {
                        return Err(crate::serve::draining());
                    }
                }
                Next::Matches(sequences) => {
                    if let Some(batch) = self.fetch(&sequences).await? {
                        return Ok(batch);
                    }
                }
            }
        }
    }

    /// The messages at known positions, from memory or else from the file.
    async fn fetch(&mut self, sequences: &[u64]) -> Result<Option<Batch>, Rejection> {
        let mut entries = Vec::with_capacity(sequences.len());
        self.shared
            .ring
            .get(sequences, BATCH_BYTES_MAX, &mut entries);
        if let Some(last) = entries.last() {
            self.position = last.sequence;
            self.passed(Some(entries.len() as u64));
            return Ok(Some(Batch::of(entries)));
        }
        let (Some(first), Some(last)) = (sequences.first(), sequences.last()) else {
            return Ok(None);
        };
        // Nothing between the last match and this one is for this reader.
        self.position = first - 1;
        let scanned = self.read_file(*last, sequences.len()).await?;
        self.give(scanned)
    }

    /// What was found in the file, or what is missing there.
    fn give(&mut self, scanned: Scanned) -> Result<Option<Batch>, Rejection> {
        let Scanned {
            entries,
            position,
            hole,
        } = scanned;
        self.position = position.max(self.position);
        if !entries.is_empty() {
            self.passed(Some(entries.len() as u64));
            return Ok(Some(Batch::of(entries)));
        }
        let Some(hole) = hole else {
            return Ok(None);
        };
        let exact = self.channel.count(self.position, hole.to);
        let gap = self.gap(hole.to, exact, hole.reason);
        self.position = hole.to;
        self.passed(exact);
        if gap.count == 0 {
            return Ok(None);
        }
        self.tell(gap).map(Some)
    }

    /// Counts on; what is not counted exactly ends the count.
    fn passed(&mut self, matches: Option<u64>) {
        self.ordinal = self.ordinal.zip(matches).map(|(seen, more)| seen + more);
    }

    fn gap(&self, to: u64, exact: Option<u64>, reason: GapReason) -> Gap {
        Gap {
            from: self.shared.reader.cursor(self.position + 1),
            to: self.shared.reader.cursor(to),
            count: exact.unwrap_or(to - self.position),
            is_exact: exact.is_some(),
            reason,
        }
    }

    fn tell(&self, gap: Gap) -> Result<Batch, Rejection> {
        self.shared.meter.count_gap(gap.reason);
        let is_end = self.follow.on_gap == OnGap::Fail && gap.reason != GapReason::Slow;
        if is_end {
            return Err(self.shared.overtaken(&gap));
        }
        Ok(Batch::gap(gap))
    }

    /// Takes a reader that may miss some to the newest when too many wait for it.
    fn skip(&mut self) -> Option<Gap> {
        self.ordinal = self.channel.ordinal(self.position).or(self.ordinal);
        let max = self.shared.settings.best_effort_max;
        let skip = self.channel.skip(self.position, max)?;
        let exact = self.ordinal.map(|seen| skip.ordinal.saturating_sub(seen));
        let gap = self.gap(skip.to, exact, GapReason::Slow);
        self.position = skip.to;
        self.ordinal = Some(skip.ordinal);
        (gap.count > 0).then_some(gap)
    }

    /// One step through the file towards `until`. Steps of one connection wait for each other, and
    /// all take turns, so that nobody's long search keeps others from reading.
    async fn read_file(&self, until: u64, max: usize) -> Result<Scanned, Rejection> {
        self.shared.meter.lagging_reads.inc();
        let shared = Arc::clone(&self.shared);
        let filter = self.channel.filter.clone();
        let from = self.position + 1;
        let scan = move || find::scan(&shared.reader, &filter, from, until, max, BATCH_BYTES_MAX);
        find::in_turn(&self.shared, &self.lane, scan).await
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        let requests = self.shared.requests.clone();
        let queued = Queued {
            lane: self.lane.number,
            request: Request::Unlisten(self.channel.id),
        };
        if let Err(full) = requests.try_send(queued)
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            // The queue was full: leave as soon as there is room.
            let queued = full.into_inner();
            runtime.spawn(async move { drop(requests.send(queued).await) });
        }
    }
}

pub(crate) fn unreadable() -> Rejection {
    Fault::new(
        Code::StorageFailed,
        "",
        "ARCHITECTURE 4",
        "expected the journal to be readable",
    )
    .into()
}
