//! The published payload shapes: 26 event types have one (AEP 2).
//!
//! A pure data table. Every shape is open: members outside it are carried.

use crate::shape::{Clock, Shape, Want, optional, required};

const FORMATS: &[&str] = &["json", "text", "binary"];
const MOMENT: Want = Want::Time(Clock::Rfc3339);
const SHARE: Want = Want::Num { min: 0.0, max: 1.0 };
const STRINGS: Want = Want::list(&Want::STRING);

/// The payload of types that only ask for an object.
pub static ANY_OBJECT: Shape = Shape::open(&[]);

/// One claim of `belief.conflict.detected`.
static CLAIM: Shape = Shape::open(&[
    required("source", Want::STRING),
    required("value", Want::Any),
    optional("confidence", SHARE),
]);

/// `belief.conflict.detected`.
pub static BELIEF_CONFLICT_DETECTED: Shape = Shape::open(&[
    required("subject", Want::NON_EMPTY),
    required(
        "claims",
        Want::Array {
            min: 2,
            max: usize::MAX,
            item: &Want::Nested(&CLAIM),
        },
    ),
    optional("resolution_hint", Want::STRING),
]);

/// `belief.revised`.
pub static BELIEF_REVISED: Shape = Shape::open(&[
    required("previous", Want::NON_EMPTY),
    required("corrected", Want::NON_EMPTY),
    optional("reason", Want::STRING),
    optional("domains_affected", STRINGS),
]);

/// `compensation.requested`.
pub static COMPENSATION_REQUESTED: Shape = Shape::open(&[
    required("reason", Want::NON_EMPTY),
    required("description", Want::NON_EMPTY),
    optional("original_task", Want::STRING),
    optional("deadline", MOMENT),
]);

/// `context.invalidated`.
pub static CONTEXT_INVALIDATED: Shape = Shape::open(&[
    required("context_key", Want::NON_EMPTY),
    optional("reason", Want::STRING),
    optional("scope", Want::Enum(&["full", "partial", "unknown"])),
    optional("previous_snapshot_id", Want::STRING),
    optional("affected_keys", STRINGS),
    optional("correction", Want::Object),
]);

/// `context.snapshot.ready`.
pub static CONTEXT_SNAPSHOT_READY: Shape = Shape::open(&[
    required("snapshot_id", Want::NON_EMPTY),
    optional("context_key", Want::STRING),
    optional("format", Want::Enum(FORMATS)),
    optional("size_bytes", Want::COUNT),
    optional("fingerprint", Want::STRING),
]);

/// `context.snapshot.requested`.
pub static CONTEXT_SNAPSHOT_REQUESTED: Shape = Shape::open(&[
    optional("context_key", Want::STRING),
    optional("format", Want::Enum(FORMATS)),
    optional("filters", Want::Object),
]);

/// `context.updated`.
pub static CONTEXT_UPDATED: Shape = Shape::open(&[
    required("context_key", Want::NON_EMPTY),
    optional(
        "change_type",
        Want::Enum(&["added", "modified", "removed", "replaced"]),
    ),
    optional("previous_snapshot_id", Want::STRING),
    optional("diff", Want::STRING),
]);

/// `delegation.escalated`.
pub static DELEGATION_ESCALATED: Shape = Shape::open(&[
    required("reason", Want::NON_EMPTY),
    optional("progress_so_far", SHARE),
]);

/// `delegation.rejected`.
pub static DELEGATION_REJECTED: Shape = Shape::open(&[
    required("reason", Want::NON_EMPTY),
    optional("retry_after", MOMENT),
]);

/// `delegation.requested`.
pub static DELEGATION_REQUESTED: Shape = Shape::open(&[
    optional("work_description", Want::STRING),
    optional("deadline", MOMENT),
    optional(
        "priority",
        Want::Enum(&["low", "normal", "high", "critical"]),
    ),
    optional("context", Want::Object),
]);

/// `freshness.expired`.
pub static FRESHNESS_EXPIRED: Shape = Shape::open(&[
    required("resource", Want::NON_EMPTY),
    optional("cached_at", MOMENT),
    optional("valid_until", MOMENT),
    optional("detected_at", MOMENT),
]);

/// `freshness.window.changed`.
pub static FRESHNESS_WINDOW_CHANGED: Shape = Shape::open(&[
    required("resource", Want::NON_EMPTY),
    optional("previous_valid_until", MOMENT),
    optional("new_valid_until", MOMENT),
    optional("reason", Want::STRING),
]);

/// `interruption.cancelled`.
pub static INTERRUPTION_CANCELLED: Shape = Shape::open(&[
    required("reason", Want::NON_EMPTY),
    optional("checkpoint_id", Want::STRING),
]);

/// `interruption.requested`.
pub static INTERRUPTION_REQUESTED: Shape = Shape::open(&[
    optional("reason", Want::STRING),
    optional("grace_period_ms", Want::COUNT),
]);

/// `interruption.saved`.
pub static INTERRUPTION_SAVED: Shape = Shape::open(&[
    optional("bytes_saved", Want::COUNT),
    optional("location", Want::STRING),
]);

/// `memory.fact.added`.
pub static MEMORY_FACT_ADDED: Shape = Shape::open(&[
    required("fact_id", Want::NON_EMPTY),
    required("value", Want::Any),
    optional("source", Want::STRING),
    optional("tags", STRINGS),
    optional("expires_at", MOMENT),
]);

/// `memory.fact.invalidated`.
pub static MEMORY_FACT_INVALIDATED: Shape = Shape::open(&[
    required("fact_id", Want::NON_EMPTY),
    optional("reason", Want::STRING),
    optional("replaced_by", Want::STRING),
]);

/// `memory.fact.updated`.
pub static MEMORY_FACT_UPDATED: Shape = Shape::open(&[
    required("fact_id", Want::NON_EMPTY),
    optional("reason", Want::STRING),
]);

/// `provenance.attestation.added`.
pub static PROVENANCE_ATTESTATION_ADDED: Shape = Shape::open(&[
    required("attestor", Want::NON_EMPTY),
    required("method", Want::NON_EMPTY),
    optional("result", Want::STRING),
    optional("evidence", Want::Object),
]);

/// `provenance.attestation.revoked`.
pub static PROVENANCE_ATTESTATION_REVOKED: Shape = Shape::open(&[
    required("reason", Want::NON_EMPTY),
    optional("attestor", Want::STRING),
]);

/// `provenance.chain.truncated`.
pub static PROVENANCE_CHAIN_TRUNCATED: Shape = Shape::open(&[
    required("earliest_available", Want::NON_EMPTY),
    required("reason", Want::NON_EMPTY),
    optional("missing_from", Want::STRING),
]);
