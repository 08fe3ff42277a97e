//! Events and the chain that they make (AEE 9.1, 9.2).

use super::{GENESIS, VERSION, canonical};
use protocol::json::{self, Limits, push_string};
use protocol::{Fault, Timestamp};

/// Who did it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// `agent`, `human`, `system`, `tool` or `runner`.
    pub kind: &'static str,
    /// The whole name.
    pub id: String,
}

/// What is said of one event; the chain adds its number and its hashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Unique in its run.
    pub id: String,
    /// When.
    pub ts: Timestamp,
    /// Such as `aee.envelope.received`.
    pub event_type: String,
    /// Who.
    pub actor: Actor,
    /// `context.aee_envelope_id`, when it is about an envelope.
    pub envelope_id: Option<String>,
    /// `context.parent_event_id`.
    pub parent: Option<String>,
    /// The payload, a JSON object.
    pub payload: String,
}

/// A run being written: each event is bound to the one before it.
#[derive(Clone, Debug)]
pub struct Chain {
    run_id: String,
    correlation_id: String,
    seq: u64,
    first: Option<String>,
    last: String,
}

impl Chain {
    /// A run without events.
    #[must_use]
    pub fn new(run_id: &str, correlation_id: &str) -> Self {
        Self {
            run_id: run_id.into(),
            correlation_id: correlation_id.into(),
            seq: 0,
            first: None,
            last: GENESIS.into(),
        }
    }

    /// The line of NDJSON, without a line break, that adds `event`. It is canonical but for its `hash`,
    /// which comes last.
    ///
    /// # Errors
    /// When the payload is not JSON that has a canonical form.
    pub fn add(&mut self, event: &Event) -> Result<String, Fault> {
        let seq = self.seq + 1;
        let mut context = Object::new();
        if let Some(id) = &event.envelope_id {
            context.text("aee_envelope_id", id);
        }
        context.text("correlation_id", &self.correlation_id);
        if let Some(parent) = &event.parent {
            context.text("parent_event_id", parent);
        }
        let mut actor = Object::new();
        actor.text("actor_id", &event.actor.id);
        actor.text("actor_type", event.actor.kind);
        let mut object = Object::new();
        object.raw("actor", &actor.close());
        object.raw("context", &context.close());
        object.text("event_id", &event.id);
        object.text("event_type", &event.event_type);
        object.raw("payload", &event.payload);
        object.text("prev_hash", &self.last);
        object.text("run_id", &self.run_id);
        object.raw("seq", &seq.to_string());
        object.text("ts", &event.ts.to_string());
        object.text("volt_version", VERSION);
        let limits = Limits {
            bytes_max: usize::MAX,
            ..Limits::default()
        };
        let canonical = canonical::canonical_text(object.close().as_bytes(), limits)?;
        let hash = protocol::digest(canonical.as_bytes()).to_hex();
        let body = canonical.strip_suffix('}').unwrap_or(&canonical);
        let line = format!("{body},\"hash\":\"{hash}\"}}");
        debug_assert!(json::read(line.as_bytes(), limits).is_ok());
        self.seq = seq;
        self.first.get_or_insert_with(|| hash.clone());
        self.last = hash;
        Ok(line)
    }

    /// How many events there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.seq
    }

    /// The hash of the first event.
    #[must_use]
    pub fn first_hash(&self) -> Option<&str> {
        self.first.as_deref()
    }

    /// The hash of the last event; [`GENESIS`] before there is one.
    #[must_use]
    pub fn last_hash(&self) -> &str {
        &self.last
    }

    /// The run.
    #[must_use]
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// The conversation.
    #[must_use]
    pub fn correlation_id(&self) -> &str {
        &self.correlation_id
    }
}

/// A JSON object being written.
pub(super) struct Object(String);

impl Object {
    pub(super) fn new() -> Self {
        Self(String::from("{"))
    }

    pub(super) fn raw(&mut self, name: &str, json: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        push_string(&mut self.0, name);
        self.0.push(':');
        self.0.push_str(json);
    }

    pub(super) fn text(&mut self, name: &str, text: &str) {
        let mut quoted = String::with_capacity(text.len() + 2);
        push_string(&mut quoted, text);
        self.raw(name, &quoted);
    }

    pub(super) fn close(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::{Actor, Chain, Event};
    use protocol::Timestamp;

    #[test]
    fn each_event_names_the_one_before_it() {
        let mut chain = Chain::new("run-1", "conv-1");
        let event = |id: &str| Event {
            id: id.into(),
            ts: Timestamp::from_millis(0),
            event_type: "run.started".into(),
            actor: Actor {
                kind: "system",
                id: "service.interwire".into(),
            },
            envelope_id: None,
            parent: None,
            payload: r#"{"z":1.0,"a":[]}"#.into(),
        };
        let first = chain.add(&event("1")).unwrap();
        let hash = chain.last_hash().to_owned();
        assert!(first.contains(r#""payload":{"a":[],"z":1}"#), "{first}");
        assert!(first.ends_with(&format!(r#","hash":"{hash}"}}"#)));
        let second = chain.add(&event("2")).unwrap();
        assert!(
            second.contains(&format!(r#""prev_hash":"{hash}""#)),
            "{second}"
        );
        assert_eq!((chain.count(), chain.first_hash()), (2, Some(&*hash)));
        assert!(
            chain
                .add(&Event {
                    payload: "{".into(),
                    ..event("3")
                })
                .is_err()
        );
        assert_eq!(chain.count(), 2);
    }
}
