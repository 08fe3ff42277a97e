//! Writes AEP events.
//!
//! Members come out in the order of the envelope table (AEP 1.1), without spaces, on one line. The
//! builder escapes what it is given and checks nothing; [`crate::decode`] tells whether the result is
//! valid.

use std::fmt::Write as _;

use super::{Aep, VERSION};
use crate::Timestamp;
use crate::json::push_string;

/// One event being written.
#[derive(Clone, Debug)]
pub struct EventBuilder {
    kind: String,
    source: String,
    members: String,
    payload: String,
}

impl Aep {
    /// Starts an event of that type from that source, such as `agent:planner`. Its payload is `{}`
    /// until [`EventBuilder::payload_json`] gives another.
    ///
    /// ```
    /// use interwire_protocol::{Rules, Timestamp, decode, dialect::aep::Aep};
    /// let now = Timestamp::from_millis(1_772_274_600_000);
    /// let text = Aep::event("task.progress", "agent:worker")
    ///     .target("agent:planner")
    ///     .task("task_01")
    ///     .payload_json(r#"{"progress":0.5}"#)
    ///     .build("evt_01", now);
    /// assert!(decode(text.as_bytes(), &Rules::at(now)).is_valid());
    /// ```
    #[must_use]
    pub fn event(kind: &str, source: &str) -> EventBuilder {
        EventBuilder {
            kind: kind.into(),
            source: source.into(),
            members: String::new(),
            payload: "{}".into(),
        }
    }
}

impl EventBuilder {
    /// `target`: who shall get it. Without one it is a broadcast.
    #[must_use]
    pub fn target(self, target: &str) -> Self {
        self.member("target", target)
    }

    /// `topic`.
    #[must_use]
    pub fn topic(self, topic: &str) -> Self {
        self.member("topic", topic)
    }

    /// `session_id`.
    #[must_use]
    pub fn session(self, id: &str) -> Self {
        self.member("session_id", id)
    }

    /// `conversation_id`.
    #[must_use]
    pub fn conversation(self, id: &str) -> Self {
        self.member("conversation_id", id)
    }

    /// `task_id`.
    #[must_use]
    pub fn task(self, id: &str) -> Self {
        self.member("task_id", id)
    }

    /// `parent_task_id`.
    #[must_use]
    pub fn parent_task(self, id: &str) -> Self {
        self.member("parent_task_id", id)
    }

    /// `correlation_id`.
    #[must_use]
    pub fn correlation(self, id: &str) -> Self {
        self.member("correlation_id", id)
    }

    /// `causation_id`: the id of the event that caused this one.
    #[must_use]
    pub fn cause(self, id: &str) -> Self {
        self.member("causation_id", id)
    }

    /// `expires_at`.
    #[must_use]
    pub fn expires_at(self, moment: Timestamp) -> Self {
        self.member("expires_at", &moment.to_string())
    }

    /// `delivery` with a mode (`best_effort`, `at_least_once`, `replayable`) and, where known, the
    /// sequence and the cursor.
    #[must_use]
    pub fn delivery(self, mode: &str, sequence: Option<u64>, cursor: Option<&str>) -> Self {
        let mut object = String::from("{\"mode\":");
        push_string(&mut object, mode);
        if let Some(sequence) = sequence {
            let _ = write!(object, ",\"sequence\":{sequence}");
        }
        if let Some(cursor) = cursor {
            object.push_str(",\"cursor\":");
            push_string(&mut object, cursor);
        }
        object.push('}');
        self.member_json("delivery", &object)
    }

    /// Any other member with a string value. Each name once.
    #[must_use]
    pub fn member(self, name: &str, value: &str) -> Self {
        let mut text = String::with_capacity(value.len() + 2);
        push_string(&mut text, value);
        self.member_json(name, &text)
    }

    /// Any other member; `json` must be one JSON value and is written as it is.
    #[must_use]
    pub fn member_json(mut self, name: &str, json: &str) -> Self {
        self.members.push(',');
        push_string(&mut self.members, name);
        self.members.push(':');
        self.members.push_str(json);
        self
    }

    /// The payload; `json` must be one JSON value and is written as it is.
    #[must_use]
    pub fn payload_json(mut self, json: &str) -> Self {
        json.clone_into(&mut self.payload);
        self
    }

    /// The event's text.
    #[must_use]
    pub fn build(&self, id: &str, created_at: Timestamp) -> String {
        let mut out = String::with_capacity(self.members.len() + self.payload.len() + 160);
        let mut string = |name: &str, value: &str| {
            out.push_str(if out.is_empty() { "{" } else { "," });
            push_string(&mut out, name);
            out.push(':');
            push_string(&mut out, value);
        };
        string("spec_version", VERSION);
        string("id", id);
        string("type", &self.kind);
        string("source", &self.source);
        string("created_at", &created_at.to_string());
        out.push_str(&self.members);
        out.push_str(",\"payload\":");
        out.push_str(&self.payload);
        out.push('}');
        out
    }
}
