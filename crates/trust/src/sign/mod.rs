//! Signatures of each dialect, over the canonical form of the bytes that came.

mod aee;
mod aep;
mod jws;
mod uai;

use crate::key::SecretKey;
use crate::key_ring::{KeyRing, Known, Standing};
use crate::verdict::{Judgement, Verdict};
use protocol::json::{self, Limits, Value};
use protocol::{Code, DialectName, Fault, Party, Timestamp};

/// Who signs.
#[derive(Clone, Debug)]
pub struct Signer<'k> {
    /// The name of the key in the signature. UAI-1 wants a DID URL or a name that its readers know.
    pub kid: &'k str,
    /// The key.
    pub key: &'k SecretKey,
}

/// `envelope` of that dialect with a signature of everything else in it. Every byte that is not part
/// of the signature stays as it is, except that UAI-1 also gets `trust.signature_ref` and the checksum
/// that belongs to it. A signature of AEE or AEP that was there is replaced; UAI-1 may have several.
///
/// # Errors
/// For text that is not JSON, numbers that two readers would canonicalise differently
/// (`number_not_interoperable`), or a UAI-1 envelope that is not in keyed form or without `trust`.
pub fn sign(envelope: &str, dialect: DialectName, signer: &Signer<'_>) -> Result<String, Fault> {
    let document = json::read(envelope.as_bytes(), limits())?;
    match dialect {
        DialectName::Aee => aee::sign(envelope, document.root(), signer),
        DialectName::Aep => aep::sign(envelope, document.root(), signer),
        DialectName::Uai => uai::sign(envelope, document.root(), signer),
    }
}

/// What is known about the signatures of an envelope that `sender` is said to have sent, judged at
/// `now`. UAI-1 may have several: the worst of those that claim to be the sender's decides, and one of
/// them must be verified.
#[must_use]
pub fn verify(
    envelope: Value<'_>,
    dialect: DialectName,
    sender: &Party,
    ring: &KeyRing,
    now: Timestamp,
) -> Judgement {
    match dialect {
        DialectName::Aee => aee::verify(envelope, sender, ring, now),
        DialectName::Aep => aep::verify(envelope, sender, ring, now),
        DialectName::Uai => uai::verify(envelope, sender, ring, now),
    }
}

/// What a signer may sign is bounded where it was accepted, not here.
fn limits() -> Limits {
    Limits {
        bytes_max: 64 << 20,
        depth_max: 256,
    }
}

fn unsignable(pointer: &str, detail: &str) -> Fault {
    Fault::new(Code::BadRequest, pointer, "docs/signatures.md", detail)
}

/// Judges a signature by the keys of one name: the first key under which it holds decides.
fn judge(
    keys: &[Known],
    sender: &Party,
    now: Timestamp,
    pointer: &str,
    kid: &str,
    holds: impl Fn(&Known) -> bool,
) -> Judgement {
    let of = |verdict, detail: String| Judgement::of(verdict, pointer, Some(kid), detail);
    let Some(key) = keys.iter().find(|key| holds(key)) else {
        let detail =
            format!("expected a signature of key {kid:?} over this envelope; it does not hold");
        return of(Verdict::Bad, detail);
    };
    let standing = match key.standing(now) {
        Standing::Valid => None,
        Standing::Early => Some("it is not valid yet"),
        Standing::Expired => Some("it is no longer valid"),
        Standing::Revoked => Some("it was revoked"),
    };
    if let Some(why) = standing {
        return of(
            Verdict::Bad,
            format!("expected a key that is valid now, got {kid:?}: {why}"),
        );
    }
    if !key.speaks_for(sender) {
        return of(
            Verdict::Bad,
            format!("expected a key that speaks for {sender}, got {kid:?}"),
        );
    }
    of(Verdict::Verified, format!("holds by key {kid:?}"))
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    json::push_string(&mut out, text);
    out
}

#[cfg(test)]
mod tests;
