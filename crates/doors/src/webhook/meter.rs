//! What webhooks count. Labels are a closed list of results, never names or addresses.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabels {
    result: &'static str,
}

/// The counters of all webhooks of one exchange. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Meter {
    attempts: Family<ResultLabels, Counter>,
    seconds: Histogram,
}

impl Default for Meter {
    fn default() -> Self {
        Self {
            attempts: Family::default(),
            seconds: Histogram::new([0.005, 0.02, 0.1, 0.5, 2.0, 5.0, 15.0, 60.0]),
        }
    }
}

impl Meter {
    /// Adds them to what is shown.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "interwire_webhook_attempts",
            "Requests to webhooks, by what became of them",
            self.attempts.clone(),
        );
        registry.register(
            "interwire_webhook_attempt_seconds",
            "From the look-up of the name to the head of the answer, or to giving up",
            self.seconds.clone(),
        );
    }

    pub(crate) fn attempt(&self, result: &'static str, took: Duration) {
        self.attempts.get_or_create(&ResultLabels { result }).inc();
        self.seconds.observe(took.as_secs_f64());
    }
}
