//! UAI-1, the UAIX envelope, with the additions of the multi-agent report.
//!
//! Reads keyed, minified and keyless messages, in a strict mode (the twelve published members and
//! modes) and a lenient one (native `additional_targets`, `broadcast`, `pubsub`). Validates one
//! envelope at a time; acks, retries and discovery need more than one envelope and are not here, sealed
//! bodies need keys. Beside the reader: carriages (`carriage`), forms (`form`), offers and what comes of
//! them (`negotiate`), the public reference surface (`reference`). Implements UAI 1, 2, 3, 6, 7, 9.1 to
//! 9.4, 9.6 and the parts of 4 and 5 that one envelope shows.

mod act;
mod body;
pub mod build;
pub mod carriage;
mod check;
mod coordinate;
mod extension;
pub mod fallback;
pub mod field_order;
mod foreign;
pub mod form;
mod grammar;
mod header;
mod integrity;
pub mod keyless;
pub mod negotiate;
mod policy;
pub mod reference;
mod routing;
mod secret;
mod table;
mod words;

pub use foreign::{look_alike, look_alike_bytes};
pub(crate) use grammar::{is_agent_type, is_identifier, is_topic};
pub use integrity::checksum;
pub use table::TABLE_VERSION;

use self::check::{Findings, got};
use super::{Dialect, Reading};
use crate::fault::Class;
use crate::json::{self, Kind, Value};
use crate::{Code, DialectName, Fault, Rules};

/// Whether a text is a time as UAI-1 writes it.
pub(crate) fn is_utc_time(text: &str) -> bool {
    grammar::utc_time(text).is_some()
}

/// The one version spoken here.
pub const VERSION: &str = "1.0";

/// UAI-1.
pub struct Uai;

impl Dialect for Uai {
    fn name(&self) -> DialectName {
        DialectName::Uai
    }

    fn recognizes(&self, doc: Value<'_>) -> bool {
        match doc.kind() {
            Kind::Object => {
                let is_other = |name| doc.get(name).is_some();
                doc.get("uai_version").is_some()
                    || (doc
                        .get("profile")
                        .and_then(Value::as_str)
                        .is_some_and(|profile| profile.starts_with("uai."))
                        && !["v", "spec_version", "aep_version"]
                            .into_iter()
                            .any(is_other))
            }
            Kind::Array => keyless::is_keyless(doc),
            Kind::Null | Kind::Bool | Kind::Number | Kind::String => false,
        }
    }

    /// Faults in the shape of a keyless envelope point into its array; everything else is judged on
    /// the keyed form and points into that (UAI 2 F7).
    fn read(&self, doc: Value<'_>, rules: &Rules) -> Reading {
        if doc.kind() != Kind::Array {
            return read_keyed(doc, rules);
        }
        let text = |index: usize| {
            doc.items()
                .nth(index)
                .and_then(Value::as_str)
                .map(std::borrow::Cow::into_owned)
        };
        let refused = |faults| Reading {
            label: text(1),
            id: text(2),
            faults,
            ..Reading::default()
        };
        let keyed = match keyless::to_keyed(doc) {
            Ok(keyed) => keyed,
            Err(faults) => return refused(faults),
        };
        // Member names make the keyed text longer; the limit is on what was sent.
        let limits = json::Limits {
            bytes_max: usize::MAX,
            depth_max: rules.depth_max,
        };
        match json::read(keyed.as_bytes(), limits) {
            Ok(document) => read_keyed(document.root(), rules),
            Err(fault) => refused(vec![fault]),
        }
    }

    fn fault_word(&self, class: Class) -> &'static str {
        match class {
            Class::Unreadable => "malformed_json",
            Class::Invalid => "malformed_schema",
            Class::UnsupportedVersion => "unsupported_version",
            Class::TooLarge => "payload_too_large",
            Class::Unauthenticated => "signature_missing",
            Class::Forbidden => "authority_boundary_conflict",
            Class::NotFound => "unknown_recipient",
            Class::WrongMethod => "unsupported_action",
            Class::WrongMedia => "unsupported_media_type",
            Class::Conflict => "idempotency_conflict",
            Class::IllegalTransition => "task_progress_inconsistent",
            Class::Expired => "message_expired",
            // UAI 6.1 has no word for our own trouble; this one also means "later".
            Class::RateLimited | Class::NoAnswer | Class::Draining | Class::Unavailable => {
                "rate_limited"
            }
            Class::Advice => "ok",
        }
    }
}

fn read_keyed(doc: Value<'_>, rules: &Rules) -> Reading {
    let member = |name: &str| doc.get(name).and_then(Value::as_str);
    let profile = member("profile").unwrap_or_default();
    let mut reading = Reading {
        id: member("message_id").map(std::borrow::Cow::into_owned),
        label: member("profile").map(std::borrow::Cow::into_owned),
        ..Reading::default()
    };
    if let Some(fault) = look_alike(doc).or_else(|| other_version(doc)) {
        // Another format or version has other rules; judging it by these would only mislead.
        reading.faults.push(fault);
        return reading;
    }
    let mut findings = Findings::new(doc, rules.mode);
    findings.envelope(&table::ENVELOPE);
    for (name, shape, rule) in &table::PARTS {
        if let Some(part) = doc.get(name).filter(|part| part.kind() == Kind::Object) {
            findings.record(shape, part, &format!("/{name}"), rule);
        }
    }
    body_of(doc, &profile, &mut findings);
    if let Some(extensions) = doc.get("extensions") {
        extension::examine(extensions, &mut findings);
    }
    findings.sweep();
    let routing = routing::examine(doc, rules, &mut findings);
    let has_sound_recipients = ![
        Code::AdditionalTargetsMalformed,
        Code::DuplicateTarget,
        Code::MultiTargetCarriageConflict,
    ]
    .iter()
    .any(|code| findings.has(*code));
    if has_sound_recipients {
        // Against a broken list, every assignment would look wrong.
        extension::assignments(doc, &routing.ids(), &mut findings);
    }
    policy::examine(doc, &profile, &routing, rules, &mut findings);

    let fingerprint = match integrity::sums(doc) {
        Ok(sums) => {
            compare_checksum(doc, &sums.checksum, &mut findings);
            Some(sums.fingerprint)
        }
        // The sweep has already named every such number.
        Err(_) => None,
    };
    (reading.faults, reading.warnings) = findings.into_parts();
    if reading.faults.is_empty() {
        reading.header = fingerprint
            .and_then(|fingerprint| header::header(doc, &profile, &routing, fingerprint));
    }
    reading
}

fn other_version(doc: Value<'_>) -> Option<Fault> {
    let value = doc.get("uai_version")?;
    let version = value.as_str()?;
    (version != VERSION).then(|| {
        let detail = format!("expected {VERSION:?}, got {}", got(value));
        Fault::new(Code::UnsupportedVersion, "/uai_version", "UAI 1.1", detail)
    })
}

fn body_of(doc: Value<'_>, profile: &str, findings: &mut Findings<'_>) {
    let Some(value) = doc
        .get("profile")
        .filter(|value| value.kind() == Kind::String)
    else {
        return;
    };
    if let Some(known) = body::profile(profile) {
        if let Some(body) = doc.get("body").filter(|body| body.kind() == Kind::Object) {
            if is_other_negotiation(profile, body) && !findings.is_strict() {
                let detail =
                    "expected `negotiation_id` and `phase`, got another body, which is opaque";
                findings.warn(Code::UnknownProfileCarried, "/body", "UAI 10 G15", detail);
            } else {
                findings.record(known.body, body, "/body", known.rule);
            }
        }
    } else if grammar::is_profile_id(profile) {
        let detail = format!("expected a registered profile id, got {}", got(value));
        let fault = Fault::new(Code::UnknownProfile, "/profile", "UAI 3.3", detail);
        findings.doubt(fault, Code::UnknownProfileCarried);
    } else {
        let detail = format!(
            "expected `uai.<family>.<name>.v<major>`, got {}",
            got(value)
        );
        findings.refuse(Code::ProfileMalformed, "/profile", "UAI 1.1", detail);
    }
}

/// The profile was published for clients of another kind, whose body nobody can read (UAI 10 G15).
fn is_other_negotiation(profile: &str, body: Value<'_>) -> bool {
    profile == "uai.capability.negotiation.v1"
        && ["negotiation_id", "phase"]
            .iter()
            .all(|name| body.get(name).is_none())
}

/// Compares only what claims to be comparable: a malformed checksum or another algorithm is already
/// refused by the table.
fn compare_checksum(doc: Value<'_>, expected: &str, findings: &mut Findings<'_>) {
    let stated = doc
        .get("integrity")
        .and_then(|part| part.get("checksum"))
        .and_then(Value::as_str);
    if let Some(stated) = stated
        && !findings.has_below("/integrity")
        && stated != expected
    {
        let detail = format!("expected {expected}, got {stated}");
        findings.refuse(
            Code::ChecksumMismatch,
            "/integrity/checksum",
            "UAI 5 T3",
            detail,
        );
    }
}
