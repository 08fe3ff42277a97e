//! The traces at the end of the demo: what the exchange itself tells of each conversation.

use super::script::Seen;
use crate::failure::Failure;
use client::{Client, TraceFormat, TraceOptions};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// How often a trace is read again while an acknowledgement is still on its way.
const LOOKS_MAX: usize = 50;

/// One conversation as the exchange traces it.
#[derive(Debug)]
pub struct Traced {
    /// The document.
    pub json: Value,
    /// The tree for people.
    pub text: String,
}

impl Traced {
    /// Reads the trace, once everything in it is acknowledged or nothing more seems to come.
    pub async fn read(client: &Client, id: &str, is_coloured: bool) -> Result<Self, Failure> {
        let read = async |format| {
            let options = TraceOptions {
                format,
                ..TraceOptions::default()
            };
            client.trace(id, &options).await?.whole().await
        };
        let mut json = Value::Null;
        for _ in 0..LOOKS_MAX {
            json = serde_json::from_slice(&read(TraceFormat::Json).await?)
                .map_err(|error| Failure::Refused(error.to_string()))?;
            if is_settled(&json) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let format = if is_coloured {
            TraceFormat::Coloured
        } else {
            TraceFormat::Text
        };
        let text = String::from_utf8_lossy(&read(format).await?).into_owned();
        Ok(Self { json, text })
    }

    /// Its messages, without what the exchange itself said.
    pub fn messages(&self) -> Vec<Seen> {
        let nodes = list(self.json.get("nodes")).iter().map(Seen::from_node);
        nodes
            .filter(|seen| seen.from != protocol::task::SERVICE)
            .collect()
    }

    /// How many causes nobody has seen.
    pub fn missing(&self) -> u64 {
        self.json
            .get("missing")
            .and_then(Value::as_u64)
            .unwrap_or(u64::MAX)
    }
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn is_settled(trace: &Value) -> bool {
    let deliveries = list(trace.get("nodes"))
        .iter()
        .flat_map(|node| list(node.get("deliveries")));
    deliveries
        .filter_map(|delivery| delivery.get("state"))
        .all(|state| state != "waiting" && state != "delivered" && state != "resting")
}

/// `4 task, 2 stream`, the most frequent first.
pub fn counts(messages: &[Seen]) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for message in messages {
        *counts.entry(message.kind.clone()).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}
