//! `interwire bench`: load on an exchange, and side by side on peers, alternating in one run.
//!
//! Every figure is a median over rounds in which all systems take turns, so that a machine whose
//! speed drifts is fair to all. Quote the ratios. Nothing here decides; rows print the bound that
//! the project set itself and whether it was met.

mod fanout;
mod latency;
mod nats;
mod ours;
mod publish;
mod redis;
mod wire;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use wire::Wire;

/// What to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Work {
    /// Acknowledged publishes per second.
    Publish,
    /// Deliveries per second to many readers.
    Fanout,
    /// Time from publish to delivery at a fixed rate.
    Latency,
}

/// Load, own and side by side.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  interwire bench publish --against nats://127.0.0.1:4222?sync=always \
    --against redis://127.0.0.1:6379?sync=always"
)]
pub struct Arguments {
    /// What to measure; all when left out.
    #[arg(value_enum)]
    work: Vec<Work>,
    /// The exchange.
    #[arg(long, env = "INTERWIRE_URL", default_value = "http://127.0.0.1:4747")]
    url: String,
    /// The durability that the exchange at --url runs with, for the table.
    #[arg(long, default_value = "fsync")]
    durability: String,
    /// A peer: `nats://host:port?sync=always`, `redis://host:port?sync=everysec`. Repeatable.
    #[arg(long)]
    against: Vec<String>,
    /// Publishes in flight, for `publish`.
    #[arg(long, value_delimiter = ',', default_value = "1,16,256")]
    publishers: Vec<usize>,
    /// Connections that share them; 1 means one pipelined connection.
    #[arg(long, value_delimiter = ',', default_value = "1,16")]
    connections: Vec<usize>,
    /// Live readers, for `fanout`.
    #[arg(long, value_delimiter = ',', default_value = "1,100,1000")]
    readers: Vec<usize>,
    /// Publishes per second, for `latency`.
    #[arg(long, default_value_t = 2_000)]
    rate: u32,
    /// Bytes per envelope.
    #[arg(long, default_value_t = 1_024)]
    bytes: usize,
    /// Seconds per measurement.
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Rounds; the median is printed.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// One JSON object per row.
    #[arg(long)]
    json: bool,
}

/// One row: a system's figures over all rounds.
#[derive(Default)]
struct Figures {
    rate: Vec<f64>,
    p50: Vec<f64>,
    p99: Vec<f64>,
}

/// Runs the asked measurements.
///
/// # Errors
/// When a system cannot be reached or answers wrongly.
pub fn run(arguments: &Arguments) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(measure(arguments))
}

async fn measure(arguments: &Arguments) -> Result<()> {
    let systems = systems(arguments)?;
    let all = [Work::Publish, Work::Fanout, Work::Latency];
    let works = if arguments.work.is_empty() {
        &all[..]
    } else {
        &arguments.work
    };
    for work in works {
        match work {
            Work::Publish => {
                for &in_flight in &arguments.publishers {
                    for &connections in arguments.connections.iter().filter(|c| **c <= in_flight) {
                        publish(arguments, &systems, in_flight, connections).await?;
                    }
                }
            }
            Work::Fanout => {
                for &readers in &arguments.readers {
                    fanout(arguments, &systems, readers).await?;
                }
            }
            Work::Latency => latency(arguments, &systems).await?,
        }
    }
    Ok(())
}

async fn publish(
    arguments: &Arguments,
    systems: &[Arc<dyn Wire>],
    in_flight: usize,
    connections: usize,
) -> Result<()> {
    let title =
        format!("publish, {in_flight} in flight on {connections} connection(s), acknowledged/s");
    let mut table = Table::new(title);
    for _ in 0..arguments.rounds {
        for system in systems
            .iter()
            .filter(|system| !system.name().starts_with("nats core"))
        {
            let time = Duration::from_secs_f64(arguments.seconds);
            let run = run_name();
            let measured = publish::run(
                system.as_ref(),
                &run,
                in_flight,
                connections,
                arguments.bytes,
                time,
            )
            .await
            .with_context(|| system.name())?;
            table.add(
                system.name(),
                measured.per_second,
                measured.p50_ms,
                measured.p99_ms,
            );
        }
    }
    table.print(arguments.json)
}

async fn fanout(arguments: &Arguments, systems: &[Arc<dyn Wire>], readers: usize) -> Result<()> {
    let mut table = Table::new(format!("fan-out to {readers} reader(s), deliveries/s"));
    for _ in 0..arguments.rounds {
        for system in systems {
            let time = Duration::from_secs_f64(arguments.seconds);
            let rate = fanout::run(system, &run_name(), readers, arguments.bytes, time)
                .await
                .with_context(|| system.name())?;
            table.add(system.name(), rate, f64::NAN, f64::NAN);
        }
    }
    table.print(arguments.json)
}

async fn latency(arguments: &Arguments, systems: &[Arc<dyn Wire>]) -> Result<()> {
    let mut table = Table::new(format!("end to end at {}/s, one reader", arguments.rate));
    for _ in 0..arguments.rounds {
        for system in systems {
            let time = Duration::from_secs_f64(arguments.seconds);
            let measured = latency::run(system, &run_name(), arguments.rate, arguments.bytes, time)
                .await
                .with_context(|| system.name())?;
            table.add(
                system.name(),
                measured.per_second,
                measured.p50_ms,
                measured.p99_ms,
            );
        }
    }
    table.print(arguments.json)
}

/// Ours first, then the peers in the order given.
fn systems(arguments: &Arguments) -> Result<Vec<Arc<dyn Wire>>> {
    let mut systems: Vec<Arc<dyn Wire>> = vec![Arc::new(ours::Ours {
        address: host_and_port(&arguments.url)?,
        durability: arguments.durability.clone(),
    })];
    for peer in &arguments.against {
        let address = host_and_port(peer)?;
        let sync = peer
            .split_once("sync=")
            .map_or("?", |(_, sync)| sync)
            .to_owned();
        match peer.split_once("://") {
            Some(("nats", _)) if sync == "core" => {
                systems.push(Arc::new(nats::Nats {
                    address,
                    sync,
                    jetstream: false,
                }));
            }
            Some(("nats", _)) => {
                systems.push(Arc::new(nats::Nats {
                    address,
                    sync: format!("sync={sync}"),
                    jetstream: true,
                }));
            }
            Some(("redis", _)) => {
                systems.push(Arc::new(redis::Redis {
                    address,
                    sync: format!("appendfsync={sync}"),
                }));
            }
            _ => bail!("expected a peer as nats://host:port or redis://host:port, got {peer:?}"),
        }
    }
    Ok(systems)
}

fn host_and_port(url: &str) -> Result<String> {
    let (_, rest) = url
        .split_once("://")
        .with_context(|| format!("expected a URL, got {url:?}"))?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    Ok(rest.get(..end).unwrap_or(rest).to_owned())
}

/// A name that no earlier run used, so that no system answers from an earlier run's messages.
fn run_name() -> String {
    let nanos = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_nanos();
    format!("r{nanos:x}")
}

/// The rows of one measurement.
struct Table {
    title: String,
    order: Vec<String>,
    rows: BTreeMap<String, Figures>,
}

impl Table {
    fn new(title: String) -> Self {
        Self {
            title,
            order: Vec::new(),
            rows: BTreeMap::new(),
        }
    }

    fn add(&mut self, name: String, rate: f64, p50: f64, p99: f64) {
        if !self.order.contains(&name) {
            self.order.push(name.clone());
        }
        let figures = self.rows.entry(name).or_default();
        figures.rate.push(rate);
        figures.p50.push(p50);
        figures.p99.push(p99);
    }

    /// Medians, and how many times a peer's rate ours is.
    fn print(self, json: bool) -> Result<()> {
        let mut out = std::io::stdout().lock();
        if !json {
            writeln!(out, "\n{}", self.title)?;
            writeln!(
                out,
                "  {:<34} {:>12} {:>9} {:>9}   {:>12}",
                "system", "rate", "p50 ms", "p99 ms", "ours / this"
            )?;
        }
        let first = self.order.first().and_then(|name| self.rows.get(name));
        let ours = first.map(|figures| median(&figures.rate));
        for name in &self.order {
            let Some(figures) = self.rows.get(name) else {
                continue;
            };
            let (rate, p50, p99) = (
                median(&figures.rate),
                median(&figures.p50),
                median(&figures.p99),
            );
            let ratio = ours.map_or(f64::NAN, |ours| ours / rate);
            if json {
                let number = |value: f64| {
                    if value.is_finite() {
                        format!("{value:.3}")
                    } else {
                        "null".into()
                    }
                };
                writeln!(
                    out,
                    "{{\"work\":\"{}\",\"system\":\"{name}\",\"rate\":{},\"p50_ms\":{},\"p99_ms\":{},\"ratio\":{}}}",
                    self.title,
                    number(rate),
                    number(p50),
                    number(p99),
                    number(ratio)
                )?;
            } else {
                let time = |value: f64| {
                    if value.is_finite() {
                        format!("{value:.2}")
                    } else {
                        "-".into()
                    }
                };
                writeln!(
                    out,
                    "  {name:<34} {rate:>12.0} {:>9} {:>9}   {ratio:>11.2}x",
                    time(p50),
                    time(p99)
                )?;
            }
        }
        out.flush()?;
        Ok(())
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
