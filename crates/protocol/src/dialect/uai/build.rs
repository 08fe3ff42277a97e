//! Writes valid UAI-1 envelopes: the twelve members in order, with their checksum.
//!
//! The caller brings ids and times; nothing here reads a clock or draws a number. The common packets
//! have a constructor each, any other profile takes its body as JSON text through
//! [`Envelope::new`]. Written in the native carriage; towards strict peers use one target and no
//! added mode. Implements UAI 1 and the emitting side of 4 D1.
//!
//! ```
//! use interwire_protocol::dialect::uai::build::{Agent, Heading, Message};
//! use interwire_protocol::{Rules, Timestamp, decode};
//! let now = Timestamp::from_millis(1_782_907_200_000);
//! let heading = Heading {
//!     id: "msg_1".into(),
//!     issued_at: now,
//!     source: Agent::new("agent", "manager"),
//!     target: Agent::new("agent", "worker1"),
//!     conversation: "conv_1".into(),
//! };
//! let text = Message::new("directive", "Check every partition.")
//!     .envelope(heading)
//!     .also_to(Agent::new("agent", "worker2"))
//!     .write()?;
//! let header = decode(text.as_bytes(), &Rules::at(now)).header.expect("valid");
//! assert_eq!(header.recipients.len(), 2);
//! # Ok::<(), interwire_protocol::Fault>(())
//! ```

mod bodies;

pub use bodies::{Ack, FinalReport, Handoff, Message, TaskStatus};

use super::integrity;
use crate::json::{self, push_string};
use crate::{Fault, Priority, Timestamp};

/// An agent as UAI-1 spells it (UAI 1.2).
#[derive(Clone, Debug)]
pub struct Agent {
    kind: String,
    id: String,
    label: String,
}

impl Agent {
    /// An agent of type `kind`, labelled with its id.
    #[must_use]
    pub fn new(kind: &str, id: &str) -> Self {
        Self {
            kind: kind.into(),
            id: id.into(),
            label: id.into(),
        }
    }

    /// The same agent with a label of 1 to 256 characters.
    #[must_use]
    pub fn labelled(mut self, label: &str) -> Self {
        self.label = label.into();
        self
    }

    fn write(&self) -> String {
        Object::new()
            .text("type", &self.kind)
            .text("id", &self.id)
            .text("label", &self.label)
            .close()
    }
}

/// Who writes to whom, under which id, when, and in which conversation.
#[derive(Clone, Debug)]
pub struct Heading {
    /// `message_id`.
    pub id: String,
    /// `provenance.issued_at`.
    pub issued_at: Timestamp,
    /// `source`.
    pub source: Agent,
    /// `target`; for a handoff the assignee.
    pub target: Agent,
    /// `conversation.conversation_id`.
    pub conversation: String,
}

/// One envelope to be written.
#[derive(Clone, Debug)]
pub struct Envelope {
    profile: String,
    body: String,
    heading: Heading,
    others: Vec<Agent>,
    correlation: String,
    parent: Option<String>,
    mode: String,
    topics: Vec<String>,
    priority: Priority,
    expires_at: Option<Timestamp>,
    is_reply_expected: Option<bool>,
    is_ack_required: bool,
    task: Option<String>,
    idempotency_key: String,
    retry_count: u32,
    fallback: String,
    extensions: Vec<String>,
}

impl Envelope {
    /// An envelope of `profile` whose body is the JSON text `body`.
    ///
    /// Starts in mode `async`, priority normal, without expiry, asking for no acknowledgement. The
    /// correlation id is the conversation id and the idempotency key follows from `id` until they are
    /// set.
    #[must_use]
    pub fn new(profile: &str, body: String, heading: Heading) -> Self {
        Self {
            profile: profile.into(),
            body,
            correlation: heading.conversation.clone(),
            idempotency_key: key_from(&heading.id),
            heading,
            others: Vec::new(),
            parent: None,
            mode: "async".into(),
            topics: Vec::new(),
            priority: Priority::Normal,
            expires_at: None,
            is_reply_expected: None,
            is_ack_required: false,
            task: None,
            retry_count: 0,
            fallback: "raise_blocker".into(),
            extensions: Vec::new(),
        }
    }

    /// Names one more recipient, in `additional_targets`.
    #[must_use]
    pub fn also_to(mut self, target: Agent) -> Self {
        self.others.push(target);
        self
    }

    /// Sets the correlation id.
    #[must_use]
    pub fn correlation(mut self, id: &str) -> Self {
        self.correlation = id.into();
        self
    }

    /// Names the message this one follows.
    #[must_use]
    pub fn reply_to(mut self, message_id: &str) -> Self {
        self.parent = Some(message_id.into());
        self
    }

    /// Sets the delivery mode.
    #[must_use]
    pub fn mode(mut self, mode: &str) -> Self {
        self.mode = mode.into();
        self
    }

    /// Adds a topic; one is written as a string, several as an array.
    #[must_use]
    pub fn topic(mut self, topic: &str) -> Self {
        self.topics.push(topic.into());
        self
    }

    /// Sets the priority.
    #[must_use]
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// Sets the expiry.
    #[must_use]
    pub fn expires_at(mut self, moment: Timestamp) -> Self {
        self.expires_at = Some(moment);
        self
    }

    /// Names the task this message is about, for bodies that do not.
    #[must_use]
    pub fn task_ref(mut self, task: &str) -> Self {
        self.task = Some(task.into());
        self
    }

    /// Sets the idempotency key, 8 to 128 printable ASCII characters.
    #[must_use]
    pub fn idempotency_key(mut self, key: &str) -> Self {
        self.idempotency_key = key.into();
        self
    }

    /// Says which attempt this is, from 0; a retry keeps the id and the key (UAI 4 D4).
    #[must_use]
    pub fn retry_count(mut self, count: u32) -> Self {
        self.retry_count = count;
        self
    }

    /// Says what to do when nobody acknowledges.
    #[must_use]
    pub fn fallback(mut self, directive: &str) -> Self {
        self.fallback = directive.into();
        self
    }

    /// Adds an extension record that nobody must understand; `payload` must be one JSON value and is
    /// written as it is.
    #[must_use]
    pub fn extension(mut self, namespace: &str, payload: &str) -> Self {
        let record = Object::new()
            .text("namespace", namespace)
            .text("version", "1")
            .raw("required", "false")
            .raw("payload", payload);
        self.extensions.push(record.close());
        self
    }

    /// Whether the sender expects a reply. Without it nothing is said.
    #[must_use]
    pub fn reply_expected(mut self, is_expected: bool) -> Self {
        self.is_reply_expected = Some(is_expected);
        self
    }

    /// Whether every recipient must acknowledge. An acknowledgement may not ask for one.
    #[must_use]
    pub fn ack_required(mut self, is_asked: bool) -> Self {
        self.is_ack_required = is_asked;
        self
    }

    /// The JSON text, keyed, without space.
    ///
    /// # Errors
    /// `malformed_json` and the other faults of the reader when the body is no JSON text,
    /// `number_not_interoperable` when it holds such a number.
    pub fn write(&self) -> Result<String, Fault> {
        let unsealed = self.compose(None);
        let limits = json::Limits {
            bytes_max: usize::MAX,
            depth_max: DEPTH_MAX,
        };
        let checksum = integrity::checksum(json::read(unsealed.as_bytes(), limits)?.root())?;
        Ok(self.compose(Some(&checksum)))
    }

    fn compose(&self, checksum: Option<&str>) -> String {
        let mut envelope = Object::new()
            .text("uai_version", super::VERSION)
            .text("profile", &self.profile)
            .text("message_id", &self.heading.id)
            .raw("source", &self.heading.source.write())
            .raw("target", &self.heading.target.write());
        if !self.others.is_empty() {
            let others: Vec<String> = self.others.iter().map(Agent::write).collect();
            envelope = envelope.raw("additional_targets", &list(&others));
        }
        envelope
            .raw("conversation", &self.conversation())
            .raw("delivery", &self.delivery())
            .raw("trust", &self.trust())
            .raw("body", &self.body)
            .raw(
                "provenance",
                &Object::new()
                    .time("issued_at", self.heading.issued_at)
                    .close(),
            )
            .raw("integrity", &integrity_object(checksum))
            .raw("extensions", &list(&self.extensions))
            .close()
    }

    fn conversation(&self) -> String {
        Object::new()
            .text("conversation_id", &self.heading.conversation)
            .maybe("parent_message_id", self.parent.as_deref())
            .text("correlation_id", &self.correlation)
            .close()
    }

    fn delivery(&self) -> String {
        let mut delivery = Object::new()
            .text("mode", &self.mode)
            .text("priority", self.priority.as_str());
        if let Some(moment) = self.expires_at {
            delivery = delivery.time("expires_at", moment);
        }
        if let Some(is_expected) = self.is_reply_expected {
            delivery = delivery.raw("reply_expected", flag(is_expected));
        }
        delivery = delivery
            .raw("ack_required", flag(self.is_ack_required))
            .maybe("task_ref", self.task.as_deref())
            .text("idempotency_key", &self.idempotency_key)
            .raw("retry_count", &self.retry_count.to_string())
            .text("fallback_directive", &self.fallback);
        match self.topics.as_slice() {
            [] => delivery,
            [topic] => delivery.text("topic", topic),
            topics => delivery.raw("topic", &texts(topics)),
        }
        .close()
    }

    fn trust(&self) -> String {
        Object::new()
            .text("channel", "internal")
            .text("auth_scheme", "none")
            .text("principal", &self.heading.source.id)
            .close()
    }
}

/// The reader's own limit on nesting, so that what is written here can be read anywhere.
const DEPTH_MAX: usize = 64;

/// A key of the required length from any id.
fn key_from(id: &str) -> String {
    let key = format!("idempotent-{id}");
    if key.len() <= 128 { key } else { id.into() }
}

fn integrity_object(checksum: Option<&str>) -> String {
    Object::new()
        .text("algorithm", "sha-256")
        .text("canonicalization", "RFC8785")
        .maybe("checksum", checksum)
        .close()
}

pub(super) fn flag(is_set: bool) -> &'static str {
    if is_set { "true" } else { "false" }
}

pub(super) fn list(items: &[String]) -> String {
    format!("[{}]", items.join(","))
}

pub(super) fn texts(items: &[String]) -> String {
    let mut out = String::from("[");
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        push_string(&mut out, item);
    }
    out.push(']');
    out
}

/// A JSON object being written, member by member.
pub(super) struct Object(String);

impl Object {
    pub(super) fn new() -> Self {
        Self("{".into())
    }

    pub(super) fn raw(mut self, name: &str, json: &str) -> Self {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        push_string(&mut self.0, name);
        self.0.push(':');
        self.0.push_str(json);
        self
    }

    pub(super) fn text(self, name: &str, text: &str) -> Self {
        let mut json = String::with_capacity(text.len() + 2);
        push_string(&mut json, text);
        self.raw(name, &json)
    }

    pub(super) fn maybe(self, name: &str, text: Option<&str>) -> Self {
        match text {
            Some(text) => self.text(name, text),
            None => self,
        }
    }

    pub(super) fn time(self, name: &str, moment: Timestamp) -> Self {
        self.text(name, &moment.to_string())
    }

    pub(super) fn close(mut self) -> String {
        self.0.push('}');
        self.0
    }
}
