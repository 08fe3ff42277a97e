//! Counters and histograms, in Prometheus types. No ids in labels, ever.

use crate::GapReason;
use exchange::{Ending, Record};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use std::sync::atomic::AtomicU64;

/// Dialect and result of one publish.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct PublishLabels {
    /// `aee`, `aep`, `uai` or `none`.
    pub dialect: &'static str,
    /// `accepted`, `duplicate`, or the fault's code.
    pub result: &'static str,
}

/// Why messages were missing for a reader.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct GapLabels {
    /// `retention`, `lost` or `slow`.
    pub reason: &'static str,
}

/// Why a loop was stopped.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct LoopLabels {
    /// `hop_limit`, `pair_budget` or `conversation_budget`.
    pub reason: &'static str,
}

/// Everything the broker measures. Doors register it and add their own.
#[derive(Clone, Debug)]
pub struct Meter {
    /// Publishes by dialect and result.
    pub publishes: Family<PublishLabels, Counter>,
    /// Seconds from the first write to the end of the sync, per commit.
    pub commit_seconds: Histogram,
    /// Messages per commit.
    pub commit_messages: Histogram,
    /// Deliveries handed out to inboxes and durable subscriptions.
    pub deliveries: Counter,
    /// Deliveries handed out again.
    pub redeliveries: Counter,
    /// Deliveries settled, by acknowledgement.
    pub acknowledgements: Counter,
    /// Failed attempts to deliver.
    pub failures: Counter,
    /// Deliveries that became dead letters.
    pub dead_letters: Counter,
    /// Deliveries whose message was too old.
    pub expired: Counter,
    /// Messages that ended a loop and went to nobody.
    pub loops_stopped: Family<LoopLabels, Counter>,
    /// Entries written to live readers.
    pub streamed: Counter,
    /// Readers that had to go back to the file because they fell out of memory.
    pub lagging_reads: Counter,
    /// Gaps that readers were told, by reason.
    pub gaps: Family<GapLabels, Counter>,
    /// Journal records read for look-ups and traces.
    pub recalled: Counter,
    /// Journal records not yet in the look-up index.
    pub index_lag: Gauge<i64, std::sync::atomic::AtomicI64>,
    /// Journal records not yet in a checkpoint.
    pub checkpoint_lag: Gauge<i64, std::sync::atomic::AtomicI64>,
    /// Records that retention dropped.
    pub dropped: Counter,
    /// Deliveries that ended because retention dropped their message.
    pub dropped_deliveries: Counter,
    /// Seconds since the process opened the journal, as a start marker.
    pub opened: Gauge<f64, AtomicU64>,
}

impl Default for Meter {
    fn default() -> Self {
        Self {
            publishes: Family::default(),
            commit_seconds: Histogram::new(exponential_buckets(0.000_05, 2.0, 16)),
            commit_messages: Histogram::new(exponential_buckets(1.0, 2.0, 12)),
            deliveries: Counter::default(),
            redeliveries: Counter::default(),
            acknowledgements: Counter::default(),
            failures: Counter::default(),
            dead_letters: Counter::default(),
            expired: Counter::default(),
            loops_stopped: Family::default(),
            streamed: Counter::default(),
            lagging_reads: Counter::default(),
            gaps: Family::default(),
            recalled: Counter::default(),
            index_lag: Gauge::default(),
            checkpoint_lag: Gauge::default(),
            dropped: Counter::default(),
            dropped_deliveries: Counter::default(),
            opened: Gauge::default(),
        }
    }
}

impl Meter {
    /// Counts what a record says of deliveries. Acknowledgements of readers are counted where they
    /// are asked for, because there one record can stand for many.
    pub(crate) fn settled(&self, record: &Record) {
        match record {
            Record::Acked { by: Some(_), .. } => {
                self.acknowledgements.inc();
            }
            Record::Failed { deliveries, .. } => {
                self.failures.inc_by(deliveries.len() as u64);
            }
            Record::Ended { how, sequences, .. } => {
                let count = sequences.len() as u64;
                match how {
                    Ending::Dead => self.dead_letters.inc_by(count),
                    Ending::Expired => self.expired.inc_by(count),
                    Ending::Dropped => 0,
                };
            }
            Record::Acked { .. }
            | Record::Published { .. }
            | Record::SubscriptionPut { .. }
            | Record::SubscriptionRemoved { .. }
            | Record::Redriven { .. }
            | Record::PlaceConfigured { .. }
            | Record::PlacePaused { .. }
            | Record::CardPut { .. }
            | Record::CardRemoved { .. } => {}
        }
    }

    pub(crate) fn count_gap(&self, reason: GapReason) {
        let reason = reason.as_str();
        self.gaps.get_or_create(&GapLabels { reason }).inc();
    }

    /// Registers every metric under its public name.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "interwire_publish",
            "Publishes by dialect and result",
            self.publishes.clone(),
        );
        registry.register_with_unit(
            "interwire_commit",
            "Write and sync of one batch",
            Unit::Seconds,
            self.commit_seconds.clone(),
        );
        registry.register(
            "interwire_commit_messages",
            "Messages in one batch",
            self.commit_messages.clone(),
        );
        registry.register(
            "interwire_deliver",
            "Deliveries handed out",
            self.deliveries.clone(),
        );
        registry.register(
            "interwire_redeliver",
            "Deliveries handed out again",
            self.redeliveries.clone(),
        );
        registry.register(
            "interwire_ack",
            "Deliveries acknowledged",
            self.acknowledgements.clone(),
        );
        registry.register(
            "interwire_deliver_failed",
            "Failed attempts to deliver",
            self.failures.clone(),
        );
        registry.register(
            "interwire_dead_letter",
            "Deliveries that became dead letters",
            self.dead_letters.clone(),
        );
        registry.register(
            "interwire_expired",
            "Deliveries whose message was too old",
            self.expired.clone(),
        );
        registry.register(
            "interwire_loop_stopped",
            "Messages that ended a loop and went to nobody, by limit",
            self.loops_stopped.clone(),
        );
        registry.register(
            "interwire_stream",
            "Entries sent to live readers",
            self.streamed.clone(),
        );
        registry.register(
            "interwire_lagging_reads",
            "Reads of the file by live readers that fell behind",
            self.lagging_reads.clone(),
        );
        registry.register(
            "interwire_gap",
            "Gaps that readers were told, by reason",
            self.gaps.clone(),
        );
        registry.register(
            "interwire_recall_records",
            "Journal records read for look-ups and traces",
            self.recalled.clone(),
        );
        registry.register(
            "interwire_index_lag_records",
            "Records not yet in the look-up index",
            self.index_lag.clone(),
        );
        registry.register(
            "interwire_checkpoint_lag_records",
            "Records not yet in a checkpoint, which a start has to read",
            self.checkpoint_lag.clone(),
        );
        registry.register(
            "interwire_retention_records",
            "Records that retention dropped",
            self.dropped.clone(),
        );
        registry.register(
            "interwire_retention_deliveries",
            "Deliveries that ended because retention dropped their message",
            self.dropped_deliveries.clone(),
        );
    }
}
