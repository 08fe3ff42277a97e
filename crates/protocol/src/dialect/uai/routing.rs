//! Who gets an envelope, in which mode, under which topics.
//!
//! Two carriages mean the same: native members at the top level, and the multi-agent record for
//! peers that take twelve members only. Implements UAI 9.1 M1 to M4 and 9.3 Q1 to Q7. Expanding
//! groups and finding subscribers is the exchange's work.

use std::borrow::Cow;
use std::collections::HashSet;

use super::check::{Findings, got};
use super::extension::{self, MULTI_AGENT};
use super::grammar;
use super::table::AGENT;
use crate::json::{Kind, Value};
use crate::{Code, Fault, Rules, canonical};

/// The published delivery modes.
const PUBLISHED: [&str; 3] = ["sync", "async", "event"];
/// The modes of the multi-agent report.
const ADDED: [&str; 2] = ["broadcast", "pubsub"];
/// Most topics of one envelope.
const TOPICS_MAX: usize = 16;

/// What both carriages say together.
pub(super) struct Routing<'d> {
    /// `target`, then the additional ones, in the sender's order.
    pub targets: Vec<Value<'d>>,
    /// The mode that is meant.
    pub mode: Option<Cow<'d, str>>,
    /// The topics.
    pub topics: Vec<Cow<'d, str>>,
}

impl<'d> Routing<'d> {
    /// The ids of all targets.
    pub fn ids(&self) -> HashSet<Cow<'d, str>> {
        self.targets
            .iter()
            .filter_map(|target| id(*target))
            .collect()
    }
}

/// A value and the pointer to it.
type Placed<'d> = (String, Value<'d>);

/// Reads both carriages and checks them.
pub(super) fn examine<'d>(
    doc: Value<'d>,
    rules: &Rules,
    findings: &mut Findings<'_>,
) -> Routing<'d> {
    let mut records = extension::payloads(doc, MULTI_AGENT);
    let record = records
        .next()
        .map(|(index, payload)| (record_pointer(index), payload));
    for (index, _) in records {
        findings.refuse(
            Code::MultiTargetCarriageConflict,
            record_pointer(index),
            "UAI 9.1 M4",
            "expected one multi-agent record, got another",
        );
    }
    let native = |name: &str| {
        let value = match name {
            "additional_targets" if findings.is_strict() => None,
            "additional_targets" => doc.get(name),
            _ => doc.get("delivery").and_then(|delivery| delivery.get(name)),
        }?;
        let folder = if name == "additional_targets" {
            ""
        } else {
            "/delivery"
        };
        Some((format!("{folder}/{name}"), value))
    };
    let carried = |name: &str| {
        let (pointer, payload) = record.as_ref()?;
        Some((format!("{pointer}/{name}"), payload.get(name)?))
    };
    let (mode, topic) = (native("mode"), native("topic"));
    let (carried_mode, carried_topic) = (carried("delivery_mode"), carried("topic"));
    let (listed, carried_list) = (native("additional_targets"), carried("additional_targets"));

    let targets = targets(doc, listed, carried_list, record.is_some(), rules, findings);
    let mode = modes(mode, carried_mode, findings);
    let topics = topics(topic, carried_topic, mode.as_deref(), findings);
    Routing {
        targets,
        mode,
        topics,
    }
}

fn record_pointer(index: usize) -> String {
    format!("/extensions/{index}/payload")
}

fn targets<'d>(
    doc: Value<'d>,
    native: Option<Placed<'d>>,
    carried: Option<Placed<'d>>,
    has_record: bool,
    rules: &Rules,
    findings: &mut Findings<'_>,
) -> Vec<Value<'d>> {
    for (pointer, list) in native.iter().chain(&carried) {
        target_list(pointer, *list, findings);
    }
    if let Some((pointer, list)) = &native
        && has_record
        && !carried
            .as_ref()
            .is_some_and(|(_, other)| is_same(*list, *other))
    {
        findings.refuse(
            Code::MultiTargetCarriageConflict,
            pointer.as_str(),
            "UAI 9.1 M4",
            "expected the same recipients here and in the multi-agent record, got others",
        );
    }
    let mut targets: Vec<Value<'d>> = doc.get("target").into_iter().collect();
    let Some((pointer, list)) = native.or(carried) else {
        source_is_apart(doc, &targets, findings);
        return targets;
    };
    let mut seen: HashSet<Cow<'_, str>> = targets.iter().filter_map(|agent| id(*agent)).collect();
    for (index, agent) in list.items().enumerate() {
        targets.push(agent);
        let Some(id) = id(agent) else { continue };
        if !seen.insert(id.clone()) {
            findings.refuse(
                Code::DuplicateTarget,
                format!("{pointer}/{index}/id"),
                "UAI 9.1 M2",
                format!("expected every recipient once, got {id:?} again"),
            );
        }
    }
    if targets.len() > rules.recipients_max {
        findings.refuse(
            Code::TooManyTargets,
            pointer,
            "UAI 9.1 M2",
            format!(
                "expected at most {} recipients, got {}",
                rules.recipients_max,
                targets.len()
            ),
        );
    }
    source_is_apart(doc, &targets, findings);
    targets
}

fn target_list(pointer: &str, list: Value<'_>, findings: &mut Findings<'_>) {
    if list.kind() != Kind::Array || list.items().next().is_none() {
        let got = if list.kind() == Kind::Array {
            "an empty one"
        } else {
            list.kind().as_str()
        };
        findings.refuse(
            Code::AdditionalTargetsMalformed,
            pointer,
            "UAI 9.1 M1",
            format!("expected an array of one or more agents, got {got}"),
        );
    }
    for (index, agent) in list.items().enumerate() {
        findings.record(&AGENT, agent, &format!("{pointer}/{index}"), "UAI 9.1 M2");
    }
}

/// A sender among its own recipients is only noted: no negotiation is visible in the envelope.
fn source_is_apart(doc: Value<'_>, targets: &[Value<'_>], findings: &mut Findings<'_>) {
    let source = doc.get("source").and_then(id);
    if source.is_some() && targets.iter().any(|target| id(*target) == source) {
        findings.warn(
            Code::SenderIsRecipient,
            "/source/id",
            "UAI 9.1 M2",
            "expected a sender that is no recipient, got one that is",
        );
    }
}

fn modes<'d>(
    native: Option<Placed<'d>>,
    carried: Option<Placed<'d>>,
    findings: &mut Findings<'_>,
) -> Option<Cow<'d, str>> {
    let (pointer, value) = native?;
    let mode = value.as_str()?;
    // The record is the strict carriage, so the modes it names are known wherever it is understood.
    let native_is_known =
        PUBLISHED.contains(&&*mode) || (!findings.is_strict() && ADDED.contains(&&*mode));
    if !native_is_known {
        unknown_mode(pointer.as_str(), value, findings);
    }
    let Some((carried_pointer, carried_value)) = carried else {
        return Some(if native_is_known {
            mode
        } else {
            "async".into()
        });
    };
    let meant = carried_value.as_str()?;
    if ADDED.contains(&&*mode) && mode != meant {
        findings.refuse(
            Code::MultiTargetCarriageConflict,
            pointer,
            "UAI 9.1 M4",
            "expected the same mode here and in the multi-agent record, got another",
        );
    }
    if !PUBLISHED.contains(&&*meant) && !ADDED.contains(&&*meant) {
        unknown_mode(carried_pointer, carried_value, findings);
        return Some("async".into());
    }
    Some(meant)
}

fn unknown_mode(pointer: impl Into<String>, value: Value<'_>, findings: &mut Findings<'_>) {
    let known = if findings.is_strict() {
        "`sync`, `async` or `event`"
    } else {
        "`sync`, `async`, `event`, `broadcast` or `pubsub`"
    };
    let detail = format!("expected {known}, got {}", got(value));
    let fault = Fault::new(Code::DeliveryModeUnknown, pointer, "UAI 9.3 Q7", detail);
    findings.doubt(fault, Code::UnknownModeAsAsync);
}

fn topics<'d>(
    native: Option<Placed<'d>>,
    carried: Option<Placed<'d>>,
    mode: Option<&str>,
    findings: &mut Findings<'_>,
) -> Vec<Cow<'d, str>> {
    if let (Some((pointer, one)), Some((_, other))) = (&native, &carried)
        && !is_same(*one, *other)
    {
        findings.refuse(
            Code::MultiTargetCarriageConflict,
            pointer.as_str(),
            "UAI 9.1 M4",
            "expected the same topic here and in the multi-agent record, got another",
        );
    }
    let Some((pointer, value)) = native.or(carried) else {
        if mode == Some("pubsub") {
            findings.refuse(
                Code::TopicMissing,
                "/delivery/topic",
                "UAI 9.3 Q2",
                "expected a topic with mode `pubsub`, got none",
            );
        }
        return Vec::new();
    };
    if !matches!(mode, Some("pubsub" | "event") | None) {
        findings.refuse(
            Code::TopicUnexpected,
            pointer.as_str(),
            "UAI 9.3 Q5",
            format!("expected a topic with `pubsub` or `event` only, got mode {mode:?}"),
        );
    }
    topic_list(&pointer, value, findings)
}

fn topic_list<'d>(
    pointer: &str,
    value: Value<'d>,
    findings: &mut Findings<'_>,
) -> Vec<Cow<'d, str>> {
    let is_list = value.kind() == Kind::Array;
    let listed: Vec<Value<'d>> = if is_list {
        value.items().collect()
    } else {
        vec![value]
    };
    let mut malformed = |pointer: String, expected: &str, got: String| {
        let detail = format!("expected {expected}, got {got}");
        findings.refuse(Code::TopicMalformed, pointer, "UAI 9.3 Q3", detail);
    };
    if !(1..=TOPICS_MAX).contains(&listed.len()) {
        malformed(pointer.into(), "1 to 16 topics", listed.len().to_string());
    }
    let mut topics: Vec<Cow<'d, str>> = Vec::new();
    for (index, item) in listed.into_iter().take(TOPICS_MAX).enumerate() {
        // Another JSON type is already refused by the table.
        let Some(topic) = item.as_str() else { continue };
        let here = if is_list {
            format!("{pointer}/{index}")
        } else {
            pointer.into()
        };
        if !grammar::is_topic(&topic) {
            malformed(
                here,
                "dotted segments of letters, digits, `_`, `-`",
                got(item),
            );
        } else if topics.contains(&topic) {
            malformed(here, "every topic once", format!("{} again", got(item)));
        }
        topics.push(topic);
    }
    topics
}

fn id(agent: Value<'_>) -> Option<Cow<'_, str>> {
    agent.get("id")?.as_str()
}

fn is_same(one: Value<'_>, other: Value<'_>) -> bool {
    one.raw() == other.raw()
        || matches!(
            (canonical::canonicalize(one, &[]), canonical::canonicalize(other, &[])),
            (Ok(a), Ok(b)) if a == b
        )
}
