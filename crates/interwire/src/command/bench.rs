//! `interwire bench`: load on an exchange, and side by side on peers, alternating in one run.
//!
//! Every figure is a median over rounds in which all systems take turns, so that a machine whose
//! speed drifts is fair to all. Quote the ratios. Nothing here decides; rows print the bound that
//! the project set itself and whether it was met.

mod bounds;
mod consume;
mod decode;
mod fanout;
mod http;
mod idle;
mod latency;
mod nats;
mod ours;
mod publish;
mod redis;
mod replay;
mod side_by_side;
mod stalled;
mod table;
mod wire;

use anyhow::{Context, Result, bail};
use bounds::Over;
use clap::{Args, ValueEnum};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use ours::Ours;
use protocol::DialectName;
use side_by_side::Bench;
use std::sync::Arc;
use std::time::Duration;
use table::{Column, Table, column};
use wire::Wire;

/// What to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Work {
    /// Memory of the server for quiet readers; needs --pid
    Idle,
    /// Reading and validating one envelope of each dialect; needs no exchange
    Decode,
    /// Acknowledged publishes a second
    Publish,
    /// Publishes a second, one a request
    Http,
    /// Deliveries a second to many readers
    Fanout,
    /// Deliveries a second to readers of whom half read in another dialect
    Translate,
    /// Deliveries a second to a durable consumer that acknowledges
    Consume,
    /// Time from publish to delivery at a fixed rate
    Latency,
    /// Reading the journal back, filtered
    Replay,
    /// Memory of the server over time for readers that stop reading; needs --pid
    Stalled,
}

impl Work {
    /// In the order that disturbs least: memory while it is fresh, the journal when it is full.
    const ALL: [Self; 10] = [
        Self::Idle,
        Self::Decode,
        Self::Publish,
        Self::Http,
        Self::Fanout,
        Self::Translate,
        Self::Consume,
        Self::Latency,
        Self::Replay,
        Self::Stalled,
    ];
}

/// Options.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  interwire bench http decode
  interwire bench publish --against 'nats://127.0.0.1:4222?sync=always'
  interwire bench fanout --over sse --readers 100 --against 'redis://127.0.0.1:6379?sync=everysec'")]
pub struct Arguments {
    /// What to measure; everything when left out
    #[arg(value_enum)]
    work: Vec<Work>,
    /// The exchange
    #[arg(long, env = "INTERWIRE_URL", default_value = "http://127.0.0.1:4747")]
    url: String,
    /// A second exchange, with durability os, for one row more of `publish`
    #[arg(long, value_name = "URL")]
    os_url: Option<String>,
    /// A peer and its setting: nats://HOST:PORT?sync=always|default|core,
    /// redis://HOST:PORT?sync=always|everysec; again for more
    #[arg(long, value_name = "URL")]
    against: Vec<String>,
    /// Publishes in flight, for `publish`
    #[arg(long, value_delimiter = ',', default_value = "1,16,256")]
    publishers: Vec<usize>,
    /// Connections that share them; 1 is one pipelined connection
    #[arg(long, value_delimiter = ',', default_value = "1,16")]
    connections: Vec<usize>,
    /// Connections with one request each, for `http`
    #[arg(long, default_value_t = 64)]
    http_connections: usize,
    /// Live readers, for `fanout` and `translate`
    #[arg(long, value_delimiter = ',', default_value = "1,100,1000")]
    readers: Vec<usize>,
    /// What they read over
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "websocket,sse"
    )]
    over: Vec<Over>,
    /// Publishes a second, for `latency`
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rate: u32,
    /// Messages that the journal has at least, for `replay`
    #[arg(long, default_value_t = 200_000)]
    records: usize,
    /// Quiet readers, for `idle`
    #[arg(long, default_value_t = 1_000)]
    idle_readers: usize,
    /// Readers that stop reading, for `stalled`
    #[arg(long, default_value_t = 1_000)]
    stalled_readers: usize,
    /// Messages that pass them by, for `stalled`
    #[arg(long, default_value_t = 100_000)]
    messages: usize,
    /// The process that serves --url, on this machine
    #[arg(long)]
    pid: Option<u32>,
    /// Bytes per envelope
    #[arg(long, default_value_t = 1_024, value_parser = bytes)]
    bytes: usize,
    /// Seconds per measurement
    #[arg(long, default_value_t = 2.0, value_parser = seconds)]
    seconds: f64,
    /// Rounds; the median is printed
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// One JSON object per row
    #[arg(long)]
    json: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.0..=3_600.0).contains(&seconds) => Ok(seconds),
        _ => Err("expected seconds from 0 to 3600".into()),
    }
}

/// The measurements' own envelope has about 400 bytes without filling; a peer's command says its
/// length before it is written.
fn bytes(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(bytes) if (512..=1 << 20).contains(&bytes) => Ok(bytes),
        _ => Err("expected bytes from 512 to 1048576".into()),
    }
}

const DECODE: &[Column] = &[
    column("us each", "us", 2),
    column("per second", "rate", 0),
    column("bytes", "bytes", 0),
];

/// Runs the asked measurements.
///
/// # Errors
/// When a system cannot be reached or answers wrongly.
pub fn run(arguments: &Arguments) -> Result<()> {
    raise_open_files();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(measure(arguments))
}

/// A thousand readers are a thousand sockets. Where the limit stays low, opening one says so.
fn raise_open_files() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
        && let Err(error) = setrlimit(Resource::RLIMIT_NOFILE, hard, hard)
    {
        tracing::debug!(%error, "the limit of open files stays");
    }
}

async fn measure(arguments: &Arguments) -> Result<()> {
    let works = if arguments.work.is_empty() {
        &Work::ALL[..]
    } else {
        &arguments.work
    };
    if works.contains(&Work::Decode) {
        // First, so that it is there when the exchange is not.
        decode(arguments)?;
    }
    if works.iter().all(|work| *work == Work::Decode) {
        return Ok(());
    }
    let bench = Bench::of(arguments).await?;
    for work in works {
        match work {
            Work::Idle => bench.idle(!arguments.work.is_empty()).await?,
            Work::Decode => {}
            Work::Publish => bench.publishes().await?,
            Work::Http => bench.http().await?,
            Work::Fanout => {
                for &over in &arguments.over {
                    for &readers in &arguments.readers {
                        bench.fanout(over, readers).await?;
                    }
                }
            }
            Work::Translate => {
                for &readers in arguments.readers.iter().filter(|readers| **readers > 1) {
                    bench.translate(readers).await?;
                }
            }
            Work::Consume => bench.consume().await?,
            Work::Latency => bench.latency().await?,
            Work::Replay => bench.replay().await?,
            Work::Stalled => bench.stalled(!arguments.work.is_empty()).await?,
        }
    }
    Ok(())
}

fn decode(arguments: &Arguments) -> Result<()> {
    let title = "read and validate one envelope, one thread".to_owned();
    let mut table = Table::new("decode", title, DECODE, 0);
    table.compares_nothing();
    for _ in 0..arguments.rounds {
        for dialect in [DialectName::Aee, DialectName::Aep, DialectName::Uai] {
            let sample = decode::Sample::of(dialect, arguments.bytes)?;
            let micros = sample.measure(Duration::from_secs_f64(arguments.seconds / 4.0));
            let values = [micros, 1e6 / micros, sample.size() as f64];
            table.add(sample.dialect.as_str(), None, &values);
        }
    }
    table.print(arguments.json)
}

async fn ask(url: &str) -> Result<Ours> {
    Ours::ask(url, host_and_port(url)?, &run_name())
        .await
        .with_context(|| format!("the exchange at {url}"))
}

fn peer(url: &str) -> Result<Arc<dyn Wire>> {
    let address = host_and_port(url)?;
    let sync = url.split_once("?sync=").map_or("unknown", |(_, sync)| sync);
    let sync = sync.to_owned();
    match url.split_once("://") {
        Some(("nats", _)) => {
            let jetstream = sync != "core";
            Ok(Arc::new(nats::Nats {
                address,
                sync,
                jetstream,
            }))
        }
        Some(("redis", _)) => Ok(Arc::new(redis::Redis { address, sync })),
        _ => bail!("expected a peer as nats://host:port or redis://host:port, got {url:?}"),
    }
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
    format!("r{:x}", client::chance::bits())
}
