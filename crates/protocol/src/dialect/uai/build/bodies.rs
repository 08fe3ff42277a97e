//! The bodies of the common agent packets (UAI 3.2), each turned into an envelope by `envelope`.

use super::{Envelope, Heading, Object, flag, list, texts};
use crate::Timestamp;

/// What every packet says about its own standing when the caller says nothing else.
const SUPPORT_BOUNDARY: &str = "Record only: the receiving runtime decides under its own policy.";

/// `uai.agent.message.v1`.
#[derive(Clone, Debug)]
pub struct Message {
    /// `directive`, `query`, `inform`, `response` or `notification`.
    pub message_type: String,
    /// The text.
    pub content: String,
    /// URIs of what the text is about.
    pub context_refs: Vec<String>,
    /// Whether every recipient must acknowledge.
    pub ack_required: bool,
    /// What is wanted, in one word.
    pub intent: Option<String>,
}

impl Message {
    /// A message of that type, asking for no acknowledgement.
    #[must_use]
    pub fn new(message_type: &str, content: &str) -> Self {
        Self {
            message_type: message_type.into(),
            content: content.into(),
            context_refs: Vec::new(),
            ack_required: false,
            intent: None,
        }
    }

    /// The envelope around it. Both places that ask for an acknowledgement agree (UAI 4 D1).
    #[must_use]
    pub fn envelope(&self, heading: Heading) -> Envelope {
        let body = Object::new()
            .text("message_type", &self.message_type)
            .text("content", &self.content)
            .raw("context_refs", &texts(&self.context_refs))
            .raw("requires_acknowledgement", flag(self.ack_required))
            .maybe("intent", self.intent.as_deref())
            .close();
        Envelope::new("uai.agent.message.v1", body, heading).ack_required(self.ack_required)
    }
}

/// `uai.agent.handoff.v1`.
#[derive(Clone, Debug)]
pub struct Handoff {
    /// The task handed over.
    pub task_id: String,
    /// What the receiver must know.
    pub context_summary: String,
    /// Why it is handed over.
    pub handoff_reason: String,
    /// The one thing to do next.
    pub exact_next_action: String,
    /// What the receiver may do.
    pub scope: Vec<String>,
}

impl Handoff {
    /// A handoff of a task.
    #[must_use]
    pub fn new(task_id: &str, context_summary: &str, reason: &str, next_action: &str) -> Self {
        Self {
            task_id: task_id.into(),
            context_summary: context_summary.into(),
            handoff_reason: reason.into(),
            exact_next_action: next_action.into(),
            scope: Vec::new(),
        }
    }

    /// The envelope around it; `target` is the assignee. Asks for acknowledgements.
    #[must_use]
    pub fn envelope(&self, heading: Heading) -> Envelope {
        let authorization = Object::new()
            .raw("scope", &texts(&self.scope))
            .text("granted_by", &heading.source.id)
            .close();
        let body = Object::new()
            .text("task_id", &self.task_id)
            .text("target_agent_id", &heading.target.id)
            .text("context_summary", &self.context_summary)
            .text("handoff_reason", &self.handoff_reason)
            .text("exact_next_action", &self.exact_next_action)
            .raw("delegated_authorization", &authorization)
            .text("support_boundary", SUPPORT_BOUNDARY)
            .close();
        Envelope::new("uai.agent.handoff.v1", body, heading).ack_required(true)
    }
}

/// `uai.agent.ack.v1`.
#[derive(Clone, Debug)]
pub struct Ack {
    /// The message acknowledged.
    pub ack_for_message_id: String,
    /// `received`, `accepted`, `rejected`, `deferred`, `human_review` or `duplicate`.
    pub ack_status: String,
    /// Why.
    pub reason: Option<String>,
    /// When the message came.
    pub received_at: Timestamp,
    /// With `duplicate`: the first message.
    pub duplicate_of_message_id: Option<String>,
}

impl Ack {
    /// An acknowledgement of a message.
    #[must_use]
    pub fn new(ack_for_message_id: &str, ack_status: &str, received_at: Timestamp) -> Self {
        Self {
            ack_for_message_id: ack_for_message_id.into(),
            ack_status: ack_status.into(),
            reason: None,
            received_at,
            duplicate_of_message_id: None,
        }
    }

    /// The envelope around it, following the message it acknowledges.
    #[must_use]
    pub fn envelope(&self, heading: Heading) -> Envelope {
        let body = Object::new()
            .text("ack_for_message_id", &self.ack_for_message_id)
            .text("ack_status", &self.ack_status)
            .maybe("reason", self.reason.as_deref())
            .time("received_at", self.received_at)
            .maybe(
                "duplicate_of_message_id",
                self.duplicate_of_message_id.as_deref(),
            )
            .text("support_boundary", SUPPORT_BOUNDARY)
            .close();
        Envelope::new("uai.agent.ack.v1", body, heading).reply_to(&self.ack_for_message_id)
    }
}

/// `uai.agent.task-status.v1`. The progress follows from the state, so they cannot disagree.
#[derive(Clone, Debug)]
pub struct TaskStatus {
    task_id: String,
    state: String,
    progress: u8,
    summary: String,
    blockers: Vec<String>,
}

impl TaskStatus {
    /// Not started: `queued`.
    #[must_use]
    pub fn queued(task_id: &str, summary: &str) -> Self {
        Self::of(task_id, "queued", 0, summary)
    }

    /// Taken on, not started: `accepted`.
    #[must_use]
    pub fn accepted(task_id: &str, summary: &str) -> Self {
        Self::of(task_id, "accepted", 0, summary)
    }

    /// Under way; more than 99 percent is written as 99.
    #[must_use]
    pub fn running(task_id: &str, percent: u8, summary: &str) -> Self {
        Self::of(task_id, "running", percent.min(99), summary)
    }

    /// Waiting for what `blocker` names; more than 100 percent is written as 100.
    #[must_use]
    pub fn blocked(task_id: &str, percent: u8, summary: &str, blocker: &str) -> Self {
        let mut status = Self::of(task_id, "blocked", percent.min(100), summary);
        status.blockers.push(blocker.into());
        status
    }

    /// Done.
    #[must_use]
    pub fn completed(task_id: &str, summary: &str) -> Self {
        Self::of(task_id, "completed", 100, summary)
    }

    /// Given up.
    #[must_use]
    pub fn failed(task_id: &str, percent: u8, summary: &str) -> Self {
        Self::of(task_id, "failed", percent.min(100), summary)
    }

    /// Called off.
    #[must_use]
    pub fn cancelled(task_id: &str, percent: u8, summary: &str) -> Self {
        Self::of(task_id, "cancelled", percent.min(100), summary)
    }

    /// Out of time.
    #[must_use]
    pub fn expired(task_id: &str, percent: u8, summary: &str) -> Self {
        Self::of(task_id, "expired", percent.min(100), summary)
    }

    fn of(task_id: &str, state: &str, progress: u8, summary: &str) -> Self {
        Self {
            task_id: task_id.into(),
            state: state.into(),
            progress,
            summary: summary.into(),
            blockers: Vec::new(),
        }
    }

    /// The envelope around it, in mode `event`.
    #[must_use]
    pub fn envelope(&self, heading: Heading) -> Envelope {
        let mut body = Object::new()
            .text("task_id", &self.task_id)
            .text("state", &self.state)
            .raw("progress", &self.progress.to_string())
            .text("summary", &self.summary);
        if !self.blockers.is_empty() {
            body = body.raw("blockers", &texts(&self.blockers));
        }
        let body = body.text("support_boundary", SUPPORT_BOUNDARY).close();
        let profile = "uai.agent.task-status.v1";
        Envelope::new(profile, body, heading).mode("event")
    }
}

/// `uai.agent.final-report.v1`.
#[derive(Clone, Debug)]
pub struct FinalReport {
    /// The task that ended.
    pub task_id: String,
    /// `completed`, `partial`, `failed` or `cancelled`.
    pub outcome: String,
    /// What happened, in four or more words.
    pub summary: String,
    /// Where the evidence is; at least one.
    pub evidence_refs: Vec<String>,
    /// Checks made, each with its result.
    pub validation_results: Vec<(String, String)>,
}

impl FinalReport {
    /// A report with one piece of evidence.
    #[must_use]
    pub fn new(task_id: &str, outcome: &str, summary: &str, evidence_ref: &str) -> Self {
        Self {
            task_id: task_id.into(),
            outcome: outcome.into(),
            summary: summary.into(),
            evidence_refs: vec![evidence_ref.into()],
            validation_results: Vec::new(),
        }
    }

    /// The envelope around it.
    #[must_use]
    pub fn envelope(&self, heading: Heading) -> Envelope {
        let checks: Vec<String> = self
            .validation_results
            .iter()
            .map(|(check, result)| {
                Object::new()
                    .text("check", check)
                    .text("result", result)
                    .close()
            })
            .collect();
        let body = Object::new()
            .text("task_id", &self.task_id)
            .text("outcome", &self.outcome)
            .text("summary", &self.summary)
            .raw("evidence_refs", &texts(&self.evidence_refs))
            .raw("validation_results", &list(&checks))
            .text("support_boundary", SUPPORT_BOUNDARY)
            .close();
        let profile = "uai.agent.final-report.v1";
        Envelope::new(profile, body, heading)
    }
}
