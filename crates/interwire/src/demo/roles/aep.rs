//! AEP: an asynchronous tool call, a fact that is remembered, context that grows stale.

use super::{Message, Role, Step};
use crate::demo::reply::mark;
use protocol::Timestamp;
use protocol::dialect::aep::{Aep, EventBuilder};
use serde_json::json;

/// The researcher's tool call.
pub fn opening(conversation: &str, now: Timestamp) -> String {
    let mark = mark(Role::Researcher, "call", conversation, now, 0);
    Aep::event("tool.call.requested", Role::Researcher.party())
        .target(Role::Crawler.party())
        .conversation(conversation)
        .payload_json(
            &json!({ "tool": "crawl", "arguments": { "url": "https://example.org/" } }).to_string(),
        )
        .build(&format!("evt_{}", mark.ulid), mark.at)
}

/// What each role answers.
pub fn answer(role: Role, message: &Message) -> Vec<Step> {
    let id = &*message.header.id;
    match (role, &*message.header.kind) {
        (Role::Crawler, "tool.call.requested") => {
            let call = |kind, payload: serde_json::Value| (kind, payload);
            let calls = [
                call("tool.call.accepted", json!({})),
                call(
                    "tool.call.progress",
                    json!({ "progress": 0.5, "message": "1 of 2 pages" }),
                ),
                call(
                    "tool.call.output",
                    json!({ "output": { "title": "Example Domain" } }),
                ),
                call("tool.call.completed", json!({ "result": "2 pages read" })),
            ];
            let mut steps = Vec::new();
            for (at, (kind, payload)) in calls.iter().enumerate() {
                let offset = 10 * (1 + i64::try_from(at).unwrap_or_default());
                let event = Aep::event(kind, role.party()).target(Role::Researcher.party());
                steps.push(step(
                    event.payload_json(&payload.to_string()),
                    role,
                    kind,
                    message,
                    offset,
                    150,
                ));
            }
            steps
        }
        (Role::Memory, "tool.call.output") => {
            let value = message.text("/payload/output/title");
            let payload = json!({ "fact_id": format!("fact_{id}"), "value": value, "source": "tool:crawler" });
            let event =
                Aep::event("memory.fact.added", role.party()).payload_json(&payload.to_string());
            vec![step(event, role, "fact", message, 5, 50)]
        }
        (Role::Researcher, "memory.fact.added") => {
            let event = Aep::event("event.acknowledged", role.party())
                .target(Role::Memory.party())
                .payload_json(&json!({ "acknowledged_event_id": id }).to_string());
            vec![step(event, role, "ack", message, 5, 20)]
        }
        (Role::Context, "memory.fact.added") => {
            let payload =
                json!({ "context_key": "page:example.org", "reason": "a newer fact is known" });
            let event = Aep::event("context.invalidated", role.party())
                .target(Role::Researcher.party())
                .payload_json(&payload.to_string());
            vec![step(event, role, "stale", message, 10, 50)]
        }
        (Role::Researcher, "context.invalidated") => {
            let payload =
                json!({ "context_key": message.text("/payload/context_key"), "format": "json" });
            let event = Aep::event("context.snapshot.requested", role.party())
                .target(Role::Context.party())
                .payload_json(&payload.to_string());
            vec![step(event, role, "refresh", message, 5, 50)]
        }
        (Role::Context, "context.snapshot.requested") => {
            let payload = json!({
                "snapshot_id": format!("snap_{id}"),
                "context_key": message.text("/payload/context_key"),
                "format": "json",
                "data": { "title": "Example Domain" },
            });
            let event = Aep::event("context.snapshot.ready", role.party())
                .target(Role::Researcher.party())
                .payload_json(&payload.to_string());
            vec![step(event, role, "snapshot", message, 5, 100)]
        }
        _ => Vec::new(),
    }
}

/// An event in the conversation of the message that caused it.
fn step(
    event: EventBuilder,
    role: Role,
    name: &str,
    cause: &Message,
    offset_ms: i64,
    work_ms: u64,
) -> Step {
    let mark = mark(role, name, &cause.header.id, cause.at(), offset_ms);
    let conversation = cause.header.conversation.as_deref().unwrap_or_default();
    let event = event.conversation(conversation).cause(&cause.header.id);
    Step {
        work_ms,
        envelope: event.build(&format!("evt_{}", mark.ulid), mark.at),
    }
}
