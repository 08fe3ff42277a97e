//! The signatures of a bundle (AEE 9.3, 9.4).

use super::event::Object;
use super::report::Reason;
use super::schema::is_moment;
use super::verify::{Bundle, Facts, Failure, LIMITS, Options};
use super::{VERSION, canonical};
use crate::did::read_did_key;
use crate::key::PublicKey;
use crate::key_ring::KeyRing;
use protocol::base64;
use protocol::json::{self, Value};

/// Step 10: against what the files say, never what the record says of itself.
pub(super) fn signatures(
    bundle: &Bundle,
    manifest: Value<'_>,
    facts: &Facts,
    options: &Options<'_>,
    warnings: &mut Vec<String>,
) -> Result<bool, Failure> {
    if !options.signatures {
        warnings.push("signatures were not verified".into());
        return Ok(false);
    }
    let invalid =
        |member: &str| Failure::new(Reason::SignatureSchemaInvalid).text("member", member);
    let mut message = Object::new();
    message.text("bundle_id", &facts.bundle_id);
    message.raw("event_count", &facts.event_count.to_string());
    message.text("first_event_hash", &facts.first);
    message.text("hash_alg", "sha256");
    message.text("last_event_hash", &facts.last);
    message.text("run_id", &facts.run_id);
    let message = canonical::canonical_text(message.close().as_bytes(), LIMITS)
        .map_err(|_| invalid("message"))?;
    let (mut count, mut are_verified) = (0, true);
    let mut judge = |record: Value<'_>| {
        count += 1;
        let holds = signature(record, &message, options.ring)?;
        if !holds {
            are_verified = false;
            let key = record.get("key_id").and_then(Value::as_str);
            warnings.push(format!(
                "a signature of {:?} was not verified: the key is not known",
                key.unwrap_or_default()
            ));
        }
        Ok(())
    };
    let listed = manifest.get("signatures");
    for record in listed.into_iter().flat_map(Value::items) {
        judge(record)?;
    }
    for (path, bytes) in &bundle.files {
        if path.starts_with("signatures/") && path.ends_with(".json") {
            let document = json::read(bytes, LIMITS).map_err(|_| invalid(path))?;
            judge(document.root())?;
        }
    }
    if count == 0 {
        warnings.push("there are no signatures".into());
    }
    Ok(count > 0 && are_verified)
}

/// Whether one record holds; `false` for a key that is not known.
fn signature(record: Value<'_>, message: &str, ring: Option<&KeyRing>) -> Result<bool, Failure> {
    let invalid =
        |member: &str| Failure::new(Reason::SignatureSchemaInvalid).text("member", member);
    let text = |name: &'static str| {
        record
            .get(name)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
            .ok_or_else(|| invalid(name))
    };
    if text("sig_version")? != VERSION {
        return Err(invalid("sig_version"));
    }
    let kind = text("sig_type")?;
    if kind != "ed25519" {
        return Err(Failure::new(Reason::UnsupportedSignatureType).text("sig_type", &kind));
    }
    if text("scope")? != "bundle" {
        return Err(invalid("scope"));
    }
    if !is_moment(&text("signed_ts")?) {
        return Err(invalid("signed_ts"));
    }
    let said = record.get("message").ok_or_else(|| invalid("message"))?;
    let said = canonical::canonicalize(said, |_| true).map_err(|_| invalid("message"))?;
    let key_id = text("key_id")?;
    let bad = |detail: &str| {
        Failure::new(Reason::SignatureInvalid)
            .text("key_id", &key_id)
            .text("detail", detail)
    };
    if said != message {
        return Err(bad("its message is not about this bundle"));
    }
    let value = base64::decode(&text("signature")?)
        .filter(|value| value.len() == 64)
        .ok_or_else(|| invalid("signature"))?;
    let mut keys: Vec<PublicKey> = ring
        .map(|ring| {
            ring.find(&key_id)
                .iter()
                .map(|known| known.key.clone())
                .collect()
        })
        .unwrap_or_default();
    keys.extend(read_did_key(&key_id).and_then(|key| PublicKey::ed25519(&key).ok()));
    if keys.is_empty() {
        return Ok(false);
    }
    if keys.iter().any(|key| key.holds(message.as_bytes(), &value)) {
        Ok(true)
    } else {
        Err(bad("it does not hold"))
    }
}
