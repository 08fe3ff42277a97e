//! Durable publish: a closed loop with a fixed number of publishes in flight.

use super::wire::{Connection, LANE, Latencies, Wire};
use anyhow::Result;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// What one run measured.
pub struct Measured {
    /// Acknowledged publishes.
    pub count: usize,
    /// Acknowledged publishes per second.
    pub per_second: f64,
    /// Milliseconds from send to acknowledgement.
    pub p50_ms: f64,
    /// The same, 99th percentile.
    pub p99_ms: f64,
}

impl Measured {
    /// In the order of the columns.
    pub fn values(&self) -> [f64; 3] {
        [self.per_second, self.p50_ms, self.p99_ms]
    }
}

/// Publishes for `time` with `in_flight` publishes waiting, spread over `connections`.
pub async fn run(
    wire: &dyn Wire,
    run: &str,
    in_flight: usize,
    connections: usize,
    size: usize,
    time: Duration,
) -> Result<Measured> {
    let mut open = Vec::new();
    for lane in 0..connections {
        open.push(Connection::open(wire, run, lane as u64).await?);
    }
    let window = (in_flight / connections).max(1);
    let start = Instant::now();
    let loops = open.into_iter().enumerate().map(|(lane, connection)| {
        publish(
            wire,
            run,
            connection,
            lane as u64,
            window,
            size,
            start,
            time,
        )
    });
    let results = futures_util::future::try_join_all(loops).await?;
    let mut latencies = Latencies::default();
    let mut acks = 0;
    let mut seconds: f64 = 0.0;
    for (count, took, lane) in results {
        acks += count;
        seconds = seconds.max(took);
        latencies.merge(lane);
    }
    Ok(Measured {
        count: acks,
        per_second: acks as f64 / seconds,
        p50_ms: latencies.percentile(0.5) / 1_000.0,
        p99_ms: latencies.percentile(0.99) / 1_000.0,
    })
}

#[expect(
    clippy::too_many_arguments,
    reason = "one closed loop, all of it configuration"
)]
async fn publish(
    wire: &dyn Wire,
    run: &str,
    mut connection: Connection,
    lane: u64,
    window: usize,
    size: usize,
    start: Instant,
    time: Duration,
) -> Result<(usize, f64, Latencies)> {
    let mut waiting: VecDeque<Instant> = VecDeque::with_capacity(window);
    let mut latencies = Latencies::default();
    let first = lane * LANE;
    let (mut number, mut acks) = (first, 0);
    let mut out = Vec::with_capacity(window * (size + 128));
    loop {
        // At least one window, however slow the machine is.
        let going = start.elapsed() < time || number == first;
        if !going && waiting.is_empty() {
            return Ok((acks, start.elapsed().as_secs_f64(), latencies));
        }
        if going && waiting.len() < window {
            out.clear();
            let now = Instant::now();
            while waiting.len() < window {
                wire.publish(&mut out, run, number, size);
                number += 1;
                waiting.push_back(now);
            }
            connection.send(&out).await?;
        }
        let seen = connection.next(wire, run).await?;
        for _ in 0..seen.acks {
            if let Some(sent) = waiting.pop_front() {
                latencies.note(sent);
                acks += 1;
            }
        }
    }
}
