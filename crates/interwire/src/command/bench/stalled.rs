//! What readers that stop reading cost the server, while messages pass them by: its resident memory over
//! time, the publisher's rate, and what a reader that does read gets.

use super::idle::resident;
use super::ours::Ours;
use super::wire::{Connection, READER, Wire};
use crate::output;
use anyhow::{Context, Result, anyhow, ensure};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

/// Publishes in flight.
const WINDOW: usize = 256;

/// The time between two points of the graph.
const POINT_EVERY: Duration = Duration::from_millis(250);

/// Mebibytes that one mark of the graph stands for.
const MARK_MIB: f64 = 8.0;

/// The longest line of marks.
const MARKS_MAX: usize = 64;

/// How long to wait for the last delivery, and for the last stalled reader to be told.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Readers that stop reading: half of them over server-sent events, half over sockets.
    pub stalled: usize,
    /// Messages that pass them by.
    pub messages: usize,
    /// Bytes of each.
    pub size: usize,
    /// The server.
    pub pid: u32,
    /// Whether people watch.
    pub is_shown: bool,
}

/// What was seen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Acknowledged publishes a second, beside the stalled readers.
    pub rate: f64,
    /// What the healthy reader got.
    pub delivered: usize,
    /// Resident mebibytes: before the readers came, at the most, and at the end.
    pub before: f64,
    /// Likewise.
    pub peak: f64,
    /// Likewise.
    pub after: f64,
    /// Stalled readers that were told `slow_consumer` when they read again.
    pub told: usize,
}

/// Opens the readers, publishes, draws, and lets the stalled ones read again.
pub async fn run(ours: &Ours, run: &str, plan: Plan) -> Result<Seen> {
    let mut seen = Seen {
        before: resident(plan.pid)?,
        ..Seen::default()
    };
    let healthy = Healthy::start(ours, run).await?;
    let http = ours.http();
    let mut stalled: Vec<(Connection, bool)> = Vec::with_capacity(plan.stalled);
    for number in 0..plan.stalled {
        let is_sse = number % 2 == 0;
        let wire: &dyn Wire = if is_sse { &http } else { ours };
        let lane = READER + 1 + number as u64;
        let mut connection = Connection::open_narrow(wire, run, lane).await?;
        connection.subscribe(wire, run, number).await?;
        stalled.push((connection, is_sse));
    }
    let graph = Graph::new(plan);
    let mut publisher = Connection::open(ours, run, 0).await?;
    let (mut sent, mut acked) = (0, 0);
    let mut out = Vec::new();
    let start = Instant::now();
    let mut point = tokio::time::interval(POINT_EVERY);
    point.set_missed_tick_behavior(MissedTickBehavior::Skip);
    while acked < plan.messages {
        let burst = (WINDOW + acked - sent).min(plan.messages - sent);
        out.clear();
        for number in sent..sent + burst {
            ours.publish(&mut out, run, number as u64, plan.size);
        }
        sent += burst;
        publisher.send(&out).await?;
        tokio::select! {
            answered = publisher.next(ours, run) => acked += answered?.acks,
            _ = point.tick() => graph.point(&mut seen, acked, healthy.count())?,
        }
    }
    seen.rate = acked as f64 / start.elapsed().as_secs_f64();
    let last = Instant::now();
    while healthy.count() < plan.messages {
        healthy.check()?;
        ensure!(
            last.elapsed() < PATIENCE,
            "the healthy reader got {} of {}",
            healthy.count(),
            plan.messages
        );
        point.tick().await;
        graph.point(&mut seen, acked, healthy.count())?;
    }
    // A stall is noticed within a second; a little more, so that all are.
    for _ in 0..8 {
        point.tick().await;
        graph.point(&mut seen, acked, healthy.count())?;
    }
    seen.delivered = healthy.count();
    seen.told = wake(ours, run, stalled).await?;
    point.tick().await;
    graph.point(&mut seen, acked, healthy.count())?;
    seen.after = resident(plan.pid)?;
    Ok(seen)
}

/// The reader that keeps up.
struct Healthy {
    count: Arc<AtomicUsize>,
    task: JoinSet<anyhow::Error>,
}

impl Healthy {
    async fn start(ours: &Ours, run: &str) -> Result<Self> {
        let mut connection = Connection::open(ours, run, READER).await?;
        connection.subscribe(ours, run, 0).await?;
        let count = Arc::new(AtomicUsize::new(0));
        let (ours, run, counted) = (ours.clone(), run.to_owned(), Arc::clone(&count));
        let mut task = JoinSet::new();
        task.spawn(async move {
            loop {
                match connection.next(&ours, &run).await {
                    Ok(seen) => {
                        counted.fetch_add(seen.deliveries.len(), Ordering::Relaxed);
                    }
                    Err(error) => return error,
                }
            }
        });
        Ok(Self { count, task })
    }

    fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    fn check(&self) -> Result<()> {
        ensure!(!self.task.is_empty(), "the healthy reader ended");
        Ok(())
    }
}

/// Lets all stalled readers read to their end; how many were told why.
async fn wake(ours: &Ours, run: &str, stalled: Vec<(Connection, bool)>) -> Result<usize> {
    let mut tasks = JoinSet::new();
    for (mut connection, is_sse) in stalled {
        let (ours, run) = (ours.clone(), run.to_owned());
        tasks.spawn(async move {
            let http = ours.http();
            let wire: &dyn Wire = if is_sse { &http } else { &ours };
            loop {
                // What these clients do not know ends them, in the server's own words.
                if let Err(error) = connection.next(wire, &run).await {
                    return error.to_string().contains("slow_consumer");
                }
            }
        });
    }
    let all = async {
        let mut told = 0;
        while let Some(ended) = tasks.join_next().await {
            told += usize::from(ended.map_err(|error| anyhow!(error))?);
        }
        Ok(told)
    };
    tokio::time::timeout(PATIENCE, all)
        .await
        .context("a stalled reader did not end")?
}

/// The graph, a line at a time.
struct Graph {
    plan: Plan,
    start: Instant,
}

impl Graph {
    fn new(plan: Plan) -> Self {
        let graph = Self {
            plan,
            start: Instant::now(),
        };
        if plan.is_shown {
            output::note(&format!(
                "{} readers that do not read, {} messages of {} bytes; one mark is {MARK_MIB} MiB",
                plan.stalled, plan.messages, plan.size
            ));
            output::note(&format!(
                "{:>6} {:>8}  {:<MARKS_MAX$} {:>9} {:>9}",
                "s", "RSS MiB", "", "published", "healthy"
            ));
        }
        graph
    }

    fn point(&self, seen: &mut Seen, published: usize, healthy: usize) -> Result<()> {
        let now = resident(self.plan.pid)?;
        seen.peak = seen.peak.max(now);
        if self.plan.is_shown {
            let seconds = self.start.elapsed().as_secs_f64();
            let marks = marks(now);
            output::note(&format!(
                "{seconds:>6.2} {now:>8.1}  {marks:<MARKS_MAX$} {published:>9} {healthy:>9}"
            ));
        }
        Ok(())
    }
}

/// As many marks as the memory needs; a plus at the end when the line is too short.
fn marks(mebibytes: f64) -> String {
    let count = (mebibytes / MARK_MIB).round().max(0.0) as usize;
    if count > MARKS_MAX {
        format!("{}+", "#".repeat(MARKS_MAX - 1))
    } else {
        "#".repeat(count)
    }
}

#[cfg(test)]
mod tests {
    use super::{MARKS_MAX, marks};

    #[test]
    fn a_line_is_as_long_as_the_memory_is_large_up_to_its_end() {
        assert_eq!(marks(0.0), "");
        assert_eq!(marks(43.0), "#####");
        assert_eq!(marks(1e6).len(), MARKS_MAX);
        assert!(marks(1e6).ends_with("#+"));
    }
}
