//! What the exchange itself says about tasks, each in the dialect of the request.
//!
//! Ids follow from the task, and times from what is spoken of, so the same word spoken again has the
//! same bytes.

use super::kept::Task;
use super::step::CANCEL_INTENT;
use crate::dialect::aee::Aee;
use crate::dialect::aep::{Aep, EventBuilder};
use crate::dialect::uai::build::{Agent, Heading, Message, TaskStatus};
use crate::json::push_string;
use crate::{DialectName, Header, Party, Timestamp, digest};

/// The party that the exchange speaks as.
pub const SERVICE: &str = "service:interwire";

/// The id of the word `kind` about a task.
fn id_of(kind: &str, task: &Task) -> String {
    let text = format!(
        "{kind}\n{}\n{}\n{}",
        task.requester,
        task.request_id(),
        task.id
    );
    id_from(kind, &text)
}

fn id_from(kind: &str, text: &str) -> String {
    let hash = digest(text.as_bytes()).to_hex();
    format!("interwire-{kind}-{}", hash.get(..32).unwrap_or_default())
}

/// AEP `task.timed_out`, AEE `error` with `E_TIMEOUT`, UAI-1 task status `expired`; with its id.
pub(super) fn timed_out(task: &Task, moment: Timestamp) -> (String, Option<String>) {
    let id = id_of("timeout", task);
    let message = "the task did not end in its time";
    let text = match task.dialect {
        DialectName::Aee => aee_error(task, &id, moment, "E_TIMEOUT", message, true),
        DialectName::Aep => {
            let cause = task.request_id();
            aep(task, "task.timed_out", Some(cause))
                .payload_json(&aep_payload(
                    task,
                    "timed_out",
                    Some(("task_timeout", message, true)),
                    None,
                ))
                .build(&id, moment)
        }
        DialectName::Uai => {
            let status = TaskStatus::expired(&task.id, 0, message);
            return (id.clone(), uai(task, &status, &id, moment));
        }
    };
    (id, Some(text))
}

/// AEP `task.cancelled`, AEE `error` with `E_CANCELLED`, UAI-1 task status `cancelled`: of a task whose
/// parent ended by the event `cause`.
pub(super) fn cancelled(task: &Task, cause: &str, moment: Timestamp) -> Option<String> {
    let id = id_of("cancelled", task);
    let message = "cancelled with its parent";
    match task.dialect {
        DialectName::Aee => Some(aee_error(task, &id, moment, "E_CANCELLED", message, false)),
        DialectName::Aep => Some(
            aep(task, "task.cancelled", Some(cause))
                .payload_json(&aep_payload(task, "cancelled", None, Some(message)))
                .build(&id, moment),
        ),
        DialectName::Uai => {
            let status = TaskStatus::cancelled(&task.id, 0, message);
            uai(task, &status, &id, moment)
        }
    }
}

/// A request to cancel the task `id` that `request` opened, from `from` to those who work on it; with
/// its id. `None` when nobody does, for a dialect that must address somebody.
#[must_use]
pub fn cancel_request(
    id: &str,
    request: &Header,
    workers: &[Party],
    from: &Party,
    reason: Option<&str>,
    now: Timestamp,
) -> Option<String> {
    let text = format!(
        "{from}\n{}\n{}\n{id}\n{}\n{}",
        request.sender,
        request.id,
        now.as_millis(),
        reason.unwrap_or_default()
    );
    let own = id_from("cancel", &text);
    let first = workers.first();
    let conversation = request.conversation.as_deref();
    match request.dialect {
        DialectName::Aee => {
            let mut payload = String::from("{\"reason\":");
            push_text(&mut payload, reason);
            payload.push('}');
            let mut event = Aee::event(&from.to_aee(), &first?.to_aee(), CANCEL_INTENT)
                .reply_to(&request.id)
                .priority(request.priority)
                .payload_json(&payload);
            if let Some(corr) = conversation {
                event = event.corr(corr);
            }
            Some(event.build(&own, now))
        }
        DialectName::Aep => {
            let mut payload = String::from("{\"task_id\":");
            push_string(&mut payload, id);
            payload.push_str(",\"reason\":");
            push_text(&mut payload, reason);
            payload.push('}');
            let mut event = Aep::event(CANCEL_INTENT, from.as_str());
            if let Some(worker) = first {
                event = event.target(worker.as_str());
            }
            let event = scoped(
                event,
                request.topics.first().map(AsRef::as_ref),
                request.session.as_deref(),
                conversation,
                request.correlation.as_deref(),
            );
            let event = event.task(id).cause(&request.id).payload_json(&payload);
            Some(event.build(&own, now))
        }
        DialectName::Uai => {
            let content = match reason {
                Some(reason) => format!("Cancel task {id}: {reason}"),
                None => format!("Cancel task {id}."),
            };
            let mut message = Message::new("notification", &content);
            message.intent = Some(CANCEL_INTENT.into());
            let (target, others) = workers.split_first()?;
            let heading = heading(&own, now, from, target, conversation?);
            let mut envelope = message.envelope(heading).reply_to(&request.id).task_ref(id);
            for other in others {
                envelope = envelope.also_to(agent(other));
            }
            if let Some(correlation) = &request.correlation {
                envelope = envelope.correlation(correlation);
            }
            envelope.write().ok()
        }
    }
}

fn push_text(out: &mut String, text: Option<&str>) {
    match text {
        Some(text) => push_string(out, text),
        None => out.push_str("null"),
    }
}

fn aee_error(
    task: &Task,
    id: &str,
    moment: Timestamp,
    code: &str,
    message: &str,
    is_retryable: bool,
) -> String {
    let context = task.context.as_deref();
    let intent = context.and_then(|context| context.intent.as_deref());
    let mut payload = String::from("{\"code\":");
    push_string(&mut payload, code);
    payload.push_str(",\"message\":");
    push_string(&mut payload, message);
    payload.push_str(if is_retryable {
        ",\"retryable\":true}"
    } else {
        ",\"retryable\":false}"
    });
    let mut error = Aee::error(
        &Party::parse(SERVICE).to_aee(),
        &task.requester.to_aee(),
        intent.unwrap_or_default(),
    )
    .reply_to(task.request_id())
    .payload_json(&payload);
    if let Some(conversation) = &task.conversation {
        error = error.corr(conversation);
    }
    if let Some(context) = context {
        error = error.priority(context.priority);
    }
    error.build(id, moment)
}

fn aep(task: &Task, kind: &str, cause: Option<&str>) -> EventBuilder {
    let context = task.context.as_deref();
    let event = Aep::event(kind, SERVICE).target(task.requester.as_str());
    let mut event = scoped(
        event,
        context.and_then(|context| context.topic.as_deref()),
        context.and_then(|context| context.session.as_deref()),
        task.conversation.as_deref(),
        context.and_then(|context| context.correlation.as_deref()),
    )
    .task(&task.id);
    if let Some(parent) = &task.parent {
        event = event.parent_task(parent);
    }
    match cause {
        Some(cause) => event.cause(cause),
        None => event,
    }
}

/// The scopes of a request. A conversation that only stood for the correlation is not written.
fn scoped(
    mut event: EventBuilder,
    topic: Option<&str>,
    session: Option<&str>,
    conversation: Option<&str>,
    correlation: Option<&str>,
) -> EventBuilder {
    if let Some(topic) = topic {
        event = event.topic(topic);
    }
    if let Some(session) = session {
        event = event.session(session);
    }
    if let Some(conversation) = conversation.filter(|id| Some(*id) != correlation) {
        event = event.conversation(conversation);
    }
    if let Some(correlation) = correlation {
        event = event.correlation(correlation);
    }
    event
}

fn aep_payload(
    task: &Task,
    state: &str,
    error: Option<(&str, &str, bool)>,
    reason: Option<&str>,
) -> String {
    let mut out = String::from("{\"task_id\":");
    push_string(&mut out, &task.id);
    out.push_str(",\"state\":");
    push_string(&mut out, state);
    if let Some((code, message, is_retryable)) = error {
        out.push_str(",\"error\":{\"code\":");
        push_string(&mut out, code);
        out.push_str(",\"message\":");
        push_string(&mut out, message);
        out.push_str(if is_retryable {
            ",\"retryable\":true}"
        } else {
            ",\"retryable\":false}"
        });
    }
    if let Some(reason) = reason {
        out.push_str(",\"reason\":");
        push_string(&mut out, reason);
    }
    out.push('}');
    out
}

fn uai(task: &Task, status: &TaskStatus, id: &str, moment: Timestamp) -> Option<String> {
    let context = task.context.as_deref();
    let from = Party::parse(SERVICE);
    let conversation = task.conversation.as_deref()?;
    let heading = heading(id, moment, &from, &task.requester, conversation);
    let mut envelope = status.envelope(heading).reply_to(task.request_id());
    if let Some(correlation) = context.and_then(|context| context.correlation.as_deref()) {
        envelope = envelope.correlation(correlation);
    }
    envelope.write().ok()
}

fn heading(id: &str, at: Timestamp, from: &Party, to: &Party, conversation: &str) -> Heading {
    Heading {
        id: id.into(),
        issued_at: at,
        source: agent(from),
        target: agent(to),
        conversation: conversation.into(),
    }
}

/// A party in two parts; one without a kind is taken for an agent.
fn agent(party: &Party) -> Agent {
    let (kind, id) = party
        .as_str()
        .split_once(':')
        .unwrap_or(("agent", party.as_str()));
    Agent::new(kind, id)
}
