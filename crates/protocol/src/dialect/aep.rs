//! Agent Event Protocol, published as Harmovela, `spec_version` "0.2" (AEP 1, 2, 4, 7, 8).
//!
//! [`Aep`] judges one event by itself. What depends on earlier events (tasks, budgets, commands,
//! queries, deliveries) is in [`flow`]; [`conformance`] judges a whole suite of fixtures.

mod build;
pub mod conformance;
mod envelope;
mod facts;
pub mod flow;
pub mod governance;
mod look_alike;
mod payload;
pub mod registry;
mod requests;
pub mod words;

pub use build::EventBuilder;
pub use look_alike::look_alike;

use super::{Dialect, Reading};
use crate::fault::Class;
use crate::json::{Kind, Value};
use crate::{
    Act, Code, DialectName, Fault, Header, Intake, Mode, Party, Priority, Rules, digest, shape,
};
use envelope::{Field, Slots};
use registry::{EventType, Role};

/// The version this dialect speaks.
pub const VERSION: &str = "0.2";
/// The version of the older spelling, `aep_version`.
const LEGACY_VERSION: &str = "0.1";

/// Agent Event Protocol.
pub struct Aep;

impl Dialect for Aep {
    fn name(&self) -> DialectName {
        DialectName::Aep
    }

    /// By the version member; or by shape, because an event that forgot its version is still meant
    /// as one and deserves to be told.
    fn recognizes(&self, doc: Value<'_>) -> bool {
        if doc.kind() != Kind::Object {
            return false;
        }
        let (mut has_version, mut has_source, mut has_type) = (false, false, false);
        let (mut has_content, mut has_profile) = (false, false);
        for (key, value) in doc.members() {
            match &*key.text() {
                "v" | "uai_version" => return false,
                "spec_version" | "aep_version" => has_version = true,
                "source" => has_source = value.kind() == Kind::String,
                "type" => has_type = value.as_str().is_some_and(|kind| kind.contains('.')),
                "created_at" | "payload" => has_content = true,
                "profile" => has_profile = true,
                _ => {}
            }
        }
        let has_shape = has_source && has_type && has_content && !has_profile;
        has_version || (has_shape && look_alike(doc).is_none())
    }

    fn read(&self, doc: Value<'_>, rules: &Rules) -> Reading {
        let mut reading = Reading::default();
        if doc.kind() != Kind::Object {
            let detail = format!("expected an object, got {}", doc.kind().as_str());
            reading
                .faults
                .push(Fault::new(Code::NotAnEnvelope, "", "AEP 1.1", detail));
            return reading;
        }
        let mut faults = Vec::new();
        let slots = Slots::scan(doc, rules.mode, &mut faults);
        let version_given = version(&slots, rules, &mut faults, &mut reading.warnings);
        let row = event_type(&slots, rules.mode, &mut faults, &mut reading.warnings);
        payload(row, &slots, &mut faults);
        slots.report_missing(version_given, &mut faults);
        requests::check_needs(role(row), &slots, rules.mode, &mut faults);
        governance::check(&slots, &mut faults);
        envelope::in_document_order(doc, &mut faults);

        let text = |field| slots.get(field).and_then(Value::as_str);
        reading.id = text(Field::Id).map(Into::into);
        reading.label = text(Field::Type).map(Into::into);
        if faults.is_empty() {
            reading.header = header(doc, row, &slots);
        }
        reading.faults = faults;
        reading
    }

    fn fault_word(&self, class: Class) -> &'static str {
        words::of_class(class)
    }
}

fn role(row: Option<&EventType>) -> Role {
    row.map_or(Role::Carried, |row| row.role)
}

/// Judges the version; true when an accepted older spelling stands in for `spec_version`.
fn version(
    slots: &Slots<'_>,
    rules: &Rules,
    faults: &mut Vec<Fault>,
    warnings: &mut Vec<Fault>,
) -> bool {
    let unsupported = |field: Field, expected: &str, got: &str| {
        let detail = format!("expected version {expected:?}, got {got:?}");
        Fault::new(
            Code::UnsupportedVersion,
            format!("/{}", field.name()),
            "AEP 1.3",
            detail,
        )
    };
    if slots.get(Field::SpecVersion).is_some() {
        if let Some(found) = slots.text(Field::SpecVersion)
            && found != VERSION
        {
            faults.push(unsupported(Field::SpecVersion, VERSION, &found));
        }
        return false;
    }
    if !rules.aep_accept_0_1 {
        return false;
    }
    let Some(found) = slots.text(Field::AepVersion) else {
        return false;
    };
    if found == LEGACY_VERSION {
        warnings.push(Fault::new(
            Code::LegacyVersion,
            "/aep_version",
            "AEP 1.3",
            "expected `spec_version` \"0.2\", got the older `aep_version` \"0.1\"",
        ));
    } else {
        faults.push(unsupported(Field::AepVersion, LEGACY_VERSION, &found));
    }
    true
}

/// Looks the type up. An unknown one is refused in strict mode and carried in lenient mode.
fn event_type(
    slots: &Slots<'_>,
    mode: Mode,
    faults: &mut Vec<Fault>,
    warnings: &mut Vec<Fault>,
) -> Option<&'static EventType> {
    let name = slots.text(Field::Type)?;
    let row = registry::find(&name);
    if row.is_none() && registry::follows_pattern(&name) {
        let detail = format!("expected a registered event type, got {name:?}");
        let (code, list) = match mode {
            Mode::Strict => (Code::InvalidEventType, faults),
            Mode::Lenient => (Code::UnknownEventType, warnings),
        };
        list.push(Fault::new(code, "/type", "AEP 2", detail));
    }
    row
}

fn payload(row: Option<&EventType>, slots: &Slots<'_>, faults: &mut Vec<Fault>) {
    let (Some(row), Some(found)) = (row, slots.get(Field::Payload)) else {
        return;
    };
    if row.role == Role::Subscribe {
        requests::check_filter(found, faults);
    } else if let Some(shape) = row.payload {
        shape::check(shape, found, &mut String::from("/payload"), "AEP 2", faults);
    }
}

/// The facts of a valid event; `None` only when a required member is absent.
fn header(doc: Value<'_>, row: Option<&EventType>, slots: &Slots<'_>) -> Option<Header> {
    let boxed = |field| slots.text(field).map(|text| Box::from(&*text));
    let id: Box<str> = boxed(Field::Id)?;
    let correlation: Option<Box<str>> = boxed(Field::CorrelationId);
    let role = role(row);
    Some(Header {
        dialect: DialectName::Aep,
        idempotency_key: None,
        origin: None,
        id,
        sender: Party::parse(&slots.text(Field::Source)?),
        act: row.map_or(Act::Inform, |row| row.act),
        kind: boxed(Field::Type)?,
        recipients: slots
            .text(Field::Target)
            .iter()
            .map(|target| Party::parse(target))
            .collect(),
        topics: boxed(Field::Topic).into_iter().collect(),
        conversation: boxed(Field::ConversationId).or_else(|| correlation.clone()),
        correlation,
        cause: boxed(Field::CausationId),
        task: facts::task_id(role, slots),
        session: boxed(Field::SessionId),
        intent: None,
        priority: priority(row, slots),
        deadline: slots.moment(Field::ExpiresAt),
        retry: facts::retry(slots).map(Box::new),
        settles: facts::settles(role, doc, slots).map(Box::new),
        intake: Intake::Work,
        replay_of: None,
        step: facts::task_step(role, slots),
        flow: facts::of(role, slots).map(Box::new),
        coordination: None,
        fingerprint: digest(doc.raw().as_bytes()),
    })
}

/// Only work that is asked for has an urgency.
fn priority(row: Option<&EventType>, slots: &Slots<'_>) -> Priority {
    if !row.is_some_and(|row| matches!(row.name, "task.submitted" | "delegation.requested")) {
        return Priority::Normal;
    }
    match slots.payload_text("priority").as_deref() {
        Some("critical") => Priority::Urgent,
        Some(word) => Priority::parse(word).unwrap_or_default(),
        None => Priority::Normal,
    }
}
