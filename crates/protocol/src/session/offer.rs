//! What a peer asks of a session: version, profiles, heartbeat, where to go on (AEP 3.2, 3.3).
//!
//! The published texts put the same wishes in several places: flat in the payload, in its
//! `capabilities`, or in a `capabilities` beside it. All are read; the first that has a word counts.

use super::subscription::DeliveryMode;
use crate::json::{Kind, Value};
use crate::{Code, Fault};

/// Versions of a session offer that this side can speak. `0.1` is what the published fixtures write.
const VERSIONS: [&str; 3] = ["0.1", "0.2", "1.0"];

/// Most profiles in one list; more are not read.
const PROFILES_MAX: usize = 64;

/// Bounds of a heartbeat that a peer may ask for, in milliseconds.
const HEARTBEAT_MS: std::ops::RangeInclusive<i64> = 50..=3_600_000;

/// What a peer asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// `session_id`.
    pub session: Option<Box<str>>,
    /// `version` or `spec_version`.
    pub version: Option<Box<str>>,
    /// Profiles it would like.
    pub profiles: Vec<String>,
    /// Profiles it cannot do without.
    pub required: Vec<String>,
    /// Milliseconds between heartbeats; `None` when it says nothing.
    pub heartbeat_ms: Option<u64>,
    /// The cursor or event id it saw last.
    pub last_seen: Option<Box<str>>,
    /// How what waits for its party is delivered, when it says so.
    pub mode: Option<DeliveryMode>,
    /// Wants something of the session that must not be granted.
    forbidden: Option<&'static str>,
}

impl Offer {
    /// Reads the offer of an event.
    pub(super) fn read(document: Value<'_>) -> Self {
        let payload = document.get("payload");
        let places = [
            payload,
            payload.and_then(|payload| payload.get("capabilities")),
            document.get("capabilities"),
        ];
        let find = |name: &str| {
            let mut found = places.iter().flatten().filter_map(|place| place.get(name));
            found.find(|value| !value.is_null())
        };
        let text = |name: &str| -> Option<Box<str>> { Some(Box::from(&*find(name)?.as_str()?)) };
        let (mut profiles, mut required) = (Vec::new(), words(find("required_profiles")));
        if let Some(value) = find("profiles") {
            if value.kind() == Kind::Object {
                required.extend(words(value.get("required")));
                profiles.extend(words(value.get("optional")));
            } else {
                profiles = words(Some(value));
            }
        }
        let heartbeat = find("heartbeat_interval_ms").and_then(Value::as_i64);
        let version = find("version").or_else(|| find("spec_version"));
        let ignores = document
            .at("/payload/capabilities/termination/on_budget_exhausted")
            .or_else(|| document.at("/capabilities/termination/on_budget_exhausted"));
        Self {
            session: text("session_id").or_else(|| {
                let id = document.get("session_id")?.as_str()?;
                Some(Box::from(&*id))
            }),
            version: version.map(|value| match value.as_str() {
                Some(text) => Box::from(&*text),
                None => Box::from(value.raw()),
            }),
            profiles,
            required,
            heartbeat_ms: heartbeat.map(|ms| match ms {
                ..=0 => 0,
                ms => ms
                    .clamp(*HEARTBEAT_MS.start(), *HEARTBEAT_MS.end())
                    .unsigned_abs(),
            }),
            last_seen: text("last_event_id").or_else(|| text("from_cursor")),
            mode: text("delivery_mode").and_then(|word| DeliveryMode::parse(&word)),
            forbidden: ignores
                .and_then(Value::as_str)
                .is_some_and(|word| word == "ignore")
                .then_some("on_budget_exhausted"),
        }
    }

    /// The profiles that both have, or why there is no session.
    pub(super) fn agree(&self, ours: &[String]) -> Result<Vec<String>, Fault> {
        if let Some(version) = &self.version
            && !VERSIONS.iter().any(|ours| speaks(ours, version))
        {
            let shown: String = version.chars().take(40).collect();
            return Err(Fault::new(
                Code::UnsupportedVersion,
                "/payload/version",
                "AEP 3.3",
                format!("expected one of {}, got {shown:?}", VERSIONS.join(", ")),
            ));
        }
        let missing = self.missing(ours);
        if !missing.is_empty() {
            return Err(Fault::new(
                Code::UnsupportedProfile,
                "/payload/required_profiles",
                "AEP 3.3",
                format!(
                    "expected profiles among {}, got {}",
                    ours.join(", "),
                    missing.join(", ")
                ),
            ));
        }
        if let Some(name) = self.forbidden {
            return Err(Fault::new(
                Code::InvalidCapability,
                format!("/payload/capabilities/termination/{name}"),
                "AEP 2.13",
                "expected fail, cancel or escalate, got ignore",
            ));
        }
        if self.profiles.is_empty() && self.required.is_empty() {
            return Ok(ours.to_vec());
        }
        let wanted = self.profiles.iter().chain(&self.required);
        let mut agreed: Vec<_> = wanted.filter(|name| ours.contains(name)).cloned().collect();
        agreed.sort();
        agreed.dedup();
        Ok(agreed)
    }

    /// The required profiles that are not ours.
    pub(super) fn missing(&self, ours: &[String]) -> Vec<String> {
        let required = self.required.iter();
        required
            .filter(|name| !ours.contains(name))
            .cloned()
            .collect()
    }
}

/// `1.0` also speaks for `1.0.3`; `0.2` not for `0.20`.
fn speaks(ours: &str, theirs: &str) -> bool {
    theirs
        .strip_prefix(ours)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn words(list: Option<Value<'_>>) -> Vec<String> {
    let items = list.filter(|list| list.kind() == Kind::Array);
    let items = items.into_iter().flat_map(Value::items).take(PROFILES_MAX);
    let texts = items.filter_map(|item| item.as_str().map(std::borrow::Cow::into_owned));
    texts.collect()
}
