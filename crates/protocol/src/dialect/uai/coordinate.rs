//! What a valid message agrees with the exchange: claims, the end of conflicts, offers.

use super::extension::{self, CLAIM};
use super::negotiate;
use crate::canonical::canonicalize;
use crate::coordination::Coordination;
use crate::json::Value;
use crate::task::SERVICE;
use crate::{Header, Party};

/// The intent with which a human ends a conflict (UAI 9.8 X4).
const RESOLVE: &str = "resolve_blocker";

/// Reads it from a message whose other facts are in `header`.
pub(super) fn coordination(doc: Value<'_>, profile: &str, header: &Header) -> Option<Coordination> {
    if let Some((_, claim)) = extension::payloads(doc, CLAIM).next() {
        return Some(Coordination::Claim {
            resource: claim.get("resource")?.as_str()?.into(),
            base_version: canonicalize(claim.get("base_version")?, &[]).ok()?.into(),
        });
    }
    let body = doc.get("body")?;
    let text = |pointer: &str| body.at(pointer).and_then(Value::as_str);
    match profile {
        "uai.agent.correction.v1" => Some(Coordination::Correct {
            message: text("/corrects_message_id")?.into(),
        }),
        "uai.intent.request.v1" | "uai.agent.message.v1"
            if header.intent.as_deref() == Some(RESOLVE)
                && header.sender.kind() == Some("human") =>
        {
            let named = text("/parameters/blocker_id")
                .or_else(|| text("/subject"))
                .or_else(|| text("/action"))?;
            Some(Coordination::Resolve {
                blocker: named.into(),
            })
        }
        "uai.capability.negotiation.v1" => {
            let is_for_us = header.recipients.contains(&Party::from_canonical(SERVICE));
            let offer = is_for_us.then(|| negotiate::answer(body, &negotiate::EXCHANGE));
            offer.flatten().map(Coordination::Offer)
        }
        _ => None,
    }
}
