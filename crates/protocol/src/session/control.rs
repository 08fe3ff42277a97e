//! Which events are for the session itself and which for the exchange.

use super::offer::Offer;
use crate::json::Value;
use crate::{DialectName, Header};

/// An event that moves the session.
#[derive(Clone, Debug)]
pub(super) enum Control {
    /// `session.opened`.
    Open(Offer),
    /// `session.closed`.
    Close,
    /// `session.heartbeat`.
    Beat,
    /// `session.error`.
    Error,
    /// `capabilities.requested`.
    Ask(Offer),
    /// `capabilities.declared`, `capabilities.changed`.
    Declare(Offer),
    /// `subscription.requested`.
    Subscribe,
    /// `subscription.cancelled`.
    Cancel(Option<Box<str>>),
    /// An answer that only a server gives; a peer that says it is acknowledged.
    Told,
}

impl Control {
    /// What the event does to the session; `None` when it is published like any other. Answers and
    /// capabilities between two other parties are their own affair.
    pub(super) fn of(header: &Header, document: Value<'_>) -> Option<Self> {
        if header.dialect != DialectName::Aep {
            return None;
        }
        let is_between_others = header.recipients.iter().any(|party| {
            matches!(party.kind(), Some("agent" | "human" | "group" | "tool"))
                && *party != header.sender
        });
        let control = match &*header.kind {
            "session.opened" => Self::Open(Offer::read(document)),
            "session.closed" => Self::Close,
            "session.heartbeat" => Self::Beat,
            "session.error" => Self::Error,
            "subscription.requested" => Self::Subscribe,
            "subscription.cancelled" => {
                let id = document.at("/payload/subscription_id");
                let id = id.and_then(|id| Some(Box::from(&*id.as_str()?)));
                Self::Cancel(id)
            }
            _ if is_between_others => return None,
            "capabilities.requested" => Self::Ask(Offer::read(document)),
            "capabilities.declared" | "capabilities.changed" => {
                Self::Declare(Offer::read(document))
            }
            "session.ready"
            | "subscription.created"
            | "subscription.rejected"
            | "subscription.expired" => Self::Told,
            _ => return None,
        };
        Some(control)
    }
}
