//! The facts of one envelope that an exchange acts on.
//!
//! A field enters the header only if the exchange *acts* on it. What only a peer reads stays in the
//! envelope's bytes.

use crate::dialect::aep;
use crate::{Coordination, Digest, Party, Retry, Settlement, Timestamp, task};

/// Which dialect an envelope is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DialectName {
    /// Agent Envelope Exchange.
    Aee,
    /// Agent Event Protocol, published as Harmovela.
    Aep,
    /// UAI-1, the UAIX envelope.
    Uai,
}

impl DialectName {
    /// The word used on every surface: `aee`, `aep`, `uai`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Aee => "aee",
            Self::Aep => "aep",
            Self::Uai => "uai",
        }
    }

    /// The reverse of [`Self::as_str`].
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Aee, Self::Aep, Self::Uai]
            .into_iter()
            .find(|name| name.as_str() == word)
    }
}

/// What an envelope does, whatever its dialect calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    missing_docs,
    reason = "the words are defined once, in ARCHITECTURE.md"
)]
pub enum Act {
    Request,
    Accept,
    Refuse,
    Start,
    Progress,
    Output,
    Block,
    Resume,
    Complete,
    Fail,
    CancelRequest,
    Cancel,
    TimeOut,
    Inform,
    Query,
    Answer,
    Propose,
    Ack,
    Reject,
    Control,
}

impl Act {
    /// Every act, in the order of its stored number.
    pub const ALL: [Self; 20] = [
        Self::Request,
        Self::Accept,
        Self::Refuse,
        Self::Start,
        Self::Progress,
        Self::Output,
        Self::Block,
        Self::Resume,
        Self::Complete,
        Self::Fail,
        Self::CancelRequest,
        Self::Cancel,
        Self::TimeOut,
        Self::Inform,
        Self::Query,
        Self::Answer,
        Self::Propose,
        Self::Ack,
        Self::Reject,
        Self::Control,
    ];

    /// The word used on every surface.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Accept => "accept",
            Self::Refuse => "refuse",
            Self::Start => "start",
            Self::Progress => "progress",
            Self::Output => "output",
            Self::Block => "block",
            Self::Resume => "resume",
            Self::Complete => "complete",
            Self::Fail => "fail",
            Self::CancelRequest => "cancel-request",
            Self::Cancel => "cancel",
            Self::TimeOut => "time-out",
            Self::Inform => "inform",
            Self::Query => "query",
            Self::Answer => "answer",
            Self::Propose => "propose",
            Self::Ack => "ack",
            Self::Reject => "reject",
            Self::Control => "control",
        }
    }
}

/// Urgency. `critical` in AEP payloads reads as urgent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the variants are the protocols' own words")]
pub enum Priority {
    Low,
    #[default]
    Normal,
    High,
    Urgent,
}

impl Priority {
    /// The word used on every surface.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Normal => "normal",
            Self::High => "high",
            Self::Urgent => "urgent",
        }
    }

    /// The reverse of [`Self::as_str`].
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Low, Self::Normal, Self::High, Self::Urgent]
            .into_iter()
            .find(|p| p.as_str() == word)
    }
}

/// Where an accepted envelope goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Intake {
    /// To its recipients.
    Work,
    /// Kept and readable, never delivered: an AEE envelope of a five-field tier (AEE 2.2).
    Log,
}

/// The dialect-free facts of one envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The dialect of the bytes.
    pub dialect: DialectName,
    /// The sender's id for this message. Unique per sender, not globally.
    pub id: Box<str>,
    /// Who sent it.
    pub sender: Party,
    /// What it does.
    pub act: Act,
    /// What filters call `type`: AEE `type`, AEP `type`, UAI-1 `profile`.
    pub kind: Box<str>,
    /// Named recipients in the sender's order, each once. Empty for pure topic or broadcast events.
    pub recipients: Vec<Party>,
    /// Topics: AEP `topic`, UAI-1 `delivery.topic`.
    pub topics: Vec<Box<str>>,
    /// The conversation: AEE `corr`, AEP `conversation_id` (or `correlation_id`), UAI-1
    /// `conversation.conversation_id`.
    pub conversation: Option<Box<str>>,
    /// AEP `correlation_id`, UAI-1 `conversation.correlation_id`.
    pub correlation: Option<Box<str>>,
    /// The message that caused this one: AEE `reply_to`, AEP `causation_id`, UAI-1 the message that an
    /// acknowledgement, response or error says it answers, else `conversation.parent_message_id`.
    pub cause: Option<Box<str>>,
    /// The task: AEP `task_id`, UAI-1 `body.task_id` or `delivery.task_ref`; an AEE task is its id. The
    /// exchange fills in the task that it found, where the envelope names none or calls it otherwise.
    pub task: Option<Box<str>>,
    /// AEP `session_id`.
    pub session: Option<Box<str>>,
    /// AEE `intent`, UAI-1 `body.intent`.
    pub intent: Option<Box<str>>,
    /// Urgency.
    pub priority: Priority,
    /// After this moment nobody needs it: AEP `expires_at`, UAI-1 `delivery.expires_at`.
    pub deadline: Option<Timestamp>,
    /// What the sender asks of the deliveries of this message: AEP `delivery.retry`.
    pub retry: Option<Box<Retry>>,
    /// What this message says about one that was delivered to its sender. Acted on when it is
    /// published, and not stored.
    pub settles: Option<Box<Settlement>>,
    /// Work or log.
    pub intake: Intake,
    /// For each recipient, messages of one sender under one such key are the same message, whatever
    /// their ids: UAI-1 `delivery.idempotency_key`. Without it only the id says what is the same.
    pub idempotency_key: Option<Box<str>>,
    /// The message that this one is a copy of, made for one of its recipients: UAI-1
    /// `origin_message_id` of a split copy.
    pub origin: Option<Box<str>>,
    /// The cursor of the message that this one plays again. A replay goes to its named recipients and
    /// to nobody else, and moves no task, no budget and no delivery.
    pub replay_of: Option<Box<str>>,
    /// What it does to a task.
    pub step: Option<task::Step>,
    /// What the AEP flow machine acts on, for the event types that move it.
    pub flow: Option<Box<aep::flow::Facts>>,
    /// What it agrees with the exchange itself.
    pub coordination: Option<Box<Coordination>>,
    /// Digest of what must be equal for a repeat to be a duplicate and not a conflict: the bytes; in
    /// UAI-1 what a retry keeps.
    pub fingerprint: Digest,
}

impl Header {
    /// Under which text two messages of one sender to one recipient are the same: the idempotency
    /// key, or else the id.
    #[must_use]
    pub fn dedupe_key(&self) -> &str {
        self.idempotency_key.as_deref().unwrap_or(&self.id)
    }
}
