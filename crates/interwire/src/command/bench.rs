//! `interwire bench`: load on an exchange, and side by side on peers, alternating in one run.
//!
//! Every figure is a median over rounds in which all systems take turns, so that a machine whose
//! speed drifts is fair to all. Quote the ratios. Nothing here decides; rows print the bound that
//! the project set itself and whether it was met.

mod bounds;
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
mod table;
mod wire;

use anyhow::{Context, Result, bail, ensure};
use bounds::{Case, Over};
use broker::Durability;
use clap::{Args, ValueEnum};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use ours::Ours;
use protocol::DialectName;
use std::sync::Arc;
use std::time::Duration;
use table::{Column, RATE_AND_TIMES, Table, column};
use wire::{System, Wire, forget};

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
    /// Time from publish to delivery at a fixed rate
    Latency,
    /// Reading the journal back, filtered
    Replay,
}

impl Work {
    /// In the order that disturbs least: memory while it is fresh, the journal when it is full.
    const ALL: [Self; 7] = [
        Self::Idle,
        Self::Decode,
        Self::Publish,
        Self::Http,
        Self::Fanout,
        Self::Latency,
        Self::Replay,
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
    /// Live readers, for `fanout`
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

const RATE: &[Column] = &[column("per second", "rate", 0)];

const REPLAY: &[Column] = &[
    column("looked at /s", "looked_at_rate", 0),
    column("delivered /s", "delivered_rate", 0),
    column("looked at", "looked_at", 0),
    column("delivered", "delivered", 0),
];

const DECODE: &[Column] = &[
    column("us each", "us", 2),
    column("per second", "rate", 0),
    column("bytes", "bytes", 0),
];

const IDLE: &[Column] = &[
    column("before MiB", "before_mib", 1),
    column("after MiB", "after_mib", 1),
    column("growth MiB", "growth_mib", 1),
    column("KiB a reader", "kib_per_reader", 1),
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
            Work::Latency => bench.latency().await?,
            Work::Replay => bench.replay().await?,
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

/// The systems under test.
struct Bench<'a> {
    arguments: &'a Arguments,
    ours: Ours,
    os: Option<Ours>,
    peers: Vec<Arc<dyn Wire>>,
    time: Duration,
}

impl<'a> Bench<'a> {
    async fn of(arguments: &'a Arguments) -> Result<Self> {
        let peers = arguments.against.iter().map(|peer| self::peer(peer));
        let peers = peers.collect::<Result<_>>()?;
        let ours = ask(&arguments.url).await?;
        let os = match &arguments.os_url {
            Some(url) => {
                let os = ask(url).await?;
                ensure!(
                    os.durability == Durability::Os,
                    "expected durability os at {url}, got {}",
                    os.name()
                );
                Some(os)
            }
            None => None,
        };
        Ok(Self {
            arguments,
            ours,
            os,
            peers,
            time: Duration::from_secs_f64(arguments.seconds),
        })
    }

    /// `first` before the peers that pass.
    fn systems(&self, first: Arc<dyn Wire>, passes: impl Fn(System) -> bool) -> Vec<Arc<dyn Wire>> {
        let peers = self.peers.iter().filter(|peer| passes(peer.system()));
        std::iter::once(first).chain(peers.cloned()).collect()
    }

    /// The bound between ours and that system.
    fn bound(&self, case: Case, ours: Durability, system: System) -> Option<bounds::Bound> {
        match system {
            System::Ours(_) => bounds::find(case, ours, None),
            peer => bounds::find(case, ours, Some(peer)),
        }
    }

    async fn publishes(&self) -> Result<()> {
        let systems = self.systems(Arc::new(self.ours.clone()), System::acknowledges);
        for &in_flight in &self.arguments.publishers {
            self.publish(&systems, self.ours.durability, in_flight)
                .await?;
        }
        let Some(os) = &self.os else {
            return Ok(());
        };
        // Peers that make the same promise: acknowledged before the disk has it.
        let same = |system: System| system.acknowledges() && !system.syncs();
        let systems = self.systems(Arc::new(os.clone()), same);
        let most = self.arguments.publishers.iter().max().copied();
        self.publish(&systems, os.durability, most.unwrap_or(1))
            .await
    }

    async fn publish(
        &self,
        systems: &[Arc<dyn Wire>],
        durability: Durability,
        in_flight: usize,
    ) -> Result<()> {
        let connections = self.arguments.connections.iter();
        for &connections in connections.filter(|count| (1..=in_flight).contains(*count)) {
            let title = format!("publish, {in_flight} in flight on {connections} connection(s)");
            let mut table = Table::new("publish", title, RATE_AND_TIMES, 0);
            let case = Case::Publish(in_flight);
            for _ in 0..self.arguments.rounds {
                for system in systems {
                    let bound = self.bound(case, durability, system.system());
                    self.one_publish(&mut table, system, bound, in_flight, connections)
                        .await?;
                }
            }
            table.print(self.arguments.json)?;
        }
        Ok(())
    }

    async fn one_publish(
        &self,
        table: &mut Table,
        system: &Arc<dyn Wire>,
        bound: Option<bounds::Bound>,
        in_flight: usize,
        connections: usize,
    ) -> Result<()> {
        let (run, size) = (run_name(), self.arguments.bytes);
        let wire = system.as_ref();
        let measured = publish::run(wire, &run, in_flight, connections, size, self.time)
            .await
            .with_context(|| wire.name())?;
        table.add(&wire.name(), bound, &measured.values());
        forget(wire, &run).await
    }

    async fn http(&self) -> Result<()> {
        let connections = self.arguments.http_connections.max(1);
        let title = format!("publish, one POST at a time on {connections} connection(s)");
        let mut table = Table::new("http", title, RATE_AND_TIMES, 0);
        let wire: Arc<dyn Wire> = Arc::new(self.ours.http());
        let bound = self.bound(Case::Http(connections), self.ours.durability, wire.system());
        for _ in 0..self.arguments.rounds {
            self.one_publish(&mut table, &wire, bound, connections, connections)
                .await?;
        }
        table.print(self.arguments.json)
    }

    async fn fanout(&self, over: Over, readers: usize) -> Result<()> {
        let (what, systems) = match over {
            Over::Websocket => {
                let ours = Arc::new(self.ours.clone());
                ("WebSocket", self.systems(ours, |_| true))
            }
            // Only the peer that a bound names: the table over WebSocket shows the others.
            Over::Sse => {
                let ours = Arc::new(Ours {
                    over,
                    ..self.ours.clone()
                });
                (
                    "SSE",
                    self.systems(ours, |system| system == System::NatsCore),
                )
            }
        };
        let title = format!("fan-out to {readers} reader(s), ours over {what}, deliveries");
        let mut table = Table::new("fanout", title, RATE, 0);
        for _ in 0..self.arguments.rounds {
            for system in &systems {
                let (run, size) = (run_name(), self.arguments.bytes);
                let case = Case::Fanout(over, readers);
                let bound = self.bound(case, self.ours.durability, system.system());
                let rate = fanout::run(system, &run, readers, size, self.time)
                    .await
                    .with_context(|| system.name())?;
                table.add(&system.name(), bound, &[rate]);
                forget(system.as_ref(), &run).await?;
            }
        }
        table.print(self.arguments.json)
    }

    async fn latency(&self) -> Result<()> {
        let rate = self.arguments.rate;
        let title = format!("publish to delivery at {rate}/s, one reader; compared are the p50");
        let mut table = Table::new("latency", title, RATE_AND_TIMES, 1);
        for _ in 0..self.arguments.rounds {
            for system in self.systems(Arc::new(self.ours.clone()), |_| true) {
                let (run, size) = (run_name(), self.arguments.bytes);
                let case = Case::Latency(rate);
                let bound = self.bound(case, self.ours.durability, system.system());
                let measured = latency::run(&system, &run, rate, size, self.time)
                    .await
                    .with_context(|| system.name())?;
                table.add(&system.name(), bound, &measured.values());
                forget(system.as_ref(), &run).await?;
            }
        }
        table.print(self.arguments.json)
    }

    async fn replay(&self) -> Result<()> {
        let (least, size) = (self.arguments.records, self.arguments.bytes);
        let journal = replay::Journal::fill(&self.ours, &run_name(), least, size).await?;
        let title = format!("replay of {} messages from the start", journal.messages);
        let mut table = Table::new("replay", title, REPLAY, 0);
        table.compares_nothing();
        let bound = bounds::find(Case::ReplayFew, self.ours.durability, None);
        let looked_at = journal.messages as f64;
        for _ in 0..self.arguments.rounds {
            let few = ("one conversation", bound, journal.read_few().await?);
            let all = ("one type, all", None, journal.read_all().await?);
            for (name, bound, reading) in [few, all] {
                let delivered = reading.delivered as f64;
                let seconds = reading.seconds;
                let values = [
                    looked_at / seconds,
                    delivered / seconds,
                    looked_at,
                    delivered,
                ];
                table.add(&format!("{}, {name}", self.ours.name()), bound, &values);
            }
        }
        table.print(self.arguments.json)
    }

    /// Once: a second round would find the memory of the first still there.
    async fn idle(&self, is_asked: bool) -> Result<()> {
        let Some(pid) = self.arguments.pid else {
            ensure!(
                !is_asked,
                "expected --pid, the process whose memory is read"
            );
            crate::output::note("idle: left out, there is no --pid");
            return Ok(());
        };
        let readers = self.arguments.idle_readers.max(1);
        let (before, after) = idle::run(&self.ours, &run_name(), readers, pid).await?;
        let title = format!("{readers} quiet WebSocket reader(s), resident memory of the server");
        let mut table = Table::new("idle", title, IDLE, 2);
        let bound = bounds::find(Case::Idle(readers), self.ours.durability, None);
        let growth = after - before;
        let each = growth * 1_024.0 / readers as f64;
        table.add(&self.ours.name(), bound, &[before, after, growth, each]);
        table.print(self.arguments.json)
    }
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
