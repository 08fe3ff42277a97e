//! The smallest honest client of each system: encode a publish, count acknowledgements and
//! deliveries. Hand-written so that no client library hides a server; all run on one thread.

use anyhow::{Context, Result, bail, ensure};
use broker::Durability;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// Marks the number of a message inside its bytes, so that a reader finds it without a parser.
pub const MARK: &[u8] = b"@@";
/// Digits of the number after the mark.
pub const DIGITS: usize = 12;

/// Which system a row is about, as far as bounds tell systems apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// An exchange of ours and what its receipts promise.
    Ours(Durability),
    /// JetStream that syncs before each acknowledgement.
    JetstreamAlways,
    /// JetStream as it comes: it acknowledges first and syncs every two minutes.
    JetstreamDefault,
    /// NATS without storage or acknowledgement.
    NatsCore,
    /// Redis Streams that sync before each acknowledgement.
    RedisAlways,
    /// A peer in another setting.
    Other,
}

impl System {
    /// Whether a publish is acknowledged at all.
    pub fn acknowledges(self) -> bool {
        self != Self::NatsCore
    }

    /// Whether an acknowledgement says that the disk has the message.
    pub fn syncs(self) -> bool {
        match self {
            Self::Ours(durability) => durability == Durability::Fsync,
            Self::JetstreamAlways | Self::RedisAlways => true,
            Self::JetstreamDefault | Self::NatsCore | Self::Other => false,
        }
    }
}

/// Numbers of one publishing connection; the first of lane `n` is `n` times as many.
pub const LANE: u64 = 1_000_000_000;

/// The lane of a connection that does not publish.
pub const READER: u64 = 1_000;

/// Stands for the number of a message that no measurement sent.
pub const UNNUMBERED: u64 = u64::MAX;

/// What one buffer of received bytes held.
#[derive(Debug, Default)]
pub struct Seen {
    /// Publishes acknowledged.
    pub acks: usize,
    /// Messages delivered; their numbers.
    pub deliveries: Vec<u64>,
    /// The reader was told that it has read everything that was there.
    pub is_caught_up: bool,
    /// Bytes used up.
    pub used: usize,
    /// To be sent back, such as a PONG or the next blocking read.
    pub answer: Vec<u8>,
}

/// One system under test.
pub trait Wire: Send + Sync {
    /// The name in the table, with its durability.
    fn name(&self) -> String;
    /// Which system it is, for the bounds.
    fn system(&self) -> System;
    /// `host:port`.
    fn address(&self) -> String;
    /// Bytes to send after connecting. `lane` tells connections of one run apart.
    fn hello(&self, run: &str, lane: u64) -> Vec<u8>;
    /// Reads the handshake's answer; bytes used, or none when more is needed.
    fn welcome(&self, bytes: &[u8]) -> Result<Option<usize>>;
    /// Bytes that make one publish of message `number`, whose lane is that of its connection.
    fn publish(&self, out: &mut Vec<u8>, run: &str, number: u64, size: usize);
    /// Bytes that make a live subscription of everything of this run.
    fn subscribe(&self, run: &str, reader: usize) -> Vec<u8>;
    /// Whether `bytes` hold the confirmation of the subscription; bytes used.
    fn subscribed(&self, bytes: &[u8]) -> Result<Option<usize>>;
    /// Parses what came.
    fn parse(&self, bytes: &[u8], run: &str) -> Result<Seen>;
    /// What readers use, where it is not what publishers use.
    fn reader(&self) -> Option<Arc<dyn Wire>> {
        None
    }
    /// What a durable consumer uses; none where there are no durable consumers. Its subscription opens
    /// the consumer, and parsing answers with acknowledgements.
    fn consumer(&self) -> Option<Arc<dyn Wire>> {
        None
    }
    /// Bytes that make the system forget this run, where it keeps every run in memory or where
    /// what it keeps slows later runs; one answer comes. Empty where there is no need.
    fn forget(&self, _run: &str) -> Vec<u8> {
        Vec::new()
    }
}

/// Lets the system forget a run that is over.
pub async fn forget(wire: &dyn Wire, run: &str) -> Result<()> {
    let bytes = wire.forget(run);
    if bytes.is_empty() {
        return Ok(());
    }
    let mut connection = Connection::open(wire, run, 0).await?;
    connection.send(&bytes).await?;
    connection.receive().await
}

/// A connection with its receive buffer.
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// The buffer may hold more than the answer that was waited for.
    is_unread: bool,
}

impl Connection {
    /// Connects and shakes hands.
    pub async fn open(wire: &dyn Wire, run: &str, lane: u64) -> Result<Self> {
        let address = wire.address();
        let stream = TcpStream::connect(&address)
            .await
            .with_context(|| address.clone())?;
        Self::begin(stream, 1 << 17, wire, run, lane).await
    }

    /// As [`Self::open`], on a connection that holds little of what is not read.
    pub async fn open_narrow(wire: &dyn Wire, run: &str, lane: u64) -> Result<Self> {
        let address = wire.address();
        let found = tokio::net::lookup_host(&address).await?.next();
        let found = found.with_context(|| address.clone())?;
        let socket = match found {
            std::net::SocketAddr::V4(_) => TcpSocket::new_v4()?,
            std::net::SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        socket.set_recv_buffer_size(16 << 10)?;
        let stream = socket.connect(found).await.with_context(|| address)?;
        Self::begin(stream, 4 << 10, wire, run, lane).await
    }

    async fn begin(
        stream: TcpStream,
        buffer_bytes: usize,
        wire: &dyn Wire,
        run: &str,
        lane: u64,
    ) -> Result<Self> {
        stream.set_nodelay(true)?;
        let mut connection = Self {
            stream,
            buffer: Vec::with_capacity(buffer_bytes),
            is_unread: false,
        };
        connection.send(&wire.hello(run, lane)).await?;
        loop {
            if let Some(used) = wire.welcome(&connection.buffer)? {
                connection.consume(used);
                connection.is_unread = !connection.buffer.is_empty();
                return Ok(connection);
            }
            connection.receive().await?;
        }
    }

    /// Subscribes and waits for the confirmation.
    pub async fn subscribe(&mut self, wire: &dyn Wire, run: &str, reader: usize) -> Result<()> {
        self.request(wire, &wire.subscribe(run, reader)).await
    }

    /// Sends a subscription of the caller's own and waits for the confirmation.
    pub async fn request(&mut self, wire: &dyn Wire, bytes: &[u8]) -> Result<()> {
        self.send(bytes).await?;
        loop {
            if let Some(used) = wire.subscribed(&self.buffer)? {
                self.consume(used);
                self.is_unread = !self.buffer.is_empty();
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

    fn consume(&mut self, used: usize) {
        self.buffer.drain(..used.min(self.buffer.len()));
    }

    /// Waits for bytes and parses them.
    pub async fn next(&mut self, wire: &dyn Wire, run: &str) -> Result<Seen> {
        if !std::mem::take(&mut self.is_unread) {
            self.receive().await?;
        }
        let seen = wire.parse(&self.buffer, run)?;
        self.consume(seen.used);
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

    /// How many were noted.
    pub fn len(&self) -> usize {
        self.0.len()
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

/// Where `what` begins.
pub fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests {
    use super::{Latencies, envelope, find, number_in};
    use protocol::{Rules, Timestamp};

    #[test]
    fn the_envelope_is_valid_has_the_asked_size_and_carries_its_number() {
        let mut bytes = Vec::new();
        envelope(&mut bytes, "r1", 42, 1_024);
        assert_eq!((bytes.len(), number_in(&bytes)), (1_024, Some(42)));
        let now = Timestamp::from_millis(1_796_054_400_000);
        assert!(protocol::decode(&bytes, &Rules::at(now)).is_valid());
    }

    #[test]
    fn a_number_that_is_cut_off_is_no_number() {
        assert_eq!(number_in(b"@@00000000001"), None);
        assert_eq!(number_in(b"no mark"), None);
        assert_eq!(number_in(b"@@00000000000x"), None);
        assert_eq!(find(b"abcd", b"cd"), Some(2));
    }

    #[test]
    fn percentiles_are_values_that_were_seen() {
        let mut latencies = Latencies((1..=100).rev().collect());
        assert_eq!(latencies.percentile(0.0), 1.0);
        assert_eq!(latencies.percentile(0.99), 99.0);
        assert_eq!(latencies.percentile(1.0), 100.0);
        assert!(Latencies::default().percentile(0.5).is_nan());
    }
}
