//! Capability negotiation: an offer and one side's abilities give the answer.
//!
//! Pure. What is required and missing refuses the whole offer; there is no agreement without it. What was
//! agreed holds for an hour, and without an agreement a peer gets the baseline: version 1.0, keyed, no
//! extensions, copies instead of lists of recipients. Implements UAI 9.6 K1 to K4.

mod agreements;

pub use agreements::{AGREEMENT_MS, Agreements};

use super::build::{Object, texts};
use super::carriage::Carriage;
use crate::json::{Kind, Value};

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

/// What the exchange can do. It verifies no signature and opens no sealed message, so it agrees on none
/// of those.
pub const EXCHANGE: Abilities<'static> = Abilities {
    versions: &[super::VERSION],
    forms: &["keyed", "minified-keyed", "keyless"],
    features: &[
        "ma.additional_targets",
        "ma.extension_carriage",
        "ma.broadcast",
        "ma.pubsub",
        "ma.blocker_conflict",
        "ma.keyless_target_list",
        "form.minified",
        "form.keyless",
        "discovery.v1",
    ],
    sig_algs: &[],
    enc: &[],
    max_bytes: 1 << 20,
};

/// What was agreed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    /// The highest common version.
    pub version: Box<str>,
    /// The first offered form that both have; `keyed` when none was offered.
    pub form: Box<str>,
    /// The common features, in the order of the offer.
    pub features: Vec<Box<str>>,
    /// The first offered algorithm that both have.
    pub sig_alg: Option<Box<str>>,
    /// The first offered encryption that both have.
    pub enc: Option<Box<str>>,
    /// The smaller of both limits, in bytes.
    pub max_bytes: u64,
}

impl Selected {
    /// How messages with several recipients travel between these two (UAI 9.1 M5).
    #[must_use]
    pub fn carriage(&self) -> Carriage {
        Carriage::for_features(self.features.iter().map(AsRef::as_ref))
    }

    fn write(&self) -> String {
        let features: Vec<String> = self.features.iter().map(ToString::to_string).collect();
        Object::new()
            .text("uai_version", &self.version)
            .text("form", &self.form)
            .raw("features", &texts(&features))
            .maybe("sig_alg", self.sig_alg.as_deref())
            .maybe("enc", self.enc.as_deref())
            .raw("max_bytes", &self.max_bytes.to_string())
            .close()
    }
}

/// What comes of an offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The offer's `negotiation_id`.
    pub negotiation: Box<str>,
    /// What is agreed once the other side confirms; none when the offer is refused.
    pub selected: Option<Selected>,
    /// The body of the packet that says so, as JSON text: phase `answer` or `reject`.
    pub body: String,
}

/// Answers an offer; `None` for a body that is no offer.
///
/// Everything in `required` must be met: a feature, version, form, algorithm or encryption that is missing
/// here, or a requirement that is not understood, refuses the offer, and the reason names each.
#[must_use]
pub fn answer(body: Value<'_>, ours: &Abilities<'_>) -> Option<Outcome> {
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    if text("phase")? != "offer" {
        return None;
    }
    let negotiation = text("negotiation_id")?;
    let (body, selected) = match select(body, ours) {
        Ok(selected) => {
            let text = begun(&negotiation, "answer").raw("selected", &selected.write());
            (text.close(), Some(selected))
        }
        Err(reason) => (refused(&negotiation, &reason), None),
    };
    Some(Outcome {
        negotiation: negotiation.into(),
        selected,
        body,
    })
}

/// The body of a `reject`, with the baseline as fallback.
#[must_use]
pub fn refused(negotiation: &str, reason: &str) -> String {
    let baseline = r#"{"uai_version":"1.0","form":"keyed","features":[]}"#;
    begun(negotiation, "reject")
        .raw("fallback", baseline)
        .text("reason", reason)
        .close()
}

fn begun(negotiation: &str, phase: &str) -> Object {
    Object::new()
        .text("negotiation_id", negotiation)
        .text("phase", phase)
}

fn select(body: Value<'_>, ours: &Abilities<'_>) -> Result<Selected, String> {
    if body
        .get("offered")
        .is_none_or(|offered| offered.kind() != Kind::Object)
    {
        return Err("expected `offered` to be an object".into());
    }
    let offered = |name: &str| list(body.get("offered").and_then(|part| part.get(name)));
    let mut missing = Vec::new();
    for (key, value) in body.get("required").into_iter().flat_map(Value::members) {
        let name = key.text();
        let known = match &*name {
            "features" => ours.features,
            "uai_versions" => ours.versions,
            "forms" => ours.forms,
            "sig_algs" => ours.sig_algs,
            "enc" => ours.enc,
            other => {
                missing.push(format!("{other:?}, which is not understood"));
                continue;
            }
        };
        let wanted = list(Some(value));
        // What cannot be read cannot be met.
        if value.kind() != Kind::Array || wanted.len() != value.items().count() {
            missing.push(format!("{name:?}, which is no list of words"));
        }
        let lacking = wanted.iter().filter(|word| !known.contains(&word.as_str()));
        missing.extend(lacking.map(|word| format!("{word:?} of `{name}`")));
    }
    if !missing.is_empty() {
        missing.truncate(16);
        return Err(format!(
            "a required ability is missing here: {}",
            missing.join(", ")
        ));
    }
    let versions = offered("uai_versions").into_iter();
    let common = versions.filter(|version| ours.versions.contains(&version.as_str()));
    let version = common.max_by_key(|version| parts(version));
    let Some(version) = version else {
        return Err(format!(
            "no common version, here is {}",
            ours.versions.join(", ")
        ));
    };
    // Only what is offered can be agreed, but what is required counts as offered.
    let required = list(body.get("required").and_then(|part| part.get("features")));
    let mut features: Vec<Box<str>> = Vec::new();
    for feature in offered("features").into_iter().chain(required) {
        if ours.features.contains(&feature.as_str())
            && !features.iter().any(|one| **one == *feature)
        {
            features.push(feature.into());
        }
    }
    let first = |name: &str, ours: &[&str]| {
        let mut offered = offered(name).into_iter();
        offered
            .find(|one| ours.contains(&one.as_str()))
            .map(Into::into)
    };
    let theirs = body
        .at("/offered/max_bytes")
        .and_then(Value::as_i64)
        .and_then(|bytes| u64::try_from(bytes).ok());
    Ok(Selected {
        version: version.into(),
        form: first("forms", ours.forms).unwrap_or_else(|| "keyed".into()),
        features,
        sig_alg: first("sig_algs", ours.sig_algs),
        enc: first("enc", ours.enc),
        max_bytes: theirs.map_or(ours.max_bytes, |bytes| bytes.min(ours.max_bytes)),
    })
}

/// What an answer selects, for the side that offered. `None` when it refuses, or leaves out what was
/// required: then nothing is agreed.
#[must_use]
pub fn selected(answer: Value<'_>, required: &[&str]) -> Option<Selected> {
    if answer.get("phase").and_then(Value::as_str)? != "answer" {
        return None;
    }
    let chosen = answer.get("selected")?;
    let word = |name: &str| Some(Box::<str>::from(chosen.get(name)?.as_str()?));
    let features = list(chosen.get("features"));
    let has = |feature: &&str| features.iter().any(|agreed| agreed == *feature);
    if !required.iter().all(has) {
        return None;
    }
    let max_bytes = chosen.get("max_bytes").and_then(Value::as_i64);
    Some(Selected {
        version: word("uai_version")?,
        form: word("form").unwrap_or_else(|| "keyed".into()),
        features: features.into_iter().map(Into::into).collect(),
        sig_alg: word("sig_alg"),
        enc: word("enc"),
        max_bytes: max_bytes
            .and_then(|bytes| u64::try_from(bytes).ok())
            .unwrap_or(u64::MAX),
    })
}

fn list(list: Option<Value<'_>>) -> Vec<String> {
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
