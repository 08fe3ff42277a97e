//! Extension records: which are understood, and what their payloads must hold.
//!
//! A record that is not understood is kept and ignored, unless it says it is required. Payloads of
//! understood records are tables like any other object; what the multi-agent record means is in
//! `routing`, what the assignment record means is in `policy`. Implements UAI 1.8.

use std::borrow::Cow;
use std::collections::HashSet;

use super::check::Findings;
use super::grammar::CHECKSUM;
use super::table::{EXTENSION, ID, POSITIVE, PRESENT};
use crate::Code;
use crate::json::{Kind, Value};
use crate::shape::{Shape, Want, optional, required};

/// Carries recipients, mode and topic towards peers that take twelve members only (UAI 9.1 M3).
pub(super) const MULTI_AGENT: &str = "urn:uai:ext:multi-agent";
/// Says which recipient does what (UAI 9.1 M8).
pub(super) const ASSIGNMENT: &str = "urn:uai:ext:assignment";
/// Says of which message this is a copy for one recipient (UAI 9.2 B2).
pub(super) const SPLIT: &str = "urn:uai:ext:split";
/// Claims a resource at a version (UAI 9.8 X1).
pub(super) const CLAIM: &str = "urn:uai:ext:claim";
/// Holds a signature (UAI 9.10 G3).
pub(super) const SIGNATURE: &str = "urn:uai:ext:signature";

/// The one version of every record known here.
const VERSION: &str = "1";

/// What each understood record holds.
static PAYLOADS: [(&str, &Shape, &str); 7] = [
    (MULTI_AGENT, &MULTI_AGENT_PAYLOAD, "UAI 9.1 M3"),
    (ASSIGNMENT, &ASSIGNMENT_PAYLOAD, "UAI 9.1 M8"),
    (SPLIT, &SPLIT_PAYLOAD, "UAI 9.2 B2"),
    ("urn:uai:ext:ack-policy", &ACK_POLICY_PAYLOAD, "UAI 4 D12"),
    ("urn:uai:ext:group", &GROUP_PAYLOAD, "UAI 9.4 C2"),
    (CLAIM, &CLAIM_PAYLOAD, "UAI 9.8 X1"),
    (SIGNATURE, &SIGNATURE_PAYLOAD, "UAI 9.10 G3"),
];

/// Recipients, mode and topic are judged in `routing`, together with the native carriage.
static MULTI_AGENT_PAYLOAD: Shape = Shape::closed(&[
    optional("additional_targets", Want::Any),
    optional("delivery_mode", Want::STRING),
    optional(
        "topic",
        Want::OneOf(&[Want::STRING, Want::list(&Want::STRING)]),
    ),
]);

static ASSIGNMENT_PAYLOAD: Shape = Shape::closed(&[required(
    "assignments",
    Want::Array {
        min: 1,
        max: usize::MAX,
        item: &Want::Nested(&ASSIGNED),
    },
)]);

static ASSIGNED: Shape = Shape::closed(&[
    required("agent_id", ID),
    required("exact_next_action", Want::NON_EMPTY),
    optional("task_id", ID),
]);

static SPLIT_PAYLOAD: Shape = Shape::closed(&[
    required("origin_message_id", ID),
    required("origin_canonical_hash", Want::Text(&CHECKSUM)),
    required("recipient_index", Want::COUNT),
    required("recipient_count", POSITIVE),
]);

static ACK_POLICY_PAYLOAD: Shape = Shape::closed(&[
    required("policy", Want::Enum(&["all", "any", "quorum"])),
    optional("quorum", POSITIVE),
]);

static GROUP_PAYLOAD: Shape = Shape::closed(&[
    required("group_id", ID),
    required("epoch", Want::COUNT),
    required("members", Want::LIST),
]);

static CLAIM_PAYLOAD: Shape = Shape::closed(&[
    required("resource", Want::NON_EMPTY),
    required("base_version", PRESENT),
    required("operation", Want::NON_EMPTY),
]);

static SIGNATURE_PAYLOAD: Shape = Shape::closed(&[required("jws", Want::NON_EMPTY)]);

/// Every understood record: namespace, version, the section that lists it.
pub(super) fn namespaces() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    PAYLOADS
        .iter()
        .map(|(namespace, _, rule)| (*namespace, VERSION, *rule))
}

/// Checks every record.
pub(super) fn examine(extensions: Value<'_>, findings: &mut Findings<'_>) {
    for (index, record) in extensions.items().enumerate() {
        if record.kind() != Kind::Object {
            continue;
        }
        let pointer = format!("/extensions/{index}");
        findings.record(&EXTENSION, record, &pointer, "UAI 1.8");
        let payload = record.get("payload");
        match known(record) {
            Some((_, shape, rule)) => {
                if let Some(payload) = payload.filter(|payload| !payload.is_null()) {
                    findings.record(shape, payload, &format!("{pointer}/payload"), rule);
                }
            }
            None if record.get("required").and_then(Value::as_bool) == Some(true) => {
                let name = record
                    .get("namespace")
                    .map(super::check::got)
                    .unwrap_or_default();
                findings.refuse(
                    Code::ExtensionRequiredUnknown,
                    pointer,
                    "UAI 1.8",
                    format!("expected a required extension that is understood here, got {name}"),
                );
            }
            None => {}
        }
    }
}

/// The payloads of understood records of one namespace, each with its index.
pub(super) fn payloads<'d>(
    doc: Value<'d>,
    namespace: &'static str,
) -> impl Iterator<Item = (usize, Value<'d>)> {
    let extensions = doc.get("extensions");
    extensions
        .into_iter()
        .flat_map(Value::items)
        .enumerate()
        .filter(move |(_, record)| known(*record).is_some_and(|(name, ..)| name == namespace))
        .filter_map(|(index, record)| Some((index, record.get("payload")?)))
}

fn known(record: Value<'_>) -> Option<(&'static str, &'static Shape, &'static str)> {
    let namespace = record.get("namespace")?.as_str()?;
    let version = record.get("version")?.as_str()?;
    PAYLOADS
        .iter()
        .find(|(name, ..)| *name == namespace && version == VERSION)
        .copied()
}

/// Whether a record holds a signature, of whatever version: checksums never cover those.
pub(super) fn is_signature(record: Value<'_>) -> bool {
    record
        .get("namespace")
        .and_then(Value::as_str)
        .is_some_and(|name| name == SIGNATURE)
}

/// The assignment record must fit the recipients (UAI 9.1 M8).
pub(super) fn assignments(
    doc: Value<'_>,
    recipients: &HashSet<Cow<'_, str>>,
    findings: &mut Findings<'_>,
) {
    for (index, payload) in payloads(doc, ASSIGNMENT) {
        let mut seen = HashSet::new();
        let listed = payload.get("assignments");
        for (at, assigned) in listed.into_iter().flat_map(Value::items).enumerate() {
            let Some(id) = assigned.get("agent_id").and_then(Value::as_str) else {
                continue;
            };
            let wrong = if !recipients.contains(&id) {
                "an agent that is a recipient"
            } else if !seen.insert(id.clone()) {
                "every agent once"
            } else {
                continue;
            };
            let pointer = format!("/extensions/{index}/payload/assignments/{at}/agent_id");
            let detail = format!("expected {wrong}, got {id:?}");
            findings.refuse(Code::AssignmentMalformed, pointer, "UAI 9.1 M8", detail);
        }
    }
}
