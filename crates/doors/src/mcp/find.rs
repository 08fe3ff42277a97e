//! `find`: who can be written to, as far as the exchange knows.
//!
//! What is known: the cards and the presence of agents in the directory, who asked for tasks or worked
//! on them, whose inbox a durable subscription feeds, and what waits in an inbox. A party that never
//! did any of that is not listed, and can still be written to.

use super::arguments::Arguments;
use super::{Exchange, Refusal};
use protocol::Party;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Agents and tasks that are looked at.
const LOOKED_AT_MAX: usize = 1_000;

/// Parties in one answer.
const FOUND_MAX: usize = 50;

/// What is known of one party.
#[derive(Debug, Default)]
struct Known {
    /// What the directory says of it.
    listed: Option<Map<String, Value>>,
    asked_for: u64,
    worked_on: u64,
    open: u64,
    subscriptions: Vec<String>,
}

pub(super) async fn run(
    mut arguments: Arguments,
    exchange: &impl Exchange,
) -> Result<Value, Refusal> {
    let query = arguments.text("query");
    arguments.finish()?;
    let mut parties: BTreeMap<String, Known> = BTreeMap::new();
    listed(exchange, &mut parties).await?;
    tasks(exchange, &mut parties).await?;
    subscriptions(exchange, &mut parties).await?;
    let wanted: Vec<String> = query
        .as_deref()
        .unwrap_or_default()
        .split_whitespace()
        .map(str::to_lowercase)
        .collect();
    let mut agents = Vec::new();
    let mut has_more = false;
    for (party, known) in parties {
        let described = describe(&party, &known);
        let text = Value::Object(described.clone()).to_string().to_lowercase();
        if !wanted.iter().all(|word| text.contains(word)) {
            continue;
        }
        if agents.len() == FOUND_MAX {
            has_more = true;
            break;
        }
        let mut described = described;
        let place = exchange.place(&party).await?;
        let waiting = place.get("waiting").cloned().unwrap_or(Value::Null);
        described.insert("waiting".into(), waiting);
        agents.push(Value::Object(described));
    }
    Ok(json!({ "agents": agents, "more": has_more }))
}

/// Agents of the directory: their cards, and whether they are there.
async fn listed(
    exchange: &impl Exchange,
    parties: &mut BTreeMap<String, Known>,
) -> Result<(), Refusal> {
    let page = exchange.agents("", LOOKED_AT_MAX).await?;
    for agent in list(&page, "agents") {
        let Some(party) = agent.get("party").and_then(Value::as_str) else {
            continue;
        };
        let known = parties.entry(party.to_owned()).or_default();
        known.listed = agent.as_object().cloned();
    }
    Ok(())
}

async fn tasks(
    exchange: &impl Exchange,
    parties: &mut BTreeMap<String, Known>,
) -> Result<(), Refusal> {
    let tasks = exchange.tasks(LOOKED_AT_MAX).await?;
    for task in list(&tasks, "tasks") {
        let is_open = task.get("ended").is_none_or(Value::is_null);
        if let Some(requester) = task.get("requester").and_then(Value::as_str) {
            parties.entry(requester.to_owned()).or_default().asked_for += 1;
        }
        for worker in list(task, "workers") {
            if let Some(party) = worker.get("party").and_then(Value::as_str) {
                let known = parties.entry(party.to_owned()).or_default();
                known.worked_on += 1;
                known.open += u64::from(is_open);
            }
        }
    }
    Ok(())
}

async fn subscriptions(
    exchange: &impl Exchange,
    parties: &mut BTreeMap<String, Known>,
) -> Result<(), Refusal> {
    let all = exchange.subscriptions().await?;
    for one in list(&all, "subscriptions") {
        let text = |name: &str| one.get(name).and_then(Value::as_str);
        if let (Some(name), Some(party)) = (text("name"), text("deliver_to")) {
            let known = parties.entry(party.to_owned()).or_default();
            known.subscriptions.push(name.to_owned());
        }
    }
    Ok(())
}

fn list<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> {
    value
        .get(name)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn describe(party: &str, known: &Known) -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("party".into(), party.into());
    let parsed = Party::parse(party);
    out.insert("kind".into(), json!(parsed.kind()));
    for (name, value) in known.listed.iter().flatten() {
        out.insert(name.clone(), value.clone());
    }
    out.insert(
        "tasks".into(),
        json!({
            "asked_for": known.asked_for,
            "worked_on": known.worked_on,
            "open": known.open,
        }),
    );
    if !known.subscriptions.is_empty() {
        out.insert("subscriptions".into(), json!(known.subscriptions));
    }
    out
}
