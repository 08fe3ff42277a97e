//! Types and intents: their grammar, the reserved seven, and what an envelope does (AEE 1.3, AEE 4).

use crate::Act;
use crate::translate::words::QUERY_INTENT;

/// The closed set of envelope types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Task,
    Result,
    Event,
    Error,
    Stream,
}

impl Type {
    /// The words of the set, for sentences.
    pub(super) const WORDS: &str = "task, result, event, error or stream";

    pub(super) fn named(word: &str) -> Option<Self> {
        Some(match word {
            "task" => Self::Task,
            "result" => Self::Result,
            "event" => Self::Event,
            "error" => Self::Error,
            "stream" => Self::Stream,
            _ => return None,
        })
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Result => "result",
            Self::Event => "event",
            Self::Error => "error",
            Self::Stream => "stream",
        }
    }

    /// A result or an error: must name what it answers.
    pub(super) fn is_reply(self) -> bool {
        match self {
            Self::Result | Self::Error => true,
            Self::Task | Self::Event | Self::Stream => false,
        }
    }
}

/// The seven intents of the protocol itself. All ask for something known, except that
/// `aee.context.refute` asks the peer to record something.
const RESERVED: [&str; 7] = [
    "aee.status.ping",
    "aee.status.health",
    "aee.spec.query",
    "aee.capability.list",
    "aee.context.fetch",
    "aee.context.refute",
    "aee.validate.payload",
];

/// Whether `intent` is in the reserved namespace without being one of the seven.
pub(super) fn is_reserved_stranger(intent: &str) -> bool {
    intent.starts_with("aee.") && !RESERVED.contains(&intent)
}

/// Whether `intent` follows the grammar every published intent follows: two or more segments of
/// lower-case letters, digits and underscores, each starting with a letter.
pub(super) fn is_dotted(intent: &str) -> bool {
    let is_segment = |segment: &str| {
        segment
            .as_bytes()
            .first()
            .is_some_and(u8::is_ascii_lowercase)
            && segment
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    intent.contains('.') && intent.split('.').all(is_segment)
}

/// Whether a task of this intent asks and its result answers: the protocol's own questions, and the word
/// of AEP that a question of another dialect comes under.
pub(crate) fn is_query(intent: &str) -> bool {
    intent == QUERY_INTENT || (RESERVED.contains(&intent) && intent != "aee.context.refute")
}

/// What an envelope of this type and intent does.
pub(super) fn act(kind: Type, intent: &str) -> Act {
    let is_query = is_query(intent);
    match kind {
        Type::Task if is_query => Act::Query,
        Type::Task => Act::Request,
        Type::Result if is_query => Act::Answer,
        Type::Result => Act::Complete,
        Type::Event => Act::Inform,
        Type::Error => Act::Fail,
        Type::Stream => Act::Progress,
    }
}

#[cfg(test)]
mod tests {
    use super::{Type, act, is_dotted, is_reserved_stranger};
    use crate::Act;

    #[test]
    fn dotted_intents_start_every_segment_with_a_letter() {
        for good in ["backup.check", "ops.backup.status.check", "a.b1_c"] {
            assert!(is_dotted(good), "{good}");
        }
        for bad in [
            "ops",
            "Ops.backup",
            "ops..check",
            "ops.",
            ".ops",
            "ops.1x",
            "ops.a-b",
            "",
        ] {
            assert!(!is_dotted(bad), "{bad}");
        }
    }

    #[test]
    fn protocol_questions_are_queries_and_the_rest_is_work() {
        assert_eq!(act(Type::Task, "aee.status.ping"), Act::Query);
        assert_eq!(act(Type::Result, "aee.context.fetch"), Act::Answer);
        assert_eq!(act(Type::Task, "aee.context.refute"), Act::Request);
        assert_eq!(act(Type::Error, "aee.status.ping"), Act::Fail);
        assert_eq!(act(Type::Task, "ops.backup.check"), Act::Request);
        assert_eq!(act(Type::Event, "ops.backup.check"), Act::Inform);
        assert!(is_reserved_stranger("aee.ext.decision_evidence"));
        assert!(!is_reserved_stranger("aee.spec.query"));
        assert!(!is_reserved_stranger("aeex.y"));
    }
}
