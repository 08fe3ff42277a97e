//! What a validator of the reference surface is asked, and what it says.
//!
//! A question is a bare message, or a wrapper with the message and how to read it. The rules are those of
//! every other door; only the words of the answer are UAI-1's own. Implements UAI 6.2 and 7 `/validate`.

use std::fmt::Write as _;

use super::super::build::Object;
use super::super::form::Form;
use super::super::table::TABLE_VERSION;
use super::super::{grammar, keyless};
use crate::dialect::decode_as;
use crate::json::{self, Value};
use crate::{Code, DialectName, Fault, Mode, Reading, Rules, Timestamp, canonical};

/// How a message is to be read, besides the rules of the exchange.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    /// Only what is published (UAI 9.1 M6); the exchange's own mode when absent.
    pub is_strict: Option<bool>,
    /// The form that it must have.
    pub form: Option<Form>,
    /// The profile that it must have.
    pub profile: Option<Box<str>>,
    /// The clock by which it is judged.
    pub now: Option<Timestamp>,
}

/// A message, and what was found.
#[derive(Debug)]
pub struct Verdict {
    /// What the validator found. Faults in a keyless message's shape point into its array.
    pub reading: Reading,
    form: Option<Form>,
    is_strict: bool,
    hash: Option<String>,
    /// The keyed text, when there is one.
    keyed: Option<String>,
}

/// Reads a question and judges its message. What the wrapper says comes before what `ask` says.
///
/// # Errors
/// `malformed_json`, `duplicate_key` and the like for what is no JSON; `too_large`; `bad_request` for a
/// wrapper with an unknown member, or one that holds something else than it should.
pub fn judge(text: &[u8], mut ask: Ask, rules: &Rules) -> Result<Verdict, Fault> {
    let limits = json::Limits {
        bytes_max: rules.envelope_bytes_max,
        depth_max: rules.depth_max.saturating_add(1),
    };
    let document = json::read(text, limits)?;
    let root = document.root();
    let message = match root.get("message") {
        Some(message) if root.get("uai_version").is_none() => {
            read_wrapper(root, &mut ask)?;
            message
        }
        _ => root,
    };
    let mut rules = rules.clone();
    if let Some(is_strict) = ask.is_strict {
        rules.mode = if is_strict {
            Mode::Strict
        } else {
            Mode::Lenient
        };
    }
    rules.now = ask.now.unwrap_or(rules.now);
    let form = Form::of(message);
    let mut reading = decode_as(message.raw().as_bytes(), DialectName::Uai, &rules);
    if let (Some(expected), Some(form)) = (ask.form, form)
        && !expected.takes(form)
    {
        let detail = format!(
            "expected the form {}, got {}",
            expected.as_str(),
            form.as_str()
        );
        refuse(&mut reading, Code::TypeMismatch, "", "UAI 2 F8", detail);
    }
    if let Some(expected) = &ask.profile
        && reading.label.as_deref() != Some(expected)
    {
        let got = reading.label.as_deref().unwrap_or("none");
        let detail = format!("expected the profile {expected:?}, got {got:?}");
        let rule = "UAI 7 `expected_profile`";
        refuse(&mut reading, Code::EnumUnknown, "/profile", rule, detail);
    }
    let keyed = match form {
        Some(Form::Keyless) => keyless::to_keyed(message).ok(),
        Some(Form::Keyed | Form::MinifiedKeyed) => Some(message.raw().to_owned()),
        None => None,
    };
    let hash = keyed.as_deref().and_then(hash_of);
    Ok(Verdict {
        reading,
        form,
        is_strict: rules.mode == Mode::Strict,
        hash,
        keyed,
    })
}

fn refuse(reading: &mut Reading, code: Code, pointer: &str, rule: &'static str, detail: String) {
    reading.header = None;
    reading.faults.push(Fault::new(code, pointer, rule, detail));
}

/// `sha256:` and the hash of the canonical keyed text (UAI 2 F7).
fn hash_of(keyed: &str) -> Option<String> {
    let limits = json::Limits {
        bytes_max: usize::MAX,
        depth_max: usize::MAX,
    };
    let document = json::read(keyed.as_bytes(), limits).ok()?;
    let hash = canonical::canonical_hash(document.root()).ok()?;
    Some(format!("sha256:{}", hash.to_hex()))
}

fn read_wrapper(wrapper: Value<'_>, ask: &mut Ask) -> Result<(), Fault> {
    let wrong = |name: &str, expected: &str| {
        let mut pointer = String::from("/");
        json::push_escaped(&mut pointer, name);
        let detail = format!("expected `{name}` to be {expected}");
        Fault::new(Code::BadRequest, pointer, "UAI 7 `/validate`", detail)
    };
    for (key, value) in wrapper.members() {
        let name = key.text();
        let text = value.as_str();
        match &*name {
            "message" => {}
            "mode" => match text.as_deref() {
                Some("auto") => ask.form = None,
                word => {
                    let expected = "auto, keyed, minified-keyed or keyless";
                    let form = word.and_then(Form::parse);
                    ask.form = Some(form.ok_or_else(|| wrong("mode", expected))?);
                }
            },
            "strict" => {
                let is_strict = value.as_bool();
                ask.is_strict = Some(is_strict.ok_or_else(|| wrong("strict", "true or false"))?);
            }
            "expected_profile" => {
                let profile = text.ok_or_else(|| wrong("expected_profile", "a profile id"))?;
                ask.profile = Some(profile.into());
            }
            "now" => {
                let now = text.and_then(|text| grammar::utc_time(&text));
                ask.now = Some(now.ok_or_else(|| wrong("now", "a time in UTC"))?);
            }
            other => {
                let known = "left out: known are message, mode, strict, expected_profile and now";
                return Err(wrong(other, known));
            }
        }
    }
    Ok(())
}

impl Verdict {
    /// Whether nothing was refused.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.reading.is_valid()
    }

    /// The keyed text of the message, when it can be had.
    pub(super) fn keyed(&self) -> Option<&str> {
        self.keyed.as_deref()
    }

    /// The canonical hash, as `sha256:` and hexadecimal digits, when there is a keyed text.
    #[must_use]
    pub fn canonical_hash(&self) -> Option<&str> {
        self.hash.as_deref()
    }

    /// `{valid, profile, message_id, form, strict, field_order, canonical_hash, issues, conformance_result}`
    /// as JSON text. Issues are `{code, severity, path, message, rule}`, faults before warnings.
    #[must_use]
    pub fn write(&self) -> String {
        let reading = &self.reading;
        let rules = |fault: &Fault, issue: Object| issue.text("rule", fault.rule);
        let mut out = Object::new().raw("valid", if self.is_valid() { "true" } else { "false" });
        for (name, text) in [
            ("profile", reading.label.as_deref()),
            ("message_id", reading.id.as_deref()),
            ("form", self.form.map(Form::as_str)),
            ("canonical_hash", self.canonical_hash()),
        ] {
            out = match text {
                Some(text) => out.text(name, text),
                None => out.raw(name, "null"),
            };
        }
        out.raw("strict", if self.is_strict { "true" } else { "false" })
            .text("field_order", TABLE_VERSION)
            .raw("issues", &self.issues(rules))
            .raw("conformance_result", &self.conformance_result())
            .close()
    }

    /// The body of the `uai.conformance.result.v1` that says this verdict (UAI 3.1).
    #[must_use]
    pub fn conformance_result(&self) -> String {
        let Reading {
            faults, warnings, ..
        } = &self.reading;
        let id = self.reading.id.as_deref();
        let profile = self.reading.label.as_deref();
        let profile = profile.filter(|profile| !profile.is_empty());
        let mut summary = String::new();
        let _ = write!(
            summary,
            "{{\"errors\":{},\"warnings\":{}}}",
            faults.len(),
            warnings.len()
        );
        Object::new()
            .text("result", if self.is_valid() { "pass" } else { "fail" })
            .text("validated_profile", profile.unwrap_or("unknown"))
            .maybe(
                "validated_message_id",
                id.filter(|id| grammar::is_identifier(id)),
            )
            .maybe("canonical_hash", self.canonical_hash())
            .raw("summary", &summary)
            .raw("issues", &self.issues(|_, issue| issue))
            .close()
    }

    fn issues(&self, more: impl Fn(&Fault, Object) -> Object) -> String {
        let faults = self.reading.faults.iter().map(|fault| ("error", fault));
        let warnings = self.reading.warnings.iter().map(|fault| ("warning", fault));
        let all: Vec<String> = faults
            .chain(warnings)
            .map(|(severity, fault)| {
                let issue = Object::new()
                    .text("code", fault.code.as_str())
                    .text("severity", severity)
                    .text("path", &fault.pointer)
                    .text("message", &fault.detail);
                more(fault, issue).close()
            })
            .collect();
        super::super::build::list(&all)
    }
}
