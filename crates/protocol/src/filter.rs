//! Subscription filters: which envelopes a reader wants (AEP 4.1 and 4.2, UAI 9.3 Q4).
//!
//! A filter names fields. Values of one field are alternatives; different fields must all match; an
//! envelope that lacks a named field does not match. `type`, `source`, `target`, `topic` and
//! `intent` take patterns by segment, the other fields are compared whole. The grammar of patterns
//! is in [`Filter`]; finding the filters that match one header among many is the exchange's work.
//! What AEP peers demand of a subscription request beyond the filter itself (at least one of four
//! fields) is not checked here.

mod pattern;
mod read;
mod suggest;
#[cfg(test)]
mod tests;

use crate::Header;
use crate::json::push_string;

/// Most values in one filter, over all fields.
pub const VALUES_MAX: usize = 256;

/// Longest value, in bytes.
pub const VALUE_BYTES_MAX: usize = 255;

/// What a filter can constrain, in alphabetical order of the names users type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Field {
    /// The conversation, whole.
    Conversation,
    /// `aee`, `aep` or `uai`.
    Dialect,
    /// The intent, by pattern.
    Intent,
    /// `low`, `normal`, `high` or `urgent`.
    Priority,
    /// The session, whole.
    Session,
    /// The sender, by pattern.
    Source,
    /// Any of the recipients, by pattern.
    Target,
    /// The task, whole.
    Task,
    /// Any of the topics, by pattern.
    Topic,
    /// AEE `type`, AEP `type`, UAI-1 `profile`, by pattern.
    Type,
}

impl Field {
    /// Every field, in order.
    pub const ALL: [Self; 10] = [
        Self::Conversation,
        Self::Dialect,
        Self::Intent,
        Self::Priority,
        Self::Session,
        Self::Source,
        Self::Target,
        Self::Task,
        Self::Topic,
        Self::Type,
    ];

    /// The name users type.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Conversation => "conversation",
            Self::Dialect => "dialect",
            Self::Intent => "intent",
            Self::Priority => "priority",
            Self::Session => "session",
            Self::Source => "source",
            Self::Target => "target",
            Self::Task => "task",
            Self::Topic => "topic",
            Self::Type => "type",
        }
    }

    /// The field of that name, also in AEP's spelling: `types`, `conversation_id`, `task_id`,
    /// `session_id`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "types" => Some(Self::Type),
            "conversation_id" => Some(Self::Conversation),
            "task_id" => Some(Self::Task),
            "session_id" => Some(Self::Session),
            _ => Self::ALL.into_iter().find(|field| field.as_str() == name),
        }
    }

    /// Whether `value`, as [`Filter::values`] gives it, has no wildcard, so that it matches exactly
    /// the text it spells.
    #[must_use]
    pub fn is_exact(self, value: &str) -> bool {
        match self {
            Self::Source | Self::Target => pattern::is_exact_party(value),
            Self::Topic => pattern::is_exact(value) && !pattern::is_open(value),
            Self::Intent | Self::Type => pattern::is_exact(value),
            Self::Conversation | Self::Dialect | Self::Priority | Self::Session | Self::Task => {
                true
            }
        }
    }
}

/// Which envelopes a reader wants. The default wants everything.
///
/// Patterns are split on `.`: `*` stands for exactly one segment, a trailing `.*` for one or more, a
/// lone `*` for everything, and for topics a trailing `**` for none or more. Case counts. Parties
/// are written either way, `agent.b` or `agent:b`; the separator of a kind that [`Party`](crate::Party)
/// does not know is compared as written.
///
/// Values are kept sorted, once each and in one spelling, so filters that were written differently
/// but say the same are equal and hash equal.
///
/// ```
/// use interwire_protocol::Filter;
/// let one = Filter::from_pairs([("type", "task.*"), ("target", "agent.b")]).unwrap();
/// let two = Filter::from_pairs([("target", "agent:b"), ("types", "task.*")]).unwrap();
/// assert_eq!(one, two);
/// assert_eq!(one.to_json(), r#"{"target":["agent:b"],"type":["task.*"]}"#);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Filter {
    /// Only the constrained fields, each once, in order.
    terms: Box<[Term]>,
}

/// One constrained field. No values at all match nothing (AEP 4.2: an empty list).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Term {
    field: Field,
    values: Box<[Box<str>]>,
}

impl Filter {
    /// The constrained fields with their values, in order of the field.
    pub fn terms(&self) -> impl Iterator<Item = (Field, &[Box<str>])> {
        self.terms.iter().map(|term| (term.field, &*term.values))
    }

    /// The values of one field; `None` when the filter does not constrain it. Parties are in the
    /// canonical spelling, `agent:b`.
    #[must_use]
    pub fn values(&self, field: Field) -> Option<&[Box<str>]> {
        self.terms
            .iter()
            .find(|term| term.field == field)
            .map(|term| &*term.values)
    }

    /// True when nothing is constrained, so that every envelope matches.
    #[must_use]
    pub fn is_unconstrained(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether an envelope with this header passes.
    #[must_use]
    pub fn matches(&self, header: &Header) -> bool {
        self.terms.iter().all(|term| {
            term.values
                .iter()
                .any(|value| term.field.accepts(value, header))
        })
    }

    /// The filter as JSON, canonical (RFC 8785). [`Self::from_json`] reads it back equal.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = String::from("{");
        for (at, term) in self.terms.iter().enumerate() {
            if at > 0 {
                text.push(',');
            }
            text.push_str(&format!("\"{}\":[", term.field.as_str()));
            for (at, value) in term.values.iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                push_string(&mut text, value);
            }
            text.push(']');
        }
        text.push('}');
        text
    }
}

impl Field {
    /// Whether one value fits what the header holds in this field.
    fn accepts(self, value: &str, header: &Header) -> bool {
        let whole = |text: &Option<Box<str>>| text.as_deref() == Some(value);
        match self {
            Self::Conversation => whole(&header.conversation),
            Self::Dialect => header.dialect.as_str() == value,
            Self::Intent => header
                .intent
                .as_deref()
                .is_some_and(|text| pattern::matches(value, text)),
            Self::Priority => header.priority.as_str() == value,
            Self::Session => whole(&header.session),
            Self::Source => pattern::matches_party(value, header.sender.as_str()),
            Self::Target => header
                .recipients
                .iter()
                .any(|party| pattern::matches_party(value, party.as_str())),
            Self::Task => whole(&header.task),
            Self::Topic => header
                .topics
                .iter()
                .any(|topic| pattern::matches_topic(value, topic)),
            Self::Type => pattern::matches(value, &header.kind),
        }
    }
}
