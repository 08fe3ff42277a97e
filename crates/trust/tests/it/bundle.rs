//! Bundles of ours: written, verified, and every flipped bit found.

use interwire_trust::volt::{
    Actor, Attachment, Bundle, Chain, Event, Manifest, Options, Outcome, verify,
};
use interwire_trust::{SecretKey, Signer};
use proptest::prelude::*;
use protocol::Timestamp;

/// A bundle of so many events with one attachment and one signature.
pub fn bundle(events: u64) -> Bundle {
    let key = SecretKey::ed25519(&[7; 32]);
    let did = key.public().did().unwrap();
    let signers = [Signer {
        kid: &did,
        key: &key,
    }];
    let mut chain = Chain::new("run-1", "CONV_1");
    let mut lines = String::new();
    let body = br#"{"v":"1"}"#.to_vec();
    let attachment = Attachment {
        hash: protocol::digest(&body).to_hex(),
        content_type: "application/json".into(),
        bytes: body.len() as u64,
    };
    let attachments = [attachment.clone()];
    for number in 1..=events {
        let manifest = Manifest {
            bundle_id: "bundle-1",
            created: Timestamp::from_millis(1_772_274_600_000),
            chain: &chain,
            is_final: true,
            build: "0.1.0",
            is_redacted: true,
            attachments: &attachments,
        };
        let payload = if number == events {
            format!(r#"{{"manifest_digest":"{}"}}"#, manifest.digest(&signers))
        } else {
            format!(
                r#"{{"intent":"market.report.write","size_bytes":{number},"redacted":true,"attachment_refs":[{{"hash_alg":"sha256","hash":"{}"}}]}}"#,
                attachment.hash
            )
        };
        let event = Event {
            id: format!("E{number}"),
            ts: Timestamp::from_millis(1_772_274_600_000 + i64::try_from(number).unwrap()),
            event_type: if number == 1 {
                "run.started"
            } else {
                "aee.envelope.received"
            }
            .into(),
            actor: Actor {
                kind: "agent",
                id: "agent.planner".into(),
            },
            envelope_id: Some(format!("01JFX7K2M4N8P1Q3R5S7T9V0{number:02}")),
            parent: None,
            payload,
        };
        lines.push_str(&chain.add(&event).unwrap());
        lines.push('\n');
    }
    let manifest = Manifest {
        bundle_id: "bundle-1",
        created: Timestamp::from_millis(1_772_274_600_000),
        chain: &chain,
        is_final: true,
        build: "0.1.0",
        is_redacted: true,
        attachments: &attachments,
    };
    let (text, _) = manifest.write(&signers);
    let mut bundle = Bundle::default();
    bundle
        .files
        .insert("manifest.json".into(), text.into_bytes());
    bundle
        .files
        .insert("events.ndjson".into(), lines.into_bytes());
    bundle.files.insert(attachment.path(), body);
    bundle
}

#[test]
fn a_bundle_of_ours_passes_with_its_signature() {
    let report = verify(&bundle(20), &Options::default());
    assert_eq!(report.outcome, Outcome::Pass, "{}", report.to_json());
    assert_eq!(report.detail("signatures_verified"), Some("true"));
    assert_eq!(report.detail("attachments_verified"), Some("true"));
    assert_eq!(report.detail("event_count"), Some("20"));
    assert_eq!(report.warnings, Vec::<String>::new());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn one_flipped_bit_anywhere_is_found(place in any::<prop::sample::Index>(), bit in 0_u8..8) {
        let mut bundle = bundle(12);
        let whole: usize = bundle.files.values().map(Vec::len).sum();
        let mut at = place.index(whole);
        let mut name = String::new();
        for (path, bytes) in &mut bundle.files {
            if at < bytes.len() {
                bytes[at] ^= 1 << bit;
                name.clone_from(path);
                break;
            }
            at -= bytes.len();
        }
        let report = verify(&bundle, &Options::default());
        prop_assert_ne!(report.outcome, Outcome::Pass, "{} byte {} bit {}", name, at, bit);
        prop_assert!(report.reason.is_some());
    }

    #[test]
    fn lost_swapped_and_repeated_events_are_found(one in 0_usize..12, other in 0_usize..12) {
        let bundle = bundle(12);
        let text = String::from_utf8(bundle.files["events.ndjson"].clone()).unwrap();
        let lines: Vec<_> = text.lines().collect();
        let mut without = lines.clone();
        without.remove(one);
        let mut repeated = lines.clone();
        repeated.insert(other, lines[one]);
        let mut swapped = lines.clone();
        swapped.swap(one, other);
        for changed in [without, repeated, swapped] {
            let mut edited = bundle.clone();
            edited.files.insert("events.ndjson".into(), (changed.join("\n") + "\n").into_bytes());
            let outcome = verify(&edited, &Options::default()).outcome;
            prop_assert_eq!(outcome == Outcome::Pass, changed == lines);
        }
    }
}

#[test]
fn paths_that_leave_the_bundle_are_refused() {
    for path in [
        "../events.ndjson",
        "/etc/passwd",
        "a/../../b",
        "C:\\x",
        "a//b",
        "./a",
    ] {
        let mut bundle = bundle(2);
        let text = String::from_utf8(bundle.files["manifest.json"].clone()).unwrap();
        let text = text.replace(
            r#""events_file":"events.ndjson""#,
            &format!(r#""events_file":{path:?}"#),
        );
        bundle
            .files
            .insert("manifest.json".into(), text.into_bytes());
        let events = bundle.files["events.ndjson"].clone();
        bundle.files.insert(path.into(), events);
        let report = verify(&bundle, &Options::default());
        assert_eq!(report.outcome, Outcome::Error, "{path}");
    }
}
