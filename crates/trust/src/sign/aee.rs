//! AEE's `sig`: our profile `aee-sig-1` (AEE 12) and the minimal binding that the publications show.
//!
//! `{"alg":"ed25519","kid":"...","value":"<base64>","canon":"volt-0.1","bind":[...]}`. The signed bytes
//! are the canonical JSON (VOLT) of an object with the bound members. Without `bind` the ten of AEE 1.8
//! are meant, or everything but `sig`: both are published, so both are tried.

use super::{Signer, judge, quoted};
use crate::edit;
use crate::key::Algorithm;
use crate::key_ring::KeyRing;
use crate::verdict::{Binding, Judgement, Verdict};
use crate::volt::canonical::{canonicalize, canonicalize_members};
use protocol::json::{Kind, Value};
use protocol::{Fault, Party, Timestamp, base64};

/// What a signature should bind at least (AEE 1.8).
const MINIMAL: [&str; 10] = [
    "v", "id", "ts", "type", "from", "to", "intent", "corr", "reply_to", "payload",
];
const CANON: &str = "volt-0.1";
const POINTER: &str = "/sig";

/// The canonical text of `envelope` with only the members `bind`. An absent `reply_to` counts as null.
fn signed(envelope: Value<'_>, bind: &[&str]) -> Result<String, Fault> {
    let null_reply = bind.contains(&"reply_to") && envelope.get("reply_to").is_none();
    let extra: &[(&str, &str)] = if null_reply {
        &[("reply_to", "null")]
    } else {
        &[]
    };
    canonicalize_members(envelope, |name| bind.contains(&name), extra)
}

pub(super) fn sign(text: &str, envelope: Value<'_>, signer: &Signer<'_>) -> Result<String, Fault> {
    let names: Vec<_> = envelope
        .members()
        .map(|(key, _)| key.text())
        .filter(|name| name != "sig")
        .collect();
    let mut bind: Vec<&str> = names.iter().map(|name| &**name).collect();
    // Bound although absent, so that nobody can add one.
    for name in MINIMAL.iter().chain(&["priority", "requires"]) {
        if !bind.contains(name) {
            bind.push(name);
        }
    }
    let message = signed(envelope, &bind)?;
    let mut value = Vec::new();
    base64::encode(&mut value, &signer.key.sign(message.as_bytes()));
    let list: Vec<_> = bind.iter().map(|name| quoted(name)).collect();
    let sig = format!(
        r#"{{"alg":{},"kid":{},"value":{},"canon":"{CANON}","bind":[{}]}}"#,
        quoted(signer.key.algorithm().as_str()),
        quoted(signer.kid),
        quoted(&String::from_utf8(value).unwrap_or_default()),
        list.join(",")
    );
    Ok(edit::set(text, envelope, "sig", &sig))
}

pub(super) fn verify(
    envelope: Value<'_>,
    sender: &Party,
    ring: &KeyRing,
    now: Timestamp,
) -> Judgement {
    let Some(sig) = envelope.get("sig").filter(|sig| !sig.is_null()) else {
        return Judgement::absent(POINTER);
    };
    let of = |verdict, pointer: &str, kid: Option<&str>, detail: &str| {
        Judgement::of(verdict, format!("{POINTER}{pointer}"), kid, detail)
    };
    if sig.kind() != Kind::Object {
        let detail = "expected an object with alg, kid and value; another form cannot be judged";
        return of(Verdict::Unverified, "", None, detail);
    }
    let text = |name: &str| sig.get(name).and_then(Value::as_str);
    let kid = text("kid");
    let kid = kid.as_deref();
    let Some(algorithm) = text("alg").and_then(|word| Algorithm::parse(&word)) else {
        let detail = "expected the algorithm ed25519 or HS256";
        return of(Verdict::Unverified, "/alg", kid, detail);
    };
    if text("canon").is_some_and(|canon| canon != CANON) || algorithm == Algorithm::Es256 {
        let detail = "expected ed25519 or HS256 over the canonical form volt-0.1";
        return of(Verdict::Unverified, "/canon", kid, detail);
    }
    let Some(kid) = kid else {
        let detail = "expected the name of the key";
        return of(Verdict::Bad, "/kid", None, detail);
    };
    let Some(value) = text("value").and_then(|value| base64::decode(&value)) else {
        let detail = "expected the signature in standard base64 with padding";
        return of(Verdict::Bad, "/value", Some(kid), detail);
    };
    let messages = match messages(envelope, sig) {
        Ok(messages) => messages,
        Err(judgement) => {
            return Judgement {
                kid: Some(kid.into()),
                ..*judgement
            };
        }
    };
    let keys = ring.find(kid);
    if keys.is_empty() {
        return of(
            Verdict::UnknownKey,
            "/kid",
            Some(kid),
            "expected a key of the ring",
        );
    }
    let mut last = None;
    for (message, binding) in &messages {
        let judgement = judge(keys, sender, now, POINTER, kid, |key| {
            // The key says how it signs; what the message says must only agree.
            key.key.algorithm() == algorithm && key.key.holds(message.as_bytes(), &value)
        });
        if judgement.verdict == Verdict::Verified {
            return judgement.covers(*binding);
        }
        last = Some(judgement);
    }
    last.unwrap_or_else(|| of(Verdict::Bad, "", Some(kid), "it binds nothing"))
}

/// The texts that may have been signed, and how much of the envelope each is.
fn messages(envelope: Value<'_>, sig: Value<'_>) -> Result<Vec<(String, Binding)>, Box<Judgement>> {
    let bad = |pointer: String, detail: String| {
        Box::new(Judgement::of(Verdict::Bad, pointer, None, detail))
    };
    let canonical = |bind: &[&str]| {
        signed(envelope, bind)
            .map_err(|fault| bad(fault.pointer.to_string(), fault.detail.to_string()))
    };
    let covers = |bind: &[&str]| {
        let mut members = envelope.members();
        match members.all(|(key, _)| key.is_text("sig") || bind.contains(&&*key.text())) {
            true => Binding::Full,
            false => Binding::Minimal,
        }
    };
    let Some(list) = sig.get("bind").filter(|bind| !bind.is_null()) else {
        let without = canonicalize(envelope, |pointer| pointer != "/sig")
            .map_err(|fault| bad(fault.pointer.to_string(), fault.detail.to_string()))?;
        return Ok(vec![
            (without, Binding::Full),
            (canonical(&MINIMAL)?, covers(&MINIMAL)),
        ]);
    };
    let names: Option<Vec<_>> = list.items().map(Value::as_str).collect();
    let names = match names {
        Some(names) if list.kind() == Kind::Array => names,
        _ => {
            let detail = "expected the list of bound members".to_owned();
            return Err(bad("/sig/bind".into(), detail));
        }
    };
    let bind: Vec<&str> = names.iter().map(|name| &**name).collect();
    if let Some(missing) = MINIMAL.iter().find(|name| !bind.contains(name)) {
        return Err(bad(
            "/sig/bind".into(),
            format!("expected at least the members of AEE 1.8 to be bound, {missing} is not"),
        ));
    }
    if bind.contains(&"sig") {
        let detail = "expected `sig` not to bind itself".to_owned();
        return Err(bad("/sig/bind".into(), detail));
    }
    Ok(vec![(canonical(&bind)?, covers(&bind))])
}
