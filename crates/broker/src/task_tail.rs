//! A reader of one task: everything that was said of it, then what comes, then its end.

use crate::gap::{Gap, GapReason, OnGap};
use crate::handle::Handle;
use crate::tasks::no_task;
use crate::{Batch, Entry, From, Tail};
use protocol::task::Step;
use protocol::{Filter, Header, Rejection, TaskState};
use std::collections::VecDeque;
use std::sync::Arc;

/// Messages taken from the journal at a time.
const BATCH_MAX: usize = 64;

/// What a reader of a task learns.
#[derive(Debug)]
pub enum TaskNews {
    /// The next envelope of the task.
    Envelope(Arc<Entry>),
    /// Envelopes of the task that are no longer kept.
    Gap(Gap),
    /// The envelope that ended it. Nothing follows.
    Ended {
        /// How it ended.
        state: TaskState,
        /// By what.
        entry: Arc<Entry>,
        /// Whether the reader came from a place after it.
        is_repeat: bool,
    },
}

/// A reader of one task. Ends with the task.
#[derive(Debug)]
pub struct TaskTail {
    handle: Handle,
    id: Box<str>,
    /// Where the envelopes that were there before stand.
    past: VecDeque<u64>,
    ready: VecDeque<Arc<Entry>>,
    /// Envelopes before the next one that are no longer kept: first, last, how many.
    missing: Option<(u64, u64, u64)>,
    /// Everything up to here is in `past` or was before the place that was asked for; live reading
    /// begins after it.
    seen: u64,
    live: Option<Tail>,
    /// How and where it ended.
    end: Option<(TaskState, u64)>,
    /// Something came that may have ended it.
    is_end_unsure: bool,
}

impl Handle {
    /// Reads a task from its beginning, or after `after`.
    ///
    /// # Errors
    /// `not_found`, and those of a cursor.
    pub async fn follow_task(&self, id: &str, after: Option<&From>) -> Result<TaskTail, Rejection> {
        let after = match after {
            Some(from) => self.position(from, OnGap::Skip).await?,
            None => 0,
        };
        let (_, seen) = self.shared.reader.range();
        let history = self.task(id).await?;
        let id = history.view.id.clone();
        let rows = self.task_rows(&id).await?;
        let past = rows.iter().map(|(_, sequence, _)| *sequence);
        Ok(TaskTail {
            handle: self.clone(),
            id,
            past: past.filter(|at| *at > after && *at <= seen).collect(),
            ready: VecDeque::new(),
            missing: None,
            seen: seen.max(after),
            live: None,
            end: history.view.ended.map(|at| (history.view.state, at)),
            is_end_unsure: false,
        })
    }
}

impl TaskTail {
    /// The task's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What comes next; waits for it. Cancelling the wait loses nothing.
    ///
    /// # Errors
    /// `storage_failed` when the journal cannot be read.
    pub async fn next(&mut self) -> Result<TaskNews, Rejection> {
        loop {
            if self.is_end_unsure {
                let history = self.handle.task(&self.id).await?;
                self.end = history.view.ended.map(|at| (history.view.state, at));
                self.is_end_unsure = false;
            }
            let next = match self.past.front() {
                Some(sequence) => Some(*sequence),
                None => self.ready.front().map(|entry| entry.sequence),
            };
            let is_past = self.past.is_empty() || self.end.map(|(_, at)| at) <= next;
            if is_past && let Some(gap) = self.take_gap() {
                return Ok(TaskNews::Gap(gap));
            }
            if let Some((state, at)) = self.end
                && next.is_none_or(|next| next >= at)
            {
                let entry = self.handle.entry_at(at).await?;
                return Ok(TaskNews::Ended {
                    state,
                    entry: entry.ok_or_else(|| no_task(&self.id))?,
                    is_repeat: next != Some(at),
                });
            }
            if let Some(sequence) = self.past.front().copied() {
                let entry = self.handle.entry_at(sequence).await?;
                if entry.is_some()
                    && let Some(gap) = self.take_gap()
                {
                    return Ok(TaskNews::Gap(gap));
                }
                self.past.pop_front();
                match entry {
                    Some(entry) => return Ok(TaskNews::Envelope(entry)),
                    None => {
                        let (from, _, count) = self.missing.unwrap_or((sequence, sequence, 0));
                        self.missing = Some((from, sequence, count + 1));
                    }
                }
                continue;
            }
            if let Some(entry) = self.ready.pop_front() {
                return Ok(TaskNews::Envelope(entry));
            }
            if let Some(gap) = self.read_on().await? {
                return Ok(TaskNews::Gap(gap));
            }
        }
    }

    /// What of the task's past could not be read any more.
    fn take_gap(&mut self) -> Option<Gap> {
        let (from, to, count) = self.missing.take()?;
        let cursor = |sequence| self.handle.shared.reader.cursor(sequence);
        Some(Gap {
            from: cursor(from),
            to: cursor(to),
            count,
            is_exact: true,
            reason: GapReason::Retention,
        })
    }

    async fn read_on(&mut self) -> Result<Option<Gap>, Rejection> {
        if self.live.is_none() {
            let filter = Filter::from_pairs([("task", &*self.id)])?;
            let cursor = self.handle.shared.reader.cursor(self.seen);
            let from = From::Cursor(cursor.to_string());
            self.live = Some(self.handle.tail(filter, &from).await?);
        }
        let Some(live) = &mut self.live else {
            return Ok(None);
        };
        let Batch { gap, entries, .. } = live.next(BATCH_MAX).await?;
        // What is missing may have ended it, too.
        self.is_end_unsure |= gap.is_some();
        self.is_end_unsure |= entries.iter().any(|entry| may_end(&entry.header));
        self.ready.extend(entries);
        Ok(gap)
    }
}

fn may_end(header: &Header) -> bool {
    match &header.step {
        Some(Step::Report(state) | Step::Reply(state)) => state.is_terminal(),
        Some(Step::Answer) => true,
        Some(Step::Open(_) | Step::RequestCancel) | None => false,
    }
}
