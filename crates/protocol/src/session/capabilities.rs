//! What an exchange says that it can do (AEP 3.3), in both published spellings.
//!
//! The members come from whoever runs the door, out of the settings in force; nothing here is assumed.

use crate::dialect::aep;
use crate::json::push_string;
use std::fmt::Write as _;

/// The delivery modes that a subscription may ask for.
pub const DELIVERY_MODES: [&str; 3] = ["best_effort", "at_least_once", "replayable"];

/// What the exchange does beyond carrying events, in the words of `session.ready`.
pub const FEATURES: [&str; 7] = [
    "envelope",
    "subscription",
    "task_lifecycle",
    "error_model",
    "replay",
    "resume",
    "dead_letters",
];

/// The same in the words of `capabilities.declared`.
const DECLARED_FEATURES: [&str; 10] = [
    "envelope_validation",
    "event_type_registry",
    "subscription_matching",
    "session_lifecycle",
    "task_lifecycle",
    "error_model",
    "event_routing",
    "replay",
    "resume",
    "dead_letters",
];

/// Profiles whose fixtures the exchange passes; transports come on top. Not `security`: the exchange
/// proves no identity.
pub const PROFILES: [&str; 5] = [
    "harmovela.core.v1",
    "harmovela.delivery.v1",
    "harmovela.runtime-semantics.v1",
    "harmovela.coordination.v1",
    "harmovela.adaptation.v1",
];

/// What is true of one running exchange.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Transports that can be reached: `websocket`, `sse`, `stdio`, `grpc`, ...
    pub transports: Vec<&'static str>,
    /// Bytes of the largest envelope.
    pub payload_bytes_max: usize,
    /// Compressions of this connection; none is an empty list.
    pub compression: Vec<&'static str>,
    /// Milliseconds between heartbeats; 0 is off until the peer asks for them.
    pub heartbeat_ms: u64,
    /// Milliseconds for which events are kept; `None` without that limit.
    pub replay_window_ms: Option<u64>,
    /// Milliseconds for which a session that lost its connection can be resumed.
    pub resume_window_ms: u64,
}

impl Capabilities {
    /// The profiles that this exchange has, transports among them.
    #[must_use]
    pub fn profiles(&self) -> Vec<String> {
        let transports = self.transports.iter();
        let transports = transports.map(|name| format!("harmovela.transport.{name}.v1"));
        PROFILES
            .into_iter()
            .map(str::to_owned)
            .chain(transports)
            .collect()
    }

    /// The `capabilities` object of `session.ready`, with what was agreed on.
    pub(super) fn ready(&self, profiles: &[String], heartbeat_ms: u64) -> String {
        self.object(&FEATURES, profiles, heartbeat_ms)
    }

    /// The payload of `capabilities.declared`: the same members, not nested.
    pub(super) fn declared(&self, profiles: &[String], heartbeat_ms: u64) -> String {
        self.object(&DECLARED_FEATURES, profiles, heartbeat_ms)
    }

    fn object(&self, features: &[&str], profiles: &[String], heartbeat_ms: u64) -> String {
        let mut out = String::from("{\"protocol\":\"harmovela\",\"spec_version\":");
        push_string(&mut out, aep::VERSION);
        list(&mut out, "transports", &self.transports);
        list(&mut out, "delivery_modes", &DELIVERY_MODES);
        list(&mut out, "features", features);
        let _ = write!(out, ",\"max_payload_size\":{}", self.payload_bytes_max);
        list(&mut out, "compression", &self.compression);
        let _ = write!(out, ",\"heartbeat_interval_ms\":{heartbeat_ms}");
        out.push_str(",\"delivery\":{\"dead_letter_support\":true");
        list(&mut out, "modes", &DELIVERY_MODES);
        if let Some(window) = self.replay_window_ms {
            let _ = write!(out, ",\"replay_window_ms\":{window}");
        }
        let _ = write!(out, ",\"resume_window_ms\":{}}}", self.resume_window_ms);
        out.push_str(",\"auth\":{\"required\":false,\"scopes\":[]}");
        list(&mut out, "profiles", profiles);
        out.push('}');
        out
    }
}

fn list<T: AsRef<str>>(out: &mut String, name: &str, items: &[T]) {
    let _ = write!(out, ",\"{name}\":[");
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        push_string(out, item.as_ref());
    }
    out.push(']');
}
