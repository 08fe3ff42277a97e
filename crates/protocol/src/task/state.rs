//! The states of a task and the moves between them (AEP 5), for every dialect.

use crate::DialectName;

/// Where a task stands. There is no `running` and no `resumed`: work that goes on after a pause is
/// `started` again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the variants are the protocol's own words")]
pub enum TaskState {
    Submitted,
    Accepted,
    Started,
    Blocked,
    Progress,
    Output,
    Completed,
    Failed,
    Cancelled,
    TimedOut,
}

impl TaskState {
    /// Every state, the four terminal ones last.
    pub const ALL: [Self; 10] = [
        Self::Submitted,
        Self::Accepted,
        Self::Started,
        Self::Blocked,
        Self::Progress,
        Self::Output,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
        Self::TimedOut,
    ];

    /// The word on the wire: AEP writes it in `payload.state` and after `task.` in the type.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Submitted => "submitted",
            Self::Accepted => "accepted",
            Self::Started => "started",
            Self::Blocked => "blocked",
            Self::Progress => "progress",
            Self::Output => "output",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
        }
    }

    /// The reverse of [`Self::as_str`].
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// True when nothing follows.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Cancelled | Self::TimedOut => true,
            Self::Submitted
            | Self::Accepted
            | Self::Started
            | Self::Blocked
            | Self::Progress
            | Self::Output => false,
        }
    }

    /// The states that may follow. Repeating an open state is always legal and not listed.
    #[must_use]
    pub fn next(self) -> &'static [Self] {
        match self {
            Self::Submitted => &[
                Self::Accepted,
                Self::Failed,
                Self::Cancelled,
                Self::TimedOut,
            ],
            Self::Accepted => &[Self::Started, Self::Failed, Self::Cancelled, Self::TimedOut],
            Self::Blocked => &[
                Self::Started,
                Self::Progress,
                Self::Failed,
                Self::Cancelled,
                Self::TimedOut,
            ],
            Self::Started | Self::Progress | Self::Output => &[
                Self::Blocked,
                Self::Progress,
                Self::Output,
                Self::Completed,
                Self::Failed,
                Self::Cancelled,
                Self::TimedOut,
            ],
            Self::Completed | Self::Failed | Self::Cancelled | Self::TimedOut => &[],
        }
    }

    /// Whether a task in this state may be reported in `state` next. An open state may repeat; a
    /// terminal one may not.
    #[must_use]
    pub fn may_become(self, state: Self) -> bool {
        (self == state && !self.is_terminal()) || self.next().contains(&state)
    }

    /// Whether a task in this state may be reported in `state` by an envelope of `dialect`, with the
    /// moves in between that such a report implies.
    ///
    /// **The rule of implied moves.** A report implies the moves for which its dialect has no word of
    /// its own. In AEP that is the acceptance, because published flows go from submission straight to
    /// the start; in AEE and UAI-1 it is the acceptance and the start, and the start again after a
    /// block.
    #[must_use]
    pub fn may_become_in(self, dialect: DialectName, state: Self) -> bool {
        let implied = match dialect {
            DialectName::Aep if self == Self::Submitted => Self::Accepted,
            DialectName::Aep => self,
            DialectName::Aee | DialectName::Uai => Self::Started,
        };
        self.may_become(state) || (!self.is_terminal() && implied.may_become(state))
    }
}

#[cfg(test)]
mod tests {
    use super::TaskState::{self, *};

    #[test]
    fn the_table_is_the_published_one() {
        let rows: [(TaskState, [u8; 9]); 6] = [
            // accepted, started, blocked, progress, output, completed, failed, cancelled, timed_out
            (Submitted, [1, 0, 0, 0, 0, 0, 1, 1, 1]),
            (Accepted, [0, 1, 0, 0, 0, 0, 1, 1, 1]),
            (Started, [0, 0, 1, 1, 1, 1, 1, 1, 1]),
            (Blocked, [0, 1, 0, 1, 0, 0, 1, 1, 1]),
            (Progress, [0, 0, 1, 1, 1, 1, 1, 1, 1]),
            (Output, [0, 0, 1, 1, 1, 1, 1, 1, 1]),
        ];
        for (from, row) in rows {
            for (to, allowed) in TaskState::ALL.into_iter().skip(1).zip(row) {
                let expected = allowed == 1 || from == to;
                assert_eq!(from.may_become(to), expected, "{from:?} -> {to:?}");
            }
        }
    }

    #[test]
    fn a_report_implies_what_its_dialect_cannot_say() {
        use crate::DialectName::{Aee, Aep, Uai};
        assert!(Submitted.may_become_in(Aep, Started));
        assert!(!Submitted.may_become_in(Aep, Completed));
        assert!(!Accepted.may_become_in(Aep, Progress));
        for dialect in [Aee, Uai] {
            for from in TaskState::ALL {
                for to in [Progress, Output, Blocked, Completed, Failed] {
                    let expected = !from.is_terminal();
                    assert_eq!(
                        from.may_become_in(dialect, to),
                        expected,
                        "{from:?} -> {to:?}"
                    );
                }
            }
            assert!(!Progress.may_become_in(dialect, Accepted));
        }
    }

    #[test]
    fn nothing_leaves_a_terminal_state_and_every_open_state_can_end() {
        for state in TaskState::ALL {
            let moves = TaskState::ALL
                .into_iter()
                .filter(|to| state.may_become(*to))
                .count();
            assert_eq!(moves == 0, state.is_terminal(), "{state:?}");
            assert!(
                state.is_terminal() || state.may_become(Cancelled),
                "{state:?}"
            );
            assert_eq!(TaskState::parse(state.as_str()), Some(state));
        }
    }
}
