//! Message brokers beside the exchange as doors: NATS, Redis Streams, Kafka. Here each is a *bus*.
//!
//! All three work the same way. **Inwards** a reader takes what others published on the bus, hands it to
//! the exchange like any door, and confirms it on the bus only after it is durable. **Outwards** a durable
//! subscription of the exchange collects what the bus is owed; it is acknowledged there only after the bus
//! has confirmed it. What came from a bus does not go back to it. Both ways deliver at least once, and a
//! repeat is known by the message's id. Guarantees and settings: `docs/transports.md`.

mod intake;
#[cfg(feature = "kafka")]
mod kafka;
mod link;
mod meter;
mod names;
#[cfg(feature = "nats")]
mod nats;
mod outlet;
#[cfg(feature = "redis")]
mod redis;
mod settings;

pub use meter::Meter;
pub use settings::{
    BusSettings, Direction, KafkaSettings, NatsSettings, RedisSettings, Routing, Settings,
};

use crate::http::Stop;
use broker::{DeliverySettings, Handle, Order};
use futures_util::future::BoxFuture;
use intake::Intake;
use link::Link;
use outlet::Outlet;
use std::time::Duration;
use tokio_util::task::TaskTracker;

/// Which bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// NATS, with or without JetStream.
    Nats,
    /// Redis Streams.
    Redis,
    /// Anything that speaks Kafka's protocol.
    Kafka,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Nats, Self::Redis, Self::Kafka];

    /// The word in settings, metrics and names of subscriptions.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nats => "nats",
            Self::Redis => "redis",
            Self::Kafka => "kafka",
        }
    }

    /// Whether this program was built with it.
    #[must_use]
    pub fn is_built_in(self) -> bool {
        match self {
            Self::Nats => cfg!(feature = "nats"),
            Self::Redis => cfg!(feature = "redis"),
            Self::Kafka => cfg!(feature = "kafka"),
        }
    }

    /// The durable subscription that collects what goes out.
    #[must_use]
    pub fn subscription(self) -> String {
        format!("bus-{}", self.as_str())
    }
}

/// The part that one bus plays: in, out or both.
pub(crate) struct Part {
    pub link: Link,
    pub intake: Option<Intake>,
    pub outlet: Option<Outlet>,
}

/// The buses of one exchange, ready to run.
pub struct Buses {
    meter: Meter,
    stop: Stop,
    runs: Vec<BoxFuture<'static, ()>>,
}

impl std::fmt::Debug for Buses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Buses")
            .field("count", &self.runs.len())
            .finish_non_exhaustive()
    }
}

/// How the outward subscription delivers. The lease outlasts every wait for a confirmation, and a broken
/// bus uses up no attempts: what it does not take is given back, not failed.
const OUTWARD: DeliverySettings = DeliverySettings {
    lease_ms: 120_000,
    max_attempts: 1_000,
    backoff_ms: 1_000,
    backoff_multiplier_milli: 2_000,
    backoff_ms_max: 30_000,
    in_flight_max: 1_024,
    order: Order::Conversation,
};

impl Buses {
    /// Prepares every bus that has an address; makes sure of the subscriptions for what goes out, so that
    /// nothing published from now on is missed. Connects to nothing yet: a bus that is down when the
    /// exchange starts is joined when it comes.
    ///
    /// # Errors
    /// A sentence: a bus that this program was not built with, settings that contradict what is there.
    pub async fn prepare(
        settings: &Settings,
        handle: &Handle,
        stop: &Stop,
    ) -> Result<Self, String> {
        let meter = Meter::default();
        let mut runs = Vec::new();
        warn_of_forgotten(settings, handle).await;
        for kind in Kind::ALL {
            let common = settings.common(kind);
            if !common.is_on() {
                continue;
            }
            if !kind.is_built_in() {
                return Err(format!(
                    "{0}.url is set, but this program was built without {0}; build it with the \
                     feature {0}",
                    kind.as_str()
                ));
            }
            let part = part(kind, common, handle, stop, &meter).await?;
            runs.extend(run_of(kind, settings, part));
        }
        Ok(Self {
            meter,
            stop: stop.clone(),
            runs,
        })
    }

    /// What the buses count.
    #[must_use]
    pub fn meter(&self) -> Meter {
        self.meter.clone()
    }

    /// Runs until the stop is asked and what was on its way is settled, at the latest after `grace`.
    pub async fn run(self, grace: Duration) {
        let tasks = TaskTracker::new();
        for run in self.runs {
            tasks.spawn(run);
        }
        tasks.close();
        self.stop.asked().await;
        if tokio::time::timeout(grace, tasks.wait()).await.is_err() {
            tracing::warn!("a bus did not settle what was on its way in time; it comes again");
        }
    }
}

/// Says so when a subscription still collects for a bus that gets nothing any more.
async fn warn_of_forgotten(settings: &Settings, handle: &Handle) {
    let subscriptions = handle.subscriptions().await.unwrap_or_default();
    for kind in Kind::ALL {
        let (common, name) = (settings.common(kind), kind.subscription());
        let is_used = common.is_on() && common.direction.is_out();
        if !is_used && subscriptions.iter().any(|one| *one.name == *name) {
            tracing::warn!(
                subscription = name,
                "it collects for a bus that nothing is sent to; `interwire sub rm {name}` ends that"
            );
        }
    }
}

async fn part(
    kind: Kind,
    common: &BusSettings,
    handle: &Handle,
    stop: &Stop,
    meter: &Meter,
) -> Result<Part, String> {
    let link = Link::new(kind, stop.clone(), meter.clone());
    let name = kind.subscription();
    let outlet = if common.direction.is_out() {
        let put = handle.put_subscription(&name, common.out_filter.clone(), None, Some(OUTWARD));
        put.await.map_err(|refusal| {
            format!(
                "{}.out_filter: {}; the filter of {name} cannot change while it owes messages: remove \
                 it with `interwire sub rm {name}` and what it still holds is not sent",
                kind.as_str(),
                refusal.first().detail
            )
        })?;
        Some(Outlet::new(handle, &name, link.clone()))
    } else {
        None
    };
    let intake = common
        .direction
        .is_in()
        .then(|| Intake::new(handle, &name, common.in_filter.clone(), link.clone()));
    Ok(Part {
        link,
        intake,
        outlet,
    })
}

#[cfg_attr(
    not(all(feature = "nats", feature = "redis", feature = "kafka")),
    allow(unused_variables, reason = "not every bus is built in")
)]
fn run_of(kind: Kind, settings: &Settings, part: Part) -> Option<BoxFuture<'static, ()>> {
    match kind {
        #[cfg(feature = "nats")]
        Kind::Nats => Some(Box::pin(nats::run(settings.nats.clone(), part))),
        #[cfg(feature = "redis")]
        Kind::Redis => Some(Box::pin(redis::run(settings.redis.clone(), part))),
        #[cfg(feature = "kafka")]
        Kind::Kafka => Some(Box::pin(kafka::run(settings.kafka.clone(), part))),
        #[allow(unreachable_patterns, reason = "depends on what is built in")]
        _ => None,
    }
}

/// Tries to reach every bus that has an address, for people who ask what is wrong: the kind, and what
/// was found there or why it cannot be reached.
pub async fn reach(settings: &Settings) -> Vec<(Kind, Result<String, String>)> {
    let mut found = Vec::new();
    for kind in Kind::ALL {
        if settings.common(kind).is_on() {
            found.push((kind, reach_one(kind, settings).await));
        }
    }
    found
}

/// How long a doctor waits for a bus.
#[cfg(any(feature = "nats", feature = "redis", feature = "kafka"))]
const REACH: Duration = Duration::from_secs(3);

async fn reach_one(kind: Kind, settings: &Settings) -> Result<String, String> {
    match kind {
        #[cfg(feature = "nats")]
        Kind::Nats => nats::reach(&settings.nats, REACH).await,
        #[cfg(feature = "redis")]
        Kind::Redis => redis::reach(&settings.redis, REACH).await,
        #[cfg(feature = "kafka")]
        Kind::Kafka => kafka::reach(&settings.kafka, REACH).await,
        #[allow(unreachable_patterns, reason = "depends on what is built in")]
        _ => Err(format!(
            "{} was not built into this program ({})",
            kind.as_str(),
            settings.common(kind).shown_url()
        )),
    }
}
