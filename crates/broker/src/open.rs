//! Opening: the journal is read once through the same `apply` that a restart always runs.

use crate::handle::{Reads, Shared};
use crate::lane::{Gate, Lane};
use crate::ring::Ring;
use crate::turn::{Batch, Condition, Turn};
use crate::turns::Turns;
use crate::{Clock, Handle, Meter, Settings, Storage, indexer};
use exchange::{Exchange, Record};
use journal::{
    Disk, Durability, Filler, Index, Journal, MemoryDisk, Options, Reader, RealDisk, Syncer,
};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::RecvTimeoutError;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc};

/// Why the exchange cannot start.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder cannot be used.
    #[error("the data folder {path}: {error}")]
    Folder {
        /// The folder.
        path: String,
        /// The system's reason.
        error: std::io::Error,
    },
    /// The journal cannot be opened.
    #[error("the journal: {0}")]
    Journal(#[from] journal::Error),
    /// A record that this version cannot read.
    #[error("journal record {sequence}: {what}")]
    Record {
        /// Its sequence.
        sequence: u64,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A thread cannot be started.
    #[error("a thread cannot be started: {0}")]
    Thread(std::io::Error),
}

/// The running exchange: the loop's thread and the index's.
#[derive(Debug)]
pub struct Broker {
    handle: Handle,
    turn: JoinHandle<()>,
    index: JoinHandle<()>,
    /// Dropped at the end; ends the threads that sync beside the appends and write ahead of them.
    helping: Vec<std::sync::mpsc::Sender<()>>,
}

impl Broker {
    /// Opens the journal, rebuilds the state and starts the loop; `lineage` is random bits that name
    /// a new journal.
    ///
    /// # Errors
    /// When the folder, the journal or a record cannot be read.
    pub fn open(settings: Settings, lineage: u64) -> Result<Self, OpenError> {
        let (disk, index_path): (Arc<dyn Disk>, _) = match &settings.storage {
            Storage::Folder(path) => {
                let folder = |error| OpenError::Folder {
                    path: path.display().to_string(),
                    error,
                };
                std::fs::create_dir_all(path).map_err(folder)?;
                let disk = RealDisk::open(path).map_err(folder)?;
                (Arc::new(disk), Some(path.join("index.sqlite")))
            }
            Storage::Memory => (Arc::new(MemoryDisk::default()), None),
        };
        Self::open_on(disk, index_path.as_deref(), settings, lineage)
    }

    /// As [`Self::open`], on any disk.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_on(
        disk: Arc<dyn Disk>,
        index_path: Option<&Path>,
        settings: Settings,
        lineage: u64,
    ) -> Result<Self, OpenError> {
        let is_in_memory = settings.storage == Storage::Memory;
        let opened = Opened::on(
            disk,
            index_path,
            settings,
            Clock::start(),
            lineage,
            Reads::Aside,
        )?;
        let Opened {
            handle,
            turn,
            index,
            index_ends,
        } = opened;
        let mut helping = Vec::new();
        if turn.settings.durability == Durability::Os {
            helping.push(sync_beside(turn.journal.syncer())?);
        }
        if !is_in_memory {
            helping.push(write_ahead(turn.journal.filler(), turn.reader.clone())?);
        }
        let turn = std::thread::Builder::new()
            .name("interwire-turn".into())
            .spawn(move || turn.run())
            .map_err(OpenError::Thread)?;
        let follower = Arc::clone(&handle.shared);
        let index = std::thread::Builder::new()
            .name("interwire-index".into())
            .spawn(move || indexer::run(&follower, index, &index_ends))
            .map_err(OpenError::Thread)?;
        Ok(Self {
            handle,
            turn,
            index,
            helping,
        })
    }

    /// The handle that doors clone.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Commits what is queued, stops the loop and waits for it.
    pub async fn close(self) {
        self.handle.close().await;
        drop(self.helping);
        let (turn, index) = (self.turn, self.index);
        let joined = tokio::task::spawn_blocking(move || (turn.join(), index.join())).await;
        if !matches!(joined, Ok((Ok(()), Ok(())))) {
            tracing::error!("a thread of the exchange ended badly");
        }
    }
}

/// Everything of an exchange, before any of it runs.
pub(crate) struct Opened {
    pub handle: Handle,
    pub turn: Turn,
    pub index: Index,
    /// Disconnected when the turn is gone.
    pub index_ends: std::sync::mpsc::Receiver<()>,
}

impl Opened {
    /// Opens the journal and rebuilds the state.
    pub(crate) fn on(
        disk: Arc<dyn Disk>,
        index_path: Option<&Path>,
        settings: Settings,
        clock: Clock,
        lineage: u64,
        reads: Reads,
    ) -> Result<Self, OpenError> {
        let options = Options {
            segment_bytes: settings.segment_bytes,
            durability: settings.durability,
            lineage,
            now_ms: clock.now().as_millis(),
        };
        let journal = Journal::open(disk, options)?;
        let reader = journal.reader();
        let mut exchange = rebuild(&reader, Exchange::new(settings.exchange.clone()))?;
        exchange.recovered(reader.range().1);
        let origin = reader.cursor(0);
        let index = Index::open(index_path, origin.lineage, origin.epoch)?;
        let (requests, queue) = mpsc::channel(settings.queue_max);
        let lane = Arc::new(Lane::common(&settings));
        let (alive, index_ends) = std::sync::mpsc::channel();
        let ring = Arc::new(Ring::new(journal.next_sequence(), settings.ring_bytes_max));
        let meter = Meter::default();
        let condition = Arc::new(Condition::default());
        let shared = Arc::new(Shared {
            clock: clock.clone(),
            reader: reader.clone(),
            ring: Arc::clone(&ring),
            meter: meter.clone(),
            condition: Arc::clone(&condition),
            requests,
            gate: Gate::new(settings.queue_max, settings.queue_bytes_max),
            lanes: AtomicU64::new(0),
            file_reads: Arc::new(Semaphore::new(file_reads())),
            readers: Arc::new(Semaphore::new(
                settings.readers_max.min(Semaphore::MAX_PERMITS),
            )),
            index: Mutex::new(index.reader()?),
            reads,
            settings: settings.clone(),
        });
        let turn = Turn {
            settings,
            clock,
            exchange,
            journal,
            reader,
            index: index.reader()?,
            ring,
            meter,
            condition,
            requests: queue,
            turns: Turns::default(),
            close: None,
            channels: HashMap::new(),
            parked: Default::default(),
            watchers: Default::default(),
            _alive: alive,
            batch: Batch::default(),
            unpark: std::task::Waker::noop().clone(),
        };
        Ok(Self {
            handle: Handle { shared, lane },
            turn,
            index,
            index_ends,
        })
    }
}

/// Reads of the file at once: enough to keep the disk busy, few enough to leave processors to others.
fn file_reads() -> usize {
    std::thread::available_parallelism().map_or(4, |count| (count.get() * 2).max(4))
}

/// With durability `os`: syncs about every second on a thread of its own, never in front of an append.
fn sync_beside(syncer: Syncer) -> Result<std::sync::mpsc::Sender<()>, OpenError> {
    let (alive, stopped) = std::sync::mpsc::channel::<()>();
    std::thread::Builder::new()
        .name("interwire-sync".into())
        .spawn(move || {
            while stopped.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                if let Err(error) = syncer.sync() {
                    tracing::error!(%error, "the journal cannot be synced");
                }
            }
        })
        .map_err(OpenError::Thread)?;
    Ok(alive)
}

/// While nothing is appended: writes ahead of the journal, a small step at a time, which makes the
/// commits that come later faster.
fn write_ahead(filler: Filler, reader: Reader) -> Result<std::sync::mpsc::Sender<()>, OpenError> {
    const STEP_EVERY: Duration = Duration::from_millis(20);
    const LOOK_EVERY: Duration = Duration::from_millis(500);
    let (alive, stopped) = std::sync::mpsc::channel::<()>();
    std::thread::Builder::new()
        .name("interwire-ahead".into())
        .spawn(move || {
            let (mut pause, mut seen) = (STEP_EVERY, reader.range().1);
            while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                let (_, last) = reader.range();
                let is_quiet = last == seen;
                seen = last;
                let has_more = is_quiet
                    && filler.step().unwrap_or_else(|error| {
                        // Told once: after an error the filler has nothing to do.
                        tracing::warn!(%error, "nothing is written ahead of the journal any more");
                        false
                    });
                pause = if has_more { STEP_EVERY } else { LOOK_EVERY };
            }
        })
        .map_err(OpenError::Thread)?;
    Ok(alive)
}

/// Folds the whole journal.
fn rebuild(reader: &Reader, mut exchange: Exchange) -> Result<Exchange, OpenError> {
    let (first, last) = reader.range();
    let mut position = first.saturating_sub(1);
    while position < last {
        let records = reader.read(position + 1, 8_192, 4 << 20)?;
        let Some(end) = records.last().map(|record| record.sequence) else {
            break;
        };
        for record in records {
            let sequence = record.sequence;
            if record.kind == journal::LOST {
                continue;
            }
            let record =
                Record::decode(record.kind, &record.body).map_err(|error| OpenError::Record {
                    sequence,
                    what: error.0,
                })?;
            exchange.apply(sequence, record);
        }
        position = end;
    }
    Ok(exchange)
}
