//! Writes a translation in AEP, with types of the registry only.

use super::mark::{MEMBER, Mark};
use super::names::name;
use super::source::Source;
use super::write::Object;
use super::{codes, embedded};
use crate::dialect::aep::Aep;
use crate::{Act, Fault, Priority};

pub(super) fn write(source: &Source<'_>, word: &str, mark: &Mark<'_>) -> Result<String, Fault> {
    let header = source.header;
    let content = embedded(source, |_| true)?;
    let (payload, place) = payload(source, &content.json);
    let to = format!("/payload/{place}");
    let hole = content.from.map(|from| (from, to.as_str()));
    let mark = mark.write(hole, None, true)?;
    let id = |text: &str| name(text, is_anything).into_owned();
    let mut event = Aep::event(word, header.sender.as_str());
    if let Some(party) = header.recipients.first() {
        event = event.target(party.as_str());
    } else if source.act == Act::Query {
        // A question must be put to somebody (AEP 2.12).
        let bus = header.topics.first().map_or("broadcast", AsRef::as_ref);
        event = event.target(&format!("bus:{bus}"));
    }
    if let Some(topic) = header.topics.first() {
        event = event.topic(&id(topic));
    }
    if let Some(conversation) = &header.conversation {
        event = event.conversation(&id(conversation));
    }
    if is_about_work(source.act) {
        event = event.task(&id(task(source)));
    } else if let Some(task) = &header.task {
        event = event.task(&id(task));
    }
    match &header.correlation {
        Some(correlation) => event = event.correlation(&id(correlation)),
        None if matches!(source.act, Act::Query | Act::Answer) => {
            event = event.correlation(&id(source.conversation()));
        }
        None => {}
    }
    if let Some(cause) = source.cause() {
        event = event.cause(&id(cause));
    }
    if let Some(deadline) = source.deadline() {
        event = event.expires_at(deadline);
    }
    Ok(event
        .member_json(MEMBER, &mark)
        .payload_json(&payload)
        .build(&id(&header.id), source.at))
}

fn is_anything(text: &str) -> bool {
    !text.is_empty()
}

fn is_about_work(act: Act) -> bool {
    !matches!(
        act,
        Act::Inform | Act::Query | Act::Answer | Act::Ack | Act::Reject
    )
}

/// The task. A question of AEE or UAI-1 is one, named by its own id.
fn task<'d>(source: &Source<'d>) -> &'d str {
    match (source.act, &source.header.task) {
        (_, Some(task)) => task,
        (Act::Request, None) => &source.header.id,
        (_, None) => source.task(),
    }
}

fn state(act: Act) -> &'static str {
    match act {
        Act::Accept => "accepted",
        Act::Start => "started",
        Act::Progress => "progress",
        Act::Output => "output",
        Act::Block => "blocked",
        Act::Complete => "completed",
        Act::Cancel => "cancelled",
        Act::TimeOut => "timed_out",
        _ => "failed",
    }
}

/// The payload, and the member in it that holds the origin's own content.
fn payload(source: &Source<'_>, content: &str) -> (String, &'static str) {
    let header = source.header;
    let id = |text: &str| name(text, is_anything).into_owned();
    let message = source.message();
    let intent = source.intent();
    let object = Object::new();
    let of_task = || Object::new().text("task_id", &id(task(source)));
    let error = |default: &str| {
        let code = source
            .code()
            .map_or_else(|| default.to_owned(), |code| codes::to_aep(&code));
        Object::new()
            .text("code", &code)
            .text("message", message.as_deref().unwrap_or(source.act.as_str()))
            .flag("retryable", source.is_retryable())
            .close()
    };
    match source.act {
        Act::Request => {
            let subject = source.subject();
            let words = subject
                .as_deref()
                .or(intent.as_deref())
                .unwrap_or(source.label());
            let mut object = of_task().text("description", words);
            if let Some(intent) = &intent {
                object = object.text("intent", intent);
            }
            object = object.text(
                "priority",
                match header.priority {
                    Priority::Urgent => "critical",
                    other => other.as_str(),
                },
            );
            if let Some(deadline) = source.deadline() {
                let left = deadline
                    .as_millis()
                    .saturating_sub(source.at.as_millis())
                    .max(0);
                object = object.raw("timeout_ms", &left.to_string());
            }
            (object.raw("input", content).close(), "input")
        }
        Act::Accept | Act::Start | Act::Progress | Act::Block | Act::Cancel => {
            let mut object = of_task().text("state", state(source.act));
            object = match source.act {
                Act::Block | Act::Cancel => object.maybe("reason", message.as_deref()),
                _ => object.maybe("message", message.as_deref()),
            };
            if source.act == Act::Progress
                && let Some(progress) = source.progress()
            {
                object = object.raw("progress", &progress.to_string());
            }
            (object.raw("details", content).close(), "details")
        }
        Act::Output | Act::Complete => {
            let object = of_task().text("state", state(source.act));
            (object.raw("result", content).close(), "result")
        }
        Act::Refuse | Act::Fail => {
            let object = of_task()
                .text("state", "failed")
                .raw("error", &error("task_error"));
            (object.raw("details", content).close(), "details")
        }
        Act::TimeOut => {
            let object = of_task()
                .text("state", "timed_out")
                .raw("error", &error("task_timeout"));
            (object.raw("details", content).close(), "details")
        }
        Act::CancelRequest => {
            let object = of_task().maybe("reason", message.as_deref());
            (object.raw("details", content).close(), "details")
        }
        Act::Ack | Act::Reject => {
            let mut object = object.text(
                "acknowledged_event_id",
                &id(source.cause().unwrap_or(&header.id)),
            );
            if source.act == Act::Reject {
                object = object.raw("error", &error("task_error"));
            }
            (object.raw("details", content).close(), "details")
        }
        Act::Query | Act::Answer => {
            let scope = intent.as_deref().filter(|intent| !intent.is_empty());
            let object = object.text("query_scope", scope.unwrap_or(source.label()));
            (object.raw("content", content).close(), "content")
        }
        Act::Inform | Act::Propose | Act::Resume | Act::Control => {
            let object = object.text("intent", intent.as_deref().unwrap_or(source.label()));
            (object.raw("content", content).close(), "content")
        }
    }
}
