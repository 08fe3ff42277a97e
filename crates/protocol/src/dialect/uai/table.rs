//! The members of the shared envelope, in keyless order, with what each must hold.
//!
//! Pure data. Both the keyed checks and the positional form read it, so a published field registry
//! changes this file and `body` only. Order within an object is the order of UAI 2 (table version
//! `ours-1`) and append-only (F9). Implements UAI 1.1 to 1.8.

use super::grammar::{
    AGENT_TYPE, CHECKSUM, CORRELATION_ID, DID, IDEMPOTENCY_KEY, IDENTIFIER, TRACEPARENT, URI,
};
use crate::shape::{Shape, Want, optional, required};

/// Version of the order tables; a decoder of the keyless form states which one it used (UAI 2 F9).
pub const TABLE_VERSION: &str = "ours-1";

/// An identifier.
pub(super) const ID: Want = Want::Text(&IDENTIFIER);
/// Anything but null: no public text says more.
pub(super) const PRESENT: Want = Want::OneOf(&[
    Want::STRING,
    Want::Bool,
    Want::NUMBER,
    Want::Object,
    Want::LIST,
]);
/// A number from 0 to 1.
pub(super) const FRACTION: Want = Want::Num { min: 0.0, max: 1.0 };
/// An integer from 1.
pub(super) const POSITIVE: Want = Want::Int {
    min: 1,
    max: i64::MAX,
};
/// A time. Its form is checked by member name everywhere in the envelope, see `check::sweep`.
pub(super) const TIME: Want = Want::STRING;

/// The twelve. The objects have tables of their own, see [`PARTS`]; `body` has one by profile.
pub(super) static ENVELOPE: Shape = Shape::closed(&[
    required("uai_version", Want::STRING),
    required("profile", Want::STRING),
    required("message_id", ID),
    required("source", Want::Object),
    required("target", Want::Object),
    required("conversation", Want::Object),
    required("delivery", Want::Object),
    required("trust", Want::Object),
    required("body", Want::Object),
    required("provenance", Want::Object),
    required("integrity", Want::Object),
    required("extensions", Want::list(&Want::Object)),
]);

/// The tabled objects of the envelope, with the section that lists their members.
pub(super) static PARTS: [(&str, &Shape, &str); 7] = [
    ("source", &AGENT, "UAI 1.2"),
    ("target", &AGENT, "UAI 1.2"),
    ("conversation", &CONVERSATION, "UAI 1.3"),
    ("delivery", &DELIVERY, "UAI 1.4"),
    ("trust", &TRUST, "UAI 1.5"),
    ("provenance", &PROVENANCE, "UAI 1.6"),
    ("integrity", &INTEGRITY, "UAI 1.7"),
];

/// `source`, `target`, each additional target.
pub(super) static AGENT: Shape = Shape::closed(&[
    required("type", Want::Text(&AGENT_TYPE)),
    required("id", ID),
    required("label", Want::Str { min: 1, max: 256 }),
    optional("did", Want::Text(&DID)),
    optional("uri", Want::Text(&URI)),
    optional("role_lane", Want::STRING),
    optional("project", Want::STRING),
    optional("contact_hint", Want::STRING),
    optional("authority_boundary", Want::STRING),
]);

static CONVERSATION: Shape = Shape::closed(&[
    required("conversation_id", ID),
    optional("turn_id", ID),
    optional("sequence", Want::COUNT),
    optional("parent_message_id", ID),
    optional("correlation_id", Want::Text(&CORRELATION_ID)),
    optional("traceparent", Want::Text(&TRACEPARENT)),
]);

/// The values of `mode` and `topic` depend on each other, see `routing`.
static DELIVERY: Shape = Shape::closed(&[
    required("mode", Want::STRING),
    optional("priority", Want::Enum(&["low", "normal", "high", "urgent"])),
    optional("expires_at", TIME),
    optional("reply_expected", Want::Bool),
    optional("ack_required", Want::Bool),
    optional("task_ref", ID),
    optional("idempotency_key", Want::Text(&IDEMPOTENCY_KEY)),
    optional("timeout_ms", POSITIVE),
    optional("retry_count", Want::COUNT),
    optional("max_retries", Want::COUNT),
    optional("fallback_directive", Want::NON_EMPTY),
    optional("expected_output_schema", Want::NON_EMPTY),
    optional("status", Want::Enum(&STATUSES)),
    optional("duplicate_of_message_id", ID),
    optional(
        "topic",
        Want::OneOf(&[Want::STRING, Want::list(&Want::STRING)]),
    ),
]);

const STATUSES: [&str; 11] = [
    "created",
    "queued",
    "sent",
    "delivered",
    "acknowledged",
    "processing",
    "completed",
    "failed",
    "expired",
    "cancelled",
    "duplicate",
];

/// Channel and scheme vocabularies are open: one value of each is public.
static TRUST: Shape = Shape::closed(&[
    required("channel", Want::NON_EMPTY),
    required("auth_scheme", Want::NON_EMPTY),
    required("principal", Want::NON_EMPTY),
    optional("credential_ref", Want::NON_EMPTY),
    optional("signature_ref", Want::NON_EMPTY),
    optional("replay_window_id", Want::NON_EMPTY),
]);

static PROVENANCE: Shape = Shape::closed(&[
    optional("trace_id", Want::NON_EMPTY),
    required("issued_at", TIME),
    optional("log_ref", Want::STRING),
    optional("agent", Want::STRING),
    optional("model", Want::STRING),
    optional("confidence", FRACTION),
]);

/// A checksum of another kind could not be verified, so the words are closed in every mode.
static INTEGRITY: Shape = Shape::closed(&[
    required("algorithm", Want::Enum(&["sha-256"])),
    required("canonicalization", Want::Enum(&["RFC8785"])),
    required("checksum", Want::Text(&CHECKSUM)),
]);

/// One record of `extensions`.
pub(super) static EXTENSION: Shape = Shape::closed(&[
    required("namespace", Want::NON_EMPTY),
    required("version", Want::NON_EMPTY),
    required("required", Want::Bool),
    required("payload", PRESENT),
]);
