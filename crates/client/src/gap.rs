//! What a live reader did not get, as the exchange says it.

use serde::Deserialize;

/// A stretch of the journal that a reader does not get.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Gap {
    /// The first record that is missing.
    pub from: String,
    /// The last one; reading goes on after it.
    pub to: String,
    /// Messages for this reader that are missing when `exact`; else records, its messages among them.
    pub count: u64,
    /// Whether `count` is the number of this reader's messages.
    pub exact: bool,
    /// `retention`, `lost` or `slow`.
    pub reason: String,
}

impl Gap {
    pub(crate) fn read(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }
}

impl std::fmt::Display for Gap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            from,
            to,
            count,
            exact,
            reason,
        } = self;
        let what = if *exact { "messages" } else { "records" };
        write!(f, "{count} {what} are missing, {from} to {to} ({reason})")
    }
}

/// What happens when a live reader cannot have everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnGap {
    /// The gap is told, and reading goes on behind it.
    #[default]
    Skip,
    /// Reading ends with `cursor_expired`.
    Fail,
}

/// What a live reader is owed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Every message.
    #[default]
    Complete,
    /// The newest: a reader that falls behind is taken to the end, and told what it missed.
    BestEffort,
}

/// How a live reader follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Follow {
    /// What happens at a gap.
    pub on_gap: OnGap,
    /// What it is owed.
    pub mode: Mode,
}

impl Follow {
    /// The parameters that differ from what the exchange does anyway.
    pub(crate) fn pairs(self) -> Vec<(&'static str, &'static str)> {
        let mut pairs = Vec::new();
        if self.on_gap == OnGap::Fail {
            pairs.push(("on_gap", "fail"));
        }
        if self.mode == Mode::BestEffort {
            pairs.push(("mode", "best_effort"));
        }
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::{Follow, Gap, Mode, OnGap};

    #[test]
    fn a_gap_says_how_much_is_missing_and_why() {
        let gap = Gap::read(
            r#"{"from":"a-1-4","to":"a-1-15","count":12,"exact":false,"reason":"retention"}"#,
        );
        assert_eq!(
            gap.to_string(),
            "12 records are missing, a-1-4 to a-1-15 (retention)"
        );
    }

    #[test]
    fn only_what_differs_is_asked_for() {
        assert!(Follow::default().pairs().is_empty());
        let follow = Follow {
            on_gap: OnGap::Fail,
            mode: Mode::BestEffort,
        };
        assert_eq!(
            follow.pairs(),
            [("on_gap", "fail"), ("mode", "best_effort")]
        );
    }
}
