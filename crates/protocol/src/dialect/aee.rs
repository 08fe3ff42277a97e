//! Agent Envelope Exchange: fourteen members, five types, two published profiles (AEE 1 to 5, 7, 13).
//!
//! One pass finds the members, each is checked where it stands, then the field sets it fills are
//! weighed against the admission policy. Signatures are not verified here, and nothing is looked up:
//! whether a reply's cause exists is for the exchange to know.

mod build;
mod contents;
mod entities;
mod facts;
mod fields;
mod findings;
mod ids;
mod intents;
mod members;
mod registry;
mod rules;
mod tiers;
mod words;

pub use build::Builder;

use super::{Dialect, Reading};
use crate::fault::Class;
use crate::json::{Kind, Value};
use crate::{Code, DialectName, Fault, Rules};
use fields::{Field, Fields, Found};
use findings::Findings;
use intents::Type;
pub(crate) use intents::is_query;

/// Agent Envelope Exchange.
pub struct Aee;

impl Aee {
    /// The error word for one code, for the `code` of an error payload.
    #[must_use]
    pub fn error_word(code: Code) -> &'static str {
        words::for_code(code)
    }

    /// Whether an error with this code reads as something else than a failure.
    pub(crate) fn reads_otherwise(code: &str) -> bool {
        facts::of_error(code).is_some()
    }
}

impl Dialect for Aee {
    fn name(&self) -> DialectName {
        DialectName::Aee
    }

    /// An object with `v`, or with `from` and one of `intent`, `corr` or a known `type`, and without
    /// the version member of another dialect.
    fn recognizes(&self, doc: Value<'_>) -> bool {
        let mut present = Fields::default();
        let (mut has_type, mut has_foreign) = (false, false);
        for (key, value) in doc.members() {
            match &*key.text() {
                "spec_version" | "aep_version" | "uai_version" | "uaix_version" => return false,
                // Without `v` these speak for AEP and UAI-1.
                "source" | "profile" => has_foreign = true,
                name => {
                    let Some(field) = Field::named(name) else {
                        continue;
                    };
                    present.insert(field);
                    has_type |= field == Field::Type
                        && value
                            .as_str()
                            .is_some_and(|word| Type::named(&word).is_some());
                }
            }
        }
        let is_addressed = has_type || present.has(Field::Intent) || present.has(Field::Corr);
        present.has(Field::V) || (present.has(Field::From) && is_addressed && !has_foreign)
    }

    fn read(&self, doc: Value<'_>, rules: &Rules) -> Reading {
        if doc.kind() != Kind::Object {
            let detail = format!("expected an object, got {}", doc.kind().as_str());
            return Reading::refused(Fault::new(Code::TypeMismatch, "", "AEE 1.1", detail));
        }
        let found = Found::in_object(doc);
        let mut findings = Findings::default();
        let view = rules::check(&found, &mut findings);
        let tiers = tiers::classify(&found, &view, &findings);
        let admission = tiers::admit(found.present, &view, findings, rules);
        let is_accepted = admission.faults.is_empty();
        Reading {
            dialect: Some(DialectName::Aee),
            tiers: Some(tiers),
            header: if is_accepted {
                facts::header(doc, &view, admission.intake)
            } else {
                None
            },
            faults: admission.faults,
            warnings: admission.warnings,
            id: view.id.map(Into::into),
            label: view.intent.map(Into::into),
        }
    }

    fn fault_word(&self, class: Class) -> &'static str {
        words::for_class(class)
    }
}
