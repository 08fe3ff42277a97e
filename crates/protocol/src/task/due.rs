//! Deadlines, and children that are cancelled with their parent: what the exchange itself must say.
//!
//! Nothing is recorded when the moment comes: the envelope that says so is the move. Until it is in
//! the journal the task stays open, so after a restart the moment is still to come, or has just
//! passed, and is spoken of once.

use super::kept::Name;
use super::speech;
use super::tasks::Tasks;
use crate::Timestamp;

/// Most envelopes spoken at a time, more or less: children come with their parent.
const SPOKEN_MAX: usize = 256;

/// When a moment that was spoken of is looked at again, should its envelope have been refused.
const AGAIN_MS: i64 = 60_000;

impl Tasks {
    /// When [`Self::expire`] must be called next. May change after every move.
    #[must_use]
    pub fn next_due(&self) -> Option<Timestamp> {
        self.due.first().map(|(moment, _)| *moment)
    }

    /// What the exchange must say at `now`, in order: envelopes from [`SERVICE`](super::SERVICE), each
    /// with an id that follows from its task, so that a repeat is a duplicate. Publishing them makes
    /// the moves. At most a few hundred; more may be due right after.
    pub fn expire(&mut self, now: Timestamp) -> Vec<String> {
        let mut spoken = Vec::new();
        while spoken.len() < SPOKEN_MAX
            && let Some((moment, key)) = self.due.first().copied()
            && moment <= now
        {
            self.due.pop_first();
            let Some(task) = self.tasks.get(&key) else {
                continue;
            };
            let cancelled_by = task
                .context
                .as_ref()
                .and_then(|context| context.cancelled_by.as_deref());
            match cancelled_by {
                Some(cause) => spoken.extend(speech::cancelled(task, cause, moment)),
                None => {
                    let (id, timed_out) = speech::timed_out(task, moment);
                    for child in self.open_children(task.name) {
                        let child = self.tasks.get(&child);
                        spoken
                            .extend(child.and_then(|child| speech::cancelled(child, &id, moment)));
                    }
                    spoken.extend(timed_out);
                }
            }
            let again = now.plus_millis(AGAIN_MS);
            if let Some(task) = self.tasks.get_mut(&key) {
                task.due = Some(again);
                self.due.insert((again, key));
            }
        }
        spoken
    }

    /// The tasks were rebuilt, and the clock shows `now`. What was opened later than that was opened
    /// by a clock that has been set back since: where it may take so long, that begins now, so that it
    /// is never longer than it was. A moment that the request names stays that moment. Children whose
    /// parent was cancelled wait for nothing.
    pub fn resume_waits(&mut self, now: Timestamp) {
        let waiting: Vec<(Timestamp, u64)> = self.due.iter().copied().collect();
        for (moment, key) in waiting {
            let Some(task) = self.tasks.get_mut(&key) else {
                continue;
            };
            let context = task.context.as_ref();
            let is_orphan = context.is_some_and(|context| context.cancelled_by.is_some());
            let until = match task.length_ms {
                _ if is_orphan => now,
                Some(length) if task.opened_at > now => now.plus_millis(length),
                Some(_) | None => continue,
            };
            if until < moment {
                if !is_orphan {
                    task.deadline = Some(until);
                }
                task.due = Some(until);
                self.due.remove(&(moment, key));
                self.due.insert((until, key));
            }
        }
    }

    /// Has the children of a task that was cancelled cancelled next.
    pub(super) fn orphan(&mut self, parent: Name, at: Timestamp, cause: &str) {
        let children: Vec<u64> = self
            .children
            .get(&parent)
            .into_iter()
            .flatten()
            .copied()
            .collect();
        for key in children {
            let Some(task) = self.tasks.get_mut(&key) else {
                continue;
            };
            if let Some(context) = &mut task.context {
                context.cancelled_by = Some(cause.into());
            }
            if let Some(moment) = task.due.replace(at) {
                self.due.remove(&(moment, key));
            }
            self.due.insert((at, key));
        }
    }
}
