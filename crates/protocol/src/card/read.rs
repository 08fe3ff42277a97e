//! Reading a card strictly: every fault, with its pointer.

use super::{Card, LEASE_MS, RULE, Skill, a2a};
use crate::canonical::canonicalize;
use crate::json::{Kind, Limits, Value, push_escaped, read};
use crate::{Code, DialectName, Fault, Rejection};

/// Every member of a card.
const MEMBERS: [&str; 17] = [
    "name",
    "description",
    "version",
    "tags",
    "location",
    "skills",
    "intents",
    "dialects",
    "profiles",
    "forms",
    "features",
    "types",
    "keys",
    "endpoints",
    "lease_ms",
    "metadata",
    "a2a",
];

/// Items of one list.
const ITEMS_MAX: usize = 1_000;

/// Characters of a name, an id or a tag.
const WORD_CHARS_MAX: usize = 256;

impl Card {
    /// Reads a card, ours or one of A2A.
    ///
    /// ```text
    /// {"name", "description", "version", "location": texts,
    ///  "tags", "profiles", "forms", "features", "types", "dialects": [text],
    ///  "skills": [{"id", "name"?, "description"?, "tags"?: [text], "examples"?: [text]}],
    ///  "intents": [text or {"intent", "description"?, "task"?, "result"?, "error"?: JSON Schemas}],
    ///  "keys": [{...}], "endpoints": [{"url", "transport"?, "dialect"?}],
    ///  "lease_ms": how long it counts as there without a word, "metadata": {...}}
    /// ```
    ///
    /// # Errors
    /// Those of JSON, `too_large` for more than `bytes_max`, `undeclared_field`, `type_mismatch`,
    /// `missing_field`, `too_short`, `too_long`, `enum_unknown` and `out_of_range`.
    pub fn read(bytes: &[u8], bytes_max: usize) -> Result<Self, Rejection> {
        let limits = Limits {
            bytes_max,
            ..Limits::default()
        };
        let document = read(bytes, limits)?;
        let root = document.root();
        if a2a::is_card(root) {
            let text = a2a::read(root)?;
            return Self::read(text.as_bytes(), bytes_max.saturating_mul(4));
        }
        let mut reading = Reading::default();
        let card = reading.card(root);
        if let Some(rejection) = Rejection::from_faults(reading.faults) {
            return Err(rejection);
        }
        let document = canonicalize(root, &[])?.into();
        Ok(Self { document, ..card })
    }

    /// Reads back what [`Self::document`] gave.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn restore(document: &str) -> Result<Self, Rejection> {
        Self::read(document.as_bytes(), usize::MAX)
    }
}

#[derive(Default)]
struct Reading {
    faults: Vec<Fault>,
}

impl Reading {
    fn card(&mut self, root: Value<'_>) -> Card {
        if root.kind() != Kind::Object {
            let got = root.kind().as_str();
            self.note(
                Code::TypeMismatch,
                "",
                format!("expected a card, which is an object, got {got}"),
            );
        }
        self.only(root, "", &MEMBERS);
        for (name, kind) in [
            ("description", Kind::String),
            ("version", Kind::String),
            ("metadata", Kind::Object),
            ("a2a", Kind::Object),
        ] {
            self.kind(root, "", name, kind);
        }
        for name in ["forms", "types"] {
            self.words(root, "", name);
        }
        for (at, key) in self.items(root, "", "keys") {
            self.object(key, &at);
        }
        for (at, endpoint) in self.items(root, "", "endpoints") {
            if self.object(endpoint, &at) {
                self.only(
                    endpoint,
                    &at,
                    &["url", "transport", "dialect", "description"],
                );
                self.word(endpoint, &at, "url", true);
                self.word(endpoint, &at, "transport", false);
            }
        }
        let lease_ms = self.lease(root);
        Card {
            document: Box::default(),
            name: self.word(root, "", "name", false).unwrap_or_default(),
            lease_ms,
            skills: self.skills(root),
            intents: self.intents(root),
            dialects: self.dialects(root),
            profiles: self.words(root, "", "profiles"),
            features: self.words(root, "", "features"),
            tags: self.words(root, "", "tags"),
            location: self.word(root, "", "location", false),
        }
    }

    fn skills(&mut self, root: Value<'_>) -> Vec<Skill> {
        let mut skills = Vec::new();
        for (at, item) in self.items(root, "", "skills") {
            if !self.object(item, &at) {
                continue;
            }
            let members = [
                "id",
                "name",
                "description",
                "tags",
                "examples",
                "inputSchema",
            ];
            self.only(item, &at, &members);
            self.kind(item, &at, "description", Kind::String);
            self.kind(item, &at, "examples", Kind::Array);
            self.kind(item, &at, "inputSchema", Kind::Object);
            let id = self.word(item, &at, "id", true).unwrap_or_default();
            skills.push(Skill {
                name: self
                    .word(item, &at, "name", false)
                    .unwrap_or_else(|| id.clone()),
                tags: self.words(item, &at, "tags"),
                id,
            });
        }
        skills
    }

    fn intents(&mut self, root: Value<'_>) -> Vec<Box<str>> {
        let mut intents = Vec::new();
        for (at, item) in self.items(root, "", "intents") {
            if let Some(text) = item.as_str() {
                intents.extend(self.bounded(&at, &text));
                continue;
            }
            if !self.object(item, &at) {
                continue;
            }
            self.only(
                item,
                &at,
                &["intent", "description", "task", "result", "error"],
            );
            self.kind(item, &at, "description", Kind::String);
            for schema in ["task", "result", "error"] {
                self.kind(item, &at, schema, Kind::Object);
            }
            intents.extend(self.word(item, &at, "intent", true));
        }
        intents
    }

    fn dialects(&mut self, root: Value<'_>) -> Vec<DialectName> {
        let mut dialects = Vec::new();
        for (at, word) in self.words(root, "", "dialects").iter().enumerate() {
            match DialectName::parse(word) {
                Some(dialect) => dialects.push(dialect),
                None => self.note(
                    Code::EnumUnknown,
                    &format!("/dialects/{at}"),
                    format!("expected aee, aep or uai, got {word:?}"),
                ),
            }
        }
        dialects
    }

    fn lease(&mut self, root: Value<'_>) -> Option<i64> {
        let value = root.get("lease_ms").filter(|value| !value.is_null())?;
        let number = value.as_i64().filter(|number| LEASE_MS.contains(number));
        if number.is_none() {
            let (least, most) = (LEASE_MS.start(), LEASE_MS.end());
            let got: String = value.raw().chars().take(32).collect();
            let detail = format!(
                "expected a whole number of milliseconds from {least} to {most}, got {got}"
            );
            self.note(Code::OutOfRange, "/lease_ms", detail);
        }
        number
    }

    /// The items of a list that may be absent, with their pointers.
    fn items<'d>(&mut self, object: Value<'d>, at: &str, name: &str) -> Vec<(String, Value<'d>)> {
        if !self.kind(object, at, name, Kind::Array) {
            return Vec::new();
        }
        let Some(list) = object.get(name) else {
            return Vec::new();
        };
        let items: Vec<_> = list
            .items()
            .take(ITEMS_MAX + 1)
            .enumerate()
            .map(|(index, item)| (format!("{at}/{name}/{index}"), item))
            .collect();
        if items.len() > ITEMS_MAX {
            let detail = format!("expected at most {ITEMS_MAX} items, got more");
            self.note(Code::TooLong, &format!("{at}/{name}"), detail);
        }
        items
    }

    fn words(&mut self, object: Value<'_>, at: &str, name: &str) -> Vec<Box<str>> {
        let mut words = Vec::new();
        for (at, item) in self.items(object, at, name) {
            match item.as_str() {
                Some(text) => words.extend(self.bounded(&at, &text)),
                None => self.mismatch(&at, "a string", item),
            }
        }
        words
    }

    fn word(
        &mut self,
        object: Value<'_>,
        at: &str,
        name: &str,
        is_needed: bool,
    ) -> Option<Box<str>> {
        let here = format!("{at}/{name}");
        let Some(value) = object.get(name).filter(|value| !value.is_null()) else {
            if is_needed {
                let detail = format!("expected `{name}` to be present");
                self.note(Code::MissingField, &here, detail);
            }
            return None;
        };
        match value.as_str() {
            Some(text) => self.bounded(&here, &text),
            None => {
                self.mismatch(&here, "a string", value);
                None
            }
        }
    }

    fn bounded(&mut self, at: &str, text: &str) -> Option<Box<str>> {
        let max = if at.ends_with("/url") {
            2_048
        } else {
            WORD_CHARS_MAX
        };
        match text.chars().count() {
            0 => {
                self.note(
                    Code::TooShort,
                    at,
                    "expected a text, got an empty one".into(),
                );
                None
            }
            count if count > max => {
                let detail = format!("expected at most {max} characters, got {count}");
                self.note(Code::TooLong, at, detail);
                None
            }
            _ => Some(text.into()),
        }
    }

    /// Whether a member is there and of a kind; absent and null are no fault.
    fn kind(&mut self, object: Value<'_>, at: &str, name: &str, kind: Kind) -> bool {
        let Some(value) = object.get(name).filter(|value| !value.is_null()) else {
            return false;
        };
        if value.kind() != kind {
            self.mismatch(&format!("{at}/{name}"), kind.as_str(), value);
        }
        value.kind() == kind
    }

    fn object(&mut self, value: Value<'_>, at: &str) -> bool {
        let is_object = value.kind() == Kind::Object;
        if !is_object {
            self.mismatch(at, "an object", value);
        }
        is_object
    }

    fn only(&mut self, object: Value<'_>, at: &str, names: &[&str]) {
        for (key, _) in object.members() {
            let name = key.text();
            if !names.contains(&&*name) {
                let mut pointer = format!("{at}/");
                push_escaped(&mut pointer, &name);
                let detail = format!("expected only {}, got {name:?}", names.join(", "));
                self.note(Code::UndeclaredField, &pointer, detail);
            }
        }
    }

    fn mismatch(&mut self, at: &str, wanted: &str, got: Value<'_>) {
        let got = got.kind().as_str();
        self.note(
            Code::TypeMismatch,
            at,
            format!("expected {wanted}, got {got}"),
        );
    }

    fn note(&mut self, code: Code, at: &str, detail: String) {
        crate::fault::note(&mut self.faults, Fault::new(code, at, RULE, detail));
    }
}
