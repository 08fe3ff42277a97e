//! What an answer repeats of the message it answers (AEP 1.2).

use crate::Header;
use crate::dialect::aep::EventBuilder;
use crate::json::Value;

/// The members of one message that its answer carries, too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// Its id; empty when it could not be read.
    pub id: Box<str>,
    /// Its type; empty when it could not be read.
    pub kind: Box<str>,
    pub(super) source: Option<Box<str>>,
    pub(super) topic: Option<Box<str>>,
    pub(super) session: Option<Box<str>>,
    pub(super) conversation: Option<Box<str>>,
    pub(super) task: Option<Box<str>>,
    pub(super) correlation: Option<Box<str>>,
}

impl About {
    /// Of a valid message.
    #[must_use]
    pub fn header(header: &Header) -> Self {
        // A conversation that only stands for the correlation is not repeated.
        let conversation = header
            .conversation
            .as_ref()
            .filter(|id| Some(*id) != header.correlation.as_ref());
        Self {
            id: header.id.clone(),
            kind: header.kind.clone(),
            source: Some(header.sender.as_str().into()),
            topic: header.topics.first().cloned(),
            session: header.session.clone(),
            conversation: conversation.cloned(),
            task: header.task.clone(),
            correlation: header.correlation.clone(),
        }
    }

    /// Of whatever object arrived: what can be read of it.
    #[must_use]
    pub fn document(document: Value<'_>) -> Self {
        let text = |name: &str| -> Option<Box<str>> {
            let text = document.get(name)?.as_str()?;
            (!text.is_empty()).then(|| Box::from(&*text))
        };
        Self {
            id: text("id").unwrap_or_default(),
            kind: text("type").unwrap_or_default(),
            source: text("source").or_else(|| text("from")),
            topic: text("topic"),
            session: text("session_id"),
            conversation: text("conversation_id"),
            task: text("task_id"),
            correlation: text("correlation_id"),
        }
    }

    /// The same members on an answer.
    pub(super) fn onto(&self, mut event: EventBuilder) -> EventBuilder {
        for (name, value) in [
            ("target", &self.source),
            ("topic", &self.topic),
            ("session_id", &self.session),
            ("conversation_id", &self.conversation),
            ("task_id", &self.task),
            ("correlation_id", &self.correlation),
        ] {
            if let Some(value) = value {
                event = event.member(name, value);
            }
        }
        if self.id.is_empty() {
            event
        } else {
            event.cause(&self.id)
        }
    }
}
