//! Writes a translation in AEE: all fourteen members, and the mark.

use std::borrow::Cow;

use super::mark::{MEMBER, Mark};
use super::names::{self, name};
use super::source::Source;
use super::words::{QUERY_INTENT, REFUSED, borrowed};
use super::write::{Object, quoted};
use super::{codes, embedded};
use crate::dialect::aee::{Aee, is_query};
use crate::id::is_plain;
use crate::{Act, Fault, Party};

/// Where a message to nobody in particular goes: AEE must name somebody.
const EVERYBODY: &str = "broadcast";

pub(super) fn write(source: &Source<'_>, word: &str, mark: &Mark<'_>) -> Result<String, Fault> {
    let header = source.header;
    let (kind, special) = word.split_once(' ').unwrap_or((word, ""));
    let content = embedded(source, |_| true)?;
    let (payload, to) = payload(source, kind, special, &content.json, content.is_object);
    let hole = content.from.map(|from| (from, to.as_str()));
    let mark = mark.write(hole, None, true)?;
    let id = |text: &str| name(text, is_plain).into_owned();
    let reply_to = reply_to(source).map(|cause| quoted(&id(cause)));
    let requires = match (source.act, source.deadline()) {
        (Act::Request | Act::Query, Some(deadline)) => {
            let left = deadline
                .as_millis()
                .saturating_sub(source.at.as_millis())
                .max(0);
            format!("{{\"timeout_ms\":{left}}}")
        }
        _ => "null".into(),
    };
    Ok(Object::new()
        .text("v", "1")
        .text("id", &id(&header.id))
        .text("ts", &source.written_at)
        .text("type", kind)
        .text("from", &header.sender.to_aee())
        .text("to", &recipient(source).to_aee())
        .text("intent", &intent(source, kind, special))
        .text("corr", &id(source.conversation()))
        .raw("reply_to", reply_to.as_deref().unwrap_or("null"))
        .raw("trace", "null")
        .text("priority", header.priority.as_str())
        .raw("requires", &requires)
        .raw("payload", &payload)
        .raw("sig", "null")
        .raw(MEMBER, &mark)
        .close())
}

/// The first recipient, or the channel of the first topic.
fn recipient<'d>(source: &Source<'d>) -> Cow<'d, Party> {
    let header = source.header;
    match (header.recipients.first(), header.topics.first()) {
        (Some(party), _) => Cow::Borrowed(party),
        (None, Some(topic)) => Cow::Owned(names::bus(topic, crate::dialect::uai::is_topic)),
        (None, None) => Cow::Owned(names::bus(EVERYBODY, |_| true)),
    }
}

/// The message that this one answers or follows. Reports name their task, which in AEE is a message.
fn reply_to<'d>(source: &Source<'d>) -> Option<&'d str> {
    match source.act {
        Act::Request | Act::Query | Act::Inform | Act::Ack | Act::Reject => source.cause(),
        _ => Some(source.answered()),
    }
}

/// The sender's own intent, unless AEE would read another act in it.
fn intent<'d>(source: &Source<'d>, kind: &str, special: &'d str) -> Cow<'d, str> {
    if kind == "event" && !special.is_empty() {
        return Cow::Borrowed(special);
    }
    let is_question = matches!(source.act, Act::Query | Act::Answer);
    let says_something_else = |intent: &str| match kind {
        "event" => borrowed(intent).is_some(),
        "task" | "result" => is_query(intent) != is_question,
        _ => false,
    };
    if let Some(intent) = source.intent()
        && intent.chars().count() >= 3
        && !says_something_else(&intent)
    {
        return intent;
    }
    if is_question {
        return Cow::Borrowed(QUERY_INTENT);
    }
    Cow::Owned(source.label().replace('-', "_"))
}

/// The payload, and where in it the origin's own content is.
fn payload(
    source: &Source<'_>,
    kind: &str,
    special: &str,
    content: &str,
    is_object: bool,
) -> (String, String) {
    let message = source.message();
    if kind == "error" {
        let code = if special.is_empty() {
            let code = codes::to_aee(source.code().as_deref().unwrap_or("task_failed"));
            // A failure that borrows one of these would read as something else.
            let is_taken = code == REFUSED || Aee::reads_otherwise(&code);
            if is_taken {
                "E_TASK_FAILED".into()
            } else {
                code
            }
        } else {
            special.to_owned()
        };
        let object = Object::new()
            .text("code", &code)
            .text("message", message.as_deref().unwrap_or(source.act.as_str()))
            .flag("retryable", source.is_retryable())
            .raw("details", content);
        return (object.close(), "/payload/details".into());
    }
    if source.act == Act::Reject {
        let object = Object::new()
            .maybe("reason", message.as_deref())
            .flag("retryable", source.is_retryable())
            .raw("details", content);
        return (object.close(), "/payload/details".into());
    }
    if is_object {
        return (content.to_owned(), "/payload".into());
    }
    let object = Object::new().raw("content", content);
    (object.close(), "/payload/content".into())
}
