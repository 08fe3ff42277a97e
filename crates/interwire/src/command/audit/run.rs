//! A conversation as the events of a run (AEE 9.6).

use crate::failure::Failure;
use protocol::canonical::canonical_hash;
use protocol::json::{self, Limits};
use protocol::{DialectName, Party, Timestamp};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use trust::volt::{Actor, Chain, Event};

/// What of an envelope's content is in the bundle.
pub enum Said {
    /// Nothing.
    Redacted,
    /// All of it, as an attachment with this SHA-256.
    Attached(String),
}

/// A run being written.
pub struct Run {
    id: String,
    asked: String,
    chain: Option<Chain>,
    /// What is there before the trace has said its name.
    empty: Chain,
    lines: String,
    /// The event of each message, by its cursor.
    events: HashMap<String, String>,
    last: Timestamp,
    /// Tasks that are open, and whether one failed.
    open: i64,
    has_failed: bool,
}

impl Run {
    /// A run of that id about what was asked for.
    pub fn new(id: &str, asked: &str) -> Self {
        Self {
            id: id.into(),
            asked: asked.into(),
            chain: None,
            empty: Chain::new(id, asked),
            lines: String::new(),
            events: HashMap::new(),
            last: Timestamp::default(),
            open: 0,
            has_failed: false,
        }
    }

    /// The chain so far.
    pub fn chain(&self) -> &Chain {
        self.chain.as_ref().unwrap_or(&self.empty)
    }

    /// The conversation.
    pub fn correlation_id(&self) -> &str {
        self.chain().correlation_id()
    }

    /// Every event, one a line.
    pub fn lines(&self) -> &str {
        &self.lines
    }

    /// Whether nothing more is expected: every request has its end.
    pub fn is_over(&self) -> bool {
        self.open <= 0 && !self.events.is_empty()
    }

    /// The first event, once.
    pub fn begin(&mut self, trace: &Value, now: Timestamp) -> Result<(), Failure> {
        if self.chain.is_some() {
            return Ok(());
        }
        let name = trace.get("name").and_then(Value::as_str);
        let name = name.unwrap_or(&self.asked).to_owned();
        self.chain = Some(Chain::new(&self.id, &name));
        let started = moment(trace, "started_at").unwrap_or(now);
        let payload = json!({
            "entrypoint": "interwire audit export",
            "by": trace.get("by"),
            "name": name,
            "inputs_redacted": true,
        });
        self.add(
            started,
            "run.started",
            actor("service:interwire"),
            None,
            None,
            &payload,
        )?;
        Ok(())
    }

    /// A message and what became of it.
    pub fn message(&mut self, node: &Value, envelope: &[u8], said: &Said) -> Result<(), Failure> {
        let text = |name: &str| node.get(name).and_then(Value::as_str).map(str::to_owned);
        let at = moment(node, "accepted_at").unwrap_or(self.last);
        let cause = node.pointer("/cause/cursor").and_then(Value::as_str);
        let parent = cause.and_then(|cursor| self.events.get(cursor)).cloned();
        let id = text("id");
        let from = text("from").unwrap_or_default();
        let payload = about(node, envelope, said);
        let event = self.add(
            at,
            "aee.envelope.received",
            actor(&from),
            id.clone(),
            parent,
            &Value::Object(payload),
        )?;
        if let Some(cursor) = text("cursor") {
            self.events.insert(cursor, event.clone());
        }
        match text("act").as_deref() {
            Some("request") => self.open += 1,
            Some("complete" | "answer") => self.open -= 1,
            Some("fail" | "refuse" | "time-out") => {
                self.open -= 1;
                self.has_failed = true;
            }
            Some("cancel") => self.open -= 1,
            _ => {}
        }
        let deliveries = node.get("deliveries").and_then(Value::as_array);
        for delivery in deliveries.into_iter().flatten() {
            let member = |name: &str| delivery.get(name).cloned().unwrap_or(Value::Null);
            let recipient = delivery
                .get("party")
                .or_else(|| delivery.get("subscription"))
                .or_else(|| delivery.get("place"));
            let payload = json!({
                "recipient": recipient,
                "state": member("state"),
                "at": member("at"),
                "attempts": member("attempts"),
                "channel": "api",
                "redacted": true,
            });
            let exchange = actor("service:interwire");
            self.add(
                at,
                "aee.envelope.sent",
                exchange,
                id.clone(),
                Some(event.clone()),
                &payload,
            )?;
        }
        Ok(())
    }

    /// The last event: how it ended, and what the chain does not cover.
    pub fn end(&mut self, now: Timestamp, manifest_digest: &str) -> Result<(), Failure> {
        let word = match (self.is_over(), self.has_failed) {
            (true, true) => "run.failed",
            (true, false) => "run.completed",
            // A bundle of a run that goes on ends with a word of its own.
            (false, _) => "interwire.run.cut",
        };
        let payload = json!({
            "messages": self.events.len(),
            "manifest_digest": manifest_digest,
        });
        let at = now.max(self.last);
        self.add(at, word, actor("service:interwire"), None, None, &payload)?;
        Ok(())
    }

    fn add(
        &mut self,
        at: Timestamp,
        event_type: &str,
        actor: Actor,
        envelope_id: Option<String>,
        parent: Option<String>,
        payload: &Value,
    ) -> Result<String, Failure> {
        let chain = self.chain.as_mut().unwrap_or(&mut self.empty);
        let id = format!("E{}", chain.count() + 1);
        self.last = self.last.max(at);
        let event = Event {
            id: id.clone(),
            ts: at,
            event_type: event_type.into(),
            actor,
            envelope_id,
            parent,
            payload: payload.to_string(),
        };
        let line = chain
            .add(&event)
            .map_err(|fault| Failure::Refused(format!("event {id}: {fault}")))?;
        self.lines.push_str(&line);
        self.lines.push('\n');
        Ok(id)
    }
}

/// The payload of a message's event: never its content, only names and sizes, unless it is attached.
fn about(node: &Value, envelope: &[u8], said: &Said) -> Map<String, Value> {
    let mut payload = Map::new();
    for name in ["dialect", "act", "type", "intent", "to", "topics", "task"] {
        match node.get(name) {
            None | Some(Value::Null) => {}
            Some(value) => drop(payload.insert(name.into(), value.clone())),
        }
    }
    payload.insert("size_bytes".into(), envelope.len().into());
    let limits = Limits {
        bytes_max: usize::MAX,
        ..Limits::default()
    };
    if let Ok(document) = json::read(envelope, limits) {
        let root = document.root();
        let body = root.get("payload").or_else(|| root.get("body"));
        let mut keys: Vec<_> = body
            .into_iter()
            .flat_map(json::Value::members)
            .map(|(key, _)| key.text().into_owned())
            .collect();
        keys.sort();
        payload.insert("payload_keys".into(), keys.into());
        let is_aee = node.get("dialect").and_then(Value::as_str) == Some(DialectName::Aee.as_str());
        let hash = if is_aee {
            trust::ward::payload_hash(root).ok()
        } else {
            canonical_hash(root).ok().map(|hash| hash.to_hex())
        };
        if let Some(hash) = hash {
            payload.insert("envelope_sha256".into(), hash.into());
        }
    }
    match said {
        Said::Redacted => drop(payload.insert("redacted".into(), true.into())),
        Said::Attached(hash) => {
            let reference = json!([{
                "hash_alg": "sha256",
                "hash": hash,
                "content_type": "application/json",
                "label": "aee.envelope",
            }]);
            payload.insert("attachment_refs".into(), reference);
        }
    }
    payload
}

fn actor(party: &str) -> Actor {
    let party = Party::parse(party);
    Actor {
        kind: match party.kind() {
            Some("human") => "human",
            Some("agent") => "agent",
            Some("tool") => "tool",
            Some("runtime") => "runner",
            _ => "system",
        },
        id: match party.to_aee() {
            empty if empty.is_empty() => "unknown".into(),
            name => name,
        },
    }
}

fn moment(value: &Value, name: &str) -> Option<Timestamp> {
    let text = value.get(name)?.as_str()?;
    Timestamp::parse_rfc3339(text).map(|(moment, _)| moment)
}
