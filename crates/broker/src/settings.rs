//! What the running exchange can be told. Every limit has a unit in its name.

use journal::Durability;
use std::path::PathBuf;

/// Where the journal lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Storage {
    /// A folder.
    Folder(PathBuf),
    /// Memory; gone with the process.
    Memory,
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
    /// Milliseconds a publisher waits for a place in the queue before it is told to slow down.
    pub queue_wait_ms: u64,
    /// What is demanded of envelopes; its clock is set at each reading.
    pub rules: protocol::Rules,
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
            queue_wait_ms: 5_000,
            rules: protocol::Rules::at(protocol::Timestamp::default()),
            exchange: exchange::Settings::default(),
        }
    }
}
