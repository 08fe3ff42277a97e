//! Capability negotiation: an offer and one side's abilities give the answer.
//!
//! Pure. What is required and missing refuses the whole offer; there is no agreement without it. What
//! was agreed is remembered for an hour, and without an agreement a peer gets the baseline: version
//! 1.0, keyed, no extensions. Implements UAI 9.6 K1 to K4.

use std::collections::{BTreeMap, BTreeSet};

use crate::coordination::Offer;
use crate::json::{Kind, Value, push_string};
use crate::wire::{Reader, WireError, put_moment, put_text, put_varint};
use crate::{Party, Timestamp};

/// How long an agreement holds, in milliseconds (UAI 9.6 K3).
pub const AGREEMENT_MS: i64 = 3_600_000;

/// What one side can do, each list in any order.
#[derive(Clone, Debug)]
pub struct Abilities<'a> {
    /// Versions of UAI-1.
    pub versions: &'a [&'a str],
    /// `keyed`, `minified-keyed`, `keyless`.
    pub forms: &'a [&'a str],
    /// Feature tokens.
    pub features: &'a [&'a str],
    /// Signature algorithms.
    pub sig_algs: &'a [&'a str],
    /// Content encryptions.
    pub enc: &'a [&'a str],
    /// The longest message, in bytes.
    pub max_bytes: u64,
}

/// What this exchange can do. It verifies no signature and opens no sealed message, so it agrees on
/// none of those.
pub const EXCHANGE: Abilities<'static> = Abilities {
    versions: &[super::VERSION],
    forms: &["keyed", "minified-keyed", "keyless"],
    features: &[
        "ma.additional_targets",
        "ma.extension_carriage",
        "ma.broadcast",
        "ma.pubsub",
        "ma.keyless_target_list",
        "ma.blocker_conflict",
        "form.minified",
        "form.keyless",
    ],
    sig_algs: &[],
    enc: &[],
    max_bytes: 1 << 20,
};

/// What comes of an offer; `None` for a body that is no offer.
#[must_use]
pub fn answer(body: Value<'_>, ours: &Abilities<'_>) -> Option<Offer> {
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    if text("phase")? != "offer" {
        return None;
    }
    let negotiation = text("negotiation_id")?;
    let offered = |name: &str| texts(body.get("offered").and_then(|offered| offered.get(name)));
    let required = texts(body.get("required").and_then(|part| part.get("features")));
    // Only what is offered can be agreed, but what is required counts as offered.
    let mut wanted = offered("features");
    for feature in &required {
        if !wanted.contains(feature) {
            wanted.push(feature.clone());
        }
    }
    let mut seen = BTreeSet::new();
    let features: Vec<Box<str>> = wanted
        .into_iter()
        .filter(|feature| ours.features.contains(&&**feature) && seen.insert(feature.clone()))
        .map(Into::into)
        .collect();
    let missing: Vec<_> = required
        .iter()
        .filter(|feature| !features.iter().any(|agreed| **agreed == ***feature))
        .collect();
    let mut versions = offered("uai_versions");
    versions.retain(|version| ours.versions.contains(&&**version));
    let version = versions
        .into_iter()
        .max_by(|one, other| parts(one).cmp(&parts(other)));
    let (features, answer) = match version {
        Some(version) if missing.is_empty() => {
            let first = |name: &str, ours: &[&str]| {
                let mut offered = offered(name).into_iter();
                offered.find(|one| ours.contains(&&**one))
            };
            let mut out = begun(&negotiation, "answer");
            out.push_str(",\"selected\":{\"uai_version\":");
            push_string(&mut out, &version);
            out.push_str(",\"form\":");
            let form = first("forms", ours.forms);
            push_string(&mut out, form.as_deref().unwrap_or("keyed"));
            out.push_str(",\"features\":");
            push_list(&mut out, features.iter().map(AsRef::as_ref));
            for (name, chosen) in [
                ("sig_alg", first("sig_algs", ours.sig_algs)),
                ("enc", first("enc", ours.enc)),
            ] {
                if let Some(chosen) = chosen {
                    out.push_str(",\"");
                    out.push_str(name);
                    out.push_str("\":");
                    push_string(&mut out, &chosen);
                }
            }
            let theirs = body
                .at("/offered/max_bytes")
                .and_then(Value::as_i64)
                .and_then(|bytes| u64::try_from(bytes).ok());
            let max_bytes = theirs.map_or(ours.max_bytes, |bytes| bytes.min(ours.max_bytes));
            out.push_str(",\"max_bytes\":");
            out.push_str(&max_bytes.to_string());
            out.push_str("}}");
            (Some(features), out)
        }
        Some(_) => {
            let mut names = String::new();
            for (at, feature) in missing.into_iter().take(16).enumerate() {
                names.push_str(if at > 0 { ", " } else { "" });
                names.push_str(feature);
            }
            let reason = format!("a required feature is missing here: {names}");
            (None, refused(&negotiation, &reason))
        }
        None => {
            let known = ours.versions.join(", ");
            let reason = format!("no common version, here is {known}");
            (None, refused(&negotiation, &reason))
        }
    };
    Some(Offer {
        negotiation: negotiation.into(),
        features,
        answer: answer.into(),
    })
}

/// The features that an answer selects, for the side that offered. `None` when it refuses, or leaves
/// out what was required: then nothing is agreed.
#[must_use]
pub fn agreed(answer: Value<'_>, required: &[&str]) -> Option<Vec<Box<str>>> {
    if answer.get("phase").and_then(Value::as_str)? != "answer" {
        return None;
    }
    let features = texts(answer.at("/selected/features"));
    let has = |feature: &&str| features.iter().any(|agreed| agreed == *feature);
    required
        .iter()
        .all(has)
        .then(|| features.into_iter().map(Into::into).collect())
}

fn begun(negotiation: &str, phase: &str) -> String {
    let mut out = String::from("{\"negotiation_id\":");
    push_string(&mut out, negotiation);
    out.push_str(",\"phase\":");
    push_string(&mut out, phase);
    out
}

fn refused(negotiation: &str, reason: &str) -> String {
    let mut out = begun(negotiation, "reject");
    out.push_str(
        ",\"fallback\":{\"uai_version\":\"1.0\",\"form\":\"keyed\",\"features\":[]},\"reason\":",
    );
    push_string(&mut out, reason);
    out.push('}');
    out
}

fn push_list<'t>(out: &mut String, texts: impl Iterator<Item = &'t str>) {
    out.push('[');
    for (at, text) in texts.enumerate() {
        out.push_str(if at > 0 { "," } else { "" });
        push_string(out, text);
    }
    out.push(']');
}

fn texts(list: Option<Value<'_>>) -> Vec<String> {
    list.filter(|list| list.kind() == Kind::Array)
        .into_iter()
        .flat_map(Value::items)
        .filter_map(|item| item.as_str().map(std::borrow::Cow::into_owned))
        .collect()
}

/// A version as numbers, so that 1.10 is above 1.9.
fn parts(version: &str) -> Vec<u64> {
    version
        .split('.')
        .map(|part| part.parse().unwrap_or(0))
        .collect()
}

/// What was agreed with whom, until when. Bounded: the agreement that was made first leaves first,
/// and its peer is at the baseline again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agreements {
    peers: BTreeMap<Party, (Timestamp, Vec<Box<str>>)>,
}

/// Most peers that are remembered.
const PEERS_MAX: usize = 65_536;

impl Agreements {
    /// Remembers what came of an offer. One that was refused ends what was agreed before: it fails
    /// closed.
    pub fn remember(&mut self, peer: &Party, now: Timestamp, features: Option<&[Box<str>]>) {
        let Some(features) = features else {
            self.peers.remove(peer);
            return;
        };
        let until = now.plus_millis(AGREEMENT_MS);
        self.peers.insert(peer.clone(), (until, features.to_vec()));
        if self.peers.len() > PEERS_MAX {
            let first = self.peers.iter().min_by_key(|(_, (until, _))| *until);
            if let Some(first) = first.map(|(peer, _)| peer.clone()) {
                self.peers.remove(&first);
            }
        }
    }

    /// The features agreed with a peer; none without an agreement that holds.
    pub fn features(&self, peer: &Party, now: Timestamp) -> impl Iterator<Item = &str> {
        self.peers
            .get(peer)
            .filter(|(until, _)| *until > now)
            .into_iter()
            .flat_map(|(_, features)| features.iter().map(AsRef::as_ref))
    }

    /// Appends its bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.peers.len() as u64);
        for (peer, (until, features)) in &self.peers {
            put_text(out, peer.as_str());
            put_moment(out, *until);
            put_varint(out, features.len() as u64);
            for feature in features {
                put_text(out, feature);
            }
        }
    }

    /// Reads them back.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let peers = reader.list(|reader| {
            let peer = reader.party()?;
            let until = reader.moment()?;
            let features = reader.list(|reader| Ok(Box::from(reader.text()?)))?;
            Ok((peer, (until, features)))
        })?;
        let peers = peers.into_iter().collect();
        Ok(Self { peers })
    }
}
