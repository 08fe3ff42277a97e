//! What a document says, in words that no framework owns.

use protocol::Timestamp;

/// What one part of a document is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Somebody is asked to do something: a tool call, a task of a graph or of a crew.
    Call {
        /// Its id; where the format has none, the name and a number, as `get_weather#0`.
        id: String,
        /// Of the tool.
        name: String,
    },
    /// How a call ended.
    Result {
        /// The id of the call.
        call: String,
        /// The tool, where it is known.
        name: Option<String>,
        /// Whether it failed.
        is_error: bool,
    },
    /// Something said.
    Message {
        /// By whom, in the format's word: `user`, `assistant`, `TextMessage`.
        role: String,
    },
    /// What holds the others, such as a request, a response or a step, with all that is not theirs.
    Document {
        /// What it is: the intent of its envelope.
        intent: &'static str,
    },
}

/// How the content of an item stands in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As a JSON value.
    Value,
    /// As JSON inside a string.
    Text,
}

/// One part of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Where it stands in the document: an RFC 6901 pointer.
    pub at: String,
    /// What it is.
    pub kind: Kind,
    /// Where its content is, counted from the item, and how: arguments, what a tool gave, what was said.
    pub content: Option<(String, Form)>,
    /// Who says it, where the document names somebody.
    pub speaker: Option<String>,
    /// When, where the document says so.
    pub time: Option<Timestamp>,
    /// Whether the party that the document is of says it, or somebody says it to that party.
    pub is_own: bool,
    /// Whether it is a part of something longer, still on its way.
    pub is_partial: bool,
}

impl Item {
    pub(crate) fn new(at: &str, kind: Kind) -> Self {
        let is_own = match &kind {
            Kind::Call { .. } | Kind::Document { .. } => true,
            Kind::Result { .. } => false,
            Kind::Message { role } => matches!(&**role, "assistant" | "model" | "ai"),
        };
        Self {
            at: at.to_owned(),
            kind,
            content: None,
            speaker: None,
            time: None,
            is_own,
            is_partial: false,
        }
    }

    pub(crate) fn content(mut self, from: Option<&str>, form: Form) -> Self {
        self.content = from.map(|from| (from.to_owned(), form));
        self
    }

    pub(crate) fn speaker(mut self, name: Option<String>) -> Self {
        self.speaker = name.filter(|name| !name.is_empty());
        self
    }

    pub(crate) fn time(mut self, time: Option<Timestamp>) -> Self {
        self.time = time;
        self
    }

    pub(crate) fn own(mut self, is_own: bool) -> Self {
        self.is_own = is_own;
        self
    }
}
