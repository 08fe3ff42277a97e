//! Takes out of an event what the flow acts on.

use super::envelope::{Field, Slots};
use super::flow::{Amount, Facts, Move, Spend};
use super::registry::Role;
use crate::json::{Kind, Value};

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

fn step(role: Role, slots: &Slots<'_>) -> Move {
    let task = |make: &dyn Fn(Box<str>) -> Move| task_id(role, slots).map(make);
    let correlated = |make: fn(Box<str>) -> Move| {
        slots
            .text(Field::CorrelationId)
            .map(|id| make(Box::from(&*id)))
    };
    let delivered = |name: &str, make: fn(Box<str>) -> Move| {
        slots.payload_text(name).map(|id| make(Box::from(&*id)))
    };
    let step = match role {
        Role::Carried | Role::Subscribe => None,
        Role::Submit => {
            let parent = slots
                .text(Field::ParentTaskId)
                .or_else(|| slots.payload_text("parent_task_id"));
            task(&|task| Move::Submit {
                task,
                parent: parent.as_deref().map(Box::from),
            })
        }
        Role::Become(state) => task(&|task| Move::Become { task, state }),
        Role::CancelRequest => task(&|task| Move::CancelRequest { task }),
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
