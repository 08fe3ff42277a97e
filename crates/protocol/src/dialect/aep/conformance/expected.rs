//! What strictness expects of every event of the published fixtures (AEP 11.5).
//!
//! A pure data table. An expectation follows the text where this crate implements it; where an event
//! is meant to be refused and is not, the row says why.

use std::fmt;

use super::{Expectation, Fixture, Level};

/// What one event must come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Accepted.
    Accept,
    /// Refused with this AEP code.
    Reject(&'static str),
}

impl Expected {
    /// The AEP code of a refusal.
    #[must_use]
    pub fn word(&self) -> Option<&'static str> {
        match self {
            Self::Accept => None,
            Self::Reject(word) => Some(word),
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word().unwrap_or("accepted"))
    }
}

/// The expectations of one fixture.
#[derive(Clone, Copy, Debug)]
pub struct StrictRow {
    /// The path in the manifest.
    pub path: &'static str,
    /// One per event.
    pub events: &'static [Expected],
    /// Why an expectation is not what the fixture intends, or other than the reference.
    pub note: &'static str,
}

/// The row of the fixture at that path.
#[must_use]
pub fn strict_row(path: &str) -> Option<&'static StrictRow> {
    STRICT.iter().find(|row| row.path == path)
}

/// The two fixtures that the v0.6.0 manifest leaves out, as the 1.0.0 suite lists them.
#[must_use]
pub fn upstream_fixtures() -> [Fixture; 2] {
    let fixture = |name: &str, level, expectation, description: &str| Fixture {
        path: format!("fixtures/{name}.ndjson"),
        level,
        description: description.into(),
        expectation,
        tags: vec!["task".into()],
        expected_types: None,
        expected_stats: Vec::new(),
        profile: None,
    };
    [
        fixture(
            "parent-child-positive",
            Level::C1,
            Expectation::StatefulFlow,
            "a parent completes after its child",
        ),
        fixture(
            "parent-child-negative",
            Level::C0,
            Expectation::RejectSome,
            "a parent may not complete before its child",
        ),
    ]
}

const OK: Expected = Expected::Accept;
const BUDGET_EXCEEDED: Expected = Expected::Reject("budget_exceeded");
const INVALID_COMMAND: Expected = Expected::Reject("invalid_command");
const INVALID_ENVELOPE: Expected = Expected::Reject("invalid_envelope");
const INVALID_EVENT_TYPE: Expected = Expected::Reject("invalid_event_type");
const INVALID_QUERY: Expected = Expected::Reject("invalid_query");
const SUBSCRIPTION_REJECTED: Expected = Expected::Reject("subscription_rejected");
const TASK_ERROR: Expected = Expected::Reject("task_error");
const UNAUTHORIZED: Expected = Expected::Reject("unauthorized");
const UNSUPPORTED_VERSION: Expected = Expected::Reject("unsupported_version");

const fn row(path: &'static str, events: &'static [Expected], note: &'static str) -> StrictRow {
    StrictRow { path, events, note }
}

#[rustfmt::skip]
static STRICT: [StrictRow; 34] = [
    row("fixtures/negative.ndjson",
        &[INVALID_EVENT_TYPE, INVALID_ENVELOPE, UNSUPPORTED_VERSION],
        ""),
    row("fixtures/reject-unknown-events.ndjson",
        &[INVALID_EVENT_TYPE, INVALID_EVENT_TYPE],
        ""),
    row("fixtures/reject-some-protocol.ndjson",
        &[SUBSCRIPTION_REJECTED],
        ""),
    row("fixtures/reject-some-payload.ndjson",
        &[INVALID_ENVELOPE],
        ""),
    row("fixtures/task-lifecycle.ndjson",
        &[OK, OK, OK, OK, OK],
        ""),
    row("fixtures/memory-context-ack.ndjson",
        &[OK, OK, OK, OK],
        ""),
    row("fixtures/session-flow.ndjson",
        &[OK, OK, OK, OK],
        ""),
    row("fixtures/event-contract.ndjson",
        &[OK, OK, OK, OK, OK, OK],
        ""),
    row("fixtures/event-core.ndjson",
        &[OK, OK, OK, OK, OK, OK],
        ""),
    row("fixtures/governance-contract.ndjson",
        &[OK, UNAUTHORIZED, UNAUTHORIZED, OK],
        ""),
    row("fixtures/tenant-isolation-negative.ndjson",
        &[UNAUTHORIZED, UNAUTHORIZED, UNAUTHORIZED],
        ""),
    row("fixtures/tenant-isolation-positive.ndjson",
        &[OK, OK, OK, OK, OK],
        ""),
    row("fixtures/delivery.ndjson",
        &[OK, TASK_ERROR, OK, OK, OK],
        "Never run by the reference; the second event is an illegal move from accepted to progress."),
    row("fixtures/delivery-stateful.ndjson",
        &[OK, OK, OK, OK, OK, OK, OK],
        ""),
    row("fixtures/delivery-e2e.ndjson",
        &[OK, OK, OK, OK, OK, OK],
        ""),
    row("fixtures/agent-runtime-semantics.ndjson",
        &[OK, OK, OK, OK, OK, OK, OK, OK, OK, OK],
        ""),
    row("fixtures/task-blocked-resume.ndjson",
        &[OK, OK, OK, OK, OK, OK, OK],
        ""),
    row("fixtures/task-timed-out.ndjson",
        &[OK, OK, OK, OK, OK],
        ""),
    row("fixtures/task-invalid-transitions.ndjson",
        &[OK, TASK_ERROR, OK],
        ""),
    row("fixtures/core-lifecycle.ndjson",
        &[OK, OK, OK, OK, OK, OK, OK, OK],
        ""),
    row("fixtures/task-output.ndjson",
        &[OK, OK, OK, OK, OK],
        ""),
    row("fixtures/task-failed.ndjson",
        &[OK, OK, OK, OK, OK],
        ""),
    row("fixtures/task-cancelled.ndjson",
        &[OK, OK, OK, OK],
        ""),
    row("fixtures/task-cancel-requested.ndjson",
        &[OK, OK, OK, OK, OK],
        ""),
    row("fixtures/delegation-positive.ndjson",
        &[OK, OK, OK, OK, OK, OK, OK, OK, OK, OK, OK, OK, OK],
        "A cancelled parent takes its children with it; the child may still report it."),
    row("fixtures/delegation-negative.ndjson",
        &[OK, OK, OK, OK, OK, OK, OK, OK, OK, OK, TASK_ERROR],
        "The sixth event, an escalation after a rejection, is meant to be invalid; no published table says from which state a delegation may be escalated, so it is carried."),
    row("fixtures/adaptation-positive.ndjson",
        &[OK, OK, OK, OK, OK],
        ""),
    row("fixtures/adaptation-negative.ndjson",
        &[OK, BUDGET_EXCEEDED, OK, OK],
        ""),
    row("fixtures/command-positive.ndjson",
        &[OK, OK, OK],
        ""),
    row("fixtures/command-negative.ndjson",
        &[INVALID_COMMAND, UNAUTHORIZED, OK],
        "The third event is meant to be refused for its unknown target. The accepted fixtures address agents that never registered either, so a target cannot be judged here."),
    row("fixtures/query-positive.ndjson",
        &[OK, OK],
        ""),
    row("fixtures/query-negative.ndjson",
        &[INVALID_QUERY, UNAUTHORIZED, OK],
        "The third event is meant to be refused for its unknown target; see command-negative."),
    row("fixtures/parent-child-positive.ndjson",
        &[OK, OK, OK, OK, OK, OK, OK, OK],
        "On disk, but in no manifest before suite version 1.0.0."),
    row("fixtures/parent-child-negative.ndjson",
        &[OK, OK, OK, OK, OK, OK, TASK_ERROR],
        "On disk, but in no manifest before suite version 1.0.0."),
];
