//! What the sender of a UAI-1 message is told when a recipient will not get it (UAI 4 D9).

use crate::Entry;
use crate::follow::{SELF, agent};
use protocol::dialect::uai::build::{Envelope, Heading};
use protocol::dialect::uai::fallback::Fallback;
use protocol::json::push_string;
use protocol::{Party, Timestamp};

/// Says for every packet of the exchange what it is and is not.
const SUPPORT_BOUNDARY: &str =
    "Record only: the exchange tells what it could not deliver; the sender decides what follows.";

/// A delivery that became a dead letter.
pub(crate) struct GivenUp<'g> {
    /// For whom.
    pub(crate) party: &'g Party,
    /// The number of its inbox.
    pub(crate) place: u32,
    /// How often it was handed out.
    pub(crate) attempts: u32,
    /// Why.
    pub(crate) reason: &'g str,
}

/// A `uai.agent.blocker.v1` of the type `dependency`, when the message asks for one.
pub(crate) fn blocker(entry: &Entry, given_up: &GivenUp<'_>, now: Timestamp) -> Option<String> {
    let needs_human = match Fallback::of(&entry.envelope)? {
        Fallback::NoOp => return None,
        Fallback::RaiseBlocker => "false",
        Fallback::HumanReview => "true",
    };
    let GivenUp {
        party,
        place,
        attempts,
        reason,
    } = given_up;
    let header = &entry.header;
    // The same fact always has the same id, so that it is told once.
    let id = format!("undelivered-{place}-{}-{attempts}", entry.sequence);
    let description = format!("{party} did not take the message in {attempts} attempts: {reason}.");
    let mut body = String::from("{\"blocker_id\":");
    push_string(&mut body, &id);
    for (name, text) in [
        ("blocker_type", "dependency"),
        ("description", &*description),
        (
            "proposed_resolution",
            "Deliver the dead letter again when the recipient can take it, or hand the work to another.",
        ),
        ("support_boundary", SUPPORT_BOUNDARY),
    ] {
        body.push_str(",\"");
        body.push_str(name);
        body.push_str("\":");
        push_string(&mut body, text);
    }
    body.push_str(",\"human_review_required\":");
    body.push_str(needs_human);
    body.push_str(",\"related_message_ids\":[");
    push_string(&mut body, &header.id);
    body.push_str("]}");
    let heading = Heading {
        id,
        issued_at: now,
        source: agent(&Party::from_canonical(SELF)),
        target: agent(&header.sender),
        conversation: header.conversation.as_deref()?.to_owned(),
    };
    let mut envelope = Envelope::new("uai.agent.blocker.v1", body, heading);
    if let Some(correlation) = &header.correlation {
        envelope = envelope.correlation(correlation);
    }
    // Without a parent: it says something of a delivery, and moves no task. Whoever works on it may have
    // it from elsewhere, and of several the others are not blocked.
    envelope.write().ok()
}
