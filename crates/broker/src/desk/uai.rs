//! What is asked of the exchange in UAI-1: finding agents (`find_agents` and `uai.agent.discovery.v1`, UAI
//! 9.5), and offers (`negotiation`).

use super::{answer_id, negotiation, present};
use crate::{Entry, Handle};
use exchange::{AgentQuery, AgentView};
use protocol::dialect::uai::build::{Agent, Envelope, Heading};
use protocol::dialect::uai::keyless;
use protocol::task::SERVICE;
use protocol::{Party, Skill, json};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// Agents in one answer, when the question does not say, and at most (UAI 9.5 N2).
const PAGE: usize = 50;
const PAGE_MAX: usize = 200;

/// The answer to a question; none for what is no question.
pub(super) async fn answer(handle: &Handle, entry: &Entry) -> Option<String> {
    let keyed = keyed(entry)?;
    let limits = json::Limits {
        bytes_max: usize::MAX,
        ..json::Limits::default()
    };
    if &*entry.header.kind == negotiation::PROFILE {
        let (profile, body) = {
            let document = json::read(keyed.as_bytes(), limits).ok()?;
            negotiation::answer(handle, entry, document.root().get("body")?)?
        };
        return write(entry, profile, body);
    }
    let envelope: Value = serde_json::from_str(&keyed).ok()?;
    let (profile, body) = found(handle, entry, envelope.get("body")?).await?;
    let text = write(entry, profile, body.to_string())?;
    let Some(agreed) = handle.uai_agreement(&entry.header.sender).await else {
        return Some(text);
    };
    let text = match &*agreed.form {
        "keyless" => {
            let document = json::read(text.as_bytes(), limits).ok()?;
            keyless::to_keyless(document.root()).ok()?
        }
        _ => text,
    };
    if text.len() as u64 > agreed.max_bytes {
        return too_large(entry);
    }
    Some(text)
}

/// The question in its keyed form.
fn keyed(entry: &Entry) -> Option<Cow<'_, str>> {
    let text = std::str::from_utf8(&entry.envelope).ok()?;
    if !text.trim_start().starts_with('[') {
        return Some(text.into());
    }
    let limits = json::Limits {
        bytes_max: usize::MAX,
        ..json::Limits::default()
    };
    let document = json::read(text.as_bytes(), limits).ok()?;
    Some(keyless::to_keyed(document.root()).ok()?.into())
}

/// What is said when the answer is longer than one envelope may be, or than was agreed.
pub(super) fn too_large(entry: &Entry) -> Option<String> {
    let detail = "the answer is larger than one message may be; ask for a smaller page";
    let (profile, body) = error_body(entry, 413, "payload_too_large", detail);
    write(entry, profile, body)
}

/// Profile and body of an error about what was asked.
pub(super) fn error_body(
    entry: &Entry,
    status: u16,
    code: &str,
    detail: &str,
) -> (&'static str, String) {
    let body = json!({
        "status": status, "code": code, "detail": detail, "related_message_id": &*entry.header.id,
    });
    ("uai.error.v1", body.to_string())
}

/// The envelope of an answer (UAI 3.4).
fn write(entry: &Entry, profile: &str, body: String) -> Option<String> {
    let header = &entry.header;
    let conversation = header.conversation.as_deref()?;
    let heading = Heading {
        id: answer_id(entry),
        issued_at: entry.at,
        source: agent(&Party::parse(SERVICE)),
        target: agent(&header.sender),
        conversation: conversation.into(),
    };
    let answer = Envelope::new(profile, body, heading)
        .correlation(header.correlation.as_deref().unwrap_or(conversation))
        .reply_to(&header.id);
    answer.write().ok()
}

/// Profile and body of what the directory has to say.
async fn found(handle: &Handle, entry: &Entry, body: &Value) -> Option<(&'static str, Value)> {
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    match &*entry.header.kind {
        "uai.intent.request.v1" => {
            let parameters = body.get("parameters").and_then(Value::as_object);
            let body = match text("intent") {
                Some("find_agents") => {
                    let found = find(handle, parameters, parameters).await?;
                    json!({ "status": "completed", "request_message_id": &*entry.header.id, "result": found })
                }
                other => json!({
                    "status": "rejected", "request_message_id": &*entry.header.id,
                    "notices": [format!("expected the intent find_agents, got {:?}", other.unwrap_or_default())],
                }),
            };
            Some(("uai.intent.response.v1", body))
        }
        "uai.agent.discovery.v1" if text("operation") == Some("query") => {
            let query = body.get("query").and_then(Value::as_object);
            let mut found = find(handle, query, body.as_object()).await?;
            let object = found.as_object_mut()?;
            let next = object.remove("next_cursor");
            if let Some(next) = next.filter(|next| !next.is_null()) {
                object.insert("cursor".into(), next);
            }
            object.insert("operation".into(), "result".into());
            Some(("uai.agent.discovery.v1", found))
        }
        _ => None,
    }
}

/// `{"agents":[...],"next_cursor"}`: more matched skills first, then by name. `paging` has `limit` and
/// `cursor`.
async fn find(
    handle: &Handle,
    wanted: Option<&Map<String, Value>>,
    paging: Option<&Map<String, Value>>,
) -> Option<Value> {
    let paging = |name: &str| paging.and_then(|paging| paging.get(name));
    let limit = paging("limit").and_then(Value::as_u64);
    let limit = limit.and_then(|limit| usize::try_from(limit).ok());
    let limit = limit.unwrap_or(PAGE).clamp(1, PAGE_MAX);
    let from = paging("cursor").and_then(Value::as_str);
    let from: usize = from.and_then(|text| text.parse().ok()).unwrap_or_default();
    let query = read_query(wanted);
    let skills = query.skills.clone();
    let mut found: Vec<(Vec<String>, AgentView)> = present(handle, query)
        .await
        .ok()?
        .into_iter()
        .map(|agent| (matched(&agent, &skills), agent))
        .collect();
    // The names are in order already.
    found.sort_by_key(|(matched, _)| std::cmp::Reverse(matched.len()));
    let next = from.saturating_add(limit);
    let has_more = found.len() > next;
    let page = found.into_iter().skip(from).take(limit);
    let agents: Vec<Value> = page
        .map(|(matched, agent)| {
            let names = agent.cards.iter().map(|(_, card)| &*card.name);
            let name = names.into_iter().find(|name| !name.is_empty());
            json!({
                "agent_id": agent.party.name(),
                "type": agent.party.kind().unwrap_or("agent"),
                "label": name.unwrap_or(agent.party.name()),
                "matched_skills": matched,
                "presence": agent.presence.as_str(),
                "card_uri": format!("/v1/agents/{}/agent-card.json", agent.party),
            })
        })
        .collect();
    let next_cursor = has_more.then(|| next.to_string());
    Some(json!({ "agents": agents, "next_cursor": next_cursor }))
}

/// The skills of an agent that were asked for; all when none were.
fn matched(agent: &AgentView, skills: &[Box<str>]) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for (_, card) in &agent.cards {
        let is_asked = |skill: &&Skill| {
            skills.is_empty()
                || skills
                    .iter()
                    .any(|word| card.skills_like(word).any(|found| found.id == skill.id))
        };
        ids.extend(
            card.skills
                .iter()
                .filter(is_asked)
                .map(|skill| skill.id.to_string()),
        );
    }
    ids.sort();
    ids.dedup();
    ids
}

/// The known fields; any other must match a tag (UAI 9.5 N1).
fn read_query(wanted: Option<&Map<String, Value>>) -> AgentQuery {
    let mut query = AgentQuery::default();
    for (name, value) in wanted.into_iter().flatten() {
        let words: Vec<Box<str>> = match value {
            Value::Array(items) => items
                .iter()
                .filter_map(Value::as_str)
                .map(Into::into)
                .collect(),
            Value::String(text) => vec![text.as_str().into()],
            other => vec![other.to_string().into()],
        };
        match name.as_str() {
            "skill" | "skills" => query.skills.extend(words),
            "location" => query.locations.extend(words),
            "profile" | "profiles" => query.profiles.extend(words),
            "feature" | "features" => query.features.extend(words),
            "intent" | "intents" => query.intents.extend(words),
            "type" => query.kinds.extend(words),
            "limit" | "cursor" => {}
            _ => query.tags.extend(words),
        }
    }
    query
}

fn agent(party: &Party) -> Agent {
    Agent::new(party.kind().unwrap_or("agent"), party.name())
}
