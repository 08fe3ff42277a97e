//! What a peer is sent that has not said what it wants: every AEP event that others publish.
//!
//! The daemon of the protocol's first implementation knows no sessions on its sockets: whoever is
//! connected hears everything, and its clients rely on it. So a connection that opens no session, asks
//! for no subscription and speaks no dialect that is served at once is a listener like that: live, at
//! best effort, from the moment it connected. It begins a little later, so that a peer that has come to
//! open a session is not told what it does not want.

use super::frames::Frames;
use super::peer::{End, Peer};
use super::work::{self, Done};
use broker::{Batch, Cursor, Follow, From, Mode, OnGap, Tail};
use futures_util::future::AbortHandle;
use protocol::session::Step;
use protocol::{Filter, Rejection};
use std::any::Any;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::time::Instant;

/// How long a peer has to say what it wants.
const PATIENCE: Duration = Duration::from_millis(200);

/// Events put on their way in one turn.
const BATCH_MAX: usize = 64;

/// Whether and how a connection overhears.
pub(super) enum Overhearing {
    /// It does not, or no longer.
    No,
    /// It will, from a place on.
    Soon { at: Instant, from: Cursor },
    /// It does.
    Open {
        waits: AbortHandle,
        _owed: Option<Box<dyn Any + Send>>,
    },
}

/// The listening of one connection.
pub(super) struct Overheard {
    state: Overhearing,
    /// What the peer itself published, as far as the listening has not passed it: it is not told that
    /// again.
    own: BTreeSet<u64>,
}

impl Overheard {
    /// A connection that begins now; `from` is the newest message.
    pub(super) fn new(is_wanted: bool, from: Cursor) -> Self {
        let at = Instant::now() + PATIENCE;
        Self {
            state: if is_wanted {
                Overhearing::Soon { at, from }
            } else {
                Overhearing::No
            },
            own: BTreeSet::new(),
        }
    }

    /// When the listening begins, if it still has to.
    pub(super) fn due(&self) -> Option<Instant> {
        match self.state {
            Overhearing::Soon { at, .. } => Some(at),
            Overhearing::No | Overhearing::Open { .. } => None,
        }
    }

    /// The peer published this.
    pub(super) fn note_own(&mut self, sequence: u64) {
        if !matches!(self.state, Overhearing::No) {
            self.own.insert(sequence);
        }
    }

    /// Ends the listening once the peer says what it wants.
    pub(super) fn heed(&mut self, step: &Step) {
        match step {
            Step::Open { .. } | Step::Attach { .. } | Step::Subscribe { .. } => self.end(),
            Step::Say(_)
            | Step::Publish { .. }
            | Step::Settle { .. }
            | Step::Unsubscribe(_)
            | Step::End(_) => {}
        }
    }

    fn end(&mut self) {
        if let Overhearing::Open { waits, .. } = &self.state {
            waits.abort();
        }
        self.state = Overhearing::No;
        self.own.clear();
    }
}

impl<F: Frames> Peer<F> {
    /// The peer has had its time.
    pub(super) fn overhear(&mut self) {
        let Overhearing::Soon { from, .. } = self.overheard.state else {
            return;
        };
        let handle = self.handle.clone();
        let waits = work::add(&self.work, async move {
            let follow = Follow {
                on_gap: OnGap::Skip,
                mode: Mode::BestEffort,
            };
            let from = From::Cursor(from.to_string());
            let tail = match Filter::from_pairs([("dialect", "aep")]) {
                Ok(filter) => handle.follow(filter, &from, follow).await,
                Err(refused) => Err(refused),
            };
            Done::Overhears {
                tail: tail.map(Box::new),
            }
        });
        self.overheard.state = Overhearing::Open { waits, _owed: None };
    }

    pub(super) fn overhears(&mut self, tail: Result<Box<Tail>, Rejection>) {
        if !matches!(self.overheard.state, Overhearing::Open { .. }) {
            return;
        }
        match tail {
            Ok(tail) => {
                let owed = self.frames.owe(tail.feed());
                self.overheard.state = Overhearing::Open {
                    waits: self.overhear_on(tail),
                    _owed: owed,
                };
            }
            Err(refused) => {
                tracing::debug!(%refused, "a connection cannot overhear");
                self.overheard.end();
            }
        }
    }

    pub(super) async fn overheard(
        &mut self,
        tail: Box<Tail>,
        batch: Result<Batch, Rejection>,
    ) -> Result<(), End> {
        // What the peer published is known by its answer.
        self.answer_rest().await?;
        let batch = match batch {
            Ok(batch) if matches!(self.overheard.state, Overhearing::Open { .. }) => batch,
            Ok(_) => return Ok(()),
            Err(refused) => {
                tracing::debug!(%refused, "a connection overhears no more");
                self.overheard.end();
                return Ok(());
            }
        };
        let mut count = 0;
        for entry in &batch.entries {
            if !self.overheard.own.remove(&entry.sequence) {
                self.frames.send(entry.envelope.clone()).await?;
                count += 1;
            }
        }
        self.handle.meter().streamed.inc_by(count);
        let passed = tail.cursor().sequence;
        self.overheard.own.retain(|sequence| *sequence > passed);
        let next = self.overhear_on(tail);
        if let Overhearing::Open { waits, .. } = &mut self.overheard.state {
            *waits = next;
        }
        Ok(())
    }

    fn overhear_on(&self, mut tail: Box<Tail>) -> AbortHandle {
        work::add(&self.work, async move {
            let batch = tail.next(BATCH_MAX).await;
            Done::Overheard { tail, batch }
        })
    }
}
