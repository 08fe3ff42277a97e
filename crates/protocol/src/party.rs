//! A party: an address that can send or receive.

use std::fmt;

/// The kinds of party that every dialect can spell. Any other prefix is kept as written.
pub const KINDS: [&str; 10] = [
    "human",
    "agent",
    "service",
    "bus",
    "tool",
    "memory",
    "context",
    "environment",
    "runtime",
    "group",
];

/// An address in the one spelling the exchange compares: `agent:sentinel`.
///
/// AEE writes `agent.sentinel`, AEP `agent:sentinel`, UAI-1 `{"type":"agent","id":"sentinel"}`;
/// all three are the same party. A prefix is a kind only when it is one of [`KINDS`]; any other
/// text (`someone`, `log.aocl`, `harness:x`) is kept exactly as written and has no kind.
/// Comparison is byte for byte, case-sensitive.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Party(Box<str>);

impl Party {
    /// Reads any dialect's spelling. `agent.b` and `agent:b` give the same party.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        if let Some(at) = text.find(['.', ':'])
            && let (Some(kind), Some(name)) = (text.get(..at), text.get(at + 1..))
            && KINDS.contains(&kind)
            && !name.is_empty()
        {
            return Self(format!("{kind}:{name}").into_boxed_str());
        }
        Self(text.into())
    }

    /// From separate parts, as UAI-1 has them. An unknown kind is kept as `kind:name`.
    #[must_use]
    pub fn from_parts(kind: &str, name: &str) -> Self {
        Self(format!("{kind}:{name}").into_boxed_str())
    }

    /// From the text that [`Self::as_str`] gave, taken as it is.
    #[must_use]
    pub fn from_canonical(text: &str) -> Self {
        Self(text.into())
    }

    /// The canonical spelling, `kind:name` for a known kind.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The kind, when it is one of [`KINDS`].
    #[must_use]
    pub fn kind(&self) -> Option<&str> {
        let (kind, _) = self.0.split_once(':')?;
        KINDS.contains(&kind).then_some(kind)
    }

    /// The part after the kind; the whole text when there is no kind.
    #[must_use]
    pub fn name(&self) -> &str {
        match (self.kind(), self.0.split_once(':')) {
            (Some(_), Some((_, name))) => name,
            _ => &self.0,
        }
    }

    /// How AEE spells it: `agent.sentinel`.
    #[must_use]
    pub fn to_aee(&self) -> String {
        match self.kind() {
            Some(kind) => format!("{kind}.{}", self.name()),
            None => self.0.to_string(),
        }
    }

    /// True for `bus` and `group`: addresses that stand for whoever subscribed, never an inbox.
    #[must_use]
    pub fn is_channel(&self) -> bool {
        matches!(self.kind(), Some("bus" | "group"))
    }

    /// True for `kind:*`, which AEE uses as the `to` of an event.
    #[must_use]
    pub fn is_wildcard(&self) -> bool {
        self.name() == "*"
    }
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::Party;

    #[test]
    fn every_dialect_spelling_is_the_same_party() {
        let party = Party::parse("agent:sentinel");
        assert_eq!(Party::parse("agent.sentinel"), party);
        assert_eq!(Party::from_parts("agent", "sentinel"), party);
        assert_eq!((party.kind(), party.name()), (Some("agent"), "sentinel"));
        assert_eq!(party.to_aee(), "agent.sentinel");
    }

    #[test]
    fn names_with_dots_stay_whole() {
        let party = Party::parse("agent.monitor.pve");
        assert_eq!(party.as_str(), "agent:monitor.pve");
        assert_eq!(party.to_aee(), "agent.monitor.pve");
    }

    #[test]
    fn unknown_prefixes_are_kept_as_written() {
        for text in ["someone", "log.aocl", "harness:x", "agent.", ""] {
            assert_eq!(Party::parse(text).as_str(), text);
            assert_eq!(Party::parse(text).kind(), None);
        }
    }
}
