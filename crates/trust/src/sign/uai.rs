//! UAI-1's signatures: detached JWS in records `urn:uai:ext:signature`, over the RFC 8785 form of the
//! keyed envelope without those records (UAI 9.10). So they cover the checksum and the recipients, and
//! hold in every form of the envelope.

use super::jws::{self, Jws};
use super::{Signer, judge, limits, quoted, unsignable};
use crate::did::read_did_key;
use crate::edit;
use crate::key::PublicKey;
use crate::key_ring::{KeyRing, Known};
use crate::verdict::{Binding, Judgement, Verdict};
use protocol::canonical::canonicalize_where;
use protocol::dialect::uai::{checksum, keyless};
use protocol::json::{self, Kind, Value};
use protocol::{Fault, Party, Timestamp};

const NAMESPACE: &str = "urn:uai:ext:signature";

fn is_record(value: Value<'_>) -> bool {
    value
        .get("namespace")
        .and_then(Value::as_str)
        .is_some_and(|name| name == NAMESPACE)
}

/// What is signed.
fn payload(envelope: Value<'_>) -> Result<String, Fault> {
    canonicalize_where(envelope, |pointer, value| {
        let is_item = pointer
            .strip_prefix("/extensions/")
            .is_some_and(|index| !index.contains('/'));
        !(is_item && is_record(value))
    })
}

pub(super) fn sign(text: &str, envelope: Value<'_>, signer: &Signer<'_>) -> Result<String, Fault> {
    if keyless::is_keyless(envelope) {
        return Err(unsignable(
            "",
            "expected the keyed form: a signature is made over it and holds in every form",
        ));
    }
    let object = |name: &str| {
        envelope
            .get(name)
            .filter(|part| part.kind() == Kind::Object)
            .ok_or_else(|| unsignable(&format!("/{name}"), "expected the object of UAI-1"))
    };
    let reference = format!("\"ext:{NAMESPACE}\"");
    let text = edit::set(text, object("trust")?, "signature_ref", &reference);
    let text = with_list(&text)?;
    let text = with_checksum(&text)?;
    let document = json::read(text.as_bytes(), limits())?;
    let root = document.root();
    let jws = jws::write(&payload(root)?, signer).ok_or_else(|| {
        unsignable(
            "",
            "expected an Ed25519 key: UAI-1 refuses shared secrets (UAI 9.10 G2)",
        )
    })?;
    let record = format!(
        r#"{{"namespace":"{NAMESPACE}","version":"1","required":false,"payload":{{"jws":{}}}}}"#,
        quoted(&jws)
    );
    match root.get("extensions") {
        Some(extensions) => Ok(edit::push(&text, extensions, &record)),
        None => Ok(text),
    }
}

/// With a list of extensions to put the record in, before it is signed: the list itself is covered.
fn with_list(text: &str) -> Result<String, Fault> {
    let document = json::read(text.as_bytes(), limits())?;
    let root = document.root();
    match root.get("extensions") {
        Some(extensions) if extensions.kind() == Kind::Array => Ok(text.to_owned()),
        _ => Ok(edit::set(text, root, "extensions", "[]")),
    }
}

fn with_checksum(text: &str) -> Result<String, Fault> {
    let document = json::read(text.as_bytes(), limits())?;
    let root = document.root();
    let has_checksum = |part: &Value<'_>| part.get("checksum").is_some();
    match root.get("integrity").filter(has_checksum) {
        Some(integrity) => Ok(edit::set(
            text,
            integrity,
            "checksum",
            &quoted(&checksum(root)?),
        )),
        None => Ok(text.to_owned()),
    }
}

pub(super) fn verify(
    envelope: Value<'_>,
    sender: &Party,
    ring: &KeyRing,
    now: Timestamp,
) -> Judgement {
    if keyless::is_keyless(envelope) {
        let Ok(keyed) = keyless::to_keyed(envelope) else {
            let detail = "expected a form that can be read";
            return Judgement::of(Verdict::Unverified, "", None, detail);
        };
        return match json::read(keyed.as_bytes(), limits()) {
            Ok(document) => verify_keyed(document.root(), sender, ring, now),
            Err(fault) => Judgement::of(Verdict::Unverified, fault.pointer, None, fault.detail),
        };
    }
    verify_keyed(envelope, sender, ring, now)
}

fn verify_keyed(envelope: Value<'_>, sender: &Party, ring: &KeyRing, now: Timestamp) -> Judgement {
    let extensions = envelope.get("extensions");
    let records: Vec<_> = extensions
        .into_iter()
        .flat_map(Value::items)
        .enumerate()
        .filter(|(_, record)| is_record(*record))
        .collect();
    if records.is_empty() {
        // A reference without a signature is a signature that was taken out (UAI 9.10 G3).
        let reference = envelope
            .get("trust")
            .and_then(|trust| trust.get("signature_ref"));
        return match reference.and_then(Value::as_str) {
            Some(text) if text == format!("ext:{NAMESPACE}") => Judgement::of(
                Verdict::Bad,
                "/trust/signature_ref",
                None,
                "expected the signature that it refers to; there is none",
            ),
            _ => Judgement::absent("/extensions"),
        };
    }
    let message = match payload(envelope) {
        Ok(message) => message,
        Err(fault) => return Judgement::of(Verdict::Bad, fault.pointer, None, fault.detail),
    };
    let identity = Identity::of(envelope, sender);
    let mut judged = records.iter().map(|(at, record)| {
        let pointer = format!("/extensions/{at}/payload/jws");
        let jws = record
            .get("payload")
            .and_then(|payload| payload.get("jws"))
            .and_then(Value::as_str);
        one(jws.as_deref(), &pointer, &message, &identity, ring, now)
    });
    // Another's signature, such as a broker's, neither proves nor disproves the sender's.
    let mut best: Option<Judgement> = None;
    for judgement in judged.by_ref() {
        if judgement.verdict == Verdict::Bad {
            return judgement;
        }
        let is_better = best
            .as_ref()
            .is_none_or(|best| best.verdict != Verdict::Verified);
        if is_better {
            best = Some(judgement);
        }
    }
    best.unwrap_or_else(|| Judgement::absent("/extensions"))
}

/// Who the envelope says it is from (UAI 5 T5).
struct Identity<'s> {
    sender: &'s Party,
    /// `trust.principal` and `source.did`, as far as they are there.
    principal: Option<String>,
    did: Option<String>,
}

impl<'s> Identity<'s> {
    fn of(envelope: Value<'_>, sender: &'s Party) -> Self {
        let text = |part: &str, name: &str| {
            let value = envelope.get(part)?.get(name)?.as_str()?;
            Some(value.into_owned())
        };
        Self {
            sender,
            principal: text("trust", "principal"),
            did: text("source", "did"),
        }
    }
}

fn one(
    jws: Option<&str>,
    pointer: &str,
    message: &str,
    identity: &Identity<'_>,
    ring: &KeyRing,
    now: Timestamp,
) -> Judgement {
    let bad = |kid: Option<&str>, detail: String| Judgement::of(Verdict::Bad, pointer, kid, detail);
    let jws = match jws
        .ok_or_else(|| "expected a JWS".to_owned())
        .and_then(Jws::read)
    {
        Ok(jws) => jws,
        Err(detail) => return bad(None, detail),
    };
    let kid = jws.header.kid.as_str();
    let signed = jws.message(message);
    let holds = |key: &PublicKey| {
        key.algorithm() == jws.header.algorithm && key.holds(signed.as_bytes(), &jws.signature)
    };
    let known = ring.find(kid);
    if known.is_empty() {
        return match read_did_key(kid) {
            Some(key) => self_contained(&key, kid, pointer, identity, holds),
            None => Judgement::of(
                Verdict::UnknownKey,
                pointer,
                Some(kid),
                "expected a did:key or a key of the ring",
            ),
        };
    }
    let speaks_for_others = |key: &Known| {
        holds(&key.key) && !key.speaks_for(identity.sender) && !key.parties.is_empty()
    };
    if known.iter().any(speaks_for_others) {
        let detail = format!(
            "it is of {kid:?}, which does not speak for {}",
            identity.sender
        );
        return Judgement::of(Verdict::Unverified, pointer, Some(kid), detail);
    }
    let judgement = judge(known, identity.sender, now, pointer, kid, |key| {
        holds(&key.key)
    });
    match judgement.verdict {
        Verdict::Verified => judgement.covers(Binding::Full),
        _ => judgement,
    }
}

/// A key that its own name holds proves that this DID signed; it is the sender only when the envelope
/// says that the sender is this DID (UAI 5 T5).
fn self_contained(
    key: &[u8; 32],
    kid: &str,
    pointer: &str,
    identity: &Identity<'_>,
    holds: impl Fn(&PublicKey) -> bool,
) -> Judgement {
    let of = |verdict, detail: String| Judgement::of(verdict, pointer, Some(kid), detail);
    if !PublicKey::ed25519(key).is_ok_and(|key| holds(&key)) {
        let detail = format!("expected a signature of {kid} over this envelope; it does not hold");
        return of(Verdict::Bad, detail);
    }
    let did = kid.split('#').next().unwrap_or(kid);
    let is_principal = identity.principal.as_deref() == Some(did);
    let is_source = identity.did.as_deref().is_none_or(|source| source == did);
    if is_principal && is_source {
        return of(Verdict::Verified, format!("holds by {did}")).covers(Binding::Full);
    }
    of(
        Verdict::Unverified,
        format!("holds by {did}, which is not what trust.principal and source.did say (UAI 5 T5)"),
    )
}
