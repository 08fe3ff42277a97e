//! What a valid message agrees with the exchange: claims, the end of conflicts.

use super::extension::{self, CLAIM};
use crate::canonical::canonicalize;
use crate::coordination::{Claim, Coordination};
use crate::json::Value;
use crate::{Header, Party};

/// The intent with which a human ends a conflict (UAI 9.8 X4).
const RESOLVE: &str = "resolve_blocker";

/// The operation of a claim that gives the resource up.
const RELEASE: &str = "release";

/// Reads it from a message whose other facts are in `header`.
pub(super) fn coordination(doc: Value<'_>, profile: &str, header: &Header) -> Option<Coordination> {
    let claims: Vec<_> = extension::payloads(doc, CLAIM)
        .filter_map(|(_, payload)| claim(payload))
        .collect();
    if !claims.is_empty() {
        return Some(Coordination::Claims(claims));
    }
    let body = doc.get("body")?;
    let text = |pointer: &str| body.at(pointer).and_then(Value::as_str);
    match profile {
        "uai.agent.correction.v1" => Some(Coordination::Correct {
            message: text("/corrects_message_id")?.into(),
        }),
        "uai.intent.request.v1" | "uai.agent.message.v1"
            if header.intent.as_deref() == Some(RESOLVE) && is_human(&header.sender) =>
        {
            // A message has no parameters: what it is about is its text.
            let blocker = text("/parameters/blocker_id")
                .or_else(|| text("/subject"))
                .or_else(|| text("/content"))?;
            let decision = text("/parameters/decision");
            Some(Coordination::Resolve {
                blocker: blocker.into(),
                grants: decision.is_some_and(|word| word == "grant"),
            })
        }
        _ => None,
    }
}

fn claim(payload: Value<'_>) -> Option<Claim> {
    Some(Claim {
        resource: payload.get("resource")?.as_str()?.into(),
        base_version: canonicalize(payload.get("base_version")?, &[]).ok()?.into(),
        is_release: payload.get("operation")?.as_str()? == RELEASE,
    })
}

fn is_human(party: &Party) -> bool {
    party.kind() == Some("human")
}
