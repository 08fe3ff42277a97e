//! The header of an accepted envelope (AEE 1.1, AEE 1.3, AEE 1.10).
//!
//! Nothing is invented: a log record that lacks a member has an empty place in its header.

use super::entities;
use super::intents::{self, Type};
use super::rules::View;
use crate::json::Value;
use crate::task::{Opening, Step, TaskState, Terms};
use crate::translate::words;
use crate::{Act, DialectName, Header, Intake, Party, Settlement, SettlementVerdict, digest};

/// The header, when the members that every tier has could be read.
pub(super) fn header(doc: Value<'_>, view: &View<'_>, intake: Intake) -> Option<Header> {
    let kind = view.kind?;
    let id: Box<str> = view.id.as_deref()?.into();
    let intent = view.intent.as_deref();
    let cause = view.reply_to.as_deref().map(Box::from);
    Some(Header {
        dialect: DialectName::Aee,
        sender: Party::parse(view.from.as_deref()?),
        act: act(kind, view),
        kind: kind.as_str().into(),
        recipients: recipients(view.to.as_deref(), kind),
        topics: Vec::new(),
        conversation: view.corr.as_deref().map(Box::from),
        correlation: None,
        task: match kind {
            Type::Task => Some(id.clone()),
            Type::Result | Type::Event | Type::Error | Type::Stream => cause.clone(),
        },
        settles: match kind {
            // Whoever answers a message has got it.
            Type::Result | Type::Error => cause.clone().map(|id| {
                Box::new(Settlement {
                    id,
                    verdict: SettlementVerdict::Acknowledged,
                })
            }),
            Type::Event => event_settles(view).map(Box::new),
            Type::Task | Type::Stream => None,
        },
        cause,
        retry: None,
        session: None,
        intent: intent.map(Box::from),
        priority: view.priority.unwrap_or_default(),
        deadline: match kind {
            Type::Task => view
                .ts
                .zip(view.timeout_ms)
                .map(|(ts, wait)| ts.plus_millis(wait)),
            Type::Result | Type::Event | Type::Error | Type::Stream => None,
        },
        intake,
        idempotency_key: None,
        origin: None,
        id,
        replay_of: None,
        step: match intake {
            Intake::Work => step(kind, view),
            Intake::Log => None,
        },
        flow: None,
        coordination: None,
        fingerprint: digest(doc.raw().as_bytes()),
    })
}

/// `to` is one address. A wildcard is fanned out for events only: for any other type it names nobody,
/// because work that many take at once was never asked for.
fn recipients(to: Option<&str>, kind: Type) -> Vec<Party> {
    match to {
        Some(to) if kind == Type::Event || entities::Form::of(to) != entities::Form::Wildcard => {
            vec![Party::parse(to)]
        }
        _ => Vec::new(),
    }
}

/// What the envelope does, by type and intent; and for what AEE has no type, by the word that stands
/// for it (AEE 7.2).
fn act(kind: Type, view: &View<'_>) -> Act {
    let intent = view.intent.as_deref().unwrap_or_default();
    let said = match kind {
        Type::Error => view.error_code.as_deref().and_then(of_error),
        Type::Event => words::borrowed(intent),
        Type::Task | Type::Result | Type::Stream => None,
    };
    said.unwrap_or_else(|| intents::act(kind, intent))
}

/// What an error with this code says, when it is no plain failure.
pub(super) fn of_error(code: &str) -> Option<Act> {
    match code {
        "E_CANCELLED" => Some(Act::Cancel),
        "E_TIMEOUT" => Some(Act::TimeOut),
        words::REFUSED => Some(Act::Refuse),
        _ => None,
    }
}

/// What an event says of the delivery of the message it answers, in AEP's words (AEP 6).
fn event_settles(view: &View<'_>) -> Option<Settlement> {
    let id = view.reply_to.as_deref()?.into();
    let verdict = match act(Type::Event, view) {
        Act::Ack => SettlementVerdict::Acknowledged,
        Act::Reject => {
            let reason = view.reason.as_deref().unwrap_or_default().into();
            if view.is_final {
                SettlementVerdict::Never { reason }
            } else {
                SettlementVerdict::Again { reason }
            }
        }
        _ => return None,
    };
    Some(Settlement { id, verdict })
}

/// What the envelope does to a task: a task asks, whatever its intent, and ends with its result or
/// error.
fn step(kind: Type, view: &View<'_>) -> Option<Step> {
    match kind {
        Type::Task => Some(Step::Open(Box::new(Terms {
            timeout_ms: view.timeout_ms,
            ..Terms::new(Opening::Question)
        }))),
        Type::Result => Some(Step::Report(TaskState::Completed)),
        Type::Stream => Some(Step::Report(TaskState::Progress)),
        Type::Error | Type::Event => match act(kind, view) {
            Act::Fail => Some(Step::Report(TaskState::Failed)),
            Act::Cancel => Some(Step::Report(TaskState::Cancelled)),
            Act::TimeOut => Some(Step::Report(TaskState::TimedOut)),
            Act::Refuse => Some(Step::Report(TaskState::Failed)),
            Act::Accept => Some(Step::Report(TaskState::Accepted)),
            Act::Start => Some(Step::Report(TaskState::Started)),
            Act::Output => Some(Step::Report(TaskState::Output)),
            Act::Block => Some(Step::Report(TaskState::Blocked)),
            Act::CancelRequest => Some(Step::RequestCancel),
            _ => None,
        },
    }
}
