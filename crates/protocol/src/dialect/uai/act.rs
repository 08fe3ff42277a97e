//! What a UAI-1 message does, by profile and the word in its body.
//!
//! Implements the act column of the neutral header for UAI 3.1 to 3.3.

use crate::Act;
use crate::json::Value;

/// The act of a valid envelope. An unknown profile informs: nothing else is known about it.
pub(super) fn act(profile: &str, body: Value<'_>) -> Act {
    let word = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();
    match profile {
        "uai.intent.request.v1" | "uai.agent.handoff.v1" => Act::Request,
        "uai.intent.response.v1" => match &*word("status") {
            "accepted" => Act::Accept,
            "rejected" => Act::Refuse,
            "partial" => Act::Output,
            _ => Act::Complete,
        },
        "uai.agent.message.v1" => match &*word("message_type") {
            "directive" => Act::Request,
            "query" => Act::Query,
            "response" => Act::Answer,
            _ => Act::Inform,
        },
        "uai.agent.ack.v1" => match &*word("ack_status") {
            "accepted" => Act::Accept,
            "rejected" => Act::Refuse,
            "human_review" => Act::Block,
            _ => Act::Ack,
        },
        "uai.task.status.v1" | "uai.agent.task-status.v1" => match &*word("state") {
            "accepted" => Act::Accept,
            "running" => Act::Progress,
            "blocked" => Act::Block,
            "completed" => Act::Complete,
            "failed" => Act::Fail,
            "cancelled" => Act::Cancel,
            "expired" => Act::TimeOut,
            // Queued: known to the worker, not yet taken on.
            _ => Act::Inform,
        },
        "uai.agent.final-report.v1" => match &*word("outcome") {
            "failed" => Act::Fail,
            "cancelled" => Act::Cancel,
            // A partial outcome still ends the task.
            _ => Act::Complete,
        },
        "uai.agent.discovery.v1" => match &*word("operation") {
            "query" => Act::Query,
            "result" => Act::Answer,
            _ => Act::Control,
        },
        "uai.agent.blocker.v1" => Act::Block,
        "uai.error.v1" => Act::Fail,
        "uai.agent.memory-proposal.v1" => Act::Propose,
        "uai.capability.negotiation.v1" => Act::Control,
        // Statements, profiles, corrections, conformance results; and sealed messages, whose act is
        // inside.
        _ => Act::Inform,
    }
}
