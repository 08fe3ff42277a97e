//! What the running exchange can be told. Every limit has a unit in its name.

use crate::schemas::{PayloadCheck, Schemas};
use journal::Durability;
use std::path::PathBuf;
use std::sync::Arc;

/// Where the journal lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Storage {
    /// A folder.
    Folder(PathBuf),
    /// Memory; gone with the process.
    Memory,
}

/// When old messages go. Without a limit nothing does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// The age after which a message may go, in milliseconds.
    pub age_ms: Option<u64>,
    /// Bytes of the journal beyond which its oldest messages may go.
    pub bytes: Option<u64>,
    /// Records of the journal beyond which its oldest messages may go.
    pub records: Option<u64>,
    /// What becomes of a message that is still owed to somebody.
    pub owed: Owed,
}

impl Retention {
    /// Whether anything may ever go.
    #[must_use]
    pub fn is_limited(&self) -> bool {
        self.age_ms.is_some() || self.bytes.is_some() || self.records.is_some()
    }
}

/// What becomes of a message that is still owed to somebody, or a dead letter, when it may go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Owed {
    /// It stays, and so does everything after it.
    #[default]
    Keep,
    /// Its deliveries end, with a record that says so, and it goes.
    Drop,
}

impl Owed {
    /// The word on every surface.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Drop => "drop",
        }
    }

    /// The reverse of [`Self::as_str`].
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Keep, Self::Drop]
            .into_iter()
            .find(|owed| owed.as_str() == word)
    }
}

/// Settings of the broker, already checked.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the journal lives.
    pub storage: Storage,
    /// What a receipt promises.
    pub durability: Durability,
    /// Bytes per journal segment.
    pub segment_bytes: u64,
    /// Publishes that may wait for the loop. A full queue is the backpressure.
    pub queue_max: usize,
    /// Bytes of publishes that may wait for the loop.
    pub queue_bytes_max: usize,
    /// Publishes of one connection that may wait for the loop.
    pub connection_queue_max: usize,
    /// Bytes of publishes of one connection that may wait for the loop.
    pub connection_queue_bytes_max: usize,
    /// Messages in one commit.
    pub batch_max: usize,
    /// Bytes in one commit.
    pub batch_bytes_max: usize,
    /// Bytes of recent messages kept in memory for live readers.
    pub ring_bytes_max: usize,
    /// Matches that a live channel remembers before a slow reader must read the file.
    pub channel_matches_max: usize,
    /// Live readers of all connections together.
    pub readers_max: usize,
    /// Messages that may wait for a best-effort reader before it is taken to the newest.
    pub best_effort_max: usize,
    /// Keys of messages, for knowing repeats, that are kept in memory before they go to files; up to
    /// four times as many while the disk is slow.
    pub dedupe_recent_max: usize,
    /// Bytes of memory for the filters of those files; beyond it filters are read from the files.
    pub dedupe_filter_bytes_max: u64,
    /// Records after which the state is written down again.
    pub checkpoint_every_records: u64,
    /// Milliseconds after which it is written down if anything changed.
    pub checkpoint_every_ms: u64,
    /// What is kept, and how long.
    pub retention: Retention,
    /// Start although the oldest records are gone and no checkpoint stands for them.
    pub allow_lost_state: bool,
    /// Milliseconds a publisher waits for a place in the queue before it is told to slow down.
    pub queue_wait_ms: u64,
    /// What is demanded of envelopes; its clock is set at each reading.
    pub rules: protocol::Rules,
    /// What is done about payloads that their schemas do not allow.
    pub payload_check: PayloadCheck,
    /// The intents that are known.
    pub schemas: Arc<Schemas>,
    /// Settings of the exchange itself.
    pub exchange: exchange::Settings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            storage: Storage::Memory,
            durability: Durability::Fsync,
            segment_bytes: 64 << 20,
            queue_max: 8_192,
            queue_bytes_max: 64 << 20,
            connection_queue_max: 1_024,
            connection_queue_bytes_max: 8 << 20,
            batch_max: 1_024,
            batch_bytes_max: 4 << 20,
            ring_bytes_max: 64 << 20,
            channel_matches_max: 65_536,
            readers_max: 65_536,
            best_effort_max: 256,
            dedupe_recent_max: 500_000,
            dedupe_filter_bytes_max: 64 << 20,
            checkpoint_every_records: 250_000,
            checkpoint_every_ms: 60_000,
            retention: Retention::default(),
            allow_lost_state: false,
            queue_wait_ms: 5_000,
            rules: protocol::Rules::at(protocol::Timestamp::default()),
            payload_check: PayloadCheck::default(),
            schemas: Arc::new(Schemas::standard().unwrap_or_default()),
            exchange: exchange::Settings::default(),
        }
    }
}
