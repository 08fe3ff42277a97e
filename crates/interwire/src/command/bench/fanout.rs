//! Fan-out: one publisher, many live readers of the same stream, as fast as all keep up.

use super::wire::{Connection, Wire};
use anyhow::Result;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Deliveries per second to all readers together.
pub async fn run(
    wire: &Arc<dyn Wire>,
    run: &str,
    readers: usize,
    size: usize,
    time: Duration,
) -> Result<f64> {
    let slowest = Arc::new(AtomicUsize::new(0));
    let delivered = Arc::new(AtomicUsize::new(0));
    let counts: Arc<Vec<AtomicUsize>> =
        Arc::new((0..readers).map(|_| AtomicUsize::new(0)).collect());
    let mut publisher = Connection::open(wire.as_ref(), run).await?;
    let mut tasks = Vec::new();
    for reader in 0..readers {
        let mut connection = Connection::open(wire.as_ref(), run).await?;
        connection.subscribe(wire.as_ref(), run, reader).await?;
        let (wire, run) = (Arc::clone(wire), run.to_owned());
        let (delivered, counts) = (Arc::clone(&delivered), Arc::clone(&counts));
        tasks.push(tokio::spawn(async move {
            while let Ok(seen) = connection.next(wire.as_ref(), &run).await {
                delivered.fetch_add(seen.deliveries.len(), Ordering::Relaxed);
                if let Some(count) = counts.get(reader) {
                    count.fetch_add(seen.deliveries.len(), Ordering::Relaxed);
                }
            }
        }));
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
    let waits_for_acks = !wire.name().starts_with("nats core");
    while start.elapsed() < time {
        // Bound by both: acknowledgements, and the slowest reader, or memory is what is measured.
        let least = counts
            .iter()
            .map(|count| count.load(Ordering::Relaxed))
            .min()
            .unwrap_or(sent);
        slowest.store(least, Ordering::Relaxed);
        let room = window.min((least + 4 * window).saturating_sub(sent));
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
    while delivered.load(Ordering::Relaxed) < sent * readers
        && last_sent.elapsed() < Duration::from_secs(10)
    {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let rate = delivered.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64();
    let missing = (sent * readers).saturating_sub(delivered.load(Ordering::Relaxed));
    for task in tasks {
        task.abort();
    }
    anyhow::ensure!(
        missing == 0,
        "{missing} of {} deliveries never came",
        sent * readers
    );
    Ok(rate)
}
