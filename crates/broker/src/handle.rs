//! What doors hold: every request to the running exchange.

use crate::find::{self, Found, From, Page};
use crate::request::Request;
use crate::ring::Ring;
use crate::turn::{Condition, storage_failed};
use crate::{Clock, Entry, Meter, Settings, Tail};
use journal::{Index, Reader};
use parking_lot::Mutex;
use protocol::{Filter, Party, Rejection, Rules, Timestamp};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::{Semaphore, mpsc, oneshot};

/// What the loop, the readers and the handles have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    pub settings: Settings,
    pub clock: Clock,
    pub reader: Reader,
    pub ring: Arc<Ring>,
    pub meter: Meter,
    pub condition: Arc<Condition>,
    pub requests: mpsc::Sender<Request>,
    pub queue_bytes: Arc<Semaphore>,
    pub index: Mutex<Index>,
}

impl Shared {
    pub(crate) fn index_by_id(&self, id: &str) -> Result<(Vec<u64>, u64), Rejection> {
        let index = self.index.lock();
        // Read `applied` first: rows that arrive in between are then looked up twice, not missed.
        let applied = index.applied();
        let rows = index.by_id(id).map_err(|error| {
            tracing::error!(%error, "the index cannot be read");
            storage_failed()
        })?;
        let sequences = rows
            .into_iter()
            .map(|row| row.sequence)
            .filter(|at| *at <= applied);
        Ok((sequences.collect(), applied))
    }
}

/// A cheap handle to the running exchange.
#[derive(Clone, Debug)]
pub struct Handle {
    pub(crate) shared: Arc<Shared>,
}

impl Handle {
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
    /// `cursor_unknown`, `cursor_foreign`, `cursor_epoch_changed`, `cursor_expired`.
    pub async fn tail(&self, filter: Filter, from: &From) -> Result<Tail, Rejection> {
        let start = match from {
            From::Latest => None,
            From::Earliest | From::Cursor(_) | From::Time(_) => Some(self.position(from).await?),
        };
        let (reply, answer) = oneshot::channel();
        self.ask(Request::Listen { filter, reply }).await?;
        let (channel, now) = answer.await.map_err(|_| crate::serve::draining())?;
        Ok(Tail::new(
            Arc::clone(&self.shared),
            channel,
            start.unwrap_or(now),
        ))
    }

    pub(crate) async fn position(&self, from: &From) -> Result<u64, Rejection> {
        let (shared, from) = (Arc::clone(&self.shared), from.clone());
        tokio::task::spawn_blocking(move || shared.position(&from))
            .await
            .map_err(|_| crate::tail::unreadable())?
    }

    /// A page of messages that pass `filter`, at most `limit`, beginning at `from`.
    ///
    /// # Errors
    /// As [`Self::tail`].
    pub async fn page(&self, filter: Filter, from: From, limit: usize) -> Result<Page, Rejection> {
        let shared = Arc::clone(&self.shared);
        tokio::task::spawn_blocking(move || {
            let start = shared.position(&from)?;
            let (_, last) = shared.reader.range();
            let (mut entries, mut position) = (Vec::new(), start);
            while entries.len() < limit && position < last {
                let rest = limit - entries.len();
                let scanned = find::scan(&shared.reader, &filter, position + 1, last, rest)?;
                if scanned.position == position {
                    break;
                }
                position = scanned.position;
                entries.extend(scanned.entries);
            }
            Ok(Page {
                next: shared.reader.cursor(position),
                is_last: position >= last,
                entries,
            })
        })
        .await
        .map_err(|_| crate::tail::unreadable())?
    }

    /// The message with this id, from `sender` if several used it.
    ///
    /// # Errors
    /// `not_found`, `ambiguous_id`.
    pub async fn find(&self, id: &str, sender: Option<Party>) -> Result<Arc<Entry>, Rejection> {
        let (shared, id) = (Arc::clone(&self.shared), id.to_owned());
        tokio::task::spawn_blocking(move || {
            let found: Found = shared.by_id(&id)?;
            find::only_one(&id, sender.as_ref(), found)
        })
        .await
        .map_err(|_| crate::tail::unreadable())?
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
        self.shared
            .requests
            .send(request)
            .await
            .map_err(|_| crate::serve::draining())
    }
}
