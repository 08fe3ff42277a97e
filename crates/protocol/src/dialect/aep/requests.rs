//! Requests that must carry what they need: subscriptions, commands, queries (AEP 2.11, 2.12, 4).
//!
//! Only what one event shows. What depends on earlier events is judged by the flow.

use super::envelope::{Field, MODES, Slots};
use super::registry::Role;
use crate::json::{Kind, Value};
use crate::shape::{Shape, Want, check, optional};
use crate::{Code, Fault, Mode};

const ONE_OR_MORE: Want = Want::OneOf(&[Want::STRING, Want::list(&Want::STRING)]);

/// A subscription filter (AEP 4.1).
static FILTER: Shape = Shape::open(&[
    optional("types", ONE_OR_MORE),
    optional("source", ONE_OR_MORE),
    optional("target", ONE_OR_MORE),
    optional("topic", ONE_OR_MORE),
    optional("session_id", ONE_OR_MORE),
    optional("conversation_id", ONE_OR_MORE),
    optional("task_id", ONE_OR_MORE),
    optional("from_cursor", Want::STRING),
    optional("delivery_mode", Want::Enum(&MODES)),
]);

/// The members of which a filter needs one (AEP 4.2).
const CRITERIA: [&str; 4] = ["types", "source", "target", "topic"];

/// Checks the payload of `subscription.requested`.
pub(super) fn check_filter(payload: Value<'_>, faults: &mut Vec<Fault>) {
    check(
        &FILTER,
        payload,
        &mut String::from("/payload"),
        "AEP 4.1",
        faults,
    );
    let has_criterion = CRITERIA.iter().any(|name| {
        payload
            .get(name)
            .is_some_and(|value| !value.is_null() && value.raw() != "\"\"")
    });
    if payload.kind() == Kind::Object && !has_criterion {
        faults.push(Fault::new(
            Code::SubscriptionRejected,
            "/payload",
            "AEP 4.2",
            "expected a filter with at least one of types, source, target, topic, got none",
        ));
    }
}

/// Checks what an event of that role must carry besides its shape.
pub(super) fn check_needs(role: Role, slots: &Slots<'_>, mode: Mode, faults: &mut Vec<Fault>) {
    match role {
        Role::CommandOpen => addressed(Code::InvalidCommand, "AEP 2.11", slots, mode, faults),
        Role::QueryOpen => {
            addressed(Code::InvalidQuery, "AEP 2.12", slots, mode, faults);
            let scope = slots
                .get(Field::Payload)
                .and_then(|payload| payload.get("query_scope"));
            if !scope.is_some_and(|scope| !scope.is_null() && scope.raw() != "\"\"") {
                faults.push(Fault::new(
                    Code::InvalidQuery,
                    "/payload/query_scope",
                    "AEP 2.12",
                    "expected a query scope, got nothing",
                ));
            }
        }
        Role::CancelRequest => {
            if slots
                .text(Field::TaskId)
                .or_else(|| slots.payload_text("task_id"))
                .is_none()
            {
                faults.push(Fault::new(
                    Code::UnknownTask,
                    "/task_id",
                    "AEP 5",
                    "expected the id of the task to cancel, got nothing",
                ));
            }
        }
        Role::BudgetSet(limit) => {
            let Some(payload) = slots.get(Field::Payload) else {
                return;
            };
            if let Some(value) = payload.get(limit)
                && payload.get("budget_id").is_some()
                && value.kind() != Kind::Number
            {
                faults.push(Fault::new(
                    Code::TypeMismatch,
                    format!("/payload/{limit}"),
                    "AEP 2.13",
                    format!("expected a number, got {}", value.kind().as_str()),
                ));
            }
        }
        Role::Carried
        | Role::Subscribe
        | Role::Submit
        | Role::Become(_)
        | Role::CommandClose
        | Role::QueryClose
        | Role::Acknowledged
        | Role::Redelivered
        | Role::DeadLettered => {}
    }
}

/// A target always; in strict mode also the correlation id that answers are matched by.
fn addressed(
    code: Code,
    rule: &'static str,
    slots: &Slots<'_>,
    mode: Mode,
    faults: &mut Vec<Fault>,
) {
    if slots.text(Field::Target).is_none() {
        faults.push(Fault::new(
            code,
            "/target",
            rule,
            "expected a target agent, got nothing",
        ));
    }
    if mode == Mode::Strict && slots.text(Field::CorrelationId).is_none() {
        let detail = "expected a correlation id, got nothing";
        faults.push(Fault::new(code, "/correlation_id", rule, detail));
    }
}
