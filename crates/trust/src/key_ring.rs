//! The key ring: whose keys are known, which parties they speak for, and when they hold.
//!
//! ```json
//! {"keys":[
//!   {"kid":"planner-2026","alg":"ed25519","public":"did:key:z6Mk...","parties":["agent.planner"],
//!    "from":"2026-01-01T00:00:00Z","until":"2027-01-01T00:00:00Z"},
//!   {"kid":"old","alg":"ed25519","public":"<base64>","parties":["agent.team.*"],
//!    "revoked_at":"2026-05-01T00:00:00Z"},
//!   {"kid":"inside","alg":"HS256","secret":"<base64>","parties":["service.*"]}]}
//! ```
//!
//! A ring is read from text that the operator gave. Nothing that a message names is fetched.

use crate::key::{Algorithm, PublicKey};
use protocol::json::{self, Kind, Limits, Value};
use protocol::{Code, Fault, Party, Timestamp};
use std::collections::HashMap;

/// The rule that faults of ring files name.
const RULE: &str = "docs/signatures.md, key ring";

/// One key and what it may be used for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its name in signatures.
    pub kid: Box<str>,
    /// What signatures are checked with.
    pub key: PublicKey,
    /// The parties it speaks for, in canonical spelling; `agent:*` and `agent:team.*` stand for all
    /// that begin so.
    pub parties: Vec<Box<str>>,
    /// The first moment at which it holds.
    pub from: Option<Timestamp>,
    /// The moment from which it no longer holds.
    pub until: Option<Timestamp>,
    /// The moment from which nothing it signs is believed.
    pub revoked_at: Option<Timestamp>,
}

/// Whether a key could be used at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Yes.
    Valid,
    /// It did not hold yet.
    Early,
    /// It held no longer.
    Expired,
    /// It was revoked.
    Revoked,
}

impl Known {
    /// Whether it could be used at `moment`.
    #[must_use]
    pub fn standing(&self, moment: Timestamp) -> Standing {
        if self.revoked_at.is_some_and(|at| moment >= at) {
            Standing::Revoked
        } else if self.until.is_some_and(|until| moment >= until) {
            Standing::Expired
        } else if self.from.is_some_and(|from| moment < from) {
            Standing::Early
        } else {
            Standing::Valid
        }
    }

    /// Whether it speaks for `party`.
    #[must_use]
    pub fn speaks_for(&self, party: &Party) -> bool {
        self.parties.iter().any(|one| match one.strip_suffix('*') {
            Some(start) => party.as_str().starts_with(start),
            None => **one == *party.as_str(),
        })
    }
}

/// Every key that is known. A name may have several keys, so that one can follow another.
#[derive(Clone, Debug, Default)]
pub struct KeyRing {
    keys: HashMap<Box<str>, Vec<Known>>,
}

impl KeyRing {
    /// An empty ring: every signature is of an unknown key.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a key.
    pub fn add(&mut self, known: Known) {
        self.keys.entry(known.kid.clone()).or_default().push(known);
    }

    /// The keys of that name.
    #[must_use]
    pub fn find(&self, kid: &str) -> &[Known] {
        self.keys.get(kid).map_or(&[], Vec::as_slice)
    }

    /// Every key, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Known> {
        self.keys.values().flatten()
    }

    /// How many keys there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Reads a ring file.
    ///
    /// # Errors
    /// The first thing that is wrong, with its JSON pointer. A secret is never in the sentence.
    pub fn read(text: &[u8]) -> Result<Self, Fault> {
        let document = json::read(text, Limits::default())?;
        let root = document.root();
        only(root, "", &["keys"])?;
        let Some(keys) = root.get("keys").filter(|keys| keys.kind() == Kind::Array) else {
            return Err(fault("/keys", "expected `keys`, a list of keys"));
        };
        let mut ring = Self::new();
        for (at, key) in keys.items().enumerate() {
            ring.add(read_key(key, &format!("/keys/{at}"))?);
        }
        Ok(ring)
    }
}

fn read_key(value: Value<'_>, pointer: &str) -> Result<Known, Fault> {
    let members = [
        "kid",
        "alg",
        "public",
        "secret",
        "parties",
        "from",
        "until",
        "revoked_at",
    ];
    only(value, pointer, &members)?;
    let text = |name: &str| {
        value
            .get(name)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
            .ok_or_else(|| {
                fault(
                    &format!("{pointer}/{name}"),
                    "expected a text that is not empty",
                )
            })
    };
    let kid = text("kid")?;
    let word = text("alg")?;
    let algorithm = Algorithm::parse(&word).ok_or_else(|| {
        fault(
            &format!("{pointer}/alg"),
            "expected ed25519, HS256 or ES256",
        )
    })?;
    let name = if algorithm == Algorithm::Hs256 {
        "secret"
    } else {
        "public"
    };
    let key = PublicKey::read(algorithm, &text(name)?)
        .map_err(|error| fault(&format!("{pointer}/{name}"), error.0))?;
    let listed = value
        .get("parties")
        .filter(|parties| parties.kind() == Kind::Array)
        .ok_or_else(|| {
            fault(
                &format!("{pointer}/parties"),
                "expected the list of parties that the key speaks for",
            )
        })?;
    let mut parties = Vec::new();
    for (at, party) in listed.items().enumerate() {
        let party = party.as_str().ok_or_else(|| {
            fault(
                &format!("{pointer}/parties/{at}"),
                "expected a party such as agent.planner or agent.team.*",
            )
        })?;
        parties.push(Party::parse(&party).as_str().into());
    }
    let moment = |name: &str| match value.get(name).filter(|value| !value.is_null()) {
        None => Ok(None),
        Some(value) => value
            .as_str()
            .and_then(|text| Timestamp::parse_rfc3339(&text))
            .map(|(moment, _)| Some(moment))
            .ok_or_else(|| {
                fault(
                    &format!("{pointer}/{name}"),
                    "expected a moment such as 2026-01-01T00:00:00Z (RFC 3339)",
                )
            }),
    };
    Ok(Known {
        kid: kid.into(),
        key,
        parties,
        from: moment("from")?,
        until: moment("until")?,
        revoked_at: moment("revoked_at")?,
    })
}

/// A misspelt `until` or `revoked_at` must not make a key hold for ever.
fn only(value: Value<'_>, pointer: &str, members: &[&str]) -> Result<(), Fault> {
    if value.kind() != Kind::Object {
        return Err(fault(pointer, "expected an object"));
    }
    for (key, _) in value.members() {
        let name = key.text();
        if !members.contains(&&*name) {
            let mut at = format!("{pointer}/");
            json::push_escaped(&mut at, &name);
            return Err(fault(
                &at,
                &format!("expected one of {}", members.join(", ")),
            ));
        }
    }
    Ok(())
}

fn fault(pointer: &str, detail: &str) -> Fault {
    Fault::new(Code::BadRequest, pointer, RULE, detail)
}

#[cfg(test)]
mod tests {
    use super::{KeyRing, Standing};
    use protocol::{Party, Timestamp};

    const PUBLIC: &str = "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=";

    fn ring(more: &str) -> KeyRing {
        let text = format!(
            r#"{{"keys":[{{"kid":"a","alg":"ed25519","public":"{PUBLIC}","parties":["agent.a","service:x.*"]{more}}}]}}"#
        );
        KeyRing::read(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_key_speaks_for_its_parties_in_every_spelling() {
        let ring = ring("");
        let [key] = ring.find("a") else { panic!() };
        for (party, speaks) in [
            ("agent:a", true),
            ("agent.a", true),
            ("agent:ab", false),
            ("service.x.y", true),
            ("service.x", false),
            ("human.a", false),
        ] {
            assert_eq!(key.speaks_for(&Party::parse(party)), speaks, "{party}");
        }
        assert!(ring.find("b").is_empty());
    }

    #[test]
    fn a_key_holds_from_until_and_never_after_it_was_revoked() {
        let ring = ring(
            r#","from":"1970-01-01T00:00:01Z","until":"1970-01-01T00:00:09Z","revoked_at":"1970-01-01T00:00:05Z""#,
        );
        let [key] = ring.find("a") else { panic!() };
        for (millis, standing) in [
            (999, Standing::Early),
            (1_000, Standing::Valid),
            (4_999, Standing::Valid),
            (5_000, Standing::Revoked),
            (10_000, Standing::Revoked),
        ] {
            assert_eq!(key.standing(Timestamp::from_millis(millis)), standing);
        }
    }

    #[test]
    fn what_is_wrong_in_a_file_is_named() {
        let key = |more: &str| {
            format!(
                r#"{{"keys":[{{"kid":"a","alg":"ed25519","public":"{PUBLIC}","parties":[]{more}}}]}}"#
            )
        };
        for (text, pointer) in [
            ("{}".to_owned(), "/keys"),
            (key(r#","untill":"x""#), "/keys/0/untill"),
            (key(r#","until":"tomorrow""#), "/keys/0/until"),
            (key("").replace("ed25519", "none"), "/keys/0/alg"),
            (key("").replace("[]", "[1]"), "/keys/0/parties/0"),
            (key("").replace(PUBLIC, "AAAA"), "/keys/0/public"),
            (key("").replace("ed25519", "HS256"), "/keys/0/secret"),
        ] {
            let fault = KeyRing::read(text.as_bytes()).unwrap_err();
            assert_eq!(fault.pointer, pointer, "{text}");
        }
    }
}
