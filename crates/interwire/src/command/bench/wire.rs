//! The smallest honest client of each system: encode a publish, count acknowledgements and
//! deliveries. Hand-written so that no client library hides a server; all run on one thread.

use anyhow::{Context, Result, bail, ensure};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Marks the number of a message inside its bytes, so that a reader finds it without a parser.
pub const MARK: &[u8] = b"@@";
/// Digits of the number after the mark.
pub const DIGITS: usize = 12;

/// What one buffer of received bytes held.
#[derive(Debug, Default)]
pub struct Seen {
    /// Publishes acknowledged.
    pub acks: usize,
    /// Messages delivered; their numbers.
    pub deliveries: Vec<u64>,
    /// Bytes used up.
    pub used: usize,
    /// To be sent back, such as a PONG or the next blocking read.
    pub answer: Vec<u8>,
}

/// One system under test.
pub trait Wire: Send + Sync {
    /// The name in the table, with its durability.
    fn name(&self) -> String;
    /// `host:port`.
    fn address(&self) -> String;
    /// Bytes to send after connecting, and how many acknowledgement-like replies to swallow.
    fn hello(&self, run: &str) -> Vec<u8>;
    /// Reads the handshake's answer; bytes used, or none when more is needed.
    fn welcome(&self, bytes: &[u8]) -> Result<Option<usize>>;
    /// Bytes that make one publish of message `number`.
    fn publish(&self, out: &mut Vec<u8>, run: &str, number: u64, size: usize);
    /// Bytes that make a live subscription of everything of this run.
    fn subscribe(&self, run: &str, reader: usize) -> Vec<u8>;
    /// Whether `bytes` hold the confirmation of the subscription; bytes used.
    fn subscribed(&self, bytes: &[u8]) -> Result<Option<usize>>;
    /// Parses what came.
    fn parse(&self, bytes: &[u8], run: &str) -> Result<Seen>;
}

/// A connection with its receive buffer.
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    /// Connects and shakes hands.
    pub async fn open(wire: &dyn Wire, run: &str) -> Result<Self> {
        let address = wire.address();
        let stream = TcpStream::connect(&address)
            .await
            .with_context(|| address.clone())?;
        stream.set_nodelay(true)?;
        let mut connection = Self {
            stream,
            buffer: Vec::with_capacity(1 << 17),
        };
        connection.send(&wire.hello(run)).await?;
        loop {
            if let Some(used) = wire.welcome(&connection.buffer)? {
                connection.buffer.drain(..used);
                return Ok(connection);
            }
            connection.receive().await?;
        }
    }

    /// Subscribes and waits for the confirmation.
    pub async fn subscribe(&mut self, wire: &dyn Wire, run: &str, reader: usize) -> Result<()> {
        self.send(&wire.subscribe(run, reader)).await?;
        loop {
            if let Some(used) = wire.subscribed(&self.buffer)? {
                self.buffer.drain(..used);
                return Ok(());
            }
            self.receive().await?;
        }
    }

    /// Sends everything.
    pub async fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream
            .write_all(bytes)
            .await
            .context("the peer closed while we sent")
    }

    async fn receive(&mut self) -> Result<()> {
        let count = tokio::time::timeout(
            Duration::from_secs(60),
            self.stream.read_buf(&mut self.buffer),
        )
        .await
        .context("no answer for 60 s")??;
        ensure!(count > 0, "the peer closed the connection");
        Ok(())
    }

    /// Waits for bytes and parses them.
    pub async fn next(&mut self, wire: &dyn Wire, run: &str) -> Result<Seen> {
        self.receive().await?;
        let seen = wire.parse(&self.buffer, run)?;
        self.buffer.drain(..seen.used);
        if !seen.answer.is_empty() {
            let answer = seen.answer.clone();
            self.send(&answer).await?;
        }
        Ok(seen)
    }
}

/// The number after the mark, if the bytes hold one.
pub fn number_in(bytes: &[u8]) -> Option<u64> {
    let at = bytes
        .windows(MARK.len())
        .position(|window| window == MARK)?
        + MARK.len();
    let digits = std::str::from_utf8(bytes.get(at..at + DIGITS)?).ok()?;
    digits.parse().ok()
}

/// A 1 KiB-class AEP event about nothing: what every system carries.
pub fn envelope(out: &mut Vec<u8>, run: &str, number: u64, size: usize) {
    let start = out.len();
    let head = format!(
        "{{\"spec_version\":\"0.2\",\"id\":\"evt_{run}_{number:012}\",\"type\":\"environment.observed\",\
         \"source\":\"agent:bench_{run}\",\"topic\":\"bench.{run}\",\
         \"created_at\":\"2026-11-30T16:00:00.000Z\",\"conversation_id\":\"conv_{run}\",\
         \"correlation_id\":\"cor_{run}\",\"payload\":{{\"mark\":\"@@{number:012}\",\"unit\":\"celsius\",\
         \"values\":[20.5,20.75,21,21.25],\"text\":\""
    );
    out.extend_from_slice(head.as_bytes());
    let fill = size.saturating_sub(out.len() - start + 3);
    out.resize(out.len() + fill, b'x');
    out.extend_from_slice(b"\"}}");
}

/// Fails with the peer's own words.
pub fn refuse(bytes: &[u8]) -> Result<()> {
    let text = String::from_utf8_lossy(bytes.get(..bytes.len().min(300)).unwrap_or_default());
    bail!("the peer answered: {text}")
}

/// Latencies in microseconds, for percentiles.
#[derive(Debug, Default)]
pub struct Latencies(Vec<u32>);

impl Latencies {
    /// Notes the time since `start`.
    pub fn note(&mut self, start: Instant) {
        self.0
            .push(u32::try_from(start.elapsed().as_micros()).unwrap_or(u32::MAX));
    }

    /// Adds another set.
    pub fn merge(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The value below which `share` of all lie, in microseconds.
    pub fn percentile(&mut self, share: f64) -> f64 {
        if self.0.is_empty() {
            return f64::NAN;
        }
        self.0.sort_unstable();
        let at = ((self.0.len() - 1) as f64 * share).round() as usize;
        self.0.get(at).copied().map_or(f64::NAN, f64::from)
    }
}
