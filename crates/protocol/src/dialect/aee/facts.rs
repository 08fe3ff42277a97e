//! The header of an accepted envelope (AEE 1.1, AEE 1.3, AEE 1.10).
//!
//! Nothing is invented: a log record that lacks a member has an empty place in its header.

use super::entities;
use super::intents::{self, Type};
use super::rules::View;
use crate::json::Value;
use crate::{DialectName, Header, Intake, Party, Settlement, SettlementVerdict, digest};

/// The header, when the members that every tier has could be read.
pub(super) fn header(doc: Value<'_>, view: &View<'_>, intake: Intake) -> Option<Header> {
    let kind = view.kind?;
    let id: Box<str> = view.id.as_deref()?.into();
    let intent = view.intent.as_deref();
    let cause = view.reply_to.as_deref().map(Box::from);
    Some(Header {
        dialect: DialectName::Aee,
        sender: Party::parse(view.from.as_deref()?),
        act: intents::act(kind, intent.unwrap_or_default()),
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
            Type::Task | Type::Event | Type::Stream => None,
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
        dedupe_key: id.clone(),
        id,
        flow: None,
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
