//! Payload shapes of the intents that AEE publishes: the reserved seven and the starter registry
//! (AEE 4.3, AEE 4.4, AEE 7.1).
//!
//! A table. No event or stream payload has a published shape, and no reserved intent has one for its
//! error.

use super::intents::Type;
use super::members::{Holds, Member, Shape, may, must};

/// The shape of the payload of `intent` in an envelope of type `kind`, when one is published.
pub(super) fn payload(intent: &str, kind: Type) -> Option<&'static Shape> {
    let entry = ENTRIES.iter().find(|entry| entry.intent == intent)?;
    match kind {
        Type::Task => Some(&entry.task),
        Type::Result => Some(&entry.result),
        Type::Error => entry.error.as_ref(),
        Type::Event | Type::Stream => None,
    }
}

/// What every error payload should hold, whatever its intent.
pub(super) static ERROR: Shape = open(&[
    must("code", Holds::Text),
    must("message", Holds::Text),
    may("retryable", Holds::Bool),
    may("backoff_ms", Holds::Integer),
    may("evidence_refs", Holds::Texts),
]);

struct Entry {
    intent: &'static str,
    task: Shape,
    result: Shape,
    error: Option<Shape>,
}

const fn open(members: &'static [Member]) -> Shape {
    Shape {
        members,
        is_closed: false,
    }
}

const EMPTY: Shape = Shape {
    members: &[],
    is_closed: true,
};

static FAILED_NODE: Shape = open(&[must("node", Holds::Text), must("reason", Holds::Text)]);
static CITATION: Shape = open(&[must("ref", Holds::Text), must("excerpt", Holds::Text)]);

static ENTRIES: [Entry; 10] = [
    Entry {
        intent: "aee.status.ping",
        task: EMPTY,
        result: open(&[must("pong", Holds::True), may("ts", Holds::Text)]),
        error: None,
    },
    Entry {
        intent: "aee.status.health",
        task: EMPTY,
        result: open(&[
            must("status", Holds::Word(&["healthy", "degraded", "unhealthy"])),
            may("details", Holds::Object),
        ]),
        error: None,
    },
    Entry {
        intent: "aee.spec.query",
        task: EMPTY,
        result: open(&[
            must("aee_version", Holds::Text),
            may("extensions", Holds::Texts),
        ]),
        error: None,
    },
    Entry {
        intent: "aee.capability.list",
        task: open(&[may("namespace_filter", Holds::Text)]),
        result: open(&[must("intents", Holds::Texts)]),
        error: None,
    },
    Entry {
        intent: "aee.context.fetch",
        task: open(&[
            must("id", Holds::Text),
            may("corr", Holds::Text),
            may("locator", Holds::Text),
            may("hash", Holds::Text),
        ]),
        result: open(&[
            must("found", Holds::Bool),
            may("envelope", Holds::Object),
            may("hash", Holds::Text),
        ]),
        error: None,
    },
    Entry {
        intent: "aee.context.refute",
        task: open(&[must("id", Holds::Text), must("reason", Holds::Text)]),
        result: open(&[must("acknowledged", Holds::Bool)]),
        error: None,
    },
    Entry {
        intent: "aee.validate.payload",
        task: open(&[
            must("intent", Holds::Text),
            must("payload_to_validate", Holds::Object),
            may("type_hint", Holds::Word(&["task", "result", "error"])),
        ]),
        result: open(&[must("valid", Holds::Bool), may("errors", Holds::Texts)]),
        error: None,
    },
    Entry {
        intent: "ops.network.port.probe",
        task: open(&[
            must("source", Holds::Text),
            must("target", Holds::Text),
            must("port", Holds::Within(1, 65_535)),
            may("timeout_ms", Holds::Integer),
        ]),
        result: open(&[
            must("reachable", Holds::Bool),
            may("latency_ms", Holds::Number),
            may("confidence", Holds::Share),
            may("evidence_refs", Holds::Texts),
        ]),
        error: Some(open(&[
            must("code", Holds::Text),
            must("message", Holds::Text),
            may("retryable", Holds::Bool),
            may("evidence_refs", Holds::Texts),
        ])),
    },
    Entry {
        intent: "ops.backup.status.check",
        task: open(&[must("cluster", Holds::Text), must("window", Holds::Text)]),
        result: open(&[
            must("status", Holds::Word(&["OK", "PARTIAL_FAILURE", "FAILURE"])),
            may("failed", Holds::Objects(&FAILED_NODE)),
            may("confidence", Holds::Share),
            may("evidence_refs", Holds::Texts),
        ]),
        error: Some(open(&[
            must("code", Holds::Text),
            must("message", Holds::Text),
            may("retryable", Holds::Bool),
            may("backoff_ms", Holds::Integer),
            may("evidence_refs", Holds::Texts),
        ])),
    },
    Entry {
        intent: "docs.summarize.with_citations",
        task: open(&[
            must("input", Holds::Text),
            may("max_length", Holds::Integer),
            may("style", Holds::Text),
        ]),
        result: open(&[
            must("summary", Holds::Text),
            must("citations", Holds::Objects(&CITATION)),
            may("confidence", Holds::Share),
        ]),
        error: Some(open(&[
            must("code", Holds::Text),
            must("message", Holds::Text),
            may("retryable", Holds::Bool),
        ])),
    },
];
