//! The seven intents of the protocol (AEE 4.3), asked of the exchange.

use super::{answer_id, present};
use crate::{Entry, Handle};
use exchange::AgentQuery;
use protocol::dialect::aee::Aee;
use protocol::json::{Limits, push_string, read};
use protocol::task::SERVICE;
use protocol::{Code, Party, Rejection, canonical};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Why a question gets an error (AEE 7.2).
struct Failed {
    code: &'static str,
    message: String,
}

/// The payload of a result, as JSON text.
type Answered = Result<String, Failed>;

pub(super) async fn answer(handle: &Handle, entry: &Entry) -> String {
    let payload = payload_of(entry);
    let intent = entry.header.intent.as_deref().unwrap_or_default();
    let schemas = &handle.settings().schemas;
    let faults = schemas.check(intent, "task", &payload, "/payload");
    let answered = match faults.as_deref() {
        Some([fault, ..]) => Err(Failed {
            code: "E_PAYLOAD",
            message: format!("{}: {}", fault.pointer, fault.detail),
        }),
        Some([]) | None => ask(handle, entry, intent, &payload).await,
    };
    match answered {
        Ok(result) => {
            let result_of = Aee::result_of(&entry.header).from(&own_name());
            result_of
                .payload_json(&result)
                .build(&answer_id(entry), entry.at)
        }
        Err(failed) => error(entry, failed.code, &failed.message),
    }
}

pub(super) fn too_large(entry: &Entry) -> String {
    error(
        entry,
        "E_TOO_LARGE",
        "the answer is larger than one envelope may be",
    )
}

fn error(entry: &Entry, code: &str, message: &str) -> String {
    Aee::error_of(&entry.header, code, message)
        .from(&own_name())
        .build(&answer_id(entry), entry.at)
}

async fn ask(handle: &Handle, entry: &Entry, intent: &str, payload: &Value) -> Answered {
    let text = |name: &str| payload.get(name).and_then(Value::as_str);
    match intent {
        "aee.status.ping" => Ok(json!({ "pong": true, "ts": entry.at.to_string() }).to_string()),
        "aee.status.health" => health(handle).await,
        "aee.spec.query" => Ok(json!({ "aee_version": "1", "extensions": [] }).to_string()),
        "aee.capability.list" => capabilities(handle, text("namespace_filter")).await,
        "aee.context.fetch" => fetch(handle, payload).await,
        "aee.context.refute" => {
            let id = text("id").unwrap_or_default();
            let found = find(handle, id, None).await?;
            Ok(json!({ "acknowledged": found.is_some() }).to_string())
        }
        "aee.validate.payload" => Ok(validate(handle, payload).to_string()),
        other => Err(Failed {
            code: "E_UNKNOWN_INTENT",
            message: format!("expected one of the aee.* intents, got {other:?}"),
        }),
    }
}

async fn health(handle: &Handle) -> Answered {
    let (counts, _) = handle.counts().await.map_err(unavailable)?;
    let status = match handle.readiness() {
        Ok(()) => "healthy",
        Err(_) => "degraded",
    };
    Ok(json!({
        "status": status,
        "details": {
            "inboxes": counts.inboxes, "subscriptions": counts.subscriptions,
            "waiting": counts.waiting, "dead": counts.dead,
            "tasks_open": counts.tasks_open, "agents": counts.agents,
        },
    })
    .to_string())
}

/// Intents that can be had through this exchange: its own, and those of agents that are there.
async fn capabilities(handle: &Handle, prefix: Option<&str>) -> Answered {
    let prefix = prefix.unwrap_or_default();
    let own = handle.settings().schemas.intents();
    let own = own.filter(|intent| intent.starts_with("aee."));
    let mut intents: BTreeSet<String> = own.map(Into::into).collect();
    let mut agents: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let listed = present(handle, AgentQuery::default()).await;
    for agent in listed.map_err(unavailable)? {
        for intent in agent.cards.iter().flat_map(|(_, card)| &card.intents) {
            intents.insert(intent.to_string());
            let takers = agents.entry(intent.to_string()).or_default();
            takers.insert(agent.party.to_aee());
        }
    }
    intents.retain(|intent| intent.starts_with(prefix));
    agents.retain(|intent, _| intent.starts_with(prefix));
    Ok(json!({ "intents": intents, "agents": agents }).to_string())
}

/// What a reference stands for (AEE 5.1): by id, and by what else it says.
async fn fetch(handle: &Handle, payload: &Value) -> Answered {
    let text = |name: &str| payload.get(name).and_then(Value::as_str);
    let id = text("id").unwrap_or_default();
    let located = text("locator").and_then(|locator| locator.strip_prefix("store://envelopes/"));
    let absent = r#"{"found":false}"#.to_owned();
    if located.is_some_and(|located| located != id) {
        return Ok(absent);
    }
    let Some(found) = find(handle, id, text("corr")).await? else {
        return Ok(absent);
    };
    let hash = hash_of(&found);
    if let (Some(asked), Some(hash)) = (text("hash"), &hash)
        && asked != hash
    {
        return Err(Failed {
            code: "E_HASH_MISMATCH",
            message: format!("expected an envelope with the hash {asked}, got {hash}"),
        });
    }
    let mut out = String::from("{\"found\":true");
    // The bytes as they were sent. A UAI-1 envelope in its keyless form is no object, and is left out.
    if let Ok(text) = std::str::from_utf8(&found.envelope)
        && text.trim_start().starts_with('{')
    {
        out.push_str(",\"envelope\":");
        out.push_str(text);
    }
    if let Some(hash) = hash {
        out.push_str(",\"hash\":");
        push_string(&mut out, &hash);
    }
    out.push('}');
    Ok(out)
}

/// The message of that id, and of that conversation when one is named.
async fn find(
    handle: &Handle,
    id: &str,
    corr: Option<&str>,
) -> Result<Option<std::sync::Arc<Entry>>, Failed> {
    let found = handle.all_of_id(id).await.map_err(unavailable)?;
    let mut fitting = found
        .into_iter()
        .filter(|entry| corr.is_none() || entry.header.conversation.as_deref() == corr);
    match (fitting.next(), fitting.next()) {
        (first, None) => Ok(first),
        (_, Some(_)) => Err(Failed {
            code: "E_ID_CONFLICT",
            message: format!("several senders used the id {id:?}; name the corr"),
        }),
    }
}

fn hash_of(entry: &Entry) -> Option<String> {
    let document = read(&entry.envelope, Limits::default()).ok()?;
    let hash = canonical::canonical_hash(document.root()).ok()?;
    Some(format!("sha256:{}", hash.to_hex()))
}

fn validate(handle: &Handle, payload: &Value) -> Value {
    let text = |name: &str| payload.get(name).and_then(Value::as_str);
    let (intent, kind) = (text("intent").unwrap_or_default(), text("type_hint"));
    let given = payload
        .get("payload_to_validate")
        .cloned()
        .unwrap_or_default();
    let kind = kind.unwrap_or("task");
    match handle.settings().schemas.check(intent, kind, &given, "") {
        Some(faults) => {
            let errors = faults
                .iter()
                .map(|fault| format!("{}: {}", fault.pointer, fault.detail));
            json!({ "valid": faults.is_empty(), "errors": errors.collect::<Vec<_>>() })
        }
        None => {
            json!({ "valid": true, "errors": [], "checked": false, "note": format!("no schema for a {kind} of {intent}") })
        }
    }
}

fn payload_of(entry: &Entry) -> Value {
    let envelope: Value = serde_json::from_slice(&entry.envelope).unwrap_or_default();
    envelope
        .get("payload")
        .cloned()
        .unwrap_or_else(|| json!({}))
}

fn own_name() -> String {
    Party::parse(SERVICE).to_aee()
}

fn unavailable(refused: Rejection) -> Failed {
    Failed {
        code: match refused.code() {
            Code::TooLarge => "E_TOO_LARGE",
            _ => "E_UNAVAILABLE",
        },
        message: refused.first().detail.clone(),
    }
}
