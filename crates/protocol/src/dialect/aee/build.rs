//! Making envelopes (AEE 1.4, AEE 2.3).
//!
//! Every envelope is written with all fourteen members in the published order and explicit nulls:
//! that passes every tier of every source. Id and time are arguments. The builder does not check what
//! it is given; [`crate::decode`] does.

use super::Aee;
use super::intents::Type;
use crate::{Header, Priority, Timestamp, json};

/// An envelope in the making. Start with [`Aee::task`], [`Aee::event`], [`Aee::result_of`] and their
/// like, end with [`Builder::build`].
#[derive(Clone, Debug)]
#[must_use = "nothing is made until `build`"]
pub struct Builder {
    kind: Type,
    from: String,
    to: String,
    intent: String,
    corr: Option<String>,
    reply_to: Option<String>,
    trace: Option<String>,
    priority: Priority,
    requires: Option<String>,
    payload: Option<String>,
    sig: Option<String>,
}

impl Aee {
    /// A request for work.
    pub fn task(from: &str, to: &str, intent: &str) -> Builder {
        Builder::new(Type::Task, from, to, intent)
    }

    /// Information that expects no answer.
    pub fn event(from: &str, to: &str, intent: &str) -> Builder {
        Builder::new(Type::Event, from, to, intent)
    }

    /// A failure, of the task that [`Builder::reply_to`] names. The payload holds `code` and `message`.
    pub fn error(from: &str, to: &str, intent: &str) -> Builder {
        Builder::new(Type::Error, from, to, intent)
    }

    /// The success of the task that `cause` is: swapped addresses, the same intent, conversation and
    /// priority. For a task sent to a channel say who answers with [`Builder::from`].
    pub fn result_of(cause: &Header) -> Builder {
        Builder::answering(Type::Result, cause)
    }

    /// The failure of the task that `cause` is; addresses and the rest as in [`Aee::result_of`]. The
    /// payload holds `code` and `message`.
    pub fn error_of(cause: &Header, code: &str, message: &str) -> Builder {
        let mut payload = String::from("{\"code\":");
        json::push_string(&mut payload, code);
        payload.push_str(",\"message\":");
        json::push_string(&mut payload, message);
        payload.push('}');
        Builder::answering(Type::Error, cause).payload_json(&payload)
    }

    /// Partial progress of the task that `cause` is; addresses and the rest as in
    /// [`Aee::result_of`].
    pub fn stream_of(cause: &Header) -> Builder {
        Builder::answering(Type::Stream, cause)
    }
}

impl Builder {
    fn new(kind: Type, from: &str, to: &str, intent: &str) -> Self {
        Self {
            kind,
            from: from.into(),
            to: to.into(),
            intent: intent.into(),
            corr: None,
            reply_to: None,
            trace: None,
            priority: Priority::Normal,
            requires: None,
            payload: None,
            sig: None,
        }
    }

    fn answering(kind: Type, cause: &Header) -> Self {
        let from = cause
            .recipients
            .first()
            .map(crate::Party::to_aee)
            .unwrap_or_default();
        let intent = cause.intent.as_deref().unwrap_or_default();
        let mut builder = Self::new(kind, &from, &cause.sender.to_aee(), intent);
        builder.corr = cause.conversation.as_deref().map(String::from);
        builder.reply_to = Some(cause.id.to_string());
        builder.priority = cause.priority;
        builder
    }

    /// Who sends it.
    pub fn from(mut self, from: &str) -> Self {
        self.from = from.into();
        self
    }

    /// What it means.
    pub fn intent(mut self, intent: &str) -> Self {
        self.intent = intent.into();
        self
    }

    /// The conversation. Without it the envelope starts one that is named by its own id.
    pub fn corr(mut self, corr: &str) -> Self {
        self.corr = Some(corr.into());
        self
    }

    /// The id of the message that caused this one. Without it: null.
    pub fn reply_to(mut self, id: &str) -> Self {
        self.reply_to = Some(id.into());
        self
    }

    /// The place in a trace.
    pub fn trace(mut self, trace_id: &str, span_id: &str) -> Self {
        let mut trace = String::from("{\"trace_id\":");
        json::push_string(&mut trace, trace_id);
        trace.push_str(",\"span_id\":");
        json::push_string(&mut trace, span_id);
        trace.push('}');
        self.trace = Some(trace);
        self
    }

    /// How urgent it is. Without it: normal.
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// The execution contract: the JSON text of an object. Without it: null.
    pub fn requires(mut self, json: &str) -> Self {
        self.requires = Some(json.into());
        self
    }

    /// The payload: the JSON text of an object, written as given. Without it: `{}`.
    pub fn payload_json(mut self, json: &str) -> Self {
        self.payload = Some(json.into());
        self
    }

    /// The proof: the JSON text of an object or a string. Without it: null.
    pub fn sig_json(mut self, json: &str) -> Self {
        self.sig = Some(json.into());
        self
    }

    /// The envelope as one line of JSON.
    #[must_use]
    pub fn build(self, id: &str, ts: Timestamp) -> String {
        let payload = self.payload.as_deref().unwrap_or("{}");
        let mut out = String::with_capacity(384 + payload.len());
        out.push_str("{\"v\":\"1\"");
        let mut text = |name: &str, text: Option<&str>| {
            push_name(&mut out, name);
            match text {
                Some(text) => json::push_string(&mut out, text),
                None => out.push_str("null"),
            }
        };
        text("id", Some(id));
        text("ts", Some(&ts.to_string()));
        text("type", Some(self.kind.as_str()));
        text("from", Some(&self.from));
        text("to", Some(&self.to));
        text("intent", Some(&self.intent));
        text("corr", Some(self.corr.as_deref().unwrap_or(id)));
        text("reply_to", self.reply_to.as_deref());
        let mut raw = |name: &str, json: Option<&str>| {
            push_name(&mut out, name);
            out.push_str(json.unwrap_or("null"));
        };
        raw("trace", self.trace.as_deref());
        raw("priority", Some(&format!("\"{}\"", self.priority.as_str())));
        raw("requires", self.requires.as_deref());
        raw("payload", Some(payload));
        raw("sig", self.sig.as_deref());
        out.push('}');
        out
    }
}

fn push_name(out: &mut String, name: &str) {
    out.push_str(",\"");
    out.push_str(name);
    out.push_str("\":");
}
