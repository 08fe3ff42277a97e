//! The intents that are known, with JSON Schemas of their payloads (AEE 4.3 to 4.5).
//!
//! The protocol's own intents and the published starter set are always known; a folder adds others,
//! one file for each kind of message: `ops.backup.run.task.schema.json`, `.result.`, `.error.`. A schema
//! refers to nothing outside itself: nothing is ever fetched for one.

use jsonschema::{PatternOptions, Validator};
use protocol::{Code, Fault};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

/// What is known without being told.
const STANDARD: &str = include_str!("schemas/intents.json");

/// Bytes of one schema file.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Faults that one payload is told about.
const FAULTS_MAX: usize = 100;

/// What is done about a payload that its schema does not allow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PayloadCheck {
    /// Nothing; it is not looked at.
    #[default]
    Off,
    /// The sender is warned.
    Warn,
    /// It is refused.
    Enforce,
}

impl PayloadCheck {
    /// Every way.
    pub const ALL: [Self; 3] = [Self::Off, Self::Warn, Self::Enforce];

    /// The word on every surface.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Warn => "warn",
            Self::Enforce => "enforce",
        }
    }

    /// The reverse of [`Self::as_str`].
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|way| way.as_str() == word)
    }
}

/// Schemas by intent and kind of message: `task`, `result`, `error`.
#[derive(Debug, Default)]
pub struct Schemas {
    intents: BTreeMap<Box<str>, BTreeMap<Box<str>, Schema>>,
}

#[derive(Debug)]
struct Schema {
    document: Value,
    /// Made when it is first needed; absent when it cannot be.
    validator: OnceLock<Option<Validator>>,
}

impl Schema {
    fn validator(&self) -> Option<&Validator> {
        let made = self.validator.get_or_init(|| compile(&self.document).ok());
        made.as_ref()
    }
}

fn compile(document: &Value) -> Result<Validator, String> {
    // Patterns come from files of others: none may take longer than its text.
    jsonschema::options()
        .should_validate_formats(true)
        .with_pattern_options(PatternOptions::regex())
        .build(document)
        .map_err(|error| format!("expected a JSON Schema: {error}"))
}

impl Schemas {
    /// The protocol's own intents and the starter set.
    ///
    /// # Errors
    /// Never, as the tests show.
    pub fn standard() -> Result<Self, String> {
        let mut schemas = Self::default();
        let all: BTreeMap<String, BTreeMap<String, Value>> =
            serde_json::from_str(STANDARD).map_err(|error| error.to_string())?;
        for (intent, kinds) in all {
            for (kind, document) in kinds {
                schemas.add(&intent, &kind, document);
            }
        }
        Ok(schemas)
    }

    /// Adds the schemas of a folder; of an intent that is known already they replace those.
    ///
    /// # Errors
    /// Names the file and what is wrong with it.
    pub fn add_folder(&mut self, folder: &Path) -> Result<(), String> {
        let wrong =
            |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let entries = std::fs::read_dir(folder).map_err(|error| wrong(folder, &error))?;
        let mut paths: Vec<_> = entries
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()
            .map_err(|error| wrong(folder, &error))?;
        paths.sort();
        for path in paths {
            let name = path.file_name().and_then(|name| name.to_str());
            let stem = name.and_then(|name| name.strip_suffix(".schema.json"));
            let Some((intent, kind)) = stem.and_then(|stem| stem.rsplit_once('.')) else {
                continue;
            };
            if !["task", "result", "error"].contains(&kind) {
                continue;
            }
            let length = path.metadata().map_err(|error| wrong(&path, &error))?.len();
            if length > FILE_BYTES_MAX {
                let detail = format!("expected at most {FILE_BYTES_MAX} bytes, got {length}");
                return Err(wrong(&path, &detail));
            }
            let text = std::fs::read_to_string(&path).map_err(|error| wrong(&path, &error))?;
            let document = serde_json::from_str(&text).map_err(|error| wrong(&path, &error))?;
            compile(&document).map_err(|error| wrong(&path, &error))?;
            self.add(intent, kind, document);
        }
        Ok(())
    }

    fn add(&mut self, intent: &str, kind: &str, document: Value) {
        let validator = OnceLock::new();
        let kinds = self.intents.entry(intent.into()).or_default();
        kinds.insert(
            kind.into(),
            Schema {
                document,
                validator,
            },
        );
    }

    /// Every known intent, in order.
    pub fn intents(&self) -> impl Iterator<Item = &str> {
        self.intents.keys().map(|intent| &**intent)
    }

    /// The schemas of an intent, by kind of message.
    pub fn of<'s>(&'s self, intent: &str) -> impl Iterator<Item = (&'s str, &'s Value)> {
        let kinds = self.intents.get(intent).into_iter().flatten();
        kinds.map(|(kind, schema)| (&**kind, &schema.document))
    }

    /// Whether there is a schema for such a message.
    #[must_use]
    pub fn has(&self, intent: &str, kind: &str) -> bool {
        let kinds = self.intents.get(intent);
        kinds.is_some_and(|kinds| kinds.contains_key(kind))
    }

    /// What is wrong with a payload, with pointers below `at`; `None` when there is no schema for it.
    #[must_use]
    pub fn check(&self, intent: &str, kind: &str, payload: &Value, at: &str) -> Option<Vec<Fault>> {
        let schema = self.intents.get(intent)?.get(kind)?;
        let faults = schema.validator()?.iter_errors(payload).take(FAULTS_MAX);
        let fault = |error: jsonschema::ValidationError<'_>| {
            let pointer = format!("{at}{}", error.instance_path());
            let what: String = error.to_string().chars().take(300).collect();
            let detail = format!("expected a {kind} of `{intent}` as its schema says: {what}");
            Fault::new(Code::PayloadInvalid, pointer, "AEE 4.5", detail)
        };
        Some(faults.map(fault).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::Schemas;
    use serde_json::json;

    #[test]
    fn the_seven_intents_of_the_protocol_and_the_starter_set_are_known() {
        let schemas = Schemas::standard().unwrap();
        let intents: Vec<_> = schemas.intents().collect();
        assert_eq!(intents.len(), 10);
        assert_eq!(
            intents
                .iter()
                .filter(|intent| intent.starts_with("aee."))
                .count(),
            7
        );
        let count: usize = intents
            .iter()
            .map(|intent| schemas.of(intent).count())
            .sum();
        assert_eq!(count, 23);
    }

    #[test]
    fn a_payload_is_judged_by_intent_and_kind() {
        let schemas = Schemas::standard().unwrap();
        let probe = "ops.network.port.probe";
        let good = json!({ "source": "a", "target": "b", "port": 22 });
        assert!(schemas.check(probe, "task", &good, "").unwrap().is_empty());
        let bad = json!({ "source": "a", "port": 0 });
        let faults = schemas.check(probe, "task", &bad, "/payload").unwrap();
        let pointers: Vec<&str> = faults.iter().map(|fault| &*fault.pointer).collect();
        assert!(
            pointers.contains(&"/payload/port") && pointers.contains(&"/payload"),
            "{pointers:?}"
        );
        assert!(schemas.check(probe, "event", &bad, "").is_none());
        assert!(schemas.check("ops.unknown", "task", &bad, "").is_none());
        let closed = schemas.check("aee.status.ping", "task", &json!({ "references": [] }), "");
        assert_eq!(closed.unwrap().len(), 1);
    }

    #[test]
    fn a_folder_adds_intents_and_a_wrong_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        put("my.own.task.schema.json", r#"{"required":["x"]}"#);
        put("notes.txt", "no schema");
        let mut schemas = Schemas::standard().unwrap();
        schemas.add_folder(folder.path()).unwrap();
        assert_eq!(
            schemas
                .check("my.own", "task", &json!({}), "")
                .unwrap()
                .len(),
            1
        );
        for wrong in ["{", r#"{"type":1}"#, r#"{"$ref":"https://example.org/x"}"#] {
            put("my.own.error.schema.json", wrong);
            let error = Schemas::default().add_folder(folder.path()).unwrap_err();
            assert!(error.contains("my.own.error.schema.json"), "{error}");
        }
    }
}
