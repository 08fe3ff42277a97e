//! One message of a trace: its facts, without its bytes.

use super::texts::{TextId, Texts};
use crate::place::PlaceId;
use crate::publish::RecipientState;
use protocol::{Act, Code, DialectName, Header, Intake, Party, Timestamp};

/// One message of the journal, offered to a trace.
#[derive(Clone, Copy, Debug)]
pub struct Offered<'m> {
    /// Its sequence.
    pub sequence: u64,
    /// When it was accepted.
    pub at: Timestamp,
    /// Its facts.
    pub header: &'m Header,
    /// The lines of its receipt.
    pub recipients: &'m [(Party, RecipientState)],
    /// The places that got it.
    pub places: &'m [PlaceId],
    /// What it was warned of.
    pub warnings: &'m [Code],
}

/// One message, kept.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) sequence: u64,
    pub(super) at: Timestamp,
    pub(super) dialect: DialectName,
    pub(super) act: Act,
    pub(super) id: TextId,
    pub(super) kind: TextId,
    pub(super) intent: Option<TextId>,
    pub(super) sender: TextId,
    /// As the sender named them.
    pub(super) to: Box<[TextId]>,
    pub(super) topics: Box<[TextId]>,
    pub(super) conversation: Option<TextId>,
    pub(super) correlation: Option<TextId>,
    pub(super) task: Option<TextId>,
    pub(super) cause: Option<TextId>,
    pub(super) replay_of: Option<TextId>,
    /// Recipients that could not be served.
    pub(super) refused: Box<[TextId]>,
    /// Parties that a wildcard stood for.
    pub(super) reached: Box<[TextId]>,
    pub(super) places: Box<[PlaceId]>,
    pub(super) warnings: Box<[Code]>,
    pub(super) is_log: bool,
    /// Whether it belongs to the trace; others are kept while it is not clear whose cause they are.
    pub(super) is_member: bool,
}

impl Node {
    pub(super) fn new(message: &Offered<'_>, texts: &mut Texts) -> Self {
        let header = message.header;
        let named = |is_refused: bool| {
            message
                .recipients
                .iter()
                .filter(move |(_, state)| (*state == RecipientState::Refused) == is_refused)
                .map(|(party, _)| party)
        };
        let reached: Box<[TextId]> = named(false)
            .filter(|party| !header.recipients.contains(party))
            .map(|party| texts.keep(party.as_str()))
            .collect();
        let refused = named(true)
            .map(|party| texts.keep(party.as_str()))
            .collect();
        let mut maybe = |text: &Option<Box<str>>| text.as_deref().map(|text| texts.keep(text));
        let [conversation, correlation, task, cause, intent, replay_of] = [
            maybe(&header.conversation),
            maybe(&header.correlation),
            maybe(&header.task),
            maybe(&header.cause),
            maybe(&header.intent),
            maybe(&header.replay_of),
        ];
        Self {
            sequence: message.sequence,
            at: message.at,
            dialect: header.dialect,
            act: header.act,
            id: texts.keep(&header.id),
            kind: texts.keep(&header.kind),
            intent,
            sender: texts.keep(header.sender.as_str()),
            to: header
                .recipients
                .iter()
                .map(|party| texts.keep(party.as_str()))
                .collect(),
            topics: header
                .topics
                .iter()
                .map(|topic| texts.keep(topic))
                .collect(),
            conversation,
            correlation,
            task,
            cause,
            replay_of,
            refused,
            reached,
            places: message.places.into(),
            warnings: message.warnings.into(),
            is_log: header.intake == Intake::Log,
            is_member: false,
        }
    }

    /// Whether `other` may be an answer to this one, or this one to it: one wrote to the other.
    pub(super) fn wrote_to(&self, party: TextId) -> bool {
        self.to.contains(&party) || self.reached.contains(&party)
    }
}
