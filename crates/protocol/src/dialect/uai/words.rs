//! Word lists that are data: registered error codes, claims no packet can grant.
//!
//! Implements UAI 6, 6.1 and the claims row of 6.2.

use crate::Code;

/// Whether an error body may use this code: one of the visible UAIX codes, of the digest's list, or
/// of ours.
pub(super) fn is_registered(code: &str) -> bool {
    Code::parse(code).is_some() || ERROR_CODES.contains(&code)
}

/// The words that an error body may use besides our own.
pub(super) fn registered() -> impl Iterator<Item = &'static str> {
    ERROR_CODES.into_iter()
}

/// Codes that are no [`Code`] here, because nothing in this library raises them.
const ERROR_CODES: [&str; 37] = [
    // Published: replies, rule ids, no-op triggers.
    "ok",
    "human_review_required",
    "rejected",
    "get_action_fallback_required",
    "get_action_idempotency_required",
    "get_action_query_secret",
    "get_action_js_only_discovery",
    "llms_minimal_instruction_required",
    "retry_loop_no_op_violation",
    "malformed_schema",
    "missing_profile",
    "unsupported_capability_level",
    "authority_boundary_conflict",
    "missing_integrity_checksum",
    "provenance_mismatch",
    "runtime_execution_requested",
    "credential_validation_requested",
    "private_network_probe_requested",
    "philosophical_claim_widening",
    "certification_claim_requested",
    "memory_conflict_unresolved",
    // Proposed (UAI 6.1).
    "unsupported_alias",
    "signature_missing",
    "signature_invalid",
    "trust_principal_mismatch",
    "replay_detected",
    "replay_window_closed",
    "not_authorized_for_topic",
    "unknown_message",
    "idempotency_conflict",
    "payload_too_large",
    "unsupported_media_type",
    "rate_limited",
    "sealed_header_mismatch",
    "sealed_not_recipient",
    "unsupported_action",
    "encryption_unsupported",
];

/// Lower-case phrases that claim hosting, automatic effects or approval.
pub(super) const RUNTIME_CLAIMS: [&str; 14] = [
    "hosted messaging",
    "automatic sync",
    "auto sync",
    "auto-sync",
    "hosted orchestration",
    "orchestrates for you",
    "repository write",
    "repo write",
    "official adapter",
    "certified by uaix",
    "uaix certified",
    "uaix-certified",
    "official certification",
    "hosted import",
];

#[cfg(test)]
mod tests {
    use super::{ERROR_CODES, is_registered};

    #[test]
    fn published_proposed_and_own_codes_are_registered() {
        for code in ERROR_CODES {
            assert!(is_registered(code), "{code}");
        }
        assert!(is_registered("checksum_mismatch"));
        assert!(!is_registered("made_up_code"));
        assert!(!is_registered(""));
    }
}
