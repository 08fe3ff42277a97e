//! AEP sessions (AEP 3, 4, 7): the table of states, and a machine that is told what was heard and says
//! what to do.
//!
//! Pure. [`Machine`] is one side of one connection: text and time go in, [`Step`]s come out. It opens no
//! socket, reads no clock and stores nothing; who drives it brings the truth about the exchange as
//! [`Capabilities`]. A connection that never opens a session is served all the same.

mod about;
mod capabilities;
mod control;
mod machine;
mod offer;
mod parked;
mod speech;
mod step;
mod subscription;
#[cfg(test)]
mod table_tests;
#[cfg(test)]
mod tests;

pub use about::About;
pub use capabilities::{Capabilities, DELIVERY_MODES, FEATURES, PROFILES};
pub use machine::Machine;
pub use offer::Offer;
pub use parked::{Parked, key};
pub use step::{Accepted, Ending, Step, Verdict};
pub use subscription::{DeliveryMode, Place, Subscription};

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
