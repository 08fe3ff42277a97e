//! The envelope's members and one pass over them (AEP 1.1).
//!
//! The table holds every member of the published schema, and those that the text only describes
//! (tenant, actor, budget). The latter are noted here and judged where a decision needs them; without
//! one they are carried like any unknown member.

use std::borrow::Cow;

use super::registry;
use crate::json::{Kind, Value};
use crate::shape::{Clock, Grammar, Member, Shape, Want, check_value, optional, required};
use crate::{Code, Fault, Mode, Timestamp};

const RULE: &str = "AEP 1.1";

macro_rules! fields {
    ($($field:ident = $member:expr;)*) => {
        /// A member that reading acts on.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Field { $($field,)* }

        const COUNT: usize = [$(Field::$field,)*].len();

        /// In the order of [`Field`].
        static FIELDS: [Member; COUNT] = [$($member,)*];
    };
}

fields! {
    SpecVersion = required("spec_version", Want::NON_EMPTY);
    Id = required("id", Want::NON_EMPTY);
    Type = required("type", Want::Text(&TYPE));
    Source = required("source", Want::NON_EMPTY);
    CreatedAt = required("created_at", MOMENT);
    Payload = required("payload", Want::Any);
    Target = optional("target", Want::STRING);
    Topic = optional("topic", Want::STRING);
    SessionId = optional("session_id", Want::STRING);
    ConversationId = optional("conversation_id", Want::STRING);
    TaskId = optional("task_id", Want::STRING);
    CorrelationId = optional("correlation_id", Want::STRING);
    CausationId = optional("causation_id", Want::STRING);
    ParentTaskId = optional("parent_task_id", Want::STRING);
    ExpiresAt = optional("expires_at", MOMENT).or_null();
    Delivery = optional("delivery", Want::Nested(&DELIVERY));
    PayloadSchema = optional("payload_schema", Want::STRING);
    BeliefStatus = optional("belief_status", Want::Enum(
        &["asserted", "retracted", "revised", "contradicted", "unknown"]));
    BeliefScope = optional("belief_scope", Want::Enum(
        &["fact", "inference", "observation", "preference", "hypothesis"]));
    Confidence = optional("confidence", Want::Num { min: 0.0, max: 1.0 });
    ValidFrom = optional("valid_from", MOMENT);
    ValidUntil = optional("valid_until", MOMENT);
    StaleAfter = optional("stale_after", Want::NON_EMPTY);
    RefreshHint = optional("refresh_hint", Want::STRING);
    DelegatedBy = optional("delegated_by", Want::STRING);
    DelegatedTo = optional("delegated_to", Want::STRING);
    HandoffToken = optional("handoff_token", Want::NON_EMPTY);
    CheckpointId = optional("checkpoint_id", Want::STRING);
    CheckpointAt = optional("checkpoint_at", MOMENT);
    InterruptionPolicy = optional("interruption_policy", Want::Enum(
        &["save_and_stop", "drain_then_stop", "force_stop"]));
    CompensationId = optional("compensation_id", Want::STRING);
    EvidenceChain = optional("evidence_chain", Want::list(&Want::Nested(&EVIDENCE)));
    SourceTrust = optional("source_trust", Want::Enum(
        &["verified", "attested", "unverified", "signed"]));
    AttestationCount = optional("attestation_count", Want::Num { min: 0.0, max: f64::INFINITY });
    DataProvenance = optional("data_provenance", Want::STRING);
    AepVersion = optional("aep_version", Want::Any);
    TenantId = optional("tenant_id", Want::Any);
    ActorId = optional("actor_id", Want::Any);
    Roles = optional("roles", Want::Any);
    RequestedAction = optional("requested_action", Want::Any);
    TargetTenantId = optional("target_tenant_id", Want::Any);
    BudgetId = optional("budget_id", Want::Any);
    BudgetCost = optional("budget_cost", Want::Any);
}

const MOMENT: Want = Want::Time(Clock::Rfc3339);

static TYPE: Grammar = Grammar {
    expected: "a type of two or more dotted lower-case segments",
    code: Code::PatternMismatch,
    fits: registry::follows_pattern,
};

/// `delivery` (AEP 1.1, 6). `retry` is advice and not checked.
static DELIVERY: Shape = Shape::open(&[
    optional("mode", Want::Enum(&MODES)),
    optional("sequence", Want::COUNT),
    optional("cursor", Want::STRING),
]);

/// The delivery modes.
pub(super) static MODES: [&str; 3] = ["best_effort", "at_least_once", "replayable"];

static EVIDENCE: Shape = Shape::open(&[
    required("source", Want::STRING),
    required("id", Want::STRING),
]);

/// Members whose text must be a URI in strict mode.
const URIS: [Field; 3] = [
    Field::PayloadSchema,
    Field::RefreshHint,
    Field::DataProvenance,
];

static URI: Grammar = Grammar {
    expected: "a URI with a scheme",
    code: Code::PatternMismatch,
    fits: |text| {
        text.split_once(':').is_some_and(|(scheme, rest)| {
            scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme
                    .bytes()
                    .all(|c| c.is_ascii_alphanumeric() || b"+-.".contains(&c))
                && !rest.is_empty()
                && rest
                    .bytes()
                    .all(|c| c.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&c))
        })
    },
};

impl Field {
    /// The name on the wire.
    pub(super) fn name(self) -> &'static str {
        FIELDS.get(self as usize).map_or("", |member| member.name)
    }
}

/// The members of one event that were found.
pub(super) struct Slots<'d> {
    found: [Option<Value<'d>>; COUNT],
}

impl<'d> Slots<'d> {
    /// Notes and checks every member, in document order.
    pub(super) fn scan(doc: Value<'d>, mode: Mode, faults: &mut Vec<Fault>) -> Self {
        let mut slots = Self {
            found: [None; COUNT],
        };
        for (key, value) in doc.members() {
            let name = key.text();
            let Some(at) = FIELDS.iter().position(|member| member.name == name) else {
                continue;
            };
            if let Some(slot) = slots.found.get_mut(at) {
                *slot = Some(value);
            }
            if let Some(member) = FIELDS.get(at) {
                check(member, value, faults);
                if mode == Mode::Strict && URIS.iter().any(|uri| *uri as usize == at) {
                    check_uri(member, value, faults);
                }
            }
        }
        slots
    }

    /// The member, when it is there.
    pub(super) fn get(&self, field: Field) -> Option<Value<'d>> {
        self.found.get(field as usize).copied().flatten()
    }

    /// The text of a member that is a string of at least one character.
    pub(super) fn text(&self, field: Field) -> Option<Cow<'d, str>> {
        self.get(field)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    }

    /// The moment a member names.
    pub(super) fn moment(&self, field: Field) -> Option<Timestamp> {
        let text = self.text(field)?;
        Timestamp::parse_rfc3339(&text).map(|(moment, _)| moment)
    }

    /// A string of at least one character in the payload.
    pub(super) fn payload_text(&self, name: &str) -> Option<Cow<'d, str>> {
        self.get(Field::Payload)?
            .get(name)?
            .as_str()
            .filter(|text| !text.is_empty())
    }

    /// Reports the required members that are absent, in the order of the table.
    pub(super) fn report_missing(&self, version_given: bool, faults: &mut Vec<Fault>) {
        for (member, found) in FIELDS.iter().zip(&self.found) {
            let is_version = member.name == Field::SpecVersion.name();
            if let Some(code) = member.missing
                && found.is_none()
                && !(is_version && version_given)
            {
                let detail = format!("expected `{}`, got nothing", member.name);
                faults.push(Fault::new(code, format!("/{}", member.name), RULE, detail));
            }
        }
    }
}

/// Sorts faults by the place of the member they are in; what is absent comes last.
pub(super) fn in_document_order(doc: Value<'_>, faults: &mut [Fault]) {
    if faults.len() > 1 {
        faults.sort_by_cached_key(|fault| {
            let name = fault.pointer.split('/').nth(1).unwrap_or_default();
            doc.members()
                .position(|(key, _)| key.is_text(name))
                .unwrap_or(usize::MAX)
        });
    }
}

fn check(member: &Member, value: Value<'_>, faults: &mut Vec<Fault>) {
    // Nearly every member is a plain string: those cost no pointer.
    let is_plain = match member.want {
        Want::Any => true,
        Want::Str { min, .. } => value.kind() == Kind::String && value.raw().len() >= min + 2,
        Want::Bool
        | Want::Text(_)
        | Want::Num { .. }
        | Want::Int { .. }
        | Want::Enum(_)
        | Want::Time(_)
        | Want::Object
        | Want::Array { .. }
        | Want::Nested(_)
        | Want::OneOf(_) => false,
    };
    if is_plain || (value.is_null() && member.takes_null) {
        return;
    }
    let mut pointer = String::with_capacity(member.name.len() + 24);
    pointer.push('/');
    pointer.push_str(member.name);
    if value.is_null() {
        let detail = format!("expected `{}` to have a value, got null", member.name);
        faults.push(Fault::new(Code::NullNotAllowed, pointer, RULE, detail));
    } else {
        check_value(&member.want, value, &mut pointer, RULE, faults);
    }
}

fn check_uri(member: &Member, value: Value<'_>, faults: &mut Vec<Fault>) {
    if value.kind() == Kind::String {
        check_value(
            &Want::Text(&URI),
            value,
            &mut format!("/{}", member.name),
            RULE,
            faults,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::{COUNT, FIELDS, Field};
    use std::collections::HashSet;

    #[test]
    fn every_member_is_declared_once() {
        let names: HashSet<_> = FIELDS.iter().map(|member| member.name).collect();
        assert_eq!(names.len(), COUNT);
        assert_eq!(Field::BudgetCost.name(), "budget_cost");
    }
}
