//! The checksum of an envelope, and the digest that tells a retry from another message.
//!
//! Implements UAI 4 D4 and 5 T3. Signatures cover the checksum and are verified elsewhere.

use super::extension::is_signature;
use crate::canonical::canonicalize_where;
use crate::json::Value;
use crate::{Digest, Fault, digest};

/// What canonicalising one envelope gives.
pub(super) struct Sums {
    /// What `integrity.checksum` must say.
    pub checksum: String,
    /// Equal for an envelope and its retries.
    pub fingerprint: Digest,
}

/// Computes both.
///
/// A sender's retry keeps the message id and changes `retry_count`, the checksum and the signatures;
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
    let fingerprint = if varies
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
