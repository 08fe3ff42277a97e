//! The checksum of an envelope, and the digest that tells a retry from another message.
//!
//! Implements UAI 4 D4 and D6, and 5 T3. Signatures cover the checksum and are verified elsewhere.

use super::extension::is_signature;
use crate::canonical::{canonicalize, canonicalize_where};
use crate::json::Value;
use crate::{Digest, Fault, digest};

/// What canonicalising one envelope gives.
pub(super) struct Sums {
    /// What `integrity.checksum` must say.
    pub checksum: String,
    /// Equal for an envelope and its repeats.
    pub fingerprint: Digest,
}

/// Computes both.
///
/// An idempotency key says what is the same message; then the fingerprint is over what the message
/// asks for (D6). Without one the id says it, and the fingerprint is over almost everything: a
/// sender's retry keeps the message id and changes `retry_count`, the checksum and the signatures;
/// the lifecycle status moves on as well (UAI 4 D4, 1.4). Such a repeat is a duplicate. Any other
/// change under the same id is a conflict. So the fingerprint is taken over the canonical envelope
/// without these, whatever `retry_count` says: first attempt and retry must come out equal, and so
/// must the keyed and keyless form of one envelope (UAI 2 F7).
///
/// # Errors
/// `number_not_interoperable`.
pub(super) fn sums(doc: Value<'_>) -> Result<Sums, Fault> {
    let covered = canonicalize_where(doc, is_covered)?;
    let checksum = format!("sha256:{}", digest(covered.as_bytes()).to_hex());
    let varies = ["retry_count", "status"];
    let delivery = doc.get("delivery");
    let fingerprint = if let Some(asked) = asked(doc)? {
        digest(asked.as_bytes())
    } else if varies
        .iter()
        .all(|name| delivery.is_none_or(|d| d.get(name).is_none()))
    {
        digest(covered.as_bytes())
    } else {
        let stable = canonicalize_where(doc, |pointer, value| {
            !matches!(pointer, "/delivery/retry_count" | "/delivery/status")
                && is_covered(pointer, value)
        })?;
        digest(stable.as_bytes())
    };
    Ok(Sums {
        checksum,
        fingerprint,
    })
}

/// The canonical text of what an envelope with an idempotency key asks for (UAI 4 D6): profile,
/// source, correlation and body.
fn asked(doc: Value<'_>) -> Result<Option<String>, Fault> {
    let member = |part: &str, name: &str| doc.get(part).and_then(|part| part.get(name));
    if member("delivery", "idempotency_key").is_none() {
        return Ok(None);
    }
    let members = [
        ("body", doc.get("body")),
        ("correlation_id", member("conversation", "correlation_id")),
        ("profile", doc.get("profile")),
        ("source_id", member("source", "id")),
    ];
    let mut out = String::from("{");
    for (name, value) in members {
        if let Some(value) = value {
            let comma = if out.len() > 1 { "," } else { "" };
            let text = canonicalize(value, &[])?;
            out.extend([comma, "\"", name, "\":", &text]);
        }
    }
    out.push('}');
    Ok(Some(out))
}

/// What `integrity.checksum` of this keyed envelope must say, whatever it says now (UAI 5 T3).
///
/// # Errors
/// `number_not_interoperable`.
pub fn checksum(doc: Value<'_>) -> Result<String, Fault> {
    let covered = canonicalize_where(doc, is_covered)?;
    Ok(format!("sha256:{}", digest(covered.as_bytes()).to_hex()))
}

/// Whether the checksum covers what stands at `pointer`.
fn is_covered(pointer: &str, value: Value<'_>) -> bool {
    if pointer == "/integrity/checksum" {
        return false;
    }
    let is_record = pointer
        .strip_prefix("/extensions/")
        .is_some_and(|index| !index.contains('/'));
    !(is_record && is_signature(value))
}
