//! Offers and what comes of them.

use interwire_protocol::dialect::uai::carriage::Carriage;
use interwire_protocol::dialect::uai::negotiate::{
    AGREEMENT_MS, Abilities, Agreements, EXCHANGE, Outcome, answer, selected,
};
use interwire_protocol::json::{self, Limits};
use interwire_protocol::{Party, Timestamp};
use proptest::prelude::*;
use proptest::sample::subsequence;
use serde_json::{Value, json};

use super::{now, of, strict};

fn answered(body: &Value) -> Option<Outcome> {
    let text = body.to_string();
    let document = json::read(text.as_bytes(), Limits::default()).unwrap();
    answer(document.root(), &EXCHANGE)
}

fn offer(offered: &Value, required: &Value) -> Value {
    json!({ "negotiation_id": "neg_1", "phase": "offer", "offered": offered, "required": required })
}

fn reason(offered: &Value, required: &Value) -> String {
    let outcome = answered(&offer(offered, required)).unwrap();
    assert_eq!(outcome.selected, None);
    let body: Value = serde_json::from_str(&outcome.body).unwrap();
    assert_eq!(body["phase"], "reject");
    assert_eq!(body["negotiation_id"], "neg_1");
    assert_eq!(body["fallback"]["form"], "keyed");
    body["reason"].as_str().unwrap().to_owned()
}

#[test]
fn the_first_offered_of_what_both_have_is_selected() {
    let offered = json!({
        "uai_versions": ["0.9", "1.0"], "forms": ["morse", "keyless", "keyed"],
        "features": ["ma.made_up", "ma.extension_carriage", "ma.broadcast", "ma.broadcast"],
        "sig_algs": ["EdDSA"], "enc": ["A256GCM"], "max_bytes": 262_144,
    });
    let required = json!({ "features": ["form.keyless"] });
    let outcome = answered(&offer(&offered, &required)).unwrap();
    let body: Value = serde_json::from_str(&outcome.body).unwrap();
    let expected = json!({
        "uai_version": "1.0", "form": "keyless",
        "features": ["ma.extension_carriage", "ma.broadcast", "form.keyless"],
        "max_bytes": 262_144,
    });
    assert_eq!(
        body,
        json!({ "negotiation_id": "neg_1", "phase": "answer", "selected": expected })
    );
    assert_eq!(outcome.selected.unwrap().carriage(), Carriage::Strict);
    assert!(
        strict(
            &of("uai.capability.negotiation.v1", &outcome.body)
                .write()
                .unwrap()
        )
        .is_valid()
    );
}

#[test]
fn what_is_required_and_missing_refuses_and_is_named() {
    let offered = json!({ "uai_versions": ["1.0"], "features": ["ma.pubsub"] });
    for (required, named) in [
        (
            json!({ "features": ["ma.pubsub", "sig.jws_detached"] }),
            "\"sig.jws_detached\" of `features`",
        ),
        (json!({ "sig_algs": ["EdDSA"] }), "\"EdDSA\" of `sig_algs`"),
        (json!({ "forms": ["morse"] }), "\"morse\" of `forms`"),
        (
            json!({ "quantum": true }),
            "\"quantum\", which is not understood",
        ),
        (
            json!({ "features": "ma.pubsub" }),
            "\"features\", which is no list",
        ),
        (json!({ "features": [1] }), "\"features\", which is no list"),
    ] {
        let reason = reason(&offered, &required);
        assert!(reason.contains(named), "{reason}");
    }
    let other = json!({ "uai_versions": ["2.0"] });
    assert!(reason(&other, &json!({})).contains("no common version, here is 1.0"));
    assert!(reason(&json!({}), &json!({})).contains("no common version"));
    assert!(reason(&json!("all"), &json!({})).contains("expected `offered`"));
}

#[test]
fn only_an_offer_is_answered() {
    for body in [
        json!({ "negotiation_id": "neg_1", "phase": "confirm" }),
        json!({ "phase": "offer" }),
        json!({ "agent": "a browser" }),
    ] {
        assert_eq!(answered(&body), None, "{body}");
    }
}

#[test]
fn the_side_that_offered_agrees_only_to_what_it_required() {
    let read = |body: &Value, required: &[&str]| {
        let text = body.to_string();
        let document = json::read(text.as_bytes(), Limits::default()).unwrap();
        selected(document.root(), required)
    };
    let answer = json!({ "phase": "answer", "selected": { "uai_version": "1.0", "features": ["ma.additional_targets"] } });
    let agreed = read(&answer, &["ma.additional_targets"]).unwrap();
    assert_eq!(agreed.carriage(), Carriage::Native);
    assert_eq!(read(&answer, &["ma.pubsub"]), None);
    assert_eq!(
        read(&json!({ "phase": "reject", "reason": "no" }), &[]),
        None
    );
}

#[test]
fn an_agreement_counts_from_its_confirmation_for_an_hour() {
    let (mut all, peer) = (Agreements::default(), Party::parse("agent:a"));
    let later = |ms: i64| now().plus_millis(ms);
    let offered = json!({ "uai_versions": ["1.0"], "features": ["ma.additional_targets"] });
    let outcome = answered(&offer(&offered, &json!({}))).unwrap();
    all.answered(&peer, "neg_1", outcome.selected.as_ref(), now());
    assert!(all.with(&peer, now()).is_none(), "not confirmed");
    assert!(!all.confirmed(&peer, "neg_2", now()), "another one");
    assert!(!all.confirmed(&Party::parse("agent:b"), "neg_1", now()));
    assert!(all.confirmed(&peer, "neg_1", later(1)));
    assert!(all.confirmed(&peer, "neg_1", later(AGREEMENT_MS)), "again");
    let holds = |all: &Agreements, at: Timestamp| all.with(&peer, at).is_some();
    assert!(holds(&all, later(AGREEMENT_MS)));
    assert!(!holds(&all, later(AGREEMENT_MS + 1)));
    // A new offer ends what was agreed, also when it is refused.
    all.answered(&peer, "neg_3", None, later(2));
    assert!(!holds(&all, later(2)) && all.is_empty());
}

#[test]
fn the_oldest_agreement_leaves_when_there_are_too_many() {
    let mut all = Agreements::default();
    let offered = json!({ "uai_versions": ["1.0"] });
    let outcome = answered(&offer(&offered, &json!({}))).unwrap();
    let peer = |number: i64| Party::parse(&format!("agent:a{number}"));
    for number in 0..16_500 {
        let at = now().plus_millis(number);
        all.answered(&peer(number), "neg_1", outcome.selected.as_ref(), at);
    }
    assert_eq!(all.len(), 16_384);
    assert!(!all.confirmed(&peer(0), "neg_1", now()));
    assert!(all.confirmed(&peer(16_499), "neg_1", now().plus_millis(17_000)));
}

const FEATURES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

proptest! {
    /// The intersection in the order of the offer; and no agreement without all that is required.
    #[test]
    fn an_answer_is_what_both_have_or_nothing(
        offered in subsequence(&FEATURES, 0..=6).prop_shuffle(),
        ours in subsequence(&FEATURES, 0..=6),
        required in subsequence(&FEATURES, 0..=2),
    ) {
        let ours = Abilities { features: &ours, ..EXCHANGE };
        let body = offer(
            &json!({ "uai_versions": ["1.0"], "features": offered }),
            &json!({ "features": required }),
        );
        let text = body.to_string();
        let document = json::read(text.as_bytes(), Limits::default()).unwrap();
        let outcome = answer(document.root(), &ours).unwrap();
        let can = required.iter().all(|feature| ours.features.contains(feature));
        prop_assert_eq!(outcome.selected.is_some(), can);
        let Some(agreed) = outcome.selected else { return Ok(()) };
        let mut expected: Vec<&str> = offered.clone();
        expected.retain(|feature| ours.features.contains(feature));
        for feature in required {
            if !expected.contains(&feature) {
                expected.push(feature);
            }
        }
        let features: Vec<&str> = agreed.features.iter().map(AsRef::as_ref).collect();
        prop_assert_eq!(features, expected);
        let document = json::read(outcome.body.as_bytes(), Limits::default()).unwrap();
        prop_assert!(selected(document.root(), &[]).is_some());
    }
}

/// UAI 9.6 K1, K2: a phase without what it is about; and 10 G15: another body under the same profile.
#[test]
fn each_phase_says_what_it_is_about_and_another_body_is_opaque() {
    let read = |body: &Value| {
        let text = of("uai.capability.negotiation.v1", &body.to_string())
            .write()
            .unwrap();
        (super::found(&strict(&text).faults), super::lenient(&text))
    };
    for (phase, needed) in [
        ("offer", "offered"),
        ("answer", "selected"),
        ("reject", "reason"),
    ] {
        let (faults, lenient) = read(&json!({ "negotiation_id": "neg_1", "phase": phase }));
        assert_eq!(faults, [format!("missing_field /body/{needed}")]);
        assert!(!lenient.is_valid());
    }
    assert_eq!(
        read(&json!({ "negotiation_id": "neg_1", "phase": "confirm" })).0,
        [""; 0]
    );
    let (faults, lenient) = read(&json!({ "browser": "limited", "level": 1 }));
    assert_eq!(faults.len(), 4, "{faults:?}");
    assert!(lenient.is_valid());
    assert_eq!(
        super::found(&lenient.warnings),
        ["unknown_profile_carried /body"]
    );
    let wrong = json!({ "negotiation_id": "n", "phase": "offer", "offered": { "features": "all", "max_bytes": 0 } });
    assert_eq!(
        read(&wrong).0,
        [
            "type_mismatch /body/offered/features",
            "out_of_range /body/offered/max_bytes"
        ]
    );
}

#[test]
fn what_is_corrected_is_named_by_json_pointers() {
    let read = |name: &str| {
        let body = json!({
            "correction_id": "c", "corrects_message_id": "m", "reason": "r",
            "corrected_fields": { name: 1 }, "support_boundary": "Own packets only.",
        });
        let text = of("uai.agent.correction.v1", &body.to_string())
            .write()
            .unwrap();
        super::found(&strict(&text).faults)
    };
    assert_eq!(read("/body/a~1b~0"), [""; 0]);
    assert_eq!(
        read("summary"),
        ["pattern_mismatch /body/corrected_fields/summary"]
    );
    assert_eq!(
        read("/a~2"),
        ["pattern_mismatch /body/corrected_fields/~1a~02"]
    );
}
