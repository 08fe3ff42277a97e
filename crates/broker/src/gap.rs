//! What a reader does not get, said out loud.

use journal::Cursor;
use std::fmt::Write as _;

/// Why messages are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GapReason {
    /// They are no longer kept.
    Retention,
    /// They were damaged, and a repair went on without them.
    Lost,
    /// The reader fell behind and asked to be taken to the newest.
    Slow,
}

impl GapReason {
    /// The word on every surface.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Retention => "retention",
            Self::Lost => "lost",
            Self::Slow => "slow",
        }
    }
}

/// A stretch of the journal that a reader does not get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The first record that is missing.
    pub from: Cursor,
    /// The last one; reading goes on after it.
    pub to: Cursor,
    /// Messages for this reader that are missing when `is_exact`; else records, of which its messages
    /// are a part: nobody can tell any more how many.
    pub count: u64,
    /// Whether `count` is the number of messages that passed the reader's filter.
    pub is_exact: bool,
    /// Why.
    pub reason: GapReason,
}

impl Gap {
    /// Appends the members `"from","to","count","exact","reason"`, without braces.
    pub fn write_members(&self, out: &mut String) {
        let Self {
            from,
            to,
            count,
            is_exact,
            reason,
        } = self;
        let _ = write!(
            out,
            "\"from\":\"{from}\",\"to\":\"{to}\",\"count\":{count},\"exact\":{is_exact},\"reason\":\"{}\"",
            reason.as_str()
        );
    }

    /// The JSON object.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut out = String::from("{");
        self.write_members(&mut out);
        out.push('}');
        out
    }
}

/// What a reader wants to happen at a gap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnGap {
    /// Tell it and go on behind it.
    #[default]
    Skip,
    /// End with `cursor_expired`.
    Fail,
}

impl OnGap {
    /// Reads `skip` or `fail`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "skip" => Some(Self::Skip),
            "fail" => Some(Self::Fail),
            _ => None,
        }
    }
}

/// What a live reader is owed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Every message, however far behind it is.
    #[default]
    Complete,
    /// The newest: when too many wait it is taken to the end and told what it missed.
    BestEffort,
}

impl Mode {
    /// Reads `complete` or `best_effort`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "complete" => Some(Self::Complete),
            "best_effort" => Some(Self::BestEffort),
            _ => None,
        }
    }
}

/// How a live reader follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Follow {
    /// What happens at a gap.
    pub on_gap: OnGap,
    /// What it is owed.
    pub mode: Mode,
}
