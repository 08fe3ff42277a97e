//! The measurements that need running systems: who takes part in which, in turns, and what each
//! row is held against.

use super::bounds::{self, Bound, Case, Over};
use super::consume::Situation;
use super::ours::Ours;
use super::table::{Column, RATE_AND_TIMES, Table, column};
use super::wire::{System, Wire, forget};
use super::{Arguments, ask, consume, fanout, idle, latency, publish, replay, run_name, stalled};
use crate::output;
use anyhow::{Context as _, Result, ensure};
use broker::Durability;
use protocol::DialectName;
use std::sync::Arc;
use std::time::Duration;

const RATE: &[Column] = &[column("per second", "rate", 0)];

const REPLAY: &[Column] = &[
    column("looked at /s", "looked_at_rate", 0),
    column("delivered /s", "delivered_rate", 0),
    column("looked at", "looked_at", 0),
    column("delivered", "delivered", 0),
];

const IDLE: &[Column] = &[
    column("before MiB", "before_mib", 1),
    column("after MiB", "after_mib", 1),
    column("growth MiB", "growth_mib", 1),
    column("KiB a reader", "kib_per_reader", 1),
];

const STALLED: &[Column] = &[
    column("per second", "rate", 0),
    column("delivered", "delivered", 0),
    column("before MiB", "before_mib", 1),
    column("peak MiB", "peak_mib", 1),
    column("after MiB", "after_mib", 1),
    column("told", "told", 0),
];

/// The systems under test, and how to measure them.
pub struct Bench<'a> {
    arguments: &'a Arguments,
    ours: Ours,
    os: Option<Ours>,
    peers: Vec<Arc<dyn Wire>>,
    time: Duration,
}

impl<'a> Bench<'a> {
    /// Asks our exchanges what they promise; peers are reached when their turn comes.
    pub async fn of(arguments: &'a Arguments) -> Result<Self> {
        let peers = arguments.against.iter().map(|peer| super::peer(peer));
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
    fn bound(&self, case: Case, ours: Durability, system: System) -> Option<Bound> {
        match system {
            System::Ours(_) => bounds::find(case, ours, None),
            peer => bounds::find(case, ours, Some(peer)),
        }
    }

    /// Acknowledged publishes, pipelined.
    pub async fn publishes(&self) -> Result<()> {
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
            let promise = broker::durability_word(durability);
            let title = format!(
                "publish, {in_flight} in flight on {connections} connection(s), ours {promise}"
            );
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
        bound: Option<Bound>,
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

    /// Acknowledged publishes, one a request.
    pub async fn http(&self) -> Result<()> {
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

    /// Deliveries to many readers.
    pub async fn fanout(&self, over: Over, readers: usize) -> Result<()> {
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

    /// Deliveries to readers of whom half read in another dialect than the sender's, against the same
    /// number who all read what was sent.
    pub async fn translate(&self, readers: usize) -> Result<()> {
        // The measurement's own messages are AEP.
        for form in [DialectName::Aee, DialectName::Uai] {
            let title = format!(
                "fan-out to {readers} reader(s), half of them as={}, deliveries",
                form.as_str()
            );
            let mut table = Table::new("translate", title, RATE, 0);
            let half = Ours {
                half_read_as: Some(form),
                ..self.ours.clone()
            };
            let systems: [Arc<dyn Wire>; 2] = [Arc::new(half), Arc::new(self.ours.clone())];
            for _ in 0..self.arguments.rounds {
                for system in &systems {
                    let (run, size) = (run_name(), self.arguments.bytes);
                    let rate = fanout::run(system, &run, readers, size, self.time)
                        .await
                        .with_context(|| system.name())?;
                    table.add(&system.name(), None, &[rate]);
                    forget(system.as_ref(), &run).await?;
                }
            }
            table.print(self.arguments.json)?;
        }
        Ok(())
    }

    /// Durable consumers that acknowledge.
    pub async fn consume(&self) -> Result<()> {
        for (situation, what) in [
            (Situation::Backlog, "a backlog"),
            (Situation::Live, "beside a publisher with 256 in flight"),
        ] {
            let title = format!("consume and acknowledge, one durable consumer, {what}");
            let mut table = Table::new("consume", title, RATE, 0);
            for _ in 0..self.arguments.rounds {
                for system in self.systems(Arc::new(self.ours.clone()), System::acknowledges) {
                    let run = run_name();
                    let case = Case::Consume(situation);
                    let bound = self.bound(case, self.ours.durability, system.system());
                    let rate = consume::run(self.arguments, &system, &run, situation, self.time)
                        .await
                        .with_context(|| system.name())?;
                    table.add(&system.name(), bound, &[rate]);
                    forget(system.as_ref(), &run).await?;
                }
            }
            table.print(self.arguments.json)?;
        }
        Ok(())
    }

    /// Publish to delivery at a fixed rate.
    pub async fn latency(&self) -> Result<()> {
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

    /// The journal read back.
    pub async fn replay(&self) -> Result<()> {
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
    pub async fn idle(&self, is_asked: bool) -> Result<()> {
        let Some(pid) = self.arguments.pid else {
            ensure!(
                !is_asked,
                "expected --pid, the process whose memory is read"
            );
            output::note("idle: left out, there is no --pid");
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

    /// Once, and last: it leaves many messages behind.
    pub async fn stalled(&self, is_asked: bool) -> Result<()> {
        let Some(pid) = self.arguments.pid else {
            ensure!(
                !is_asked,
                "expected --pid, the process whose memory is read"
            );
            output::note("stalled: left out, there is no --pid");
            return Ok(());
        };
        let plan = stalled::Plan {
            stalled: self.arguments.stalled_readers,
            messages: self.arguments.messages,
            size: self.arguments.bytes,
            pid,
            is_shown: !self.arguments.json,
        };
        let seen = stalled::run(&self.ours, &run_name(), plan).await?;
        let title = format!(
            "{} readers that do not read while {} messages pass, one that does",
            plan.stalled, plan.messages
        );
        let mut table = Table::new("stalled", title, STALLED, 0);
        let values = [
            seen.rate,
            seen.delivered as f64,
            seen.before,
            seen.peak,
            seen.after,
            seen.told as f64,
        ];
        table.add(&self.ours.name(), None, &values);
        table.print(self.arguments.json)
    }
}
