//! What a session says: AEP events from the exchange, each with an id of its own.

use super::about::About;
use super::step::Accepted;
use crate::dialect::aep::{Aep, EventBuilder, words};
use crate::id::{Ulid, UlidSource};
use crate::json::push_string;
use crate::task::SERVICE;
use crate::verdict::write_fault;
use crate::{Code, Rejection, Timestamp};
use std::fmt::Write as _;

/// Bits of an id that tell one connection from every other.
const TAG_BITS: u32 = 40;
const PREFIX: &str = "evt_";

/// The voice of one connection.
#[derive(Clone, Debug)]
pub(super) struct Voice {
    ids: UlidSource,
    tag: u128,
}

impl Voice {
    /// A voice whose ids carry 40 of the random bits.
    pub(super) fn new(random: u64) -> Self {
        Self {
            ids: UlidSource::default(),
            tag: u128::from(random) & ((1 << TAG_BITS) - 1),
        }
    }

    /// A fresh id behind `prefix`.
    pub(super) fn id(&mut self, prefix: &str, now: Timestamp) -> String {
        format!("{prefix}{}", self.ids.next(now, self.tag << TAG_BITS))
    }

    /// Whether this voice said the event of that id.
    pub(super) fn said(&self, id: &str) -> bool {
        let ulid = id.strip_prefix(PREFIX).and_then(Ulid::parse);
        ulid.is_some_and(|ulid| ulid.bits() >> TAG_BITS & ((1 << TAG_BITS) - 1) == self.tag)
    }

    /// An event about another.
    pub(super) fn answer(
        &mut self,
        now: Timestamp,
        kind: &str,
        about: &About,
        payload: &str,
    ) -> String {
        let event = about.onto(Aep::event(kind, SERVICE)).payload_json(payload);
        self.say(now, event)
    }

    /// An event of a session that answers nothing.
    pub(super) fn tell(
        &mut self,
        now: Timestamp,
        kind: &str,
        session: Option<&str>,
        target: Option<&str>,
        payload: &str,
    ) -> String {
        let mut event = Aep::event(kind, SERVICE).payload_json(payload);
        if let Some(target) = target {
            event = event.target(target);
        }
        if let Some(session) = session {
            event = event.session(session);
        }
        self.say(now, event)
    }

    fn say(&mut self, now: Timestamp, event: EventBuilder) -> String {
        let id = self.id(PREFIX, now);
        event.build(&id, now)
    }

    /// `event.acknowledged`, with what a publisher is promised.
    pub(super) fn acknowledge(
        &mut self,
        now: Timestamp,
        about: &About,
        accepted: Option<Accepted<'_>>,
    ) -> String {
        let mut payload = String::from("{\"acknowledged_event_id\":");
        push_string(&mut payload, &about.id);
        if let Some(Accepted { cursor, receipt }) = accepted {
            payload.push_str(",\"cursor\":");
            push_string(&mut payload, cursor);
            payload.push_str(",\"receipt\":");
            payload.push_str(receipt);
        }
        payload.push('}');
        self.answer(now, "event.acknowledged", about, &payload)
    }

    /// The refusal of one message, under the name that its family has for it.
    pub(super) fn refuse(&mut self, now: Timestamp, about: &About, refused: &Rejection) -> String {
        let kind = match &*about.kind {
            "subscription.requested" => "subscription.rejected",
            "command.requested" => "command.rejected",
            "query.requested" => "query.rejected",
            _ => "event.rejected",
        };
        let mut payload = String::from("{");
        if !about.id.is_empty() {
            payload.push_str("\"acknowledged_event_id\":");
            push_string(&mut payload, &about.id);
            payload.push(',');
        }
        payload.push_str("\"error\":");
        push_error(&mut payload, refused, &[]);
        payload.push_str(",\"reason\":");
        push_string(&mut payload, &refused.first().detail);
        payload.push_str(",\"errors\":[");
        for (at, fault) in refused.all().enumerate() {
            if at > 0 {
                payload.push(',');
            }
            push_string(&mut payload, &fault.to_string());
        }
        payload.push_str("]}");
        self.answer(now, kind, about, &payload)
    }
}

/// The error object (AEP 7). `details` names the exchange's own code, where, and by which rule; further
/// members are JSON.
pub(super) fn push_error(out: &mut String, refused: &Rejection, details: &[(&str, &str)]) {
    let word = words::of_code(refused.code());
    out.push_str("{\"code\":");
    push_string(out, word);
    out.push_str(",\"message\":");
    push_string(out, &refused.first().detail);
    let _ = write!(
        out,
        ",\"retryable\":{},\"details\":{{\"code\":\"{}\",\"pointer\":",
        words::is_retryable(word),
        refused.code()
    );
    push_string(out, &refused.first().pointer);
    out.push_str(",\"rule\":");
    push_string(out, refused.first().rule);
    if refused.code() == Code::UnsupportedVersion {
        out.push_str(",\"supported\":[\"0.2\"]");
    }
    if let Some(ms) = refused.retry_after_ms() {
        let _ = write!(out, ",\"retry_after_ms\":{ms}");
    }
    if let Some((earliest, head)) = refused.kept() {
        out.push_str(",\"earliest_cursor\":");
        push_string(out, earliest);
        out.push_str(",\"head_cursor\":");
        push_string(out, head);
    }
    for (name, json) in details {
        let _ = write!(out, ",\"{name}\":{json}");
    }
    out.push_str(",\"faults\":[");
    for (at, fault) in refused.all().enumerate() {
        if at > 0 {
            out.push(',');
        }
        write_fault(out, fault);
    }
    out.push_str("]}}");
}
