//! Laws: what is wrapped comes back, is a valid envelope, and is the same each time.

use super::vectors::all;
use super::{canonical, json, slices};
use interwire_formats::{Format, Options, Tier, unwrap, wrap};
use proptest::prelude::*;
use protocol::{Act, Intake, Mode, Rules, Timestamp, decode};
use serde_json::Value;
use std::collections::HashMap;

fn options() -> [Options; 3] {
    let mve5 = Options {
        tier: Tier::Mve5,
        ..Options::default()
    };
    let named = Options {
        party: Some("agent.planner".into()),
        peer: Some("agent.worker".into()),
        conversation: Some("conversation-1".into()),
        document: Some("conversation-1#2".into()),
        time: Some(Timestamp::from_millis(1_772_274_600_000)),
        ..Options::default()
    };
    [Options::default(), mve5, named]
}

fn comes_back(document: &str, format: Option<Format>, options: &Options) -> Result<(), String> {
    let Ok(envelopes) = wrap(document.as_bytes(), format, options) else {
        return Ok(());
    };
    let back = unwrap(&slices(&envelopes), None).map_err(|refused| refused.to_string())?;
    if back.len() != 1 || canonical(&back[0]) != canonical(document) {
        return Err(format!("{document}\n{back:?}"));
    }
    // The order in which envelopes arrive says nothing.
    let mut turned = slices(&envelopes);
    turned.reverse();
    let back = unwrap(&turned, None).map_err(|refused| refused.to_string())?;
    (canonical(&back[0]) == canonical(document))
        .then_some(())
        .ok_or(format!("turned: {back:?}"))
}

#[test]
fn every_document_comes_back_in_both_tiers() {
    for vector in all() {
        for options in options() {
            for format in [None, Some(vector.format)] {
                comes_back(&vector.document, format, &options)
                    .unwrap_or_else(|why| panic!("{}: {why}", vector.name));
            }
        }
    }
}

#[test]
fn several_documents_of_one_conversation_come_back_apart() {
    let mut envelopes = Vec::new();
    let documents: Vec<_> = all().into_iter().map(|vector| vector.document).collect();
    for (number, document) in documents.iter().enumerate() {
        let options = Options {
            conversation: Some("conversation-1".into()),
            document: Some(format!("conversation-1#{number}")),
            ..Options::default()
        };
        envelopes.extend(wrap(document.as_bytes(), None, &options).unwrap());
    }
    let back = unwrap(&slices(&envelopes), None).unwrap();
    // Two of the vectors are of one checkpoint.
    let back: Vec<_> = back.iter().map(|one| canonical(one)).collect();
    let missing = documents
        .iter()
        .filter(|one| !back.contains(&canonical(one)));
    assert_eq!(missing.count(), 0);
}

#[test]
fn every_envelope_is_valid_and_of_its_tier() {
    for vector in all() {
        for options in options() {
            let mode = if options.tier == Tier::Full {
                "full"
            } else {
                "mve5"
            };
            for envelope in wrap(vector.document.as_bytes(), None, &options).unwrap() {
                let rules = Rules::at(Timestamp::from_millis(0)).mode(Mode::Lenient);
                let reading = decode(envelope.as_bytes(), &rules);
                assert_eq!(reading.faults, [], "{} {mode}: {envelope}", vector.name);
                let header = reading.header.unwrap();
                let tiers = reading.tiers.unwrap();
                assert!(tiers.repo5 && tiers.seed5);
                let is_full = options.tier == Tier::Full;
                assert_eq!(
                    tiers.full14 && tiers.repo10 && tiers.seed10,
                    is_full,
                    "{envelope}"
                );
                let intake = if is_full { Intake::Work } else { Intake::Log };
                assert_eq!(header.intake, intake);
                if json(&envelope)["type"] == "error" {
                    assert_eq!(header.act, Act::Fail);
                    let codes: Vec<_> = reading
                        .warnings
                        .iter()
                        .map(|one| one.code.as_str())
                        .collect();
                    assert!(!codes.contains(&"error_payload_form"), "{envelope}");
                }
            }
        }
    }
}

#[test]
fn the_same_document_gives_the_same_bytes_and_ids_are_not_used_twice() {
    for vector in all() {
        let twice =
            [0, 1].map(|_| wrap(vector.document.as_bytes(), None, &Options::default()).unwrap());
        assert_eq!(twice[0], twice[1]);
        let mut seen: HashMap<(String, String), &str> = HashMap::new();
        for envelope in &twice[0] {
            let value = json(envelope);
            let key = (value["from"].to_string(), value["id"].to_string());
            assert_eq!(seen.insert(key, envelope), None, "{}", vector.name);
        }
        // White space is no difference to ids.
        let spaced: Value = json(&vector.document);
        let spaced = serde_json::to_string_pretty(&spaced).unwrap();
        if !vector.document.contains("12345678901234567890") {
            let ids = |all: &[String]| -> Vec<Value> {
                all.iter().map(|one| json(one)["corr"].clone()).collect()
            };
            let other = wrap(spaced.as_bytes(), None, &Options::default()).unwrap();
            assert_eq!(ids(&other), ids(&twice[0]), "{}", vector.name);
        }
    }
}

#[test]
fn a_result_names_its_call() {
    for vector in all() {
        let envelopes = wrap(vector.document.as_bytes(), None, &Options::default()).unwrap();
        let envelopes: Vec<_> = envelopes.iter().map(|one| json(one)).collect();
        let call = |one: &Value| one["payload"]["interwire_format"]["call"].clone();
        for result in envelopes
            .iter()
            .filter(|one| one["type"] == "result" || one["type"] == "error")
        {
            let task = envelopes
                .iter()
                .find(|one| one["type"] == "task" && call(one) == call(result));
            if let Some(task) = task {
                assert_eq!(task["id"], result["reply_to"], "{}", vector.name);
                assert_eq!(task["intent"], result["intent"], "{}", vector.name);
                assert_eq!(task["corr"], result["corr"], "{}", vector.name);
                assert_eq!(
                    (&task["from"], &task["to"]),
                    (&result["to"], &result["from"]),
                    "{}",
                    vector.name
                );
            }
        }
    }
}

#[test]
fn a_history_that_grows_is_wrapped_alike_as_far_as_it_went() {
    let options = Options {
        conversation: Some("conversation-1".into()),
        ..Options::default()
    };
    let vector = all()
        .into_iter()
        .find(|one| one.name.starts_with("a history"))
        .unwrap();
    let Value::Array(messages) = json(&vector.document) else {
        panic!("a list");
    };
    let whole = wrap(vector.document.as_bytes(), None, &options).unwrap();
    for length in 1..messages.len() {
        let shorter = Value::from(messages[..length].to_vec()).to_string();
        let envelopes = wrap(shorter.as_bytes(), None, &options).unwrap();
        assert!(whole.starts_with(&envelopes), "{length}");
    }
}

#[test]
fn a_lost_envelope_and_a_changed_payload_are_noticed() {
    let vector = all().remove(0);
    let envelopes = wrap(vector.document.as_bytes(), None, &Options::default()).unwrap();
    for lost in 0..envelopes.len() {
        let mut left = envelopes.clone();
        left.remove(lost);
        let refused = unwrap(&slices(&left), None).unwrap_err();
        assert_eq!(
            refused.code().as_str(),
            "missing_field",
            "{lost}: {refused}"
        );
    }
    let mut changed = envelopes.clone();
    let copy = changed
        .iter_mut()
        .find(|one| one.contains("12345678901234567890"))
        .unwrap();
    *copy = copy.replacen("\"n\":12345678901234567890", "\"n\":1", 1);
    let refused = unwrap(&slices(&changed), None).unwrap_err();
    assert_eq!(refused.code().as_str(), "payload_invalid");
    // A change of what is nowhere else is a change of the document.
    let mut changed = envelopes;
    let moved = changed
        .iter_mut()
        .find(|one| one.contains("\"city\":\"Bern\""))
        .unwrap();
    *moved = moved.replacen("Bern", "Chur", 1);
    let back = unwrap(&slices(&changed), None).unwrap();
    assert!(back[0].contains(r#"{\"city\":\"Chur\"}"#), "{}", back[0]);
}

/// Puts another value, or another member, at the place of one of the scalars.
fn changed(value: &Value, at: &mut usize, with: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(|one| changed(one, at, with)).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, one)| (name.clone(), changed(one, at, with)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        scalar => {
            let is_it = *at == 0;
            *at = at.wrapping_sub(1);
            if is_it { with.clone() } else { scalar.clone() }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn what_is_wrapped_comes_back_whatever_it_is(
        vector in 0_usize..35,
        at in 0_usize..60,
        what in 0_usize..11,
    ) {
        let values = [
            Value::Null, true.into(), 7.into(), "".into(), "x".into(), "call_1".into(), "{}".into(), "{\"a\":[1.0]}".into(),
            json("[]"), json("{}"), json(r#"{"interwire_format":{"at":"/0"},"content":[null,{"a/b~":1.5}]}"#),
        ];
        let vectors = all();
        let vector = &vectors[vector % vectors.len()];
        let mut number = at;
        let document = changed(&json(&vector.document), &mut number, &values[what]).to_string();
        for format in Format::ALL.map(Some).into_iter().chain([None]) {
            for options in options() {
                if let Err(why) = comes_back(&document, format, &options) {
                    return Err(TestCaseError::fail(why));
                }
            }
        }
    }

    #[test]
    fn envelopes_of_anybody_are_put_together_or_refused(
        vector in 0_usize..35,
        number in 0_usize..8,
        at in 0_usize..40,
        what in 0_usize..14,
    ) {
        let values = [
            Value::Null, false.into(), 0.into(), 99_999_999.into(), "".into(), "/".into(), "/0".into(), "/99999999".into(),
            "/rest/~".into(), "text".into(), json("[]"), json("[7,0]"), json("{}"), json(r#"{"from":"","how":"value","gaps":[1,0]}"#),
        ];
        let vectors = all();
        let vector = &vectors[vector % vectors.len()];
        let mut envelopes = wrap(vector.document.as_bytes(), None, &Options::default()).unwrap();
        let number = number % envelopes.len();
        let mut place = at;
        envelopes[number] = changed(&json(&envelopes[number]), &mut place, &values[what]).to_string();
        for format in Format::ALL {
            let written = [unwrap(&slices(&envelopes), Some(format)), unwrap(&slices(&envelopes), None)];
            for document in written.into_iter().flatten().flatten() {
                prop_assert!(serde_json::from_str::<Value>(&document).is_ok());
            }
            drop(interwire_formats::write_anew(&slices(&envelopes), format));
        }
    }
}
