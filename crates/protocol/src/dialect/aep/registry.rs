//! The closed registry of 107 event types (AEP 2).
//!
//! A pure data table, sorted by name, and therefore longer than a module of code should be. Each row
//! says what the type does ([`Act`]), which part of the flow it moves, and the shape of its payload
//! where one is published.
//!
//! The life-cycle acts are given only to families whose events end work of their own (`task`,
//! `tool.call`, `command`, `query`, `delegation`). `interruption.cancelled`, `context.retrieval.failed`
//! or `delegation.handoff.completed` carry the id of a task that goes on: plain information.

use super::payload;
use crate::shape::Shape;
use crate::{Act, TaskState};

/// One registered event type.
#[derive(Debug)]
pub struct EventType {
    /// The wire name.
    pub name: &'static str,
    /// What it does, in the words every dialect shares.
    pub act: Act,
    /// What of the flow it moves.
    pub role: Role,
    /// The published shape of its payload; `None` when the payload is free.
    pub payload: Option<&'static Shape>,
}

/// What of the flow an event type moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Nothing: it is carried.
    Carried,
    /// Asks for events.
    Subscribe,
    /// Opens a task.
    Submit,
    /// Reports a task in that state.
    Become(TaskState),
    /// Asks for the end of a task.
    CancelRequest,
    /// Sets the limit of a budget, which stands in the payload under that name.
    BudgetSet(&'static str),
    /// Opens a command.
    CommandOpen,
    /// Ends a command.
    CommandClose,
    /// Opens a query.
    QueryOpen,
    /// Ends a query.
    QueryClose,
    /// Settles a tracked delivery.
    Acknowledged,
    /// Counts another attempt of a tracked delivery.
    Redelivered,
    /// Gives a tracked delivery up.
    DeadLettered,
}

/// The registered type of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static EventType> {
    let at = EVENT_TYPES
        .binary_search_by(|row| row.name.cmp(name))
        .ok()?;
    EVENT_TYPES.get(at)
}

/// Whether `name` follows `^[a-z][a-z0-9]*(\.[a-z][a-z0-9_]*)+$` (AEP 1.1): two or more segments,
/// the first without an underscore.
#[must_use]
pub fn follows_pattern(name: &str) -> bool {
    let mut segments = name.split('.');
    let is_segment = |segment: &str, underscore: bool| {
        segment.starts_with(|c: char| c.is_ascii_lowercase())
            && segment
                .bytes()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || (underscore && c == b'_'))
    };
    segments
        .next()
        .is_some_and(|first| is_segment(first, false))
        && name.contains('.')
        && segments.all(|segment| is_segment(segment, true))
}

const fn row(
    name: &'static str,
    act: Act,
    role: Role,
    payload: Option<&'static Shape>,
) -> EventType {
    EventType {
        name,
        act,
        role,
        payload,
    }
}

/// Every registered type, sorted by name.
#[rustfmt::skip]
pub static EVENT_TYPES: [EventType; 107] = [
    row("adaptation.budget.adjusted", Act::Inform, Role::BudgetSet("new_limit"), None),
    row("adaptation.budget.established", Act::Inform, Role::BudgetSet("limit"), None),
    row("adaptation.budget.exhausted", Act::Inform, Role::Carried, None),
    row("adaptation.budget.limit_exceeded", Act::Inform, Role::Carried, None),
    row("adaptation.cost.exceeded", Act::Inform, Role::Carried, None),
    row("adaptation.goal.abandoned", Act::Inform, Role::Carried, None),
    row("adaptation.goal.achieved", Act::Inform, Role::Carried, None),
    row("adaptation.goal.created", Act::Inform, Role::Carried, None),
    row("adaptation.goal.updated", Act::Inform, Role::Carried, None),
    row("adaptation.outcome.correlated", Act::Inform, Role::Carried, None),
    row("agent.decision.recorded", Act::Inform, Role::Carried, None),
    row("agent.message.failed", Act::Inform, Role::Carried, None),
    row("agent.message.received", Act::Inform, Role::Carried, None),
    row("agent.message.sent", Act::Inform, Role::Carried, None),
    row("agent.request.created", Act::Inform, Role::Carried, None),
    row("agent.response.created", Act::Inform, Role::Carried, None),
    row("belief.conflict.detected", Act::Inform, Role::Carried, Some(&payload::BELIEF_CONFLICT_DETECTED)),
    row("belief.revised", Act::Inform, Role::Carried, Some(&payload::BELIEF_REVISED)),
    row("capabilities.changed", Act::Control, Role::Carried, None),
    row("capabilities.declared", Act::Control, Role::Carried, None),
    row("capabilities.requested", Act::Control, Role::Carried, None),
    row("command.accepted", Act::Accept, Role::Carried, None),
    row("command.completed", Act::Complete, Role::CommandClose, None),
    row("command.failed", Act::Fail, Role::CommandClose, None),
    row("command.rejected", Act::Refuse, Role::CommandClose, None),
    row("command.requested", Act::Request, Role::CommandOpen, None),
    row("compensation.completed", Act::Inform, Role::Carried, Some(&payload::ANY_OBJECT)),
    row("compensation.requested", Act::Inform, Role::Carried, Some(&payload::COMPENSATION_REQUESTED)),
    row("context.invalidated", Act::Inform, Role::Carried, Some(&payload::CONTEXT_INVALIDATED)),
    row("context.retrieval.completed", Act::Inform, Role::Carried, None),
    row("context.retrieval.failed", Act::Inform, Role::Carried, None),
    row("context.retrieval.started", Act::Inform, Role::Carried, None),
    row("context.snapshot.ready", Act::Inform, Role::Carried, Some(&payload::CONTEXT_SNAPSHOT_READY)),
    row("context.snapshot.requested", Act::Inform, Role::Carried, Some(&payload::CONTEXT_SNAPSHOT_REQUESTED)),
    row("context.updated", Act::Inform, Role::Carried, Some(&payload::CONTEXT_UPDATED)),
    row("delegation.accepted", Act::Accept, Role::Carried, Some(&payload::ANY_OBJECT)),
    row("delegation.escalated", Act::Inform, Role::Carried, Some(&payload::DELEGATION_ESCALATED)),
    row("delegation.handoff.completed", Act::Inform, Role::Carried, Some(&payload::ANY_OBJECT)),
    row("delegation.rejected", Act::Refuse, Role::Carried, Some(&payload::DELEGATION_REJECTED)),
    row("delegation.requested", Act::Request, Role::Carried, Some(&payload::DELEGATION_REQUESTED)),
    row("environment.alerted", Act::Inform, Role::Carried, None),
    row("environment.changed", Act::Inform, Role::Carried, None),
    row("environment.error", Act::Inform, Role::Carried, None),
    row("environment.observed", Act::Inform, Role::Carried, None),
    row("event.acknowledged", Act::Ack, Role::Acknowledged, None),
    row("event.dead_lettered", Act::Control, Role::DeadLettered, None),
    row("event.redelivered", Act::Control, Role::Redelivered, None),
    row("event.rejected", Act::Reject, Role::Carried, None),
    row("event.replayed", Act::Control, Role::Carried, None),
    row("freshness.expired", Act::Inform, Role::Carried, Some(&payload::FRESHNESS_EXPIRED)),
    row("freshness.window.changed", Act::Inform, Role::Carried, Some(&payload::FRESHNESS_WINDOW_CHANGED)),
    row("interruption.acknowledged", Act::Inform, Role::Carried, Some(&payload::ANY_OBJECT)),
    row("interruption.cancelled", Act::Inform, Role::Carried, Some(&payload::INTERRUPTION_CANCELLED)),
    row("interruption.requested", Act::Inform, Role::Carried, Some(&payload::INTERRUPTION_REQUESTED)),
    row("interruption.resumed", Act::Inform, Role::Carried, Some(&payload::ANY_OBJECT)),
    row("interruption.saved", Act::Inform, Role::Carried, Some(&payload::INTERRUPTION_SAVED)),
    row("memory.constraint.updated", Act::Inform, Role::Carried, None),
    row("memory.episode.stored", Act::Inform, Role::Carried, None),
    row("memory.fact.added", Act::Inform, Role::Carried, Some(&payload::MEMORY_FACT_ADDED)),
    row("memory.fact.invalidated", Act::Inform, Role::Carried, Some(&payload::MEMORY_FACT_INVALIDATED)),
    row("memory.fact.updated", Act::Inform, Role::Carried, Some(&payload::MEMORY_FACT_UPDATED)),
    row("memory.preference.updated", Act::Inform, Role::Carried, None),
    row("memory.retrieval.ready", Act::Inform, Role::Carried, None),
    row("memory.summary.ready", Act::Inform, Role::Carried, None),
    row("provenance.attestation.added", Act::Inform, Role::Carried, Some(&payload::PROVENANCE_ATTESTATION_ADDED)),
    row("provenance.attestation.revoked", Act::Inform, Role::Carried, Some(&payload::PROVENANCE_ATTESTATION_REVOKED)),
    row("provenance.chain.truncated", Act::Inform, Role::Carried, Some(&payload::PROVENANCE_CHAIN_TRUNCATED)),
    row("query.error", Act::Fail, Role::QueryClose, None),
    row("query.rejected", Act::Refuse, Role::QueryClose, None),
    row("query.requested", Act::Query, Role::QueryOpen, None),
    row("query.response", Act::Answer, Role::QueryClose, None),
    row("session.closed", Act::Control, Role::Carried, None),
    row("session.error", Act::Control, Role::Carried, None),
    row("session.heartbeat", Act::Control, Role::Carried, None),
    row("session.opened", Act::Control, Role::Carried, None),
    row("session.ready", Act::Control, Role::Carried, None),
    row("state.delta.applied", Act::Inform, Role::Carried, None),
    row("state.invalidated", Act::Inform, Role::Carried, None),
    row("state.snapshot.ready", Act::Inform, Role::Carried, None),
    row("state.snapshot.requested", Act::Inform, Role::Carried, None),
    row("subscription.cancelled", Act::Control, Role::Carried, None),
    row("subscription.created", Act::Control, Role::Carried, None),
    row("subscription.expired", Act::Control, Role::Carried, None),
    row("subscription.rejected", Act::Control, Role::Carried, None),
    row("subscription.requested", Act::Control, Role::Subscribe, None),
    row("task.accepted", Act::Accept, Role::Become(TaskState::Accepted), None),
    row("task.blocked", Act::Block, Role::Become(TaskState::Blocked), None),
    row("task.cancel.requested", Act::CancelRequest, Role::CancelRequest, None),
    row("task.cancelled", Act::Cancel, Role::Become(TaskState::Cancelled), None),
    row("task.completed", Act::Complete, Role::Become(TaskState::Completed), None),
    row("task.failed", Act::Fail, Role::Become(TaskState::Failed), None),
    row("task.output", Act::Output, Role::Become(TaskState::Output), None),
    row("task.progress", Act::Progress, Role::Become(TaskState::Progress), None),
    row("task.started", Act::Start, Role::Become(TaskState::Started), None),
    row("task.submitted", Act::Request, Role::Submit, None),
    row("task.timed_out", Act::TimeOut, Role::Become(TaskState::TimedOut), None),
    row("tool.call.accepted", Act::Accept, Role::Carried, None),
    row("tool.call.cancel.requested", Act::CancelRequest, Role::Carried, None),
    row("tool.call.cancelled", Act::Cancel, Role::Carried, None),
    row("tool.call.completed", Act::Complete, Role::Carried, None),
    row("tool.call.failed", Act::Fail, Role::Carried, None),
    row("tool.call.output", Act::Output, Role::Carried, None),
    row("tool.call.progress", Act::Progress, Role::Carried, None),
    row("tool.call.rejected", Act::Refuse, Role::Carried, None),
    row("tool.call.requested", Act::Request, Role::Carried, None),
    row("tool.call.started", Act::Start, Role::Carried, None),
    row("tool.call.timed_out", Act::TimeOut, Role::Carried, None),
];

#[cfg(test)]
mod tests {
    use super::{EVENT_TYPES, find, follows_pattern};

    #[test]
    fn every_registered_type_is_found_and_follows_the_pattern() {
        for pair in EVENT_TYPES.windows(2) {
            assert!(
                pair[0].name < pair[1].name,
                "{} is out of order",
                pair[1].name
            );
        }
        for row in &EVENT_TYPES {
            assert!(follows_pattern(row.name), "{}", row.name);
            assert_eq!(find(row.name).map(|found| found.name), Some(row.name));
        }
        assert!(find("task.running").is_none());
    }

    #[test]
    fn the_pattern_refuses_what_only_looks_like_a_type() {
        for name in [
            "",
            "task",
            "task.",
            ".task",
            "task..x",
            "Task.x",
            "task.X",
            "ta_sk.x",
            "task.1x",
            "task._x",
            "1ask.x",
            "task.x-y",
            "task.x ",
            "t\u{e4}sk.x",
        ] {
            assert!(!follows_pattern(name), "{name}");
        }
        for name in [
            "a.b",
            "a1.b_",
            "com.example.custom.event",
            "event.dead_lettered",
        ] {
            assert!(follows_pattern(name), "{name}");
        }
    }
}
