//! Envelopes of every kind and act, as careful and careless peers write them. Some are invalid; the laws
//! pass over those.

use interwire_protocol::dialect::aep::registry::EVENT_TYPES;
use interwire_protocol::dialect::uai::build::{Agent, Envelope, Heading};
use interwire_protocol::dialect::uai::keyless::to_keyless;
use interwire_protocol::json::{self, Limits};
use interwire_protocol::{Priority, Timestamp};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[a-z]{1,6}",
        1 => "[a-z]{1,4}_(at|due)",
        1 => "\\PC{0,4}",
        1 => select(vec!["message", "reason", "code", "retryable", "result", "input", "progress", "description", "intent", "error", "references"]).prop_map(String::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (-9_007_199_254_740_991_i64..=9_007_199_254_740_991).prop_map(Value::from),
        any::<f32>()
            .prop_filter("finite", |n| n.is_finite())
            .prop_map(|n| json!(f64::from(n))),
        ".{0,12}".prop_map(Value::from),
        Just(json!("2026-02-28T10:30:00Z")),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(name(), inner, 0..4)
                .prop_map(|map| map.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}

fn object() -> impl Strategy<Value = Map<String, Value>> {
    btree_map(name(), value(), 0..4).prop_map(|map| map.into_iter().collect())
}

fn id() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[0-7][0-9A-HJKMNP-TV-Z]{25}",
        2 => "evt_[a-z0-9]{1,12}",
        1 => "[a-z]{1,4}",
        1 => "\\PC{1,12}",
        1 => "iw\\.(name|hash)\\.[a-z_0-9]{0,8}",
        1 => "[a-z]{120,140}",
    ]
}

fn party() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "(agent|human|service|tool|bus|group)[.:][a-z]{1,6}(\\.[a-z]{1,3})?",
        1 => "(harness|log|iw)[.:][a-z]{1,6}",
        1 => "\\PC{1,10}",
        1 => select(vec!["agent.*", "agent.", "a:b:c", ":x", "x:", "iw:iw.name.a", "agent:iw.name.b_20"]).prop_map(String::from),
    ]
}

fn moment() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => (0_i64..4_000_000_000_000).prop_map(|millis| Timestamp::from_millis(millis).to_string()),
        1 => select(vec!["2026-02-28T10:30:00Z", "2026-02-28T12:30:00.123456789+02:00", "not a date at all", "0000-01-01T00:00:00+23:59", "2016-12-31T23:59:60Z"]).prop_map(String::from),
    ]
}

fn priority() -> impl Strategy<Value = &'static str> {
    select(vec!["low", "normal", "high", "urgent"])
}

fn intent() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z]{1,5}(\\.[a-z]{1,5}){1,3}",
        2 => select(vec!["task.accepted", "task.started", "task.output", "task.blocked", "task.cancel.requested",
            "event.acknowledged", "event.rejected", "query.requested", "aee.status.ping", "aee.context.refute",
            "task.submitted", "ops.backup.status.check"]).prop_map(String::from),
        1 => "\\PC{0,8}",
    ]
}

fn maybe(members: &mut Map<String, Value>, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        members.insert(name.into(), value.into());
    }
}

pub fn aee() -> impl Strategy<Value = String> {
    let kind = select(vec!["task", "result", "event", "error", "stream"]);
    let code = option::of(select(vec![
        "E_CANCELLED",
        "E_TIMEOUT",
        "E_REFUSED",
        "E_TOOL",
        "x",
    ]));
    (
        (id(), moment(), kind, party(), party(), intent()),
        (
            id(),
            option::weighted(0.8, id()),
            priority(),
            option::of(0_u64..100_000_000),
            object(),
            code,
        ),
        (
            select(vec![
                Value::Null,
                json!("sig"),
                json!({"alg": "ed25519", "kid": "k", "value": "v"}),
            ]),
            option::weighted(0.3, object()),
            0..30_u8,
        ),
    )
        .prop_map(
            |(
                (id, ts, kind, from, to, intent),
                (corr, reply, priority, timeout, payload, code),
                (sig, more, drop),
            )| {
                let mut payload = payload;
                if kind == "error" {
                    maybe(&mut payload, "code", code);
                }
                let mut members = more.unwrap_or_default();
                for (name, value) in [
                    ("v", json!("1")),
                    ("id", json!(id)),
                    ("ts", json!(ts)),
                    ("type", json!(kind)),
                    ("from", json!(from)),
                    ("to", json!(to)),
                    ("intent", json!(intent)),
                    ("corr", json!(corr)),
                    ("reply_to", json!(reply)),
                    ("trace", Value::Null),
                    ("priority", json!(priority)),
                    (
                        "requires",
                        timeout.map_or(Value::Null, |ms| json!({"timeout_ms": ms})),
                    ),
                    ("payload", payload.into()),
                    ("sig", sig),
                ] {
                    members.insert(name.into(), value);
                }
                // One of the two ten-field sets is enough.
                match drop {
                    0 => {
                        members.remove("payload");
                        members.remove("priority");
                    }
                    1 => {
                        members.remove("reply_to");
                        members.remove("trace");
                    }
                    2 => {
                        members.remove("to");
                        members.remove("corr");
                    }
                    _ => {}
                }
                Value::Object(members).to_string()
            },
        )
}

/// What satisfies the published payload of every type.
fn satisfying() -> Map<String, Value> {
    let all = json!({
        "context_key": "k", "snapshot_id": "s", "fact_id": "f", "value": 1, "previous": "p", "corrected": "c",
        "subject": "s", "claims": [{"source": "a", "value": 1}, {"source": "b", "value": 2}], "attestor": "a",
        "method": "m", "reason": "r", "earliest_available": "e", "resource": "r", "description": "d",
        "types": "task.*", "query_scope": "q", "acknowledged_event_id": "evt_77", "task_id": "t1",
    });
    match all {
        Value::Object(all) => all,
        _ => Map::new(),
    }
}

pub fn aep() -> impl Strategy<Value = String> {
    let types: Vec<&'static str> = EVENT_TYPES.iter().map(|row| row.name).collect();
    let kind = prop_oneof![
        3 => select(types),
        3 => select(vec!["task.submitted", "task.accepted", "task.completed", "task.failed", "event.acknowledged", "event.rejected", "query.response", "agent.message.sent"]),
        1 => Just("com.example.custom"),
    ];
    let payload = prop_oneof![6 => object().prop_map(Value::from), 1 => value()];
    let error = option::of(object());
    (
        (id(), kind, party(), moment(), payload, error),
        (
            option::weighted(0.8, party()),
            option::weighted(0.4, "([a-z]{1,4}\\.){0,2}[a-z]{1,4}|\\PC{0,6}"),
            option::of(id()),
            option::of(id()),
            option::of(id()),
            option::of(id()),
            option::of(id()),
        ),
        (
            option::of(moment()),
            priority(),
            option::weighted(0.3, object()),
            option::of(0_u32..100_000),
            option::of(any::<bool>()),
        ),
    )
        .prop_map(
            |(
                (id, kind, source, created_at, payload, error),
                (target, topic, conversation, correlation, cause, task, session),
                (expires_at, priority, more, timeout, retryable),
            )| {
                let payload = match payload {
                    Value::Object(own) => {
                        let mut members = satisfying();
                        members.extend(own);
                        for (name, value) in satisfying() {
                            members.entry(name).or_insert(value);
                        }
                        if kind == "task.submitted" {
                            members.insert("priority".into(), json!(priority));
                            maybe(&mut members, "timeout_ms", timeout);
                        }
                        if let Some(mut error) = error {
                            maybe(&mut error, "retryable", retryable);
                            members.insert("error".into(), error.into());
                        }
                        Value::Object(members)
                    }
                    other => other,
                };
                let mut members = more.unwrap_or_default();
                for (name, value) in [
                    ("spec_version", json!("0.2")),
                    ("id", json!(id)),
                    ("type", json!(kind)),
                    ("source", json!(source)),
                    ("created_at", json!(created_at)),
                    ("payload", payload),
                ] {
                    members.insert(name.into(), value);
                }
                maybe(&mut members, "target", target);
                maybe(&mut members, "topic", topic);
                maybe(&mut members, "conversation_id", conversation);
                maybe(&mut members, "correlation_id", correlation);
                maybe(&mut members, "causation_id", cause);
                maybe(&mut members, "task_id", task);
                maybe(&mut members, "session_id", session);
                maybe(&mut members, "expires_at", expires_at);
                Value::Object(members).to_string()
            },
        )
}

fn identifier() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[A-Za-z0-9][A-Za-z0-9._:-]{0,30}", 1 => "[A-Za-z0-9]{120,128}", 1 => "iw\\.name\\.[a-z]{1,4}"]
}

fn agents() -> impl Strategy<Value = Agent> {
    let kind = prop_oneof![6 => select(vec!["agent", "human", "runtime", "group", "bus"]).prop_map(String::from), 1 => "[a-z_-]{1,8}"];
    (kind, identifier(), ".{1,12}")
        .prop_map(|(kind, id, label)| Agent::new(&kind, &id).labelled(&label))
}

/// Profiles and bodies that are valid in both modes.
fn bodies() -> impl Strategy<Value = (&'static str, Value)> {
    let boundary = "Record only.";
    (
        select((0..22_usize).collect::<Vec<_>>()),
        (identifier(), identifier(), ".{0,30}", object(), value(), option::of(intent())),
        (0_u8..=100, select((0..8_usize).collect::<Vec<_>>())),
    )
        .prop_map(move |(which, (id, task, words, free, any, intent), (percent, at))| {
            let of = |words: &[&'static str]| words[at % words.len()];
            let states = ["queued", "accepted", "running", "blocked", "completed", "failed", "cancelled", "expired"];
            let state = of(&states);
            let progress = match state { "completed" => 100, "queued" | "accepted" => 0, "running" => percent.min(99), _ => percent };
            let (profile, mut body) = match which {
                0 | 1 => ("uai.intent.request.v1", json!({"intent": "x.y", "subject": "s", "parameters": free})),
                2 | 3 => ("uai.intent.response.v1", json!({"status": of(&["completed", "accepted", "rejected", "partial"]), "request_message_id": id, "task_ref": task, "notices": [words]})),
                4 | 5 => ("uai.task.status.v1", json!({"task_id": task, "state": state, "progress": progress, "blocking_reasons": ["r"], "notes": words})),
                6 | 7 => ("uai.agent.task-status.v1", json!({"task_id": task, "state": state, "progress": progress, "summary": words, "blockers": [1], "support_boundary": boundary})),
                8..=10 => ("uai.agent.message.v1", json!({"message_type": of(&["directive", "query", "inform", "response", "notification"]), "content": words, "context_refs": [], "requires_acknowledgement": false})),
                11 | 12 => ("uai.agent.ack.v1", json!({"ack_for_message_id": id, "ack_status": of(&["received", "accepted", "rejected", "deferred", "human_review", "duplicate"]), "received_at": "2026-07-01T12:00:00Z", "support_boundary": boundary})),
                13 => ("uai.agent.final-report.v1", json!({"task_id": task, "outcome": of(&["completed", "partial", "failed", "cancelled"]), "summary": "four words of it", "evidence_refs": ["e"], "support_boundary": boundary})),
                14 => ("uai.agent.blocker.v1", json!({"blocker_id": id, "blocker_type": "other", "description": "d", "human_review_required": true, "proposed_resolution": words, "support_boundary": boundary})),
                15 => ("uai.error.v1", json!({"status": 404, "code": "rejected", "detail": words, "related_message_id": id})),
                16 => ("uai.agent.memory-proposal.v1", json!({"proposal_id": id, "source_type": "imported", "proposed_facts": [], "proposed_status": "short_term", "task_execution_separation": true, "review_required": true, "support_boundary": boundary})),
                17 => ("uai.capability.negotiation.v1", json!({"negotiation_id": id, "phase": "offer", "offered": {}})),
                18 => ("uai.agent.discovery.v1", json!({"operation": of(&["query", "result", "announce", "withdraw"])})),
                19 => ("uai.agent.correction.v1", json!({"correction_id": id, "corrects_message_id": task, "reason": words, "corrected_fields": {"/body/summary": free}, "support_boundary": boundary})),
                20 => ("uai.agent.sealed.v1", json!({"sealed_profile": "p", "content_type": "c", "jwe": free})),
                _ => ("uai.unknown.profile.v3", json!({"any": any})),
            };
            if let Some(members) = body.as_object_mut() {
                if which < 4 && which > 1 && !any.is_null() {
                    members.insert("result".into(), any);
                }
                if (8..=10).contains(&which) {
                    maybe(members, "intent", intent);
                }
            }
            (profile, body)
        })
}

pub fn uai() -> impl Strategy<Value = String> {
    (
        (
            identifier(),
            0_i64..4_000_000_000_000,
            agents(),
            agents(),
            identifier(),
        ),
        (
            bodies(),
            option::of(identifier()),
            option::of(identifier()),
            option::of(identifier()),
            0..4_u8,
        ),
        (
            option::of(1_i64..10_000_000_000),
            option::weighted(0.2, agents()),
            option::weighted(0.2, "[a-z]{1,4}(\\.[a-z]{1,4})?"),
            any::<bool>(),
            any::<bool>(),
        ),
        option::weighted(0.2, object()),
    )
        .prop_map(
            |(
                (id, at, source, target, conversation),
                ((profile, body), correlation, parent, task, priority),
                (life, other, topic, is_pubsub, is_keyless),
                extension,
            )| {
                let at = Timestamp::from_millis(at);
                let heading = Heading {
                    id,
                    issued_at: at,
                    source,
                    target,
                    conversation,
                };
                let mut envelope = Envelope::new(profile, body.to_string(), heading).priority(
                    [
                        Priority::Low,
                        Priority::Normal,
                        Priority::High,
                        Priority::Urgent,
                    ][usize::from(priority)],
                );
                if let Some(correlation) = correlation {
                    envelope = envelope.correlation(&correlation);
                }
                if let Some(parent) = parent {
                    envelope = envelope.reply_to(&parent);
                }
                if let Some(task) = task {
                    envelope = envelope.task_ref(&task);
                }
                if let Some(life) = life {
                    envelope = envelope.expires_at(at.plus_millis(life));
                }
                if let Some(other) = other {
                    envelope = envelope.also_to(other);
                }
                if let Some(topic) = topic {
                    envelope = envelope
                        .mode(if is_pubsub { "pubsub" } else { "event" })
                        .topic(&topic);
                }
                if let Some(extension) = extension {
                    envelope = envelope.extension("urn:x", &Value::Object(extension).to_string());
                }
                let text = envelope.write().unwrap_or_default();
                if !is_keyless || text.is_empty() {
                    return text;
                }
                let document =
                    json::read(text.as_bytes(), Limits::default()).expect("written by the builder");
                to_keyless(document.root()).unwrap_or(text)
            },
        )
}
