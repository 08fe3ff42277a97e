//! What doors hold: every request to the running exchange.

use crate::find::{self, Found, From};
use crate::gap::{Follow, OnGap};
use crate::lane::{Gate, Lane};
use crate::request::{Queued, Request};
use crate::ring::Ring;
use crate::turn::{Condition, storage_failed};
use crate::{Clock, Entry, Meter, Settings, Tail};
use journal::{Index, Reader};
use parking_lot::Mutex;
use protocol::{Code, Fault, Filter, Party, Rejection, Rules, Timestamp};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};

/// What the loop, the readers and the handles have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    pub settings: Settings,
    pub clock: Clock,
    pub reader: Reader,
    pub ring: Arc<Ring>,
    pub meter: Meter,
    pub condition: Arc<Condition>,
    pub requests: mpsc::Sender<Queued>,
    /// What of everybody waits for the loop.
    pub gate: Gate,
    /// Numbers of lanes that were given out.
    pub lanes: AtomicU64,
    /// Reads of the file under way for everybody.
    pub file_reads: Arc<Semaphore>,
    /// Live readers that may still come.
    pub readers: Arc<Semaphore>,
    pub index: Mutex<Index>,
    pub reads: Reads,
    /// Places for traces, which may take much memory.
    pub traces: Semaphore,
    /// Counts changes of durable subscriptions.
    pub subscriptions: watch::Sender<u64>,
    /// What was agreed with whom in UAI-1.
    pub agreements: Mutex<protocol::dialect::uai::negotiate::Agreements>,
}

/// Where the file is read for a caller who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reads {
    /// On the runtime's threads for such work, so that no other task waits for the disk.
    Aside,
    /// On the caller's thread, so that a run repeats exactly.
    InPlace,
}

impl Shared {
    /// Runs something that reads the file.
    pub(crate) async fn aside<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> Result<T, Rejection> + Send + 'static,
    ) -> Result<T, Rejection> {
        match self.reads {
            Reads::InPlace => read(),
            Reads::Aside => tokio::task::spawn_blocking(read)
                .await
                .map_err(|_| crate::tail::unreadable())?,
        }
    }
}

/// A cheap handle to the running exchange. What is asked through one handle and its clones is handled
/// in that order.
#[derive(Clone, Debug)]
pub struct Handle {
    pub(crate) shared: Arc<Shared>,
    pub(crate) lane: Arc<Lane>,
    /// The subscription that leads to where what is published through this handle came from.
    pub(crate) origin: Option<Arc<str>>,
}

impl Handle {
    /// A handle for one connection, with a share of the queue of its own: whatever the connection
    /// asks, others have their turn.
    #[must_use]
    pub fn connection(&self) -> Self {
        let lane = Lane::next(&self.shared.lanes, &self.shared.settings);
        Self {
            shared: Arc::clone(&self.shared),
            lane: Arc::new(lane),
            origin: None,
        }
    }

    /// A handle as [`Self::connection`] gives, for messages that come from where the subscription
    /// `origin` leads, such as another message broker: they are not put into that subscription.
    #[must_use]
    pub fn connection_from(&self, origin: &str) -> Self {
        let mut handle = self.connection();
        handle.origin = Some(origin.into());
        handle
    }

    /// The rules for reading an envelope now.
    #[must_use]
    pub fn rules(&self) -> Rules {
        Rules {
            now: self.now(),
            ..self.shared.settings.rules.clone()
        }
    }

    /// The exchange's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }

    /// The settings in force.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    /// The meter, to register and to read.
    #[must_use]
    pub fn meter(&self) -> &Meter {
        &self.shared.meter
    }

    /// A live reader of everything that passes `filter`, beginning at `from`.
    ///
    /// # Errors
    /// `cursor_unknown`, `cursor_foreign`, `cursor_epoch_changed`; `overloaded` when there are too
    /// many readers.
    pub async fn tail(&self, filter: Filter, from: &From) -> Result<Tail, Rejection> {
        self.follow(filter, from, Follow::default()).await
    }

    /// As [`Self::tail`], with a say in what happens when it cannot have everything.
    ///
    /// # Errors
    /// As [`Self::tail`], and `cursor_expired` when it shall end at a gap.
    pub async fn follow(
        &self,
        filter: Filter,
        from: &From,
        follow: Follow,
    ) -> Result<Tail, Rejection> {
        let shared = &self.shared;
        let one_of_all = Arc::clone(&shared.readers).try_acquire_owned();
        let one_of_all = one_of_all.map_err(|_| too_many_readers(shared.settings.readers_max))?;
        let start = match from {
            From::Latest => None,
            From::Earliest | From::Cursor(_) | From::Time(_) => {
                Some(self.position(from, follow.on_gap).await?)
            }
        };
        let (reply, answer) = oneshot::channel();
        self.ask(Request::Listen { filter, reply }).await?;
        let (channel, now) = answer.await.map_err(|_| crate::serve::draining())?;
        Ok(Tail::new(
            Arc::clone(shared),
            Arc::clone(&self.lane),
            channel,
            start.unwrap_or(now),
            follow,
            one_of_all,
        ))
    }

    /// The sequence after which a reader that begins at `from` starts.
    ///
    /// # Errors
    /// As [`Self::tail`].
    pub async fn position(&self, from: &From, on_gap: OnGap) -> Result<u64, Rejection> {
        let (shared, from) = (Arc::clone(&self.shared), from.clone());
        let find = move || shared.position(&from, on_gap);
        find::in_turn(&self.shared, &self.lane, find).await
    }

    /// The message with this id, from `sender` if several used it.
    ///
    /// # Errors
    /// `not_found`, `ambiguous_id`.
    pub async fn find(&self, id: &str, sender: Option<Party>) -> Result<Arc<Entry>, Rejection> {
        let (shared, id) = (Arc::clone(&self.shared), id.to_owned());
        let find = move || {
            let found: Found = shared.by_id(&id)?;
            find::only_one(&id, sender.as_ref(), found)
        };
        self.shared.aside(find).await
    }

    /// Every message of that id, by any sender.
    ///
    /// # Errors
    /// `storage_failed` when the journal cannot be read.
    pub async fn all_of_id(&self, id: &str) -> Result<Found, Rejection> {
        let (shared, id) = (Arc::clone(&self.shared), id.to_owned());
        self.shared.aside(move || shared.by_id(&id)).await
    }

    /// Journal records that are not yet in the look-up index.
    #[must_use]
    pub fn index_lag(&self) -> u64 {
        let applied = self.shared.index.lock().applied();
        self.shared.reader.range().1.saturating_sub(applied)
    }

    /// The cursor of a message.
    #[must_use]
    pub fn cursor(&self, entry: &Entry) -> journal::Cursor {
        self.shared.reader.cursor(entry.sequence)
    }

    /// The cursor of the newest durable record.
    #[must_use]
    pub fn head(&self) -> journal::Cursor {
        let (_, last) = self.shared.reader.range();
        self.shared.reader.cursor(last)
    }

    /// Whether writes are taken: neither draining nor failed.
    ///
    /// # Errors
    /// Why not.
    pub fn readiness(&self) -> Result<(), Rejection> {
        if self.shared.condition.storage_failed.load(Ordering::Acquire) {
            return Err(storage_failed());
        }
        if self.shared.condition.draining.load(Ordering::Acquire) {
            return Err(crate::serve::draining());
        }
        Ok(())
    }

    /// Refuses new publishes from now on; what is queued is still committed and answered.
    pub fn drain(&self) {
        self.shared
            .condition
            .draining
            .store(true, Ordering::Release);
    }

    /// Commits what is queued and stops the loop.
    pub async fn close(&self) {
        self.drain();
        let (reply, answer) = oneshot::channel();
        if self.ask(Request::Close { reply }).await.is_ok() {
            drop(answer.await);
        }
    }

    pub(crate) async fn ask(&self, request: Request) -> Result<(), Rejection> {
        let lane = self.lane.number;
        self.shared
            .requests
            .send(Queued { lane, request })
            .await
            .map_err(|_| crate::serve::draining())
    }
}

fn too_many_readers(max: usize) -> Rejection {
    let detail = format!("expected at most {max} live readers, got one more; try again later");
    Fault::new(Code::Overloaded, "", "ARCHITECTURE limits", detail).into()
}
