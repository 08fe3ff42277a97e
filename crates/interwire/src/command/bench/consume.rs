//! Durable consumption: everything is handed to one consumer that acknowledges each message.
//!
//! Two situations: a backlog that was there before the consumer came, and a publisher that goes on
//! beside it. What is counted is what the consumer has taken; its acknowledgements are on their way
//! and not waited for, as good consumers of every system do it.

mod nats;
mod ours;
mod redis;

pub use nats::NatsConsumer;
pub use ours::OursConsumer;
pub use redis::RedisConsumer;

use super::wire::{Connection, READER, Wire};
use super::{Arguments, publish};
use anyhow::{Context as _, Result, anyhow, ensure};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Deliveries that the consumer asks for at once.
pub const BATCH: usize = 256;
/// Publishes in flight.
const IN_FLIGHT: usize = 256;
/// The longest wait for the last deliveries.
const PATIENCE: Duration = Duration::from_secs(60);

/// When the publisher publishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Situation {
    /// Before the consumer comes.
    Backlog,
    /// While it consumes.
    Live,
}

/// Messages consumed per second.
pub async fn run(
    arguments: &Arguments,
    wire: &Arc<dyn Wire>,
    run: &str,
    situation: Situation,
    time: Duration,
) -> Result<f64> {
    let consumer = wire
        .consumer()
        .with_context(|| format!("{} has no durable consumers", wire.name()))?;
    prepare(arguments, wire.as_ref(), consumer.as_ref(), run).await?;
    let total = Arc::new(AtomicU64::new(u64::MAX));
    let is_reading = Arc::new(AtomicBool::new(false));
    let size = arguments.bytes;
    let publishing = publish::run(wire.as_ref(), run, IN_FLIGHT, 1, size, time);
    match situation {
        Situation::Backlog => {
            let published = publishing.await?.count;
            total.store(published as u64, Ordering::Release);
            let (count, start, end) = consume(consumer, run, &total, &is_reading).await?;
            Ok(count as f64 / (end - start).as_secs_f64())
        }
        Situation::Live => {
            let reading = tokio::spawn({
                let (run, total) = (run.to_owned(), Arc::clone(&total));
                let is_reading = Arc::clone(&is_reading);
                async move { consume(consumer, &run, &total, &is_reading).await }
            });
            while !is_reading.load(Ordering::Acquire) {
                ensure!(!reading.is_finished(), "the consumer ended before it began");
                tokio::task::yield_now().await;
            }
            let start = Instant::now();
            let published = publishing.await?.count;
            total.store(published as u64, Ordering::Release);
            let (count, _, end) = reading
                .await
                .map_err(|_| anyhow!("the consumer panicked"))??;
            Ok(count as f64 / (end - start).as_secs_f64())
        }
    }
}

/// Consumes until all is there; how much, from when, until when.
async fn consume(
    wire: Arc<dyn Wire>,
    run: &str,
    total: &AtomicU64,
    is_reading: &AtomicBool,
) -> Result<(u64, Instant, Instant)> {
    let mut connection = Connection::open(wire.as_ref(), run, READER).await?;
    let start = Instant::now();
    connection.subscribe(wire.as_ref(), run, 0).await?;
    is_reading.store(true, Ordering::Release);
    let (mut count, mut last) = (0, Instant::now());
    while count < total.load(Ordering::Acquire) {
        let turn = Duration::from_millis(20);
        match tokio::time::timeout(turn, connection.next(wire.as_ref(), run)).await {
            Ok(seen) => {
                let seen = seen?;
                if !seen.deliveries.is_empty() {
                    count += seen.deliveries.len() as u64;
                    last = Instant::now();
                }
            }
            Err(_) => ensure!(last.elapsed() < PATIENCE, "only {count} deliveries came"),
        }
    }
    Ok((count, start, last))
}

/// Makes the durable consumer before anything is published.
async fn prepare(
    arguments: &Arguments,
    wire: &dyn Wire,
    consumer: &dyn Wire,
    run: &str,
) -> Result<()> {
    if matches!(wire.system(), super::wire::System::Ours(_)) {
        let filter = client::Filter::new().with("topic", &format!("bench.{run}"));
        let client = client::Client::connect(&arguments.url)?;
        client
            .put_subscription(&ours::name(run), &filter, None)
            .await?;
        return Ok(());
    }
    // The peers make theirs when a connection says hello: the stream, then its consumer.
    drop(Connection::open(wire, run, 0).await?);
    drop(Connection::open(consumer, run, 0).await?);
    Ok(())
}
