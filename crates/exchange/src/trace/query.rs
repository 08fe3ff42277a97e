//! What is asked for, what is to be looked up, and what may come of it.

use super::forest::Trace;
use protocol::Party;
use std::sync::Arc;

/// As what a name is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the variants are the header's own words")]
pub enum By {
    Conversation,
    Message,
    Task,
    Correlation,
}

impl By {
    /// The word on every surface.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Conversation => "conversation",
            Self::Message => "message",
            Self::Task => "task",
            Self::Correlation => "correlation",
        }
    }

    /// The reverse of [`Self::as_str`].
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [
            Self::Conversation,
            Self::Message,
            Self::Task,
            Self::Correlation,
        ]
        .into_iter()
        .find(|by| by.as_str() == word)
    }
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Query {
    /// The name.
    pub text: Box<str>,
    /// As what; as anything when absent.
    pub by: Option<By>,
    /// Who sent the message of that id.
    pub sender: Option<Party>,
    /// Only messages after this sequence.
    pub after: u64,
    /// At most so many messages of the conversation, and so many linked to it.
    pub limit: usize,
}

/// Something to look up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// All messages with this id.
    Id(Arc<str>),
    /// Messages that mention this text as conversation, correlation, cause or task: those after a
    /// sequence, in order, at most so many.
    Mention {
        /// The text.
        text: Arc<str>,
        /// After this one.
        after: u64,
        /// At most.
        limit: usize,
    },
}

/// One of several things that a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// As what it was found.
    pub by: By,
    /// In which conversation.
    pub conversation: Option<Arc<str>>,
    /// Who sent the first message of it.
    pub sender: Arc<str>,
    /// That message.
    pub sequence: u64,
}

/// What came of it.
#[derive(Debug)]
pub enum Found {
    /// Nothing of that name.
    Nothing,
    /// Several things of that name, which have nothing to do with each other.
    Several(Vec<Candidate>),
    /// The trace.
    Trace(Box<Trace>),
}
