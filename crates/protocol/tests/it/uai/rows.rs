//! Every recorded example comes out as recorded: verdict, codes, canonical hash.

use std::path::{Path, PathBuf};

use interwire_protocol::dialect::uai::{TABLE_VERSION, keyless, look_alike};
use interwire_protocol::json::{self, Kind, Limits, Value};
use interwire_protocol::{Mode, canonical};

use super::read;

/// A file of the shared conformance data, beside the workspace or where `INTERWIRE_SHARED` says.
#[expect(clippy::print_stdout, reason = "a skipped test must say so")]
pub(super) fn shared(name: &str) -> Option<String> {
    let folder = match std::env::var_os("INTERWIRE_SHARED") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
    };
    let text = ["data/uai", "uai"]
        .iter()
        .find_map(|uai| std::fs::read_to_string(folder.join(uai).join(name)).ok());
    if text.is_none() {
        println!(
            "skipped: no shared conformance data at {}",
            folder.display()
        );
    }
    text
}

pub(super) fn examples() -> Option<String> {
    shared("uai-examples.ndjson")
}

pub(super) fn keyed(envelope: Value<'_>) -> String {
    match envelope.kind() {
        Kind::Array => keyless::to_keyed(envelope).unwrap(),
        _ => envelope.raw().into(),
    }
}

#[test]
fn every_recorded_row_gets_its_verdict_and_codes() {
    let Some(text) = examples() else { return };
    let mut judged = 0;
    for (index, line) in text.lines().enumerate() {
        let document = json::read(line.as_bytes(), Limits::default()).unwrap();
        let (row, number) = (document.root(), index + 1);
        let envelope = row.get("envelope").unwrap();
        let is_strict = row.at("/notes/strict").and_then(Value::as_bool) == Some(true);
        let mode = if is_strict {
            Mode::Strict
        } else {
            Mode::Lenient
        };
        let reading = read(envelope.raw(), mode);
        let is_valid = row.at("/notes/valid").and_then(Value::as_bool).unwrap();
        assert_eq!(
            reading.is_valid(),
            is_valid,
            "row {number}: {:?}",
            reading.faults
        );
        judged += 1;

        let origin = row.at("/notes/origin").and_then(Value::as_str).unwrap();
        if origin.starts_with("published") {
            continue;
        }
        let expected: Vec<_> = row
            .at("/notes/expect")
            .into_iter()
            .flat_map(Value::items)
            .map(|code| code.as_str().unwrap().into_owned())
            .collect();
        let codes: Vec<_> = reading
            .faults
            .iter()
            .map(|fault| fault.code.as_str())
            .collect();
        assert_eq!(codes, expected, "row {number}: {:?}", reading.faults);
        if is_valid {
            assert_eq!(reading.warnings, [], "row {number}");
        }
    }
    assert_eq!(judged, 49);
}

/// A row that is valid is so in strict mode exactly when it has the twelve members and a published
/// mode; a row that is invalid is so in both, but for the one that strict mode alone refuses.
#[test]
fn every_recorded_row_is_judged_in_both_modes() {
    let Some(text) = examples() else { return };
    let mut counts = [0, 0];
    for (index, line) in text.lines().enumerate() {
        let document = json::read(line.as_bytes(), Limits::default()).unwrap();
        let (row, number) = (document.root(), index + 1);
        let envelope = row.get("envelope").unwrap();
        let is_valid = row.at("/notes/valid").and_then(Value::as_bool).unwrap();
        let is_for_strict = row.at("/notes/strict").and_then(Value::as_bool) == Some(true);
        let mode = envelope.at("/delivery/mode").and_then(Value::as_str);
        let is_native = envelope.get("additional_targets").is_some()
            || mode.is_some_and(|mode| matches!(&*mode, "broadcast" | "pubsub"));
        let lenient = read(envelope.raw(), Mode::Lenient);
        let strict = read(envelope.raw(), Mode::Strict);
        assert_eq!(
            lenient.is_valid(),
            is_valid || is_for_strict,
            "row {number}, lenient: {:?}",
            lenient.faults
        );
        assert_eq!(
            strict.is_valid(),
            is_valid && !is_native,
            "row {number}, strict: {:?}",
            strict.faults
        );
        counts[0] += usize::from(lenient.is_valid());
        counts[1] += usize::from(strict.is_valid());
    }
    assert_eq!(counts, [28, 23]);
}

/// DIFFERENCE: these rows record published facts, not envelopes; their codes describe the record.
#[test]
fn rows_of_published_facts_are_named_for_what_they_are() {
    let Some(text) = examples() else { return };
    let mut codes = Vec::new();
    for line in text.lines().filter(|line| line.contains("published: ")) {
        let document = json::read(line.as_bytes(), Limits::default()).unwrap();
        let envelope = document.root().get("envelope").unwrap();
        let reading = read(envelope.raw(), Mode::Lenient);
        let named = look_alike(envelope)
            .or(reading.faults.into_iter().next())
            .unwrap();
        codes.push(named.code.as_str());
    }
    assert_eq!(codes, ["missing_field", "foreign_format", "foreign_format"]);
}

#[test]
fn every_recorded_canonical_hash_is_ours() {
    let Some(text) = examples() else { return };
    let mut compared = 0;
    for (index, line) in text.lines().enumerate() {
        let document = json::read(line.as_bytes(), Limits::default()).unwrap();
        let row = document.root();
        let Some(hash) = row.at("/notes/canonical_hash").and_then(Value::as_str) else {
            continue;
        };
        let keyed = keyed(row.get("envelope").unwrap());
        let envelope = json::read(keyed.as_bytes(), Limits::default()).unwrap();
        let ours = canonical::canonical_hash(envelope.root()).unwrap().to_hex();
        assert_eq!(format!("sha256:{ours}"), hash, "row {}", index + 1);
        compared += 1;
    }
    assert_eq!(compared, 44);
}

#[test]
fn every_valid_row_keeps_its_hash_through_the_keyless_form() {
    let Some(text) = examples() else { return };
    for line in text.lines() {
        let document = json::read(line.as_bytes(), Limits::default()).unwrap();
        let row = document.root();
        if row.at("/notes/valid").and_then(Value::as_bool) != Some(true) {
            continue;
        }
        let keyed = keyed(row.get("envelope").unwrap());
        let envelope = json::read(keyed.as_bytes(), Limits::default()).unwrap();
        let positional = keyless::to_keyless(envelope.root()).unwrap();
        let positional = json::read(positional.as_bytes(), Limits::default()).unwrap();
        let back = keyless::to_keyed(positional.root()).unwrap();
        let back = json::read(back.as_bytes(), Limits::default()).unwrap();
        assert_eq!(
            canonical::canonical_hash(back.root()).unwrap(),
            canonical::canonical_hash(envelope.root()).unwrap(),
        );
        assert!(read(positional.text(), Mode::Lenient).is_valid());
    }
}

/// A first attempt and its retry are two rows of the recorded data.
#[test]
fn the_recorded_retry_is_a_duplicate_of_the_recorded_handoff() {
    let Some(text) = examples() else { return };
    let headers: Vec<_> = [15, 19]
        .iter()
        .map(|row| {
            let line = text.lines().nth(row - 1).unwrap();
            let document = json::read(line.as_bytes(), Limits::default()).unwrap();
            let envelope = document.root().get("envelope").unwrap();
            read(envelope.raw(), Mode::Lenient).header.unwrap()
        })
        .collect();
    assert_eq!(headers[0].dedupe_key(), headers[1].dedupe_key());
    assert_eq!(headers[0].fingerprint, headers[1].fingerprint);
}

/// One member of an envelope replaced by an object that holds, under each name of a table, the name.
#[test]
fn every_slot_is_where_the_recorded_field_order_has_it() {
    let Some(text) = shared("uai-field-order.json") else {
        return;
    };
    let order: serde_json::Value = serde_json::from_str(&text).unwrap();
    let maps = order["compact_field_order_maps"].as_object().unwrap();
    assert_eq!(order["version"], TABLE_VERSION);
    let base: serde_json::Value =
        serde_json::from_str(&super::directive().write().unwrap()).unwrap();
    let envelope_order = maps["envelope"]["ordered_fields"].as_array().unwrap();
    for (name, map) in maps.iter().filter(|(name, _)| *name != "envelope") {
        let fields = map["ordered_fields"].as_array().unwrap();
        let filled = fields
            .iter()
            .map(|f| (f.as_str().unwrap().to_owned(), f.clone()))
            .collect();
        let filled = serde_json::Value::Object(filled);
        let mut envelope = base.clone();
        let member = match name.as_str() {
            "agent" => "target",
            "extension_record" => "extensions",
            name if name.starts_with("uai.") => "body",
            name => name,
        };
        match member {
            "extensions" => envelope[member] = vec![filled].into(),
            "body" => {
                envelope["profile"] = name.as_str().into();
                envelope[member] = filled;
            }
            _ => envelope[member] = filled,
        }
        let envelope = envelope.to_string();
        let document = json::read(envelope.as_bytes(), Limits::default()).unwrap();
        let keyless = keyless::to_keyless(document.root()).unwrap();
        let mut keyless: serde_json::Value = serde_json::from_str(&keyless).unwrap();
        let at = envelope_order
            .iter()
            .position(|field| field == member)
            .unwrap();
        let slot = if member == "extensions" {
            &mut keyless[at][0]
        } else {
            &mut keyless[at]
        };
        assert_eq!(slot.as_array().unwrap(), fields, "{name}");

        let required = map["required_indexes"].as_array().unwrap();
        *slot = vec![serde_json::Value::Null; fields.len()].into();
        let emptied = keyless.to_string();
        let document = json::read(emptied.as_bytes(), Limits::default()).unwrap();
        let faults = keyless::to_keyed(document.root()).err().unwrap_or_default();
        let missing: Vec<_> = faults
            .iter()
            .map(|fault| {
                fault
                    .pointer
                    .rsplit('/')
                    .next()
                    .unwrap()
                    .parse::<u64>()
                    .unwrap()
            })
            .collect();
        let required: Vec<_> = required
            .iter()
            .map(|index| index.as_u64().unwrap())
            .collect();
        assert_eq!(missing, required, "{name}");
    }
}
