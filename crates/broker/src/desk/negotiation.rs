//! Offers of UAI-1 to the exchange (UAI 9.6): answered with what it truly does, or refused with what is
//! missing; an answer counts from its confirmation on.

use super::uai::error_body;
use crate::{Entry, Handle};
use protocol::dialect::uai::negotiate::{self, Abilities, EXCHANGE};
use protocol::json::Value;

/// The profile of every packet of a negotiation.
pub(super) const PROFILE: &str = "uai.capability.negotiation.v1";

/// Profile and body of what is said to a packet; nothing where there is nothing to say.
pub(super) fn answer(
    handle: &Handle,
    entry: &Entry,
    body: Value<'_>,
) -> Option<(&'static str, String)> {
    let (peer, now) = (&entry.header.sender, handle.now());
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    let negotiation = text("negotiation_id")?;
    match &*text("phase")? {
        "offer" => {
            let ours = Abilities {
                max_bytes: handle.rules().envelope_bytes_max as u64,
                ..EXCHANGE
            };
            let outcome = negotiate::answer(body, &ours)?;
            let selected = outcome.selected.as_ref();
            let mut agreements = handle.shared.agreements.lock();
            agreements.answered(peer, &negotiation, selected, now);
            Some((PROFILE, outcome.body))
        }
        "confirm" => {
            let mut agreements = handle.shared.agreements.lock();
            if agreements.confirmed(peer, &negotiation, now) {
                return None;
            }
            let detail = format!(
                "expected the confirmation of an offer that was answered here in the last hour, got {negotiation:?}"
            );
            Some(error_body(entry, 404, "unknown_message", &detail))
        }
        "reject" => {
            handle.shared.agreements.lock().ended(peer);
            None
        }
        // The exchange makes no offers.
        _ => None,
    }
}
