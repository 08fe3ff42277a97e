//! What the buses count. Labels are the kinds of buses and closed lists of results.

use super::Kind;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BusLabels {
    bus: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabels {
    bus: &'static str,
    result: &'static str,
}

/// The counters of all buses of one exchange. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    up: Family<BusLabels, Gauge>,
    connects: Family<BusLabels, Counter>,
    inwards: Family<ResultLabels, Counter>,
    outwards: Family<ResultLabels, Counter>,
}

impl Meter {
    /// Adds them to what is shown.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "interwire_bus_up",
            "Whether the message broker can be reached: 1 or 0",
            self.up.clone(),
        );
        registry.register(
            "interwire_bus_connects",
            "How often a connection to the message broker came about",
            self.connects.clone(),
        );
        registry.register(
            "interwire_bus_in",
            "Messages read from the message broker, by what became of them",
            self.inwards.clone(),
        );
        registry.register(
            "interwire_bus_out",
            "Messages for the message broker, by what became of them",
            self.outwards.clone(),
        );
    }

    pub(crate) fn up(&self, kind: Kind, is_up: bool) {
        let bus = kind.as_str();
        let labels = BusLabels { bus };
        self.up.get_or_create(&labels).set(i64::from(is_up));
        if is_up {
            self.connects.get_or_create(&labels).inc();
        }
    }

    pub(crate) fn inwards(&self, kind: Kind, result: &'static str) {
        let bus = kind.as_str();
        self.inwards
            .get_or_create(&ResultLabels { bus, result })
            .inc();
    }

    pub(crate) fn outwards(&self, kind: Kind, result: &'static str) {
        let bus = kind.as_str();
        self.outwards
            .get_or_create(&ResultLabels { bus, result })
            .inc();
    }
}
