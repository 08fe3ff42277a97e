//! One message in three carriages: the same model, the same copies each time, and something that a
//! decoder without the extension can use.

use interwire_protocol::dialect::uai::build::{Agent, Envelope, Handoff};
use interwire_protocol::dialect::uai::carriage::{By, Carriage, carry};
use interwire_protocol::dialect::uai::checksum;
use interwire_protocol::dialect::uai::keyless::{to_keyed, to_keyless};
use interwire_protocol::json::{self, Limits};
use interwire_protocol::{Code, Fault, Header, canonical};
use proptest::prelude::*;
use serde_json::Value;

use super::rows::{examples, keyed};
use super::{agent, directive, edited, header, heading, lenient, strict};

fn carried(text: &str, carriage: Carriage) -> Result<Vec<String>, Fault> {
    let document = json::read(text.as_bytes(), Limits::default()).unwrap();
    carry(document.root(), carriage, By::Sender)
}

fn one(text: &str, carriage: Carriage) -> String {
    let mut texts = carried(text, carriage).unwrap();
    assert_eq!(texts.len(), 1);
    texts.remove(0)
}

fn hash(text: &str) -> String {
    let document = json::read(text.as_bytes(), Limits::default()).unwrap();
    canonical::canonical_hash(document.root()).unwrap().to_hex()
}

/// The header without what is over the bytes: the carriage is part of those.
fn model(text: &str) -> Header {
    Header {
        fingerprint: header(&directive().write().unwrap()).fingerprint,
        ..header(text)
    }
}

/// A decoder that knows nothing of the extension: the twelve members, the first target, and of the
/// delivery what is published. Everything else it drops.
struct Old {
    target: String,
    mode: String,
    body: Value,
}

fn old_decoder(text: &str) -> Old {
    let message: Value = serde_json::from_str(text).unwrap();
    let twelve = [
        "uai_version",
        "profile",
        "message_id",
        "source",
        "target",
        "conversation",
        "delivery",
        "trust",
        "body",
        "provenance",
        "integrity",
        "extensions",
    ];
    for member in twelve {
        assert!(!message[member].is_null(), "{member}");
    }
    let mode = match message["delivery"]["mode"].as_str().unwrap() {
        known @ ("sync" | "async" | "event") => known,
        _ => "async",
    };
    Old {
        target: message["target"]["id"].as_str().unwrap().into(),
        mode: mode.into(),
        body: message["body"].clone(),
    }
}

fn handoff_to(ids: &[String]) -> Envelope {
    let assignments: Vec<_> = ids
        .iter()
        .map(|id| serde_json::json!({"agent_id": id, "exact_next_action": format!("Do the part of {id}.")}))
        .collect();
    let (first, others) = ids.split_first().unwrap();
    let envelope = Handoff::new("task_1", "context", "reason", "Do the first part.")
        .envelope(heading("msg_h", agent("manager"), agent(first)))
        .extension(
            "urn:uai:ext:assignment",
            &serde_json::json!({ "assignments": assignments }).to_string(),
        );
    others
        .iter()
        .fold(envelope, |envelope, id| envelope.also_to(agent(id)))
}

#[test]
fn the_recorded_handoff_is_carried_as_recorded() {
    let Some(text) = examples() else { return };
    let rows: Vec<_> = text
        .lines()
        .skip(14)
        .take(3)
        .map(|line| {
            let document = json::read(line.as_bytes(), Limits::default()).unwrap();
            document.root().get("envelope").unwrap().raw().to_owned()
        })
        .collect();
    assert_eq!(
        hash(&one(&rows[0], Carriage::Strict)),
        hash(&rows[1]),
        "strict"
    );
    assert_eq!(
        hash(&one(&rows[1], Carriage::Native)),
        hash(&rows[0]),
        "native"
    );
    let copies = carried(&rows[0], Carriage::Split).unwrap();
    assert!(
        copies.iter().any(|copy| hash(copy) == hash(&rows[2])),
        "split: {copies:?}"
    );
}

#[test]
fn every_valid_recorded_row_stays_valid_in_every_carriage() {
    let Some(text) = examples() else { return };
    for (index, line) in text.lines().enumerate() {
        let document = json::read(line.as_bytes(), Limits::default()).unwrap();
        let row = document.root();
        if row.at("/notes/valid").and_then(json::Value::as_bool) != Some(true) {
            continue;
        }
        let message = keyed(row.get("envelope").unwrap());
        for carriage in Carriage::ALL {
            match carried(&message, carriage) {
                Ok(texts) => {
                    for text in texts {
                        let reading = match carriage {
                            Carriage::Native => lenient(&text),
                            Carriage::Strict | Carriage::Split => strict(&text),
                        };
                        assert!(
                            reading.is_valid(),
                            "row {} {carriage:?}: {:?}",
                            index + 1,
                            reading.faults
                        );
                    }
                }
                Err(fault) => {
                    assert_eq!(fault.code, Code::SplitRequiresSender, "row {}", index + 1);
                    assert!(message.contains("uai.agent.sealed.v1"));
                }
            }
        }
    }
}

#[test]
fn a_signed_message_is_not_carried_otherwise_on_the_way() {
    let text = directive()
        .also_to(agent("c"))
        .extension("urn:uai:ext:signature", "{\"jws\":\"a..b\"}")
        .write()
        .unwrap();
    let document = json::read(text.as_bytes(), Limits::default()).unwrap();
    let refused = carry(document.root(), Carriage::Split, By::Broker).unwrap_err();
    assert_eq!(refused.code, Code::SplitRequiresSender);
    let copies = carry(document.root(), Carriage::Split, By::Sender).unwrap();
    assert!(
        copies
            .iter()
            .all(|copy| !copy.contains("urn:uai:ext:signature"))
    );
}

#[test]
fn a_message_to_one_agent_keeps_its_bytes_in_every_carriage() {
    let text = directive().write().unwrap();
    for carriage in Carriage::ALL {
        assert_eq!(one(&text, carriage), text);
    }
}

#[test]
fn the_first_target_wins_for_a_decoder_that_does_not_know_the_extension() {
    let ids = ["worker1".to_owned(), "worker2".to_owned()];
    let native = handoff_to(&ids).mode("broadcast").write().unwrap();
    let strict_text = one(&native, Carriage::Strict);
    for text in [&native, &strict_text] {
        let old = old_decoder(text);
        assert_eq!((&*old.target, &*old.mode), ("worker1", "async"));
        assert_eq!(old.body["exact_next_action"], "Do the first part.");
    }
    let copies = carried(&native, Carriage::Split).unwrap();
    for (copy, id) in copies.iter().zip(ids) {
        let old = old_decoder(copy);
        assert_eq!((&*old.target, &*old.mode), (&*id, "async"));
        assert_eq!(
            old.body["exact_next_action"],
            format!("Do the part of {id}.")
        );
    }
}

#[test]
fn negotiated_features_decide_the_carriage() {
    for (features, carriage) in [
        (&["ma.additional_targets"][..], Carriage::Native),
        (&["ma.extension_carriage"], Carriage::Strict),
        (
            &["ma.extension_carriage", "ma.additional_targets"],
            Carriage::Native,
        ),
        (&["form.keyless"], Carriage::Split),
        (&[], Carriage::Split),
    ] {
        assert_eq!(Carriage::for_features(features.iter().copied()), carriage);
    }
}

fn recipients() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::hash_set("x[a-z]{1,8}", 1..6).prop_map(|ids| ids.into_iter().collect())
}

prop_compose! {
    fn messages()(
        ids in recipients(),
        mode in proptest::sample::select(vec!["async", "broadcast", "pubsub", "event"]),
        topics in proptest::collection::hash_set("[a-z]{1,4}(\\.[a-z]{1,4}){0,2}", 1..4),
        is_handoff in any::<bool>(),
    ) -> String {
        let envelope = if is_handoff {
            handoff_to(&ids)
        } else {
            ids.iter().fold(directive(), |envelope, id| envelope.also_to(Agent::new("robot", id)))
        };
        let mut envelope = envelope.mode(mode);
        if matches!(mode, "pubsub" | "event") {
            envelope = topics.iter().fold(envelope, |envelope, topic| envelope.topic(topic));
        }
        envelope.write().unwrap()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn native_and_strict_say_the_same_in_every_form(native in messages()) {
        let strict_text = one(&native, Carriage::Strict);
        prop_assert!(strict(&strict_text).is_valid(), "{:?}", strict(&strict_text).faults);
        prop_assert_eq!(model(&native), model(&strict_text));
        let back = one(&strict_text, Carriage::Native);
        prop_assert_eq!(hash(&back), hash(&native));
        for text in [&native, &strict_text] {
            let document = json::read(text.as_bytes(), Limits::default()).unwrap();
            let keyless = to_keyless(document.root()).unwrap();
            let minified: Value = serde_json::from_str(text).unwrap();
            let pretty = serde_json::to_string_pretty(&minified).unwrap();
            let array = json::read(keyless.as_bytes(), Limits::default()).unwrap();
            prop_assert_eq!(hash(&to_keyed(array.root()).unwrap()), hash(text));
            prop_assert_eq!(hash(&pretty), hash(text));
            prop_assert_eq!(header(&keyless), header(text));
        }
    }

    #[test]
    fn copies_are_the_same_each_time_and_reach_every_recipient_once(native in messages()) {
        let copies = carried(&native, Carriage::Split).unwrap();
        prop_assert_eq!(&copies, &carried(&native, Carriage::Split).unwrap());
        let strict_text = one(&native, Carriage::Strict);
        let of_strict: Vec<_> = carried(&strict_text, Carriage::Split).unwrap().iter().map(|copy| model(copy)).collect();
        let models: Vec<_> = copies.iter().map(|copy| model(copy)).collect();
        prop_assert_eq!(&models, &of_strict);
        let whole = header(&native);
        let reached: Vec<_> = models.iter().flat_map(|copy| copy.recipients.clone()).collect();
        prop_assert_eq!(reached, whole.recipients.clone());
        for (copy, text) in models.iter().zip(&copies) {
            prop_assert!(strict(text).is_valid(), "{:?}", strict(text).faults);
            if copies.len() > 1 {
                prop_assert_eq!(copy.origin.as_deref(), Some(&*whole.id));
            }
            prop_assert_eq!(&copy.idempotency_key, &whole.idempotency_key);
            prop_assert_eq!(&copy.conversation, &whole.conversation);
            prop_assert_eq!(&copy.task, &whole.task);
            let document = json::read(text.as_bytes(), Limits::default()).unwrap();
            let sum = checksum(document.root()).unwrap();
            prop_assert_eq!(document.root().at("/integrity/checksum").unwrap().as_str().unwrap(), sum);
        }
    }
}

#[test]
fn an_edited_copy_no_longer_has_its_checksum() {
    let text = directive().also_to(agent("c")).write().unwrap();
    let copy = carried(&text, Carriage::Split).unwrap().remove(0);
    let moved = edited(&copy, &[("/target/id", "\"x\"")]);
    assert_ne!(hash(&moved), hash(&copy));
}
