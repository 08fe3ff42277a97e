//! The body of every known profile, in keyless order.
//!
//! A pure table; what members mean together is in `policy`. Member names and enums are mostly
//! proposals: where a list decides what the message does (acts, states, outcomes) it is closed,
//! where the digest leaves it open a lenient reader carries other words (`check::OPEN_WORDS`).
//! Implements UAI 3.1 to 3.3.

use super::grammar::URI;
use super::table::{FRACTION, ID, POSITIVE, PRESENT, TIME};
use crate::shape::{Shape, Want, optional, required};

/// A known profile.
pub(super) struct Profile {
    /// Its id.
    pub id: &'static str,
    /// The section that lists its body.
    pub rule: &'static str,
    /// Its body.
    pub body: &'static Shape,
}

/// The known profile of that id.
pub(super) fn profile(id: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.id == id)
}

/// Every known profile.
pub(super) static PROFILES: [Profile; 18] = [
    known("uai.intent.request.v1", "UAI 3.1", &INTENT_REQUEST),
    known("uai.intent.response.v1", "UAI 3.1", &INTENT_RESPONSE),
    known(
        "uai.capability.statement.v1",
        "UAI 3.1",
        &CAPABILITY_STATEMENT,
    ),
    known("uai.error.v1", "UAI 3.1", &ERROR),
    known("uai.conformance.result.v1", "UAI 3.1", &CONFORMANCE_RESULT),
    known("uai.task.status.v1", "UAI 3.1", &TASK_STATUS),
    known("uai.agent.message.v1", "UAI 3.2", &MESSAGE),
    known("uai.agent.ack.v1", "UAI 3.2", &ACK),
    known("uai.agent.task-status.v1", "UAI 3.2", &AGENT_TASK_STATUS),
    known("uai.agent.blocker.v1", "UAI 3.2", &BLOCKER),
    known("uai.agent.memory-proposal.v1", "UAI 3.2", &MEMORY_PROPOSAL),
    known("uai.agent.handoff.v1", "UAI 3.2", &HANDOFF),
    known("uai.agent.final-report.v1", "UAI 3.2", &FINAL_REPORT),
    known("uai.agent.correction.v1", "UAI 3.2", &CORRECTION),
    known("uai.capability.profile.v1", "UAI 3.3", &CAPABILITY_PROFILE),
    known("uai.capability.negotiation.v1", "UAI 3.3", &NEGOTIATION),
    known("uai.agent.discovery.v1", "UAI 3.3", &DISCOVERY),
    known("uai.agent.sealed.v1", "UAI 3.3", &SEALED),
];

const fn known(id: &'static str, rule: &'static str, body: &'static Shape) -> Profile {
    Profile { id, rule, body }
}

const TEXTS: Want = Want::list(&Want::STRING);
const IDS: Want = Want::list(&ID);
const REFERENCE: Want = Want::Text(&URI);
const URIS: Want = Want::list(&REFERENCE);
const OBJECTS: Want = Want::list(&Want::Object);

const PERCENT: Want = Want::Num {
    min: 0.0,
    max: 100.0,
};
const INTEGER: Want = Want::Int {
    min: i64::MIN,
    max: i64::MAX,
};

const STATES: [&str; 8] = [
    "queued",
    "accepted",
    "running",
    "blocked",
    "completed",
    "failed",
    "cancelled",
    "expired",
];

static INTENT_REQUEST: Shape = Shape::closed(&[
    required("intent", Want::NON_EMPTY),
    required("subject", Want::NON_EMPTY),
    optional("parameters", Want::Object),
    optional("constraints", Want::Object),
    optional("expected_response_profile", Want::NON_EMPTY),
]);

static INTENT_RESPONSE: Shape = Shape::closed(&[
    required(
        "status",
        Want::Enum(&["completed", "accepted", "rejected", "partial"]),
    ),
    required("request_message_id", ID),
    optional("result", PRESENT),
    optional("notices", TEXTS),
    optional("task_ref", ID),
]);

static CAPABILITY_STATEMENT: Shape = Shape::closed(&[
    required("operations", TEXTS),
    required("profiles", TEXTS),
    required("endpoints", OBJECTS),
    required("security_schemes", OBJECTS),
    optional("transports", TEXTS),
    optional("trust_channels", TEXTS),
    optional("conformance_levels", TEXTS),
]);

static ERROR: Shape = Shape::closed(&[
    required("status", INTEGER),
    required("code", Want::NON_EMPTY),
    optional("title", Want::STRING),
    required("detail", Want::STRING),
    optional("related_message_id", ID),
    optional("errors", Want::list(&Want::Nested(&SUB_ERROR))),
]);

static SUB_ERROR: Shape = Shape::closed(&[
    required("code", Want::NON_EMPTY),
    optional("path", Want::STRING),
    optional("detail", Want::STRING),
]);

static CONFORMANCE_RESULT: Shape = Shape::closed(&[
    required("result", Want::Enum(&["pass", "fail"])),
    required("validated_profile", Want::NON_EMPTY),
    optional("validated_message_id", ID),
    optional("canonical_hash", Want::STRING),
    required("summary", Want::Nested(&SUMMARY)),
    optional("issues", Want::list(&Want::Nested(&ISSUE))),
    optional("artifacts", URIS),
]);

static SUMMARY: Shape = Shape::closed(&[
    optional("checks_run", Want::COUNT),
    required("errors", Want::COUNT),
    optional("warnings", Want::COUNT),
]);

static ISSUE: Shape = Shape::closed(&[
    required("code", Want::NON_EMPTY),
    required("severity", Want::Enum(&["error", "warning", "info"])),
    optional("path", Want::STRING),
    optional("message", Want::STRING),
]);

static TASK_STATUS: Shape = Shape::closed(&[
    required("task_id", ID),
    required("state", Want::Enum(&STATES)),
    required("progress", PERCENT),
    optional("result_refs", TEXTS),
    optional("blocking_reasons", TEXTS),
    optional("notes", Want::STRING),
    optional("updated_at", TIME),
]);

static MESSAGE: Shape = Shape::closed(&[
    required(
        "message_type",
        Want::Enum(&["directive", "query", "inform", "response", "notification"]),
    ),
    required("content", Want::STRING),
    required("context_refs", URIS),
    required("requires_acknowledgement", Want::Bool),
    optional("intent", Want::STRING),
    optional("action", Want::STRING),
]);

static ACK: Shape = Shape::closed(&[
    required("ack_for_message_id", ID),
    required(
        "ack_status",
        Want::Enum(&[
            "received",
            "accepted",
            "rejected",
            "deferred",
            "human_review",
            "duplicate",
        ]),
    ),
    optional("reason", Want::STRING),
    required("received_at", TIME),
    optional("duplicate_of_message_id", ID),
    optional("next_expected", Want::STRING),
    required("support_boundary", Want::NON_EMPTY),
]);

static AGENT_TASK_STATUS: Shape = Shape::closed(&[
    required("task_id", ID),
    required("state", Want::Enum(&STATES)),
    required("progress", PERCENT),
    required("summary", Want::STRING),
    optional("evidence_refs", TEXTS),
    optional("blockers", Want::LIST),
    optional("next_update_due", TIME),
    required("support_boundary", Want::NON_EMPTY),
]);

static BLOCKER: Shape = Shape::closed(&[
    required("blocker_id", ID),
    required(
        "blocker_type",
        Want::Enum(&[
            "boundary",
            "secret",
            "dependency",
            "validation",
            "scope",
            "access",
            "other",
            "authorization",
            "destructive_action",
            "conflict",
        ]),
    ),
    required("description", Want::NON_EMPTY),
    required("human_review_required", Want::Bool),
    required("proposed_resolution", Want::STRING),
    required("support_boundary", Want::NON_EMPTY),
    optional("task_id", ID),
    optional("related_message_ids", IDS),
    optional("resource", Want::STRING),
]);

static MEMORY_PROPOSAL: Shape = Shape::closed(&[
    required("proposal_id", ID),
    required(
        "source_type",
        Want::Enum(&[
            "task_evidence",
            "human_statement",
            "cold_memory",
            "imported",
        ]),
    ),
    required(
        "proposed_facts",
        Want::list(&Want::OneOf(&[Want::STRING, Want::Nested(&FACT)])),
    ),
    required(
        "proposed_status",
        Want::Enum(&["pending_review", "short_term", "long_term", "current_truth"]),
    ),
    required(
        "task_execution_separation",
        Want::OneOf(&[Want::Bool, Want::STRING]),
    ),
    required("review_required", Want::Bool),
    required("support_boundary", Want::NON_EMPTY),
    optional("exclusions", TEXTS),
    optional("redactions", TEXTS),
    optional("evidence_refs", TEXTS),
    optional("base_version", PRESENT),
]);

static FACT: Shape = Shape::closed(&[
    required("fact", Want::NON_EMPTY),
    optional("evidence_ref", Want::STRING),
    optional("confidence", FRACTION),
]);

static HANDOFF: Shape = Shape::closed(&[
    required("task_id", ID),
    required("target_agent_id", ID),
    required("context_summary", Want::STRING),
    required("handoff_reason", Want::STRING),
    required("exact_next_action", Want::NON_EMPTY),
    required(
        "delegated_authorization",
        Want::OneOf(&[Want::Nested(&AUTHORIZATION), Want::STRING]),
    ),
    required("support_boundary", Want::NON_EMPTY),
    optional("required_reads", TEXTS),
    optional("evidence_refs", TEXTS),
    optional("blockers", Want::LIST),
    optional("risks", Want::LIST),
]);

static AUTHORIZATION: Shape = Shape::closed(&[
    optional("scope", TEXTS),
    optional("granted_by", Want::STRING),
    optional("expires_at", TIME),
]);

static FINAL_REPORT: Shape = Shape::closed(&[
    required("task_id", ID),
    required(
        "outcome",
        Want::Enum(&["completed", "partial", "failed", "cancelled"]),
    ),
    required("summary", Want::STRING),
    required("evidence_refs", TEXTS),
    optional("validation_results", Want::LIST),
    optional("remaining_risks", Want::LIST),
    optional("next_action", Want::STRING),
    required("support_boundary", Want::NON_EMPTY),
]);

static CORRECTION: Shape = Shape::closed(&[
    required("correction_id", ID),
    required("corrects_message_id", ID),
    required("reason", Want::STRING),
    required("corrected_fields", Want::Object),
    optional("effective_at", TIME),
    required("support_boundary", Want::NON_EMPTY),
]);

/// The member names are published, their types are not.
static CAPABILITY_PROFILE: Shape = Shape::closed(&[
    required("ability_profile_id", PRESENT),
    required("declared_level", PRESENT),
    required("label", PRESENT),
    required("capability_surface", PRESENT),
    required("authority_boundary", PRESENT),
    required("required_human_approval", PRESENT),
    required("no_op_triggers", PRESENT),
    required("evidence_requirements", PRESENT),
    optional("features", TEXTS),
]);

static NEGOTIATION: Shape = Shape::closed(&[
    required("negotiation_id", ID),
    required(
        "phase",
        Want::Enum(&["offer", "answer", "confirm", "reject"]),
    ),
    optional("offered", Want::Nested(&OFFERED)),
    optional("required", Want::Nested(&REQUIRED)),
    optional("selected", Want::Nested(&SELECTED)),
    optional("fallback", PRESENT),
    optional("reason", Want::STRING),
]);

static OFFERED: Shape = Shape::closed(&[
    optional("uai_versions", TEXTS),
    optional("forms", TEXTS),
    optional("features", TEXTS),
    optional("sig_algs", TEXTS),
    optional("enc", TEXTS),
    optional("max_bytes", POSITIVE),
]);

/// Features only, says UAI 9.6 K1; a requirement of another kind is met or refused all the same.
static REQUIRED: Shape = Shape::open(&[optional("features", TEXTS)]);

static SELECTED: Shape = Shape::closed(&[
    optional("uai_version", Want::NON_EMPTY),
    optional("form", Want::NON_EMPTY),
    optional("features", TEXTS),
    optional("sig_alg", Want::NON_EMPTY),
    optional("enc", Want::NON_EMPTY),
    optional("max_bytes", POSITIVE),
]);

static DISCOVERY: Shape = Shape::closed(&[
    required(
        "operation",
        Want::Enum(&["query", "result", "announce", "withdraw"]),
    ),
    optional("query", Want::Object),
    optional("agents", OBJECTS),
    optional("cursor", Want::STRING),
    optional("limit", POSITIVE),
]);

static SEALED: Shape = Shape::closed(&[
    required("sealed_profile", Want::NON_EMPTY),
    required("content_type", Want::NON_EMPTY),
    required("jwe", Want::Object),
]);
