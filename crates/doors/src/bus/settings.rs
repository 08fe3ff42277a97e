//! Settings of the buses. Without an address a bus is off.

use super::Kind;
use protocol::Filter;

/// Which way messages go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// From the bus into the exchange.
    In,
    /// From the exchange to the bus.
    Out,
    /// Both.
    #[default]
    Both,
}

impl Direction {
    /// The word in settings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::In => "in",
            Self::Out => "out",
            Self::Both => "both",
        }
    }

    /// The reverse of [`Self::as_str`].
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::In, Self::Out, Self::Both]
            .into_iter()
            .find(|direction| direction.as_str() == word)
    }

    pub(crate) fn is_in(self) -> bool {
        self != Self::Out
    }

    pub(crate) fn is_out(self) -> bool {
        self != Self::In
    }
}

/// Under which name on the bus a message is published (AEP 9.5 to 9.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    /// `<prefix>.topic.<topic>` when it has a topic, else `<prefix>.type.<type>`.
    Topic,
    /// `<prefix>.type.<type>`.
    Type,
    /// `<prefix>.source.<source>`.
    Source,
    /// `<prefix>.events`: one for all, which keeps all in order where only that does.
    Events,
}

impl Routing {
    /// The word in settings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Topic => "topic",
            Self::Type => "type",
            Self::Source => "source",
            Self::Events => "events",
        }
    }

    /// The reverse of [`Self::as_str`].
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Topic, Self::Type, Self::Source, Self::Events]
            .into_iter()
            .find(|routing| routing.as_str() == word)
    }
}

/// What every bus has.
#[derive(Clone, Debug)]
pub struct BusSettings {
    /// Address; empty when the bus is off.
    pub url: String,
    /// First part of every name on the bus.
    pub prefix: String,
    /// Which way messages go.
    pub direction: Direction,
    /// What of the bus is taken in.
    pub in_filter: Filter,
    /// What of the exchange goes out.
    pub out_filter: Filter,
    /// Under which name it goes out.
    pub out_routing: Routing,
    /// The name under which exchanges that share the work read: durable consumer, consumer group.
    pub group: String,
}

impl BusSettings {
    fn new(out_routing: Routing) -> Self {
        Self {
            url: String::new(),
            prefix: "aep".into(),
            direction: Direction::default(),
            in_filter: Filter::default(),
            out_filter: Filter::default(),
            out_routing,
            group: "interwire".into(),
        }
    }

    /// Whether it has an address.
    #[must_use]
    pub fn is_on(&self) -> bool {
        !self.url.is_empty()
    }

    /// The address without what only the bus may know.
    #[must_use]
    pub fn shown_url(&self) -> String {
        let servers = self.url.split(',').map(|server| {
            let Some((scheme, rest)) = server.split_once("://") else {
                return server.to_owned();
            };
            match rest.rsplit_once('@') {
                Some((_, host)) => format!("{scheme}://***@{host}"),
                None => server.to_owned(),
            }
        });
        servers.collect::<Vec<_>>().join(",")
    }
}

/// NATS.
#[derive(Clone, Debug)]
pub struct NatsSettings {
    /// What every bus has.
    pub bus: BusSettings,
    /// Whether a JetStream stream is read and written; without it nothing survives on the NATS side.
    pub jetstream: bool,
    /// The stream; made when there is none.
    pub stream: String,
    /// The subjects of the stream that are read; empty for all.
    pub in_subject: String,
    /// Milliseconds after which the server gives a message again that was not confirmed.
    pub ack_wait_ms: u64,
    /// Milliseconds in which the server knows a repeat by its `Nats-Msg-Id`, in a stream made here.
    pub duplicate_window_ms: u64,
    /// A file of credentials (JWT and NKey); empty for none.
    pub credentials: String,
}

impl Default for NatsSettings {
    fn default() -> Self {
        Self {
            bus: BusSettings::new(Routing::Topic),
            jetstream: true,
            stream: "interwire".into(),
            in_subject: String::new(),
            ack_wait_ms: 5_000,
            duplicate_window_ms: 120_000,
            credentials: String::new(),
        }
    }
}

/// Redis Streams.
#[derive(Clone, Debug)]
pub struct RedisSettings {
    /// What every bus has.
    pub bus: BusSettings,
    /// Streams that are read, without the prefix, with commas between.
    pub in_streams: String,
    /// Entries after which a stream written here is trimmed, about; 0 for never.
    pub entries_max: u64,
    /// Milliseconds after which what another instance took and did not confirm is taken over.
    pub claim_idle_ms: u64,
}

impl Default for RedisSettings {
    fn default() -> Self {
        Self {
            bus: BusSettings::new(Routing::Events),
            in_streams: "events".into(),
            entries_max: 1_000_000,
            claim_idle_ms: 60_000,
        }
    }
}

/// Kafka.
#[derive(Clone, Debug)]
pub struct KafkaSettings {
    /// What every bus has; its address is a list of brokers, `host:port`, with commas between.
    pub bus: BusSettings,
    /// Topics that are read, without the prefix, with commas between.
    pub in_topics: String,
    /// Milliseconds after which the group counts a silent member as gone.
    pub session_timeout_ms: u32,
}

impl Default for KafkaSettings {
    fn default() -> Self {
        Self {
            bus: BusSettings::new(Routing::Events),
            in_topics: "events".into(),
            session_timeout_ms: 10_000,
        }
    }
}

/// All buses.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// NATS.
    pub nats: NatsSettings,
    /// Redis Streams.
    pub redis: RedisSettings,
    /// Kafka.
    pub kafka: KafkaSettings,
}

impl Settings {
    /// What every bus has, of one.
    #[must_use]
    pub fn common(&self, kind: Kind) -> &BusSettings {
        match kind {
            Kind::Nats => &self.nats.bus,
            Kind::Redis => &self.redis.bus,
            Kind::Kafka => &self.kafka.bus,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BusSettings, Routing};

    #[test]
    fn a_password_in_an_address_is_not_shown() {
        let mut settings = BusSettings::new(Routing::Events);
        settings.url = "redis://:se@cret@h:1/0,nats://h:2,h:3".into();
        assert_eq!(settings.shown_url(), "redis://***@h:1/0,nats://h:2,h:3");
    }
}
