//! What this door counts. Labels are routes as written in the table, never ids.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// One kind of answered request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct RequestLabels {
    pub route: &'static str,
    pub method: &'static str,
    pub status: u16,
}

/// The door's counters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter {
    pub requests: Family<RequestLabels, Counter>,
    pub connections: Gauge,
    pub streams: Gauge,
    pub sockets: Gauge,
    pub stalled: Gauge,
    pub slow_consumers: Counter,
    pub turned_away: Counter,
}

impl Meter {
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register(
            "interwire_http_requests",
            "Requests answered, by route and status",
            self.requests.clone(),
        );
        registry.register(
            "interwire_http_connections",
            "Open connections",
            self.connections.clone(),
        );
        registry.register(
            "interwire_http_streams",
            "Open server-sent event streams",
            self.streams.clone(),
        );
        registry.register(
            "interwire_http_sockets",
            "Open WebSockets",
            self.sockets.clone(),
        );
        registry.register(
            "interwire_http_stalled",
            "Connections that have left their data untaken for too long and may still come back",
            self.stalled.clone(),
        );
        registry.register(
            "interwire_slow_consumer",
            "Readers that were ended because they did not take their data",
            self.slow_consumers.clone(),
        );
        registry.register(
            "interwire_http_turned_away",
            "Connections beyond the limit",
            self.turned_away.clone(),
        );
    }
}

/// Counts one thing as open until it is dropped.
#[derive(Debug)]
pub(crate) struct Open(Gauge);

impl Open {
    pub(crate) fn count(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.dec();
    }
}
