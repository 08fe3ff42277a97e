//! End to end at a fixed rate: from the publisher's send to the reader's receipt.

use super::publish::Measured;
use super::wire::{Connection, Latencies, READER, Wire};
use anyhow::{Result, anyhow};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The longest wait for the last deliveries.
const PATIENCE: Duration = Duration::from_secs(10);

/// Publishes `per_second` for `time` to one reader; per_second of the result is what was reached.
pub async fn run(
    wire: &Arc<dyn Wire>,
    run: &str,
    per_second: u32,
    size: usize,
    time: Duration,
) -> Result<Measured> {
    let sent: Arc<Mutex<Vec<Instant>>> = Arc::default();
    let taken: Arc<Mutex<Latencies>> = Arc::default();
    let mut publisher = Connection::open(wire.as_ref(), run, 0).await?;
    let mut reader = Connection::open(wire.as_ref(), run, READER).await?;
    reader.subscribe(wire.as_ref(), run, 0).await?;
    let reading = tokio::spawn({
        let (wire, run) = (Arc::clone(wire), run.to_owned());
        let (sent, taken) = (Arc::clone(&sent), Arc::clone(&taken));
        async move {
            loop {
                let seen = match reader.next(wire.as_ref(), &run).await {
                    Ok(seen) => seen,
                    Err(error) => return error,
                };
                let (Ok(sent), Ok(mut taken)) = (sent.lock(), taken.lock()) else {
                    return anyhow!("the publisher panicked");
                };
                for number in seen.deliveries {
                    if let Some(start) = sent.get(number as usize) {
                        taken.note(*start);
                    }
                }
            }
        }
    });
    tokio::time::sleep(Duration::from_millis(200)).await;
    let start = Instant::now();
    let gap = Duration::from_secs(1) / per_second;
    let mut number = 0_u32;
    let mut out = Vec::new();
    while number == 0 || start.elapsed() < time {
        out.clear();
        while start + gap * number <= Instant::now() {
            wire.publish(&mut out, run, u64::from(number), size);
            if let Ok(mut sent) = sent.lock() {
                sent.push(Instant::now());
            }
            number += 1;
        }
        if !out.is_empty() {
            publisher.send(&out).await?;
        }
        let due = tokio::time::Instant::from_std(start + gap * number);
        // Acknowledgements are read so that the peer can go on; they are not what is timed.
        let _ = tokio::time::timeout_at(due, publisher.next(wire.as_ref(), run)).await;
    }
    let published = start.elapsed();
    // What comes late counts; what does not come in time is a system that cannot keep up.
    let patience = Instant::now();
    while patience.elapsed() < PATIENCE && !reading.is_finished() {
        if taken
            .lock()
            .is_ok_and(|taken| taken.len() >= number as usize)
        {
            break;
        }
        let turn = Duration::from_millis(5);
        let _ = tokio::time::timeout(turn, publisher.next(wire.as_ref(), run)).await;
    }
    if reading.is_finished() {
        return Err(reading.await?.context("the reader ended"));
    }
    reading.abort();
    let mut taken = taken.lock().map_err(|_| anyhow!("a reader panicked"))?;
    Ok(Measured {
        count: number as usize,
        per_second: f64::from(number) / published.as_secs_f64(),
        p50_ms: taken.percentile(0.5) / 1_000.0,
        p99_ms: taken.percentile(0.99) / 1_000.0,
    })
}
