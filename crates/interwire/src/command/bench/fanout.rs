//! Fan-out: one publisher, many live readers of the same stream, as fast as all keep up.

use super::wire::{Connection, READER, Wire};
use anyhow::{Result, anyhow, bail, ensure};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// What the readers have so far.
struct Readers {
    counts: Vec<AtomicUsize>,
    /// Why the first one ended.
    ended: Mutex<Option<anyhow::Error>>,
}

impl Readers {
    /// What the slowest has.
    fn least(&self) -> usize {
        let counts = self.counts.iter();
        counts
            .map(|count| count.load(Ordering::Relaxed))
            .min()
            .unwrap_or(0)
    }

    fn total(&self) -> usize {
        let counts = self.counts.iter();
        counts.map(|count| count.load(Ordering::Relaxed)).sum()
    }

    fn check(&self) -> Result<()> {
        let mut ended = self
            .ended
            .lock()
            .map_err(|_| anyhow!("a reader panicked"))?;
        match ended.take() {
            Some(error) => Err(error.context("a reader ended")),
            None => Ok(()),
        }
    }
}

/// Deliveries per second to all readers together.
pub async fn run(
    wire: &Arc<dyn Wire>,
    run: &str,
    readers: usize,
    size: usize,
    time: Duration,
) -> Result<f64> {
    let side = wire.reader().unwrap_or_else(|| Arc::clone(wire));
    let state = Arc::new(Readers {
        counts: (0..readers).map(|_| AtomicUsize::new(0)).collect(),
        ended: Mutex::default(),
    });
    let mut publisher = Connection::open(wire.as_ref(), run, 0).await?;
    // Dropped, and with it every reader, however this ends.
    let mut tasks = JoinSet::new();
    for reader in 0..readers {
        let mut connection = Connection::open(side.as_ref(), run, READER + reader as u64).await?;
        connection.subscribe(side.as_ref(), run, reader).await?;
        let (side, run, state) = (Arc::clone(&side), run.to_owned(), Arc::clone(&state));
        tasks.spawn(async move {
            let error = loop {
                match connection.next(side.as_ref(), &run).await {
                    Ok(seen) => {
                        if let Some(count) = state.counts.get(reader) {
                            count.fetch_add(seen.deliveries.len(), Ordering::Relaxed);
                        }
                    }
                    Err(error) => break error,
                }
            };
            if let Ok(mut ended) = state.ended.lock() {
                ended.get_or_insert(error);
            }
        });
    }
    // Readers whose subscription has no confirmation get a moment to be seen by the server.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let window = if readers >= 1_000 {
        32
    } else if readers >= 100 {
        64
    } else {
        256
    };
    let start = Instant::now();
    let (mut sent, mut acked) = (0_usize, 0_usize);
    let mut out = Vec::new();
    let waits_for_acks = wire.system().acknowledges();
    while sent == 0 || start.elapsed() < time {
        state.check()?;
        // Bound by both: acknowledgements, and the slowest reader, or memory is what is measured.
        let room = window.min((state.least() + 4 * window).saturating_sub(sent));
        ensure!(
            acked <= sent,
            "{acked} acknowledgements for {sent} messages"
        );
        let in_flight = if waits_for_acks { sent - acked } else { 0 };
        let burst = room.saturating_sub(in_flight);
        if burst > 0 {
            out.clear();
            for _ in 0..burst {
                wire.publish(&mut out, run, sent as u64, size);
                sent += 1;
            }
            publisher.send(&out).await?;
        }
        if waits_for_acks && sent > acked {
            acked += publisher.next(wire.as_ref(), run).await?.acks;
        } else {
            tokio::task::yield_now().await;
            if burst == 0 {
                tokio::time::sleep(Duration::from_micros(200)).await;
            }
        }
    }
    while waits_for_acks && acked < sent {
        acked += publisher.next(wire.as_ref(), run).await?.acks;
    }
    let last_sent = Instant::now();
    while state.total() < sent * readers {
        state.check()?;
        if last_sent.elapsed() > Duration::from_secs(10) {
            bail!(
                "{} of {} deliveries never came",
                sent * readers - state.total(),
                sent * readers
            );
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(state.total() as f64 / start.elapsed().as_secs_f64())
}
