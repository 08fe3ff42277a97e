//! Laws, checked on generated envelopes.

use interwire_protocol::dialect::uai::build::{
    Ack, Agent, Envelope, FinalReport, Handoff, Heading, Message, TaskStatus,
};
use interwire_protocol::dialect::uai::keyless::{to_keyed, to_keyless};
use interwire_protocol::json::{self, Limits};
use interwire_protocol::{Mode, Priority, Rules, canonical, decode};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Value;

use super::{edited, found, header, lenient, now, strict};

fn id() -> impl Strategy<Value = String> {
    "[A-Za-z0-9][A-Za-z0-9._:-]{0,127}"
}

fn words() -> impl Strategy<Value = String> {
    ".{0,40}"
}

fn agents() -> impl Strategy<Value = Agent> {
    ("[a-z_-]{1,12}", id(), ".{1,20}")
        .prop_map(|(kind, id, label)| Agent::new(&kind, &id).labelled(&label))
}

prop_compose! {
    fn headings()(id in id(), source in agents(), target in agents(), conversation in id()) -> Heading {
        Heading { id, issued_at: now(), source, target, conversation }
    }
}

fn packets() -> impl Strategy<Value = Envelope> {
    let kinds = select(vec![
        "directive",
        "query",
        "inform",
        "response",
        "notification",
    ]);
    let statuses = select(vec![
        "received",
        "accepted",
        "rejected",
        "deferred",
        "human_review",
        "duplicate",
    ]);
    let outcomes = select(vec!["completed", "partial", "failed", "cancelled"]);
    prop_oneof![
        (headings(), kinds, words(), any::<bool>()).prop_map(|(heading, kind, text, ack)| {
            let mut message = Message::new(kind, &text);
            message.ack_required = ack;
            message.envelope(heading)
        }),
        (headings(), id(), words(), words(), ".{1,40}").prop_map(
            |(heading, task, summary, reason, next)| {
                let handoff = Handoff::new(&task, &summary, &reason, &next);
                handoff.envelope(heading)
            }
        ),
        (headings(), id(), statuses).prop_map(|(heading, of, status)| {
            let ack = Ack::new(&of, status, now());
            ack.envelope(heading)
        }),
        (headings(), id(), any::<u8>(), words(), 0..7).prop_map(
            |(heading, task, percent, text, which)| {
                let status = match which {
                    0 => TaskStatus::queued(&task, &text),
                    1 => TaskStatus::accepted(&task, &text),
                    2 => TaskStatus::running(&task, percent, &text),
                    3 => TaskStatus::blocked(&task, percent, &text, &text),
                    4 => TaskStatus::completed(&task, &text),
                    5 => TaskStatus::failed(&task, percent, &text),
                    _ => TaskStatus::cancelled(&task, percent, &text),
                };
                status.envelope(heading)
            }
        ),
        (headings(), id(), outcomes, "([a-z]{1,8} ){4,8}", ".{1,20}").prop_map(
            |(heading, task, outcome, text, proof)| {
                let report = FinalReport::new(&task, outcome, &text, &proof);
                report.envelope(heading)
            }
        ),
    ]
}

prop_compose! {
    fn envelopes()(
        packet in packets(),
        parent in proptest::option::of(id()),
        priority in select(vec![Priority::Low, Priority::Normal, Priority::High, Priority::Urgent]),
        retry_count in any::<u32>(),
        life_ms in proptest::option::of(1_i64..1_000_000_000),
    ) -> Envelope {
        let mut envelope = packet.priority(priority).retry_count(retry_count);
        if let Some(parent) = parent {
            envelope = envelope.reply_to(&parent);
        }
        match life_ms {
            Some(life_ms) => envelope.expires_at(now().plus_millis(life_ms)),
            None => envelope,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_the_builders_write_is_valid_in_both_modes(envelope in envelopes()) {
        let text = envelope.write().unwrap();
        for reading in [strict(&text), lenient(&text)] {
            prop_assert!(reading.is_valid(), "{:?} {}", reading.faults, text);
        }
    }

    #[test]
    fn more_recipients_stay_valid_in_lenient_mode(
        envelope in envelopes(),
        ids in proptest::collection::hash_set("x[a-z]{1,8}", 1..5),
    ) {
        let text = ids.iter().fold(envelope, |e, id| e.also_to(Agent::new("robot", id))).write().unwrap();
        prop_assert_eq!(header(&text).recipients.len(), ids.len() + 1);
    }

    #[test]
    fn changing_any_of_the_twelve_breaks_the_checksum(envelope in envelopes(), which in 0..12_usize) {
        let text = envelope.write().unwrap();
        let mut tampered: Value = serde_json::from_str(&text).unwrap();
        let (pointer, value) = [
            ("/uai_version", "1.0 "),
            ("/profile", "uai.tampered.with.v1"),
            ("/message_id", "tampered:with"),
            ("/source/label", "tampered with"),
            ("/target/label", "tampered with"),
            ("/conversation/conversation_id", "tampered:with"),
            ("/delivery/idempotency_key", "tampered:with"),
            ("/trust/principal", "tampered with"),
            ("/body/tampered", "with"),
            ("/provenance/issued_at", "2020-02-02T00:00:00Z"),
            ("/integrity/tampered", "with"),
            ("/extensions", ""),
        ][which];
        match pointer {
            "/extensions" => {
                tampered[&pointer[1..]] = serde_json::json!([
                    {"namespace": "urn:x", "version": "1", "required": false, "payload": {}}
                ]);
            }
            _ => {
                let (parent, name) = pointer.rsplit_once('/').unwrap();
                tampered.pointer_mut(parent).unwrap()[name] = value.into();
            }
        }
        let faults = found(&lenient(&tampered.to_string()).faults);
        // Another version is refused before its checksum is looked at: it may not have one.
        let expected = if which == 0 {
            "unsupported_version /uai_version"
        } else {
            "checksum_mismatch /integrity/checksum"
        };
        prop_assert!(faults.contains(&expected.to_owned()), "{pointer}: {faults:?}");
    }

    #[test]
    fn the_keyless_form_keeps_the_canonical_hash_and_the_header(
        envelope in envelopes(),
        ids in proptest::collection::hash_set("x[a-z]{1,8}", 0..4),
    ) {
        let keyed = ids.iter().fold(envelope, |e, id| e.also_to(Agent::new("robot", id))).write().unwrap();
        let document = json::read(keyed.as_bytes(), Limits::default()).unwrap();
        let keyless = to_keyless(document.root()).unwrap();
        let positional = json::read(keyless.as_bytes(), Limits::default()).unwrap();
        let back = to_keyed(positional.root()).unwrap();
        prop_assert_eq!(
            canonical::canonical_hash(json::read(back.as_bytes(), Limits::default()).unwrap().root()).unwrap(),
            canonical::canonical_hash(document.root()).unwrap()
        );
        prop_assert_eq!(header(&keyless), header(&keyed));
    }

    #[test]
    fn no_envelope_like_json_breaks_the_reader(
        envelope in envelopes(),
        pointers in vec((0..60_usize, select(vec!["null", "[]", "{}", "1e9", "-1", "\"\"", "[[]]", "true"])), 1..6),
        is_keyless in any::<bool>(),
    ) {
        let mut text = envelope.write().unwrap();
        if is_keyless {
            text = to_keyless(json::read(text.as_bytes(), Limits::default()).unwrap().root()).unwrap();
        }
        let mut value: Value = serde_json::from_str(&text).unwrap();
        for (at, replacement) in pointers {
            let mut places = Vec::new();
            list_places(&value, String::new(), &mut places);
            let place = places[at % places.len()].clone();
            *value.pointer_mut(&place).unwrap() = serde_json::from_str(replacement).unwrap();
        }
        for mode in [Mode::Strict, Mode::Lenient] {
            let reading = decode(value.to_string().as_bytes(), &Rules::at(now()).mode(mode));
            prop_assert_eq!(reading.header.is_some(), reading.faults.is_empty());
        }
    }

    #[test]
    fn faults_of_strict_mode_include_those_of_lenient_mode(
        envelope in envelopes(),
        at in 0..60_usize,
        replacement in select(vec!["null", "[]", "{}", "1e9", "-1", "\"x\""]),
    ) {
        let text = envelope.write().unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        let mut places = Vec::new();
        list_places(&value, String::new(), &mut places);
        places.retain(|place| !place.is_empty());
        let text = edited(&text, &[(&places[at % places.len()], replacement)]);
        let (lenient, strict) = (found(&lenient(&text).faults), found(&strict(&text).faults));
        for fault in &lenient {
            prop_assert!(strict.contains(fault), "{fault} is not in {strict:?}");
        }
    }
}

fn list_places(value: &Value, pointer: String, places: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                list_places(member, format!("{pointer}/{name}"), places);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                list_places(item, format!("{pointer}/{index}"), places);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    places.push(pointer);
}
