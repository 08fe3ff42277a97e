//! Filters from query strings and from JSON. Every fault is collected, in the order of the text.

use super::{Field, Filter, Term, VALUE_BYTES_MAX, VALUES_MAX, pattern, suggest};
use crate::json::{Kind, Value};
use crate::{Code, DialectName, Fault, Party, Priority, Rejection};
use std::collections::{BTreeMap, BTreeSet};

const RULE: &str = "ARCHITECTURE filters";

/// Members of an AEP subscription request (AEP 4.1) that say how, not what. Whoever opens the
/// subscription reads them.
const MANNER: [&str; 2] = ["from_cursor", "delivery_mode"];

impl Filter {
    /// From names and values as in a query string: `type=task.*&target=agent.b`. A repeated name
    /// adds an alternative.
    ///
    /// # Errors
    /// `filter_malformed`, once for each unknown name and each value that cannot be used; the
    /// pointer is the name.
    pub fn from_pairs<'a>(
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, Rejection> {
        let mut draft = Draft::default();
        for (name, value) in pairs {
            let pointer = pointer_to(name);
            match Field::parse(name) {
                Some(field) => draft.add(field, value, &pointer),
                None => draft.refuse_name(name, &pointer),
            }
        }
        draft.finish()
    }

    /// From a JSON object whose members are strings or lists of strings, in our spelling or AEP's.
    /// An empty list matches nothing. AEP's `from_cursor` and `delivery_mode` are passed over.
    ///
    /// # Errors
    /// `filter_malformed`, once for each unknown member and each value that cannot be used, with a
    /// pointer to it.
    pub fn from_json(value: Value<'_>) -> Result<Self, Rejection> {
        let mut draft = Draft::default();
        if value.kind() != Kind::Object {
            draft.refuse_type("", "an object", value);
        }
        for (key, member) in value.members() {
            let name = key.text();
            let pointer = pointer_to(&name);
            match Field::parse(&name) {
                Some(field) => draft.add_member(field, member, &pointer),
                None if MANNER.contains(&&*name) => {}
                None => draft.refuse_name(&name, &pointer),
            }
        }
        draft.finish()
    }
}

#[derive(Default)]
struct Draft {
    terms: BTreeMap<Field, BTreeSet<Box<str>>>,
    values: usize,
    faults: Vec<Fault>,
}

impl Draft {
    fn add_member(&mut self, field: Field, member: Value<'_>, pointer: &str) {
        if let Some(text) = member.as_str() {
            return self.add(field, &text, pointer);
        }
        if member.kind() != Kind::Array {
            return self.refuse_type(pointer, "a string or a list of strings", member);
        }
        self.terms.entry(field).or_default();
        for (at, item) in member.items().enumerate() {
            let pointer = format!("{pointer}/{at}");
            match item.as_str() {
                Some(text) => self.add(field, &text, &pointer),
                None => self.refuse_type(&pointer, "a string", item),
            }
        }
    }

    fn add(&mut self, field: Field, text: &str, pointer: &str) {
        self.values += 1;
        if self.values > VALUES_MAX {
            // Said once; a filter of a million values must not cost a million faults.
            if self.values == VALUES_MAX + 1 {
                self.refuse(
                    pointer,
                    format!("expected at most {VALUES_MAX} values in a filter, got more"),
                );
            }
            return;
        }
        match one_spelling(field, text) {
            Ok(value) => {
                self.terms.entry(field).or_default().insert(value);
            }
            Err(detail) => self.refuse(pointer, detail),
        }
    }

    fn refuse(&mut self, pointer: &str, detail: String) {
        self.faults
            .push(Fault::new(Code::FilterMalformed, pointer, RULE, detail));
    }

    fn refuse_type(&mut self, pointer: &str, expected: &str, got: Value<'_>) {
        self.refuse(
            pointer,
            format!("expected {expected}, got {}", got.kind().as_str()),
        );
    }

    fn refuse_name(&mut self, name: &str, pointer: &str) {
        let shown: String = name.chars().take(40).collect();
        let hint = match suggest::nearest(name) {
            Some(field) => format!("; did you mean `{field}`"),
            None => String::new(),
        };
        let known = Field::ALL.map(Field::as_str).join(", ");
        self.refuse(
            pointer,
            format!("expected one of {known}, got `{shown}`{hint}"),
        );
    }

    fn finish(self) -> Result<Filter, Rejection> {
        if let Some(rejection) = Rejection::from_faults(self.faults) {
            return Err(rejection);
        }
        let terms = self.terms.into_iter();
        let terms = terms.map(|(field, values)| Term {
            field,
            values: values.into_iter().collect(),
        });
        Ok(Filter {
            terms: terms.collect(),
        })
    }
}

/// The one spelling under which equal values are equal, or what is wrong with the value.
fn one_spelling(field: Field, text: &str) -> Result<Box<str>, String> {
    if text.is_empty() {
        return Err("expected a value, got an empty text".into());
    }
    if text.len() > VALUE_BYTES_MAX {
        return Err(format!(
            "expected at most {VALUE_BYTES_MAX} bytes, got {}",
            text.len()
        ));
    }
    match field {
        Field::Source | Field::Target => Ok(match text.strip_prefix("*:") {
            // A wildcard kind has no separator of its own.
            Some(name) => format!("*.{name}").into(),
            None => Party::parse(text).as_str().into(),
        }),
        Field::Topic => {
            let before_end = text
                .strip_suffix("**")
                .filter(|_| pattern::is_open(text))
                .unwrap_or(text);
            if before_end.split('.').any(|segment| segment == "**") {
                return Err("expected `**` only as the last segment of a topic".into());
            }
            Ok(text.into())
        }
        Field::Dialect if DialectName::parse(text).is_none() => {
            Err(format!("expected aee, aep or uai, got {text:?}"))
        }
        Field::Priority if Priority::parse(text).is_none() => Err(format!(
            "expected low, normal, high or urgent, got {text:?}"
        )),
        Field::Conversation
        | Field::Dialect
        | Field::Intent
        | Field::Priority
        | Field::Session
        | Field::Task
        | Field::Type => Ok(text.into()),
    }
}

/// RFC 6901 pointer to a member of the root. Cut, because it repeats what a stranger sent.
fn pointer_to(name: &str) -> String {
    let shown: String = name.chars().take(64).collect();
    format!("/{}", shown.replace('~', "~0").replace('/', "~1"))
}
