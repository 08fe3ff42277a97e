//! Opening: the newest checkpoint and the records after it, through the same `apply` that live records
//! go through.

use crate::checkpointer::Checkpointer;
use crate::handle::{Reads, Shared};
use crate::lane::{Gate, Lane};
use crate::retention::Retainer;
use crate::ring::Ring;
use crate::turn::{Batch, Condition, Turn};
use crate::turns::Turns;
use crate::{Clock, Handle, Meter, Settings, Storage, indexer, keys, resume};
use exchange::{Exchange, FrozenKeys};
use journal::{
    Checkpoints, Disk, Durability, Filler, Index, Journal, Keys, MemoryDisk, Options, Reader,
    RealDisk, Syncer,
};
use parking_lot::Mutex;
use protocol::Timestamp;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::RecvTimeoutError;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, mpsc};

/// Traces that are made at the same time.
const TRACES_MAX: usize = 2;

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
    /// The oldest records were dropped, and nothing stands for them.
    #[error(
        "the journal begins at record {first} and no checkpoint can be read: subscriptions, settings of places and \
         what was owed before that are lost; restore a backup, or set allow_lost_state to start with what the records tell"
    )]
    LostState {
        /// The first record that is kept.
        first: u64,
    },
    /// A thread cannot be started.
    #[error("a thread cannot be started: {0}")]
    Thread(std::io::Error),
}

/// The running exchange: the loop's thread and those that work behind it.
#[derive(Debug)]
pub struct Broker {
    handle: Handle,
    /// The loop's first; all end with it.
    threads: Vec<JoinHandle<()>>,
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
                (Arc::new(disk), Some(crate::index_path(path)))
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
            mut turn,
            index,
            keys,
            frozen,
            checkpoints,
            checkpoint,
        } = opened;
        let shared = &handle.shared;
        let mut helping = Vec::new();
        if turn.settings.durability == Durability::Os {
            helping.push(sync_beside(turn.journal.syncer())?);
        }
        if turn.settings.storage != Storage::Memory {
            helping.push(write_ahead(turn.journal.filler(), turn.reader.clone())?);
        }
        let mut threads = Vec::new();
        if turn.settings.retention.is_limited() {
            let retainer = Retainer {
                shared: Arc::clone(shared),
                retention: turn.journal.retention(),
                checkpoints: checkpoints.clone(),
            };
            let ended = turn.tell_end();
            threads.push(spawn("interwire-retain", move || retainer.run(&ended))?);
        }
        let sealing = (Arc::clone(&keys), turn.journal.syncer());
        threads.push(spawn("interwire-keys", move || {
            keys::seal_beside(&sealing.0, &sealing.1, &frozen);
        })?);
        let checkpointer = Checkpointer {
            reader: turn.reader.clone(),
            checkpoints,
            keys,
            settings: turn.settings.exchange.clone(),
            every_records: turn.settings.checkpoint_every_records,
            every: Duration::from_millis(turn.settings.checkpoint_every_ms),
            meter: turn.meter.clone(),
        };
        let (follower, index_ends) = (Arc::clone(shared), turn.tell_end());
        let checkpointer_ends = turn.tell_end();
        threads.insert(0, spawn("interwire-turn", move || turn.run())?);
        threads.push(spawn("interwire-index", move || {
            indexer::run(&follower, index, &index_ends);
        })?);
        threads.push(spawn("interwire-checkpoint", move || {
            checkpointer.run(checkpoint, &checkpointer_ends);
        })?);
        Ok(Self {
            handle,
            threads,
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
        let threads = self.threads;
        let join = move || threads.into_iter().all(|thread| thread.join().is_ok());
        if !matches!(tokio::task::spawn_blocking(join).await, Ok(true)) {
            tracing::error!("a thread of the exchange ended badly");
        }
    }
}

/// Everything of an exchange, before any of it runs.
pub(crate) struct Opened {
    pub handle: Handle,
    pub turn: Turn,
    pub index: Index,
    pub keys: Arc<Keys>,
    /// Keys that the turn wants stored; disconnected when it is gone.
    pub frozen: std::sync::mpsc::Receiver<Arc<FrozenKeys>>,
    /// Absent where nothing survives the process.
    pub checkpoints: Option<Checkpoints>,
    /// The newest of them.
    pub checkpoint: u64,
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
        let journal = Journal::open(Arc::clone(&disk), options)?;
        let reader = journal.reader();
        let recent_max = settings.dedupe_recent_max;
        let filter_bytes_max = settings.dedupe_filter_bytes_max;
        let keys = Arc::new(keys::open(disk, &reader, recent_max, filter_bytes_max)?);
        let is_durable = settings.storage != Storage::Memory;
        let checkpoints = is_durable.then(|| journal.checkpoints());
        let now = clock.now();
        let (exchange, checkpoint) = rebuild(&reader, checkpoints.as_ref(), &keys, &settings, now)?;
        let origin = reader.cursor(0);
        let index = Index::open(index_path, origin.lineage, origin.epoch)?;
        let (requests, queue) = mpsc::channel(settings.queue_max);
        let lane = Arc::new(Lane::common(&settings));
        let (sealing, frozen) = std::sync::mpsc::channel();
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
            traces: Semaphore::new(TRACES_MAX),
            subscriptions: tokio::sync::watch::Sender::new(0),
            agreements: Mutex::default(),
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
            keys: keys.reader(),
            sealing,
            alive: Vec::new(),
            batch: Batch::default(),
            unpark: std::task::Waker::noop().clone(),
        };
        Ok(Self {
            handle: Handle {
                shared,
                lane,
                origin: None,
            },
            turn,
            index,
            keys,
            frozen,
            checkpoints,
            checkpoint,
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

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, OpenError> {
    std::thread::Builder::new()
        .name(name.into())
        .spawn(work)
        .map_err(OpenError::Thread)
}

/// The state at the end of the journal, and the sequence of the newest checkpoint.
fn rebuild(
    reader: &Reader,
    checkpoints: Option<&Checkpoints>,
    keys: &Keys,
    settings: &Settings,
    now: Timestamp,
) -> Result<(Exchange, u64), OpenError> {
    let start = Instant::now();
    let (first, last) = reader.range();
    let found = match checkpoints {
        Some(checkpoints) => resume::newest(checkpoints, reader, &settings.exchange)?,
        None => None,
    };
    let checkpoint = found.as_ref().map(|(_, sequence)| *sequence);
    if checkpoint.is_none() && first > 1 {
        if !settings.allow_lost_state {
            return Err(OpenError::LostState { first });
        }
        tracing::warn!(first, "the state before the first record is lost");
    }
    let from = checkpoint.unwrap_or(first - 1);
    let mut exchange = match found {
        Some((exchange, _)) => exchange,
        None => Exchange::new(settings.exchange.clone()),
    };
    let recent_max = settings.dedupe_recent_max;
    let missing = keys.missing(first, exchange.keys_covered());
    keys::restore(keys, reader, missing, recent_max)?;
    let stored = keys.reader();
    exchange.keep_from(first);
    exchange.forget_keys(stored.covered(first));
    resume::records(reader, from, last, |sequence, record| {
        exchange.apply(sequence, record);
        if exchange.recent_keys() >= recent_max {
            keys::seal(keys, &exchange.freeze_keys(sequence))?;
            exchange.forget_keys(stored.covered(first));
        }
        Ok(())
    })?;
    exchange.start_at(now);
    let read = last.saturating_sub(from);
    let mut newest = from;
    // Nothing but a checkpoint can stand for records that are gone; and the next start should be short
    // also if this process does not live long.
    let is_due = read >= settings.checkpoint_every_records || checkpoint.is_none() && first > 1;
    if let Some(checkpoints) = checkpoints.filter(|_| is_due) {
        match checkpoints.write(last, &exchange.snapshot()) {
            Ok(()) => newest = last,
            Err(error) => tracing::warn!(%error, "no checkpoint could be written"),
        }
    }
    exchange.look_for_older_keys_with(keys::older(stored));
    exchange.recovered(now, last);
    let ms = start.elapsed().as_millis() as u64;
    match checkpoint {
        Some(sequence) => {
            tracing::info!(checkpoint = sequence, records = read, ms, "state restored");
        }
        None => tracing::info!(records = read, ms, "state rebuilt from the whole journal"),
    }
    Ok((exchange, newest))
}
