//! AEE: `human.adam -> agent.router -> agent.scanner -> service.cve_db`, and back.
//!
//! Whoever must wait for several answers reads the conversation from the exchange instead of
//! remembering it: the journal is the memory that survives.

use super::{Message, Role, Step, conversation};
use crate::demo::reply::mark;
use crate::failure::Failure;
use client::Client;
use protocol::dialect::aee::Aee;
use protocol::{Priority, Timestamp};
use serde_json::json;

const INTENT: &str = "quox.security.scan";

/// What is looked up: one is known, one is not.
const PACKAGES: [&str; 2] = ["openssl 3.0.2", "webapp-internal 0.4"];

/// Adam's task.
pub fn opening(conversation: &str, now: Timestamp) -> String {
    let mark = mark(Role::Adam, "task", conversation, now, 0);
    Aee::task("human.adam", "agent.router", INTENT)
        .corr(conversation)
        .priority(Priority::High)
        .requires("{\"timeout_ms\":30000,\"evidence\":true}")
        .payload_json("{\"target\":\"nw-web-01\",\"scan_type\":\"vulnerability\"}")
        .build(&mark.ulid, mark.at)
}

/// What each role answers.
pub async fn answer(role: Role, message: &Message, client: &Client) -> Result<Vec<Step>, Failure> {
    let header = &message.header;
    match (role, &*header.kind) {
        (Role::Router, "task") => Ok(vec![pass_on(message)]),
        (Role::Router, "stream" | "result") => pass_back(message, client).await,
        (Role::Scanner, "task") => Ok(scan(message)),
        (Role::Scanner, "result" | "error") => conclude(message, client).await,
        (Role::CveDb, "task") => Ok(vec![look_up(message)]),
        _ => Ok(Vec::new()),
    }
}

fn pass_on(task: &Message) -> Step {
    let id = &task.header.id;
    let mark = mark(Role::Router, "task", id, task.at(), 10);
    let envelope = Aee::task("agent.router", "agent.scanner", INTENT)
        .corr(corr(task))
        .reply_to(id)
        .priority(task.header.priority)
        .payload_json(
            &task
                .json
                .get("payload")
                .map_or_else(|| "{}".into(), ToString::to_string),
        )
        .build(&mark.ulid, mark.at);
    Step {
        work_ms: 100,
        envelope,
    }
}

/// The scanner's stream and result, passed back to whom the task came from.
async fn pass_back(reply: &Message, client: &Client) -> Result<Vec<Step>, Failure> {
    let messages = conversation(client, corr(reply)).await?;
    let by_id = |id: Option<&str>| messages.iter().find(|one| Some(&*one.header.id) == id);
    let delegated = by_id(reply.header.cause.as_deref());
    let Some(origin) = delegated.and_then(|task| by_id(task.header.cause.as_deref())) else {
        return Ok(Vec::new());
    };
    let kind = &*reply.header.kind;
    let mark = mark(Role::Router, kind, &reply.header.id, reply.at(), 10);
    let builder = match kind {
        "stream" => Aee::stream_of(&origin.header),
        _ => Aee::result_of(&origin.header),
    };
    let payload = reply
        .json
        .get("payload")
        .map_or_else(|| "{}".into(), ToString::to_string);
    let envelope = builder.payload_json(&payload).build(&mark.ulid, mark.at);
    Ok(vec![Step {
        work_ms: 50,
        envelope,
    }])
}

/// Two look-ups and a word about the progress.
fn scan(task: &Message) -> Vec<Step> {
    let id = &task.header.id;
    let mut steps = Vec::new();
    for (at, package) in PACKAGES.iter().enumerate() {
        let offset = 20 + i64::try_from(at).unwrap_or_default();
        let mark = mark(Role::Scanner, package, id, task.at(), offset);
        let envelope = Aee::task("agent.scanner", "service.cve_db", INTENT)
            .corr(corr(task))
            .reply_to(id)
            .priority(task.header.priority)
            .payload_json(&json!({ "package": package }).to_string())
            .build(&mark.ulid, mark.at);
        steps.push(Step {
            work_ms: 150,
            envelope,
        });
    }
    let mark = mark(Role::Scanner, "stream", id, task.at(), 30);
    let envelope = Aee::stream_of(&task.header)
        .payload_json(&json!({ "progress": 0.5, "message": "2 packages found" }).to_string())
        .build(&mark.ulid, mark.at);
    steps.push(Step {
        work_ms: 50,
        envelope,
    });
    steps
}

fn look_up(task: &Message) -> Step {
    let id = &task.header.id;
    let package = task.text("/payload/package");
    let mark = mark(Role::CveDb, "answer", id, task.at(), 40);
    let builder = if PACKAGES.first() == Some(&package) {
        Aee::result_of(&task.header)
            .payload_json(&json!({ "package": package, "cves": ["CVE-2022-3602"] }).to_string())
    } else {
        Aee::error_of(
            &task.header,
            "E_NOT_FOUND",
            &format!("no record of {package}"),
        )
    };
    Step {
        work_ms: 150,
        envelope: builder.build(&mark.ulid, mark.at),
    }
}

/// The scan's result, once every look-up is answered, whoever asks and however often.
async fn conclude(reply: &Message, client: &Client) -> Result<Vec<Step>, Failure> {
    let messages = conversation(client, corr(reply)).await?;
    let caused_by = |id: &str, kinds: &[&str]| {
        let is_it = |one: &&Message| {
            one.header.cause.as_deref() == Some(id) && kinds.contains(&&*one.header.kind)
        };
        messages.iter().filter(is_it).collect::<Vec<_>>()
    };
    let Some(task) = messages.iter().find(|one| {
        &*one.header.kind == "task" && one.header.sender.as_str() == Role::Router.party()
    }) else {
        return Ok(Vec::new());
    };
    let mut findings = Vec::new();
    for look_up in caused_by(&task.header.id, &["task"]) {
        let package = look_up.text("/payload/package");
        match caused_by(&look_up.header.id, &["result", "error"]).first() {
            Some(answer) if &*answer.header.kind == "result" => {
                findings.push(
                    json!({ "package": package, "cves": answer.json.pointer("/payload/cves") }),
                );
            }
            Some(answer) => {
                findings.push(json!({ "package": package, "error": answer.text("/payload/code") }));
            }
            None => return Ok(Vec::new()),
        }
    }
    if findings.len() < PACKAGES.len() {
        return Ok(Vec::new());
    }
    let mark = mark(Role::Scanner, "result", &task.header.id, task.at(), 60);
    let payload = json!({ "target": task.text("/payload/target"), "findings": findings });
    let envelope = Aee::result_of(&task.header)
        .payload_json(&payload.to_string())
        .build(&mark.ulid, mark.at);
    Ok(vec![Step {
        work_ms: 100,
        envelope,
    }])
}

fn corr(message: &Message) -> &str {
    message.header.conversation.as_deref().unwrap_or_default()
}
