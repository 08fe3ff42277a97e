//! The published JSON Schemas and registry, compared with the tables of this crate.
//!
//! A small evaluator of the schema words that these files use; every other word is a panic, so that
//! a new version of the files cannot be half understood.

use interwire_protocol::dialect::aep::registry::EVENT_TYPES;
use interwire_protocol::{Timestamp, decode};
use serde_json::{Value, json};

use super::{data, lenient};

fn accepts(schema: &Value, value: &Value) -> bool {
    let Some(words) = schema.as_object() else {
        return schema.as_bool().unwrap();
    };
    words.iter().all(|(word, want)| match word.as_str() {
        "type" => match want {
            Value::Array(kinds) => kinds.iter().any(|kind| is_kind(kind, value)),
            kind => is_kind(kind, value),
        },
        "enum" => want.as_array().unwrap().contains(value),
        "required" => {
            !value.is_object()
                || want
                    .as_array()
                    .unwrap()
                    .iter()
                    .all(|name| value.get(name.as_str().unwrap()).is_some())
        }
        "properties" => want
            .as_object()
            .unwrap()
            .iter()
            .all(|(name, schema)| value.get(name).is_none_or(|value| accepts(schema, value))),
        "items" => value
            .as_array()
            .is_none_or(|list| list.iter().all(|item| accepts(want, item))),
        "minItems" => value
            .as_array()
            .is_none_or(|list| list.len() as u64 >= want.as_u64().unwrap()),
        "minLength" => value
            .as_str()
            .is_none_or(|text| text.chars().count() as u64 >= want.as_u64().unwrap()),
        "minimum" => value
            .as_f64()
            .is_none_or(|number| number >= want.as_f64().unwrap()),
        "maximum" => value
            .as_f64()
            .is_none_or(|number| number <= want.as_f64().unwrap()),
        // The text asks for RFC 3339, so times are judged although no reference does; URIs are not.
        "format" if want == "date-time" => value
            .as_str()
            .is_none_or(|text| Timestamp::parse_rfc3339(text).is_some()),
        "format" => want == "uri",
        "additionalProperties" => want == true,
        "$schema" | "$id" | "title" | "description" => true,
        other => panic!("the schema word {other} is not evaluated"),
    })
}

fn is_kind(kind: &Value, value: &Value) -> bool {
    match kind.as_str().unwrap() {
        "string" => value.is_string(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "null" => value.is_null(),
        other => panic!("the type {other} is not evaluated"),
    }
}

/// Values of every JSON type, on both sides of every bound, and every word of an enumeration.
fn samples(schema: &Value) -> Vec<Value> {
    let words = schema
        .get("enum")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let more = [
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(1.0),
        json!(-1),
        json!(-0.1),
        json!(0.5),
        json!(1.5),
        json!(7),
        json!(""),
        json!("x"),
        json!("2026-07-14T10:00:00Z"),
        json!("2026-07-14"),
        json!([]),
        json!(["a"]),
        json!(["a", 1]),
        json!({}),
        json!({"a": 1}),
        json!({"mode": "replayable", "sequence": 3, "cursor": "c"}),
        json!({"mode": "x"}),
        json!({"sequence": -1}),
        json!({"cursor": 1}),
        json!([{"source": "a", "id": "b"}]),
        json!([{"source": "a"}]),
        json!([{"source": 1, "id": "b"}]),
        json!([{"source": "a", "value": 1}]),
        json!([{"source": "a", "value": 1}, {"source": "b", "value": null}]),
        json!([{"source": "a", "value": 1, "confidence": 2}, {"source": "b", "value": 1}]),
        json!([{"source": "a", "value": 1}, {"source": "b"}]),
    ];
    words.into_iter().chain(more).collect()
}

fn is_valid(event: &Value) -> bool {
    decode(event.to_string().as_bytes(), &lenient()).is_valid()
}

fn schema(name: &str) -> Option<Value> {
    let text = std::fs::read(data()?.join(name)).unwrap();
    Some(serde_json::from_slice(&text).unwrap())
}

#[test]
fn the_registry_is_the_published_one() {
    let Some(types) = schema("aep-types.json") else {
        return;
    };
    let own: Vec<_> = EVENT_TYPES.iter().map(|row| row.name).collect();
    assert_eq!(json!(own), types);
}

#[test]
fn every_payload_schema_is_met_by_the_same_payloads() {
    let Some(schemas) = schema("schemas/harmovela-payloads.schema.json") else {
        return;
    };
    let (mut covered, mut compared) = (0, 0);
    for rule in schemas["allOf"].as_array().unwrap() {
        let kind = &rule["if"]["properties"]["type"]["const"];
        let schema = &rule["then"]["properties"]["payload"];
        covered += 1;
        let event = |payload: &Value| {
            json!({"spec_version": "0.2", "id": "e", "type": kind, "source": "agent:a",
                "created_at": "2026-07-14T10:00:00Z", "payload": payload})
        };
        let mut compare = |payload: &Value| {
            let expected = accepts(schema, payload);
            assert_eq!(is_valid(&event(payload)), expected, "{kind} with {payload}");
            compared += 1;
        };
        for payload in samples(&json!({})) {
            compare(&payload);
        }
        let fields = schema
            .get("properties")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        let mut good = serde_json::Map::new();
        for name in schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let name = name.as_str().unwrap();
            let fits = samples(&fields[name])
                .into_iter()
                .find(|value| accepts(&fields[name], value));
            good.insert(name.into(), fits.unwrap());
        }
        compare(&Value::Object(good.clone()));
        for (name, field) in &fields {
            for value in samples(field) {
                let mut payload = good.clone();
                payload.insert(name.clone(), value);
                compare(&Value::Object(payload));
            }
            let mut payload = good.clone();
            payload.remove(name);
            compare(&Value::Object(payload));
        }
    }
    assert_eq!(covered, 26);
    let shaped = EVENT_TYPES
        .iter()
        .filter(|row| row.payload.is_some())
        .count();
    assert_eq!(shaped, covered);
    assert!(compared > 2_000, "{compared}");
}

#[test]
fn the_envelope_schema_is_met_by_the_same_envelopes() {
    let Some(mut schema) = schema("schemas/harmovela-envelope.schema.json") else {
        return;
    };
    let fields = schema["properties"].as_object_mut().unwrap();
    // Judged by value, not by shape: version and registry have tests of their own.
    fields.remove("spec_version");
    fields.remove("type");
    let fields = fields.clone();
    let good = json!({"spec_version": "0.2", "id": "e", "type": "agent.message.sent",
        "source": "agent:a", "created_at": "2026-07-14T10:00:00Z", "payload": {}});
    for (name, field) in &fields {
        for value in samples(field) {
            let mut event = good.clone();
            event[name] = value;
            assert_eq!(is_valid(&event), accepts(&schema, &event), "{event}");
        }
        let mut event = good.clone();
        event.as_object_mut().unwrap().remove(name);
        assert_eq!(is_valid(&event), accepts(&schema, &event), "{event}");
    }
}
