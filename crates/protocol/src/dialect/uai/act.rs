//! What a UAI-1 message does, by profile and the word in its body; and what that does to a task.
//!
//! Implements the act column of the neutral header for UAI 3.1 to 3.3, and the pairings of UAI 3.4.

use std::borrow::Cow;

use crate::Act;
use crate::json::Value;
use crate::task::{CANCEL_INTENT, Opening, Step, TaskState, Terms};

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
        "uai.agent.message.v1" if word("intent") == CANCEL_INTENT => Act::CancelRequest,
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

/// What a valid envelope does to a task.
///
/// A handoff names its task, a proposal is one. A request, directive or query is a question of its own, named by its
/// message, unless it says that it expects no reply. Acknowledgements, responses and errors count for
/// the message they answer; reports name their task.
pub(super) fn step(profile: &str, act: Act, delivery: Value<'_>) -> Option<Step> {
    let open = |opening| Some(Step::Open(Box::new(Terms::new(opening))));
    let expects_reply = delivery.get("reply_expected").and_then(Value::as_bool) != Some(false);
    match profile {
        "uai.agent.handoff.v1" | "uai.agent.memory-proposal.v1" => open(Opening::Handoff),
        "uai.intent.request.v1" if expects_reply => open(Opening::Question),
        "uai.agent.message.v1" => match act {
            Act::CancelRequest => Some(Step::RequestCancel),
            Act::Request | Act::Query if expects_reply => open(Opening::Question),
            Act::Answer => Some(Step::Answer),
            _ => None,
        },
        "uai.intent.response.v1" | "uai.agent.ack.v1" | "uai.error.v1" => {
            state(act).map(Step::Reply)
        }
        "uai.task.status.v1"
        | "uai.agent.task-status.v1"
        | "uai.agent.final-report.v1"
        | "uai.agent.blocker.v1" => state(act).map(Step::Report),
        _ => None,
    }
}

/// The message that a reply answers, as its body says.
pub(super) fn answered<'d>(profile: &str, body: Value<'d>) -> Option<Cow<'d, str>> {
    let name = match profile {
        "uai.agent.ack.v1" => "ack_for_message_id",
        "uai.intent.response.v1" => "request_message_id",
        "uai.error.v1" => "related_message_id",
        _ => return None,
    };
    body.get(name)?.as_str()
}

/// The state that an act reports. A refused task has failed.
fn state(act: Act) -> Option<TaskState> {
    match act {
        Act::Accept => Some(TaskState::Accepted),
        Act::Progress => Some(TaskState::Progress),
        Act::Output => Some(TaskState::Output),
        Act::Block => Some(TaskState::Blocked),
        Act::Complete => Some(TaskState::Completed),
        Act::Fail | Act::Refuse => Some(TaskState::Failed),
        Act::Cancel => Some(TaskState::Cancelled),
        Act::TimeOut => Some(TaskState::TimedOut),
        Act::Request
        | Act::Start
        | Act::Resume
        | Act::CancelRequest
        | Act::Inform
        | Act::Query
        | Act::Answer
        | Act::Propose
        | Act::Ack
        | Act::Reject
        | Act::Control => None,
    }
}
