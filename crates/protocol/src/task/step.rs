//! What one envelope does to a task, as its dialect reads it.

use super::TaskState;
use crate::Party;

/// The word that asks for the end of a task. AEP has it as a type; AEE and UAI-1, which have no such
/// word, borrow it as the intent of an event or message.
pub const CANCEL_INTENT: &str = "task.cancel.requested";

/// What one envelope does to a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Opens a task, or hands an open one on.
    Open(Box<Terms>),
    /// Reports on the task that the envelope names, or else on the one that its cause opened.
    Report(TaskState),
    /// The same, but only about the task that its cause opened: an acknowledgement of a report is no
    /// report, although both may name the task.
    Reply(TaskState),
    /// An answer to its cause: the end of a question, output of any other work.
    Answer,
    /// Asks for the end of a task.
    RequestCancel,
}

/// How an envelope names the task it opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// By an id that must be new (AEP).
    Submission,
    /// By an id; one that is open is handed on (UAI-1 handoff).
    Handoff,
    /// By its own message id (AEE tasks, UAI-1 questions and directives).
    Question,
}

/// What a task is opened with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// How it is named.
    pub opening: Opening,
    /// The task it is a part of.
    pub parent: Option<Box<str>>,
    /// How long it may take from its acceptance by the exchange.
    pub timeout_ms: Option<i64>,
    /// Who works on it, when that is not every recipient (UAI 9.1 M8).
    pub assignees: Vec<Party>,
    /// How many copies its message was split into, of which this is one (UAI 9.2 B2); 0 for none.
    pub copies: u32,
}

impl Terms {
    /// Terms without a parent or a time, for every recipient.
    #[must_use]
    pub fn new(opening: Opening) -> Self {
        Self {
            opening,
            parent: None,
            timeout_ms: None,
            assignees: Vec::new(),
            copies: 0,
        }
    }
}
