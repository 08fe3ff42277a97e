//! What a sender asks for when its message cannot be delivered (UAI 4 D9).

use super::keyless;
use crate::json::{self, Kind, Limits, Value};

/// What follows when the last attempt to deliver has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// The sender gets a blocker; also for words that are not known.
    RaiseBlocker,
    /// The sender gets a blocker that asks for a human.
    HumanReview,
    /// Nothing is said.
    NoOp,
}

impl Fallback {
    /// The directive of a message that was accepted; none when it has none.
    #[must_use]
    pub fn of(envelope: &[u8]) -> Option<Self> {
        let limits = Limits {
            bytes_max: usize::MAX,
            depth_max: usize::MAX,
        };
        let document = json::read(envelope, limits).ok()?;
        let doc = document.root();
        if doc.kind() != Kind::Array {
            return Self::stated(doc);
        }
        let keyed = keyless::to_keyed(doc).ok()?;
        let document = json::read(keyed.as_bytes(), limits).ok()?;
        Self::stated(document.root())
    }

    fn stated(doc: Value<'_>) -> Option<Self> {
        let word = doc.at("/delivery/fallback_directive")?.as_str()?;
        Some(match &*word {
            "no_op" | "drop" => Self::NoOp,
            "human_review" => Self::HumanReview,
            _ => Self::RaiseBlocker,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Fallback;

    #[test]
    fn a_directive_that_is_not_known_raises_a_blocker() {
        let of = |word: &str| {
            let text = format!("{{\"delivery\":{{\"fallback_directive\":\"{word}\"}}}}");
            Fallback::of(text.as_bytes())
        };
        assert_eq!(of("raise_blocker"), Some(Fallback::RaiseBlocker));
        assert_eq!(of("split_copies"), Some(Fallback::RaiseBlocker));
        assert_eq!(of("whatever"), Some(Fallback::RaiseBlocker));
        assert_eq!(of("human_review"), Some(Fallback::HumanReview));
        assert_eq!(of("drop"), Some(Fallback::NoOp));
        assert_eq!(Fallback::of(b"{\"delivery\":{}}"), None);
        assert_eq!(Fallback::of(b"[]"), None);
    }
}
