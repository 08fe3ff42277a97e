//! `manifest.json`: which fixtures there are and what is expected of each (AEP 11.2).

use std::fmt;

use crate::json::{self, Kind, Limits, Value};

/// A conformance level; each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// Envelopes and types.
    C0,
    /// Sessions, subscriptions, tasks.
    C1,
    /// Delivery.
    C2,
    /// Tracking.
    C3,
}

impl Level {
    /// Every level, lowest first.
    pub const ALL: [Self; 4] = [Self::C0, Self::C1, Self::C2, Self::C3];

    /// The name in manifests and on output lines.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::C0 => "HARMOVELA-C0",
            Self::C1 => "HARMOVELA-C1",
            Self::C2 => "HARMOVELA-C2",
            Self::C3 => "HARMOVELA-C3",
        }
    }

    /// Reads a name; the older prefix `AEP-` and the bare `C0` are read too.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let short = name
            .strip_prefix("HARMOVELA-")
            .or_else(|| name.strip_prefix("AEP-"))
            .unwrap_or(name);
        Self::ALL
            .into_iter()
            .find(|level| level.as_str().ends_with(short) && short.len() == 2)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What must happen to the events of a fixture (AEP 11.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expectation {
    /// Every event is valid by itself.
    AcceptAll,
    /// At least one event is refused.
    RejectSome,
    /// Every event is accepted in its turn.
    StatefulFlow,
    /// As before, and the delivery counters come out as given.
    DeliveryE2e,
    /// A word that is not known here; such a fixture fails.
    Unknown(String),
}

impl Expectation {
    fn parse(word: &str) -> Self {
        match word {
            "accept_all" => Self::AcceptAll,
            "reject_some" => Self::RejectSome,
            "stateful_flow" => Self::StatefulFlow,
            "delivery_e2e" => Self::DeliveryE2e,
            _ => Self::Unknown(word.into()),
        }
    }
}

/// One fixture of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixture {
    /// Relative to the folder of the manifest.
    pub path: String,
    /// The level it belongs to.
    pub level: Level,
    /// What it shows.
    pub description: String,
    /// What must happen.
    pub expectation: Expectation,
    /// Free words.
    pub tags: Vec<String>,
    /// The types that its events must have, in order.
    pub expected_types: Option<Vec<String>>,
    /// Delivery counters by their wire names.
    pub expected_stats: Vec<(String, u64)>,
    /// The profile it belongs to.
    pub profile: Option<String>,
}

/// One profile of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// The level that must be met before it can be claimed.
    pub required_core_level: Level,
    /// The paths of its fixtures.
    pub fixtures: Vec<String>,
}

/// A parsed manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The protocol version of the suite.
    pub spec_version: String,
    /// The version of the suite itself, where it has one.
    pub suite_version: Option<String>,
    /// The level a run aims at unless told otherwise.
    pub default_target_level: Level,
    /// Every fixture, in order.
    pub fixtures: Vec<Fixture>,
    /// Every profile, in order.
    pub profiles: Vec<Profile>,
}

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// What was expected and where, in one sentence.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let document = json::read(bytes, Limits::default()).map_err(|fault| fault.to_string())?;
        let root = document.root();
        let fixtures = list(root, "fixtures")?
            .items()
            .map(fixture)
            .collect::<Result<_, _>>()?;
        let profiles = match root.get("profiles") {
            None => Vec::new(),
            Some(profiles) if profiles.kind() == Kind::Object => profiles
                .members()
                .map(|(name, value)| {
                    Ok(Profile {
                        name: name.text().into_owned(),
                        required_core_level: level(value, "required_core_level")?,
                        fixtures: strings(value, "fixtures")?,
                    })
                })
                .collect::<Result<_, String>>()?,
            Some(other) => {
                return Err(format!(
                    "expected `profiles` as an object, got {}",
                    other.kind().as_str()
                ));
            }
        };
        Ok(Self {
            spec_version: text(root, "spec_version")?,
            suite_version: root
                .get("suite_version")
                .and_then(Value::as_str)
                .map(Into::into),
            default_target_level: match root.get("default_target_level") {
                Some(_) => level(root, "default_target_level")?,
                None => Level::C3,
            },
            fixtures,
            profiles,
        })
    }

    /// All fixtures, or those of no profile and of the named ones.
    pub(super) fn select(&self, profiles: &[String]) -> Result<Vec<&Fixture>, String> {
        if profiles.is_empty() {
            return Ok(self.fixtures.iter().collect());
        }
        let mut wanted = Vec::new();
        for name in profiles {
            let profile = self
                .profiles
                .iter()
                .find(|profile| profile.name == *name)
                .ok_or_else(|| format!("expected a profile of the manifest, got {name:?}"))?;
            wanted.extend(profile.fixtures.iter().map(String::as_str));
        }
        if let Some(lost) = wanted
            .iter()
            .find(|path| !self.fixtures.iter().any(|fixture| fixture.path == **path))
        {
            return Err(format!(
                "expected {lost} of a profile among the fixtures, got nothing"
            ));
        }
        Ok(self
            .fixtures
            .iter()
            .filter(|fixture| fixture.profile.is_none() || wanted.contains(&fixture.path.as_str()))
            .collect())
    }
}

fn fixture(value: Value<'_>) -> Result<Fixture, String> {
    let expected_types = match value.get("expected_types") {
        Some(_) => Some(strings(value, "expected_types")?),
        None => None,
    };
    let mut expected_stats = Vec::new();
    for (name, count) in value
        .get("expected_stats")
        .into_iter()
        .flat_map(Value::members)
    {
        let count = count.as_i64().and_then(|count| u64::try_from(count).ok());
        let count =
            count.ok_or_else(|| format!("expected `expected_stats` as counts in {value:?}"))?;
        expected_stats.push((name.text().into_owned(), count));
    }
    Ok(Fixture {
        path: text(value, "path")?,
        level: level(value, "level")?,
        description: text(value, "description").unwrap_or_default(),
        expectation: Expectation::parse(&text(value, "expectation")?),
        tags: strings(value, "tags").unwrap_or_default(),
        expected_types,
        expected_stats,
        profile: value.get("profile").and_then(Value::as_str).map(Into::into),
    })
}

fn text(value: Value<'_>, name: &str) -> Result<String, String> {
    let found = value.get(name).and_then(Value::as_str);
    Ok(found
        .ok_or_else(|| format!("expected `{name}` as a string in {}", start(value)))?
        .into())
}

fn level(value: Value<'_>, name: &str) -> Result<Level, String> {
    let word = text(value, name)?;
    Level::parse(&word).ok_or_else(|| format!("expected `{name}` as a level, got {word:?}"))
}

fn list<'d>(value: Value<'d>, name: &str) -> Result<Value<'d>, String> {
    let found = value.get(name).filter(|value| value.kind() == Kind::Array);
    found.ok_or_else(|| format!("expected `{name}` as an array in {}", start(value)))
}

fn strings(value: Value<'_>, name: &str) -> Result<Vec<String>, String> {
    let read = |item: Value<'_>| {
        let text = item.as_str().map(Into::into);
        text.ok_or_else(|| format!("expected `{name}` as strings in {}", start(value)))
    };
    list(value, name)?.items().map(read).collect()
}

/// Enough of a value to find it again.
fn start(value: Value<'_>) -> String {
    value.raw().chars().take(60).collect()
}
