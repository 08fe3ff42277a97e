//! The session life cycle: states and the moves between them (AEP 3.1).
//!
//! Pure table. Heartbeats, time and transports belong to whoever holds sessions.

/// Where a session stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SessionState {
    /// A connection without a session yet.
    #[default]
    Created,
    /// `session.opened` was sent or received.
    Opened,
    /// `session.ready`: negotiated, events may flow.
    Ready,
    /// Over, in good order.
    Closed,
    /// Over, after an error.
    Error,
}

/// What can happen to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SessionMove {
    /// `session.opened`.
    Open,
    /// `session.ready`.
    Ready,
    /// `session.closed` or a graceful shutdown.
    Close,
    /// The transport went away.
    Disconnect,
    /// `session.error`, a protocol or transport error, or too many missed heartbeats.
    Fail,
}

impl SessionState {
    /// True when nothing follows.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Closed | Self::Error)
    }

    /// True when events may flow.
    #[must_use]
    pub fn is_ready(self) -> bool {
        self == Self::Ready
    }

    /// The state after `step`; `None` when the session cannot make it. A session that was never
    /// opened can only be left, not closed.
    #[must_use]
    pub fn after(self, step: SessionMove) -> Option<Self> {
        match (self, step) {
            (Self::Created, SessionMove::Open) => Some(Self::Opened),
            (Self::Opened, SessionMove::Ready) => Some(Self::Ready),
            (Self::Opened | Self::Ready, SessionMove::Close)
            | (Self::Created | Self::Opened | Self::Ready, SessionMove::Disconnect) => {
                Some(Self::Closed)
            }
            (Self::Created | Self::Opened | Self::Ready, SessionMove::Fail) => Some(Self::Error),
            (Self::Created, SessionMove::Ready | SessionMove::Close)
            | (Self::Opened, SessionMove::Open)
            | (Self::Ready, SessionMove::Open | SessionMove::Ready)
            | (
                Self::Closed | Self::Error,
                SessionMove::Open
                | SessionMove::Ready
                | SessionMove::Close
                | SessionMove::Disconnect
                | SessionMove::Fail,
            ) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SessionMove::{Close, Disconnect, Fail, Open, Ready};
    use super::SessionState;

    fn walk(steps: &[super::SessionMove]) -> Option<SessionState> {
        steps
            .iter()
            .try_fold(SessionState::Created, |state, step| state.after(*step))
    }

    #[test]
    fn a_session_is_opened_then_ready_then_closed() {
        assert_eq!(walk(&[Open, Ready]), Some(SessionState::Ready));
        assert_eq!(walk(&[Open, Ready, Close]), Some(SessionState::Closed));
        assert_eq!(walk(&[Open, Ready, Fail]), Some(SessionState::Error));
        assert_eq!(walk(&[Disconnect]), Some(SessionState::Closed));
    }

    #[test]
    fn no_step_is_skipped_and_nothing_follows_the_end() {
        for steps in [
            &[Ready][..],
            &[Close],
            &[Open, Open],
            &[Open, Ready, Ready],
            &[Open, Close, Open],
            &[Open, Fail, Close],
            &[Open, Ready, Close, Disconnect],
        ] {
            assert_eq!(walk(steps), None, "{steps:?}");
        }
    }
}
