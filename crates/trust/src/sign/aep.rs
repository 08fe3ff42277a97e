//! AEP has no signature of its own. Ours is one more member, which AEP lets pass (AEP 1):
//! `"interwire_signature":{"alg":"ed25519","kid":"...","value":"<base64>"}`, over the RFC 8785 form of
//! everything else.

use super::{Signer, judge, quoted};
use crate::edit;
use crate::key::Algorithm;
use crate::key_ring::KeyRing;
use crate::verdict::{Binding, Judgement, Verdict};
use protocol::canonical::canonicalize;
use protocol::json::Value;
use protocol::{Fault, Party, Timestamp, base64};

const MEMBER: &str = "interwire_signature";
const POINTER: &str = "/interwire_signature";

pub(super) fn sign(text: &str, envelope: Value<'_>, signer: &Signer<'_>) -> Result<String, Fault> {
    let message = canonicalize(envelope, &[POINTER])?;
    let mut value = Vec::new();
    base64::encode(&mut value, &signer.key.sign(message.as_bytes()));
    let signature = format!(
        r#"{{"alg":{},"kid":{},"value":{}}}"#,
        quoted(signer.key.algorithm().as_str()),
        quoted(signer.kid),
        quoted(&String::from_utf8(value).unwrap_or_default())
    );
    Ok(edit::set(text, envelope, MEMBER, &signature))
}

pub(super) fn verify(
    envelope: Value<'_>,
    sender: &Party,
    ring: &KeyRing,
    now: Timestamp,
) -> Judgement {
    let Some(signature) = envelope
        .get(MEMBER)
        .filter(|signature| !signature.is_null())
    else {
        return Judgement::absent(POINTER);
    };
    let text = |name: &str| signature.get(name).and_then(Value::as_str);
    let kid = text("kid");
    let of = |verdict, pointer: &str, detail: &str| {
        Judgement::of(
            verdict,
            format!("{POINTER}{pointer}"),
            kid.as_deref(),
            detail,
        )
    };
    let Some(algorithm) = text("alg").and_then(|word| Algorithm::parse(&word)) else {
        return of(Verdict::Bad, "/alg", "expected ed25519, HS256 or ES256");
    };
    let Some(name) = kid.as_deref() else {
        return of(Verdict::Bad, "/kid", "expected the name of the key");
    };
    let Some(value) = text("value").and_then(|value| base64::decode(&value)) else {
        return of(
            Verdict::Bad,
            "/value",
            "expected the signature in standard base64",
        );
    };
    let keys = ring.find(name);
    if keys.is_empty() {
        return of(Verdict::UnknownKey, "/kid", "expected a key of the ring");
    }
    let message = match canonicalize(envelope, &[POINTER]) {
        Ok(message) => message,
        Err(fault) => return Judgement::of(Verdict::Bad, fault.pointer, Some(name), fault.detail),
    };
    let judgement = judge(keys, sender, now, POINTER, name, |key| {
        key.key.algorithm() == algorithm && key.key.holds(message.as_bytes(), &value)
    });
    match judgement.verdict {
        Verdict::Verified => judgement.covers(Binding::Full),
        _ => judgement,
    }
}
