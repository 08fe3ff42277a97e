//! A live reader by cursor: file first, then memory, then whatever comes, without a gap between.

use crate::channel::{Channel, Next};
use crate::handle::Shared;
use crate::request::Request;
use crate::{Entry, find};
use protocol::{Code, Fault, Filter, Rejection};
use std::sync::Arc;
use tokio::sync::watch;

/// What one step of a reader gives.
#[derive(Debug)]
pub struct Batch {
    /// The next messages, in journal order. May be empty when only `caught_up` is news.
    pub entries: Vec<Arc<Entry>>,
    /// True once: everything that was there when the reader came has been read.
    pub caught_up: bool,
}

/// A reader of everything that passes a filter, from a place in the journal on, for ever.
///
/// It holds a position, not messages: a reader that stops pulling costs nothing.
#[derive(Debug)]
pub struct Tail {
    shared: Arc<Shared>,
    channel: Arc<Channel>,
    turn: watch::Receiver<u64>,
    /// The last sequence this reader has seen or passed.
    position: u64,
    was_caught_up: bool,
}

impl Tail {
    pub(crate) fn new(shared: Arc<Shared>, channel: Arc<Channel>, position: u64) -> Self {
        let turn = channel.watch();
        Self {
            shared,
            channel,
            turn,
            position,
            was_caught_up: false,
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

    /// The next messages, at most `max`; waits until there is something to tell.
    ///
    /// Cancelling the wait loses nothing.
    ///
    /// # Errors
    /// `storage_failed` when the file cannot be read.
    pub async fn next(&mut self, max: usize) -> Result<Batch, Rejection> {
        loop {
            self.turn.borrow_and_update();
            match self.channel.after(self.position, max) {
                Next::ReadFile { until } => {
                    let entries = self.read_file(until, max).await?;
                    if !entries.is_empty() {
                        return Ok(Batch {
                            entries,
                            caught_up: false,
                        });
                    }
                }
                Next::Matches(sequences) if sequences.is_empty() => {
                    if !self.was_caught_up {
                        self.was_caught_up = true;
                        return Ok(Batch {
                            entries: Vec::new(),
                            caught_up: true,
                        });
                    }
                    if self.turn.changed().await.is_err() {
                        return Err(crate::serve::draining());
                    }
                }
                Next::Matches(sequences) => {
                    let entries = self.fetch(&sequences).await?;
                    if let Some(last) = entries.last() {
                        self.position = last.sequence;
                        return Ok(Batch {
                            entries,
                            caught_up: false,
                        });
                    }
                }
            }
        }
    }

    /// The messages at known positions, from memory or else from the file.
    async fn fetch(&mut self, sequences: &[u64]) -> Result<Vec<Arc<Entry>>, Rejection> {
        let mut entries = Vec::with_capacity(sequences.len());
        self.shared.ring.get(sequences, &mut entries);
        if entries.is_empty()
            && let (Some(first), Some(last)) = (sequences.first(), sequences.last())
        {
            self.position = first - 1;
            return self.read_file(*last, sequences.len()).await;
        }
        Ok(entries)
    }

    /// Moves through the file towards `until`; stops early with something to give.
    async fn read_file(&mut self, until: u64, max: usize) -> Result<Vec<Arc<Entry>>, Rejection> {
        self.shared.meter.lagging_reads.inc();
        let shared = Arc::clone(&self.shared);
        let filter = self.channel.filter.clone();
        let from = self.position + 1;
        let scan = tokio::task::spawn_blocking(move || {
            find::scan(&shared.reader, &filter, from, until, max)
        });
        let scanned = scan.await.map_err(|_| unreadable())??;
        self.position = scanned.position.max(self.position);
        Ok(scanned.entries)
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        let requests = self.shared.requests.clone();
        let id = self.channel.id;
        if let Err(full) = requests.try_send(Request::Unlisten(id))
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            // The queue was full: leave as soon as there is room.
            let request = full.into_inner();
            runtime.spawn(async move { drop(requests.send(request).await) });
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
