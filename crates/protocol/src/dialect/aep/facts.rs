//! Takes out of an event what the flow acts on.

use super::envelope::{Field, Slots};
use super::flow::{Amount, Facts, Move, Spend};
use super::registry::Role;
use crate::json::{Kind, Value};
use crate::task::{Opening, Step, Terms};
use crate::{Retry, Settlement, SettlementVerdict};

/// The facts of an event that moves a flow; `None` for all others.
pub(super) fn of(role: Role, slots: &Slots<'_>) -> Option<Facts> {
    let delivery = slots.get(Field::Delivery);
    let facts = Facts {
        step: step(role, slots),
        spend: spend(slots),
        is_tracked: delivery.is_some_and(|delivery| delivery.get("mode").is_some()),
    };
    (facts.step != Move::Nothing || facts.spend.is_some() || facts.is_tracked).then_some(facts)
}

/// What the event asks of its deliveries (AEP 6). Members of another type are not meant.
pub(super) fn retry(slots: &Slots<'_>) -> Option<Retry> {
    let retry = slots.get(Field::Delivery)?.get("retry")?;
    let wait = |name: &str| retry.get(name).and_then(Value::as_i64);
    let multiplier = retry.get("backoff_multiplier").and_then(Value::as_f64);
    let retry = Retry {
        max_attempts: wait("max_attempts")
            .map(|count| u32::try_from(count.max(1)).unwrap_or(u32::MAX)),
        backoff_ms: wait("backoff_ms"),
        backoff_multiplier_milli: multiplier.map(|times| (times * 1_000.0) as u32),
        backoff_ms_max: wait("max_backoff_ms"),
        ack_timeout_ms: wait("ack_timeout_ms"),
    };
    (retry != Retry::default()).then_some(retry)
}

/// What the event says about one that was delivered to its source (AEP 6).
pub(super) fn settles(role: Role, doc: Value<'_>, slots: &Slots<'_>) -> Option<Settlement> {
    let is_rejection = slots.text(Field::Type).as_deref() == Some("event.rejected");
    if role != Role::Acknowledged && !is_rejection {
        return None;
    }
    let named = slots.payload_text("acknowledged_event_id");
    let id = named.or_else(|| slots.text(Field::CausationId))?;
    let error = doc.at("/payload/error");
    let reason = || {
        let text = |name: &str| error?.get(name)?.as_str();
        let reason = text("message").or_else(|| text("code")).unwrap_or_default();
        Box::from(&*reason)
    };
    let is_final = error.and_then(|error| error.get("retryable")?.as_bool()) == Some(false);
    Some(Settlement {
        id: Box::from(&*id),
        verdict: match (is_rejection, is_final) {
            (false, _) => SettlementVerdict::Acknowledged,
            (true, false) => SettlementVerdict::Again { reason: reason() },
            (true, true) => SettlementVerdict::Never { reason: reason() },
        },
    })
}

/// The task of an event: the envelope's, or for task events the payload's.
pub(super) fn task_id(role: Role, slots: &Slots<'_>) -> Option<Box<str>> {
    let in_payload = || match role {
        Role::Submit | Role::Become(_) | Role::CancelRequest => slots.payload_text("task_id"),
        Role::Carried
        | Role::Subscribe
        | Role::BudgetSet(_)
        | Role::CommandOpen
        | Role::CommandClose
        | Role::QueryOpen
        | Role::QueryClose
        | Role::Acknowledged
        | Role::Redelivered
        | Role::DeadLettered => None,
    };
    slots
        .text(Field::TaskId)
        .or_else(in_payload)
        .map(|id| Box::from(&*id))
}

/// What the event does to a task. Only `task.*` has a life cycle (AEP 2.8, AEP 5).
pub(super) fn task_step(role: Role, slots: &Slots<'_>) -> Option<Step> {
    match role {
        Role::Submit => {
            let parent = slots
                .text(Field::ParentTaskId)
                .or_else(|| slots.payload_text("parent_task_id"));
            let lengths = ["timeout_ms", "deadline_ms"].map(|name| milliseconds(slots, name));
            Some(Step::Open(Box::new(Terms {
                parent: parent.as_deref().map(Box::from),
                timeout_ms: lengths.into_iter().flatten().min(),
                ..Terms::new(Opening::Submission)
            })))
        }
        Role::Become(state) => Some(Step::Report(state)),
        Role::CancelRequest => Some(Step::RequestCancel),
        Role::Carried
        | Role::Subscribe
        | Role::BudgetSet(_)
        | Role::CommandOpen
        | Role::CommandClose
        | Role::QueryOpen
        | Role::QueryClose
        | Role::Acknowledged
        | Role::Redelivered
        | Role::DeadLettered => None,
    }
}

/// A length of time in the payload; a huge one means the far future.
fn milliseconds(slots: &Slots<'_>, name: &str) -> Option<i64> {
    let number = slots.get(Field::Payload)?.get(name)?.as_f64()?;
    (number >= 0.0).then_some(number as i64)
}

fn step(role: Role, slots: &Slots<'_>) -> Move {
    let correlated = |make: fn(Box<str>) -> Move| {
        slots
            .text(Field::CorrelationId)
            .map(|id| make(Box::from(&*id)))
    };
    let delivered = |name: &str, make: fn(Box<str>) -> Move| {
        slots.payload_text(name).map(|id| make(Box::from(&*id)))
    };
    let step = match role {
        Role::Carried | Role::Subscribe | Role::Submit | Role::Become(_) | Role::CancelRequest => {
            None
        }
        Role::BudgetSet(limit) => budget(limit, slots),
        Role::CommandOpen => correlated(Move::CommandOpen),
        Role::CommandClose => correlated(Move::CommandClose),
        Role::QueryOpen => correlated(Move::QueryOpen),
        Role::QueryClose => correlated(Move::QueryClose),
        Role::Acknowledged => {
            delivered("acknowledged_event_id", Move::Acknowledged).or_else(|| {
                slots
                    .text(Field::CausationId)
                    .map(|id| Move::Acknowledged(Box::from(&*id)))
            })
        }
        Role::Redelivered => delivered("original_event_id", Move::Redelivered),
        Role::DeadLettered => delivered("original_event_id", Move::DeadLettered),
    };
    step.unwrap_or(Move::Nothing)
}

fn budget(limit: &str, slots: &Slots<'_>) -> Option<Move> {
    let limit = slots.get(Field::Payload)?.get(limit).and_then(amount)?;
    let budget = slots.payload_text("budget_id")?;
    Some(Move::BudgetSet {
        tenant: slots
            .text(Field::TenantId)
            .map(|tenant| Box::from(&*tenant)),
        budget: Box::from(&*budget),
        limit,
    })
}

/// What the event spends: a positive cost on a named budget of a named tenant (AEP 2.13).
fn spend(slots: &Slots<'_>) -> Option<Spend> {
    let cost = slots
        .get(Field::BudgetCost)
        .and_then(amount)
        .filter(|cost| !cost.is_zero())?;
    let (tenant, budget) = (slots.text(Field::TenantId)?, slots.text(Field::BudgetId)?);
    Some(Spend {
        tenant: Box::from(&*tenant),
        budget: Box::from(&*budget),
        cost,
    })
}

/// A number of any size; one too large for a double counts as the largest amount.
fn amount(value: Value<'_>) -> Option<Amount> {
    (value.kind() == Kind::Number).then(|| value.raw().parse().ok().map(Amount::from_units))?
}
