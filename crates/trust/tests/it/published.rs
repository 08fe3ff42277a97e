//! Vectors of VOLT, WARD and AEE signatures, where the conformance data is there.

use interwire_trust::volt::{Bundle, Options, Outcome, Reason, canonical, verify};
use interwire_trust::{Algorithm, Binding, KeyRing, Known, PublicKey, Verdict, ward};
use protocol::json::{self, Limits};
use protocol::{DialectName, Party, Timestamp};
use serde_json::Value;
use std::path::Path;

fn read(path: &str) -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let found = std::fs::read_to_string(root.join(path)).ok();
    if found.is_none() {
        println!(
            "skipped: no conformance data at {}",
            root.join(path).display()
        );
    }
    found
}

fn vectors() -> Option<Value> {
    read("volt/quox-vectors.json").map(|text| serde_json::from_str(&text).unwrap())
}

fn key(vectors: &Value) -> PublicKey {
    let text = vectors["test_key"]["public_key_b64"].as_str().unwrap();
    PublicKey::read(Algorithm::Ed25519, text).unwrap()
}

fn ring(vectors: &Value) -> KeyRing {
    let mut ring = KeyRing::new();
    ring.add(Known {
        kid: "test-key-00".into(),
        key: key(vectors),
        parties: vec!["human:*".into()],
        from: None,
        until: None,
        revoked_at: None,
    });
    ring
}

#[test]
fn every_canonical_form_and_its_hash() {
    let Some(vectors) = vectors() else { return };
    for case in vectors["canonical"].as_array().unwrap() {
        let input = case["input_json"].as_str().unwrap();
        let text = canonical::canonical_text(input.as_bytes(), Limits::default()).unwrap();
        assert_eq!(
            text,
            case["canonical"].as_str().unwrap(),
            "{}",
            case["name"]
        );
        let hash = protocol::digest(text.as_bytes()).to_hex();
        assert_eq!(hash, case["sha256"].as_str().unwrap(), "{}", case["name"]);
    }
}

/// The envelope of a source in the examples, as it was published.
fn example(source: &str) -> Option<String> {
    let rows = read("aee/aee-examples.ndjson")?;
    let mut rows = rows
        .lines()
        .map(|row| serde_json::from_str::<Value>(row).unwrap());
    let row = rows.find(|row| {
        row["source"]
            .as_str()
            .is_some_and(|found| found.contains(source))
    });
    row.map(|row| row["envelope"].to_string())
}

#[test]
fn envelopes_have_the_published_hashes() {
    let Some(vectors) = vectors() else { return };
    let mut count = 0;
    for case in vectors["aee_envelope_hash"].as_array().unwrap() {
        let source = case["source"].as_str().unwrap();
        let Some(envelope) = example(source) else {
            continue;
        };
        let document = json::read(envelope.as_bytes(), Limits::default()).unwrap();
        let hash = ward::payload_hash(document.root()).unwrap();
        assert_eq!(
            hash,
            case["sha256_of_canonical_envelope"].as_str().unwrap(),
            "{source}"
        );
        count += 1;
    }
    assert!(count > 0);
}

#[test]
fn both_published_bindings_of_aee_are_verified_and_told_apart() {
    let Some(vectors) = vectors() else { return };
    let proposal = &vectors["aee_sig_proposal"];
    let Some(envelope) = example(proposal["input"].as_str().unwrap()) else {
        return;
    };
    for (name, binding) in [
        ("minimal10", Binding::Minimal),
        ("all_but_sig", Binding::Full),
    ] {
        let mut signed: Value = serde_json::from_str(&envelope).unwrap();
        signed["sig"] = proposal[name]["sig"].clone();
        let text = signed.to_string();
        let document = json::read(text.as_bytes(), Limits::default()).unwrap();
        let judgement = interwire_trust::verify(
            document.root(),
            DialectName::Aee,
            &Party::parse("human.adam"),
            &ring(&vectors),
            Timestamp::from_millis(0),
        );
        assert_eq!(judgement.verdict, Verdict::Verified, "{judgement:?}");
        assert_eq!(judgement.binding, Some(binding), "{name}");
    }
}

fn bundle(volt: &Value) -> Bundle {
    let mut bundle = Bundle::default();
    let mut put = |path: &str, text: String| bundle.files.insert(path.into(), text.into_bytes());
    put("manifest.json", volt["manifest"].to_string());
    let lines: Vec<_> = volt["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(Value::to_string)
        .collect();
    put("events.ndjson", lines.join("\n") + "\n");
    let path = volt["manifest"]["attachments"][0]["path"].as_str().unwrap();
    put(
        path,
        volt["attachment"]["bytes_utf8"]
            .as_str()
            .unwrap()
            .to_owned(),
    );
    bundle
}

#[test]
fn the_golden_bundle_passes_with_the_expected_report() {
    let Some(vectors) = vectors() else { return };
    let ring = ring(&vectors);
    let options = Options {
        ring: Some(&ring),
        ..Options::default()
    };
    let report = verify(&bundle(&vectors["volt"]), &options);
    let found: Value = serde_json::from_str(&report.to_json()).unwrap();
    assert_eq!(found, vectors["volt"]["expected_report"]);
}

#[test]
fn the_tampered_bundle_fails_at_its_event() {
    let Some(vectors) = vectors() else { return };
    let mut volt = vectors["volt"].clone();
    volt["events"][2]["payload"]["intent"] = "x.y".into();
    let report = verify(&bundle(&volt), &Options::default());
    assert_eq!(
        (report.outcome, report.reason),
        (Outcome::Fail, Some(Reason::EventHashMismatch))
    );
    assert_eq!(
        report.detail("seq"),
        Some(&*volt["tamper"]["seq"].to_string())
    );
    assert_eq!(
        report.detail("expected_hash"),
        Some(&*volt["tamper"]["recomputed"].to_string())
    );
}

#[test]
fn witness_chains_and_their_signed_tip_are_intact() {
    let Some(vectors) = vectors() else { return };
    let published = &vectors["ward"];
    for (chain, hash) in published["genesis"].as_object().unwrap() {
        assert_eq!(ward::genesis(chain), hash.as_str().unwrap());
    }
    let lines: Vec<String> = published["example2"]
        .as_array()
        .unwrap()
        .iter()
        .map(Value::to_string)
        .collect();
    let lines: Vec<&[u8]> = lines.iter().map(String::as_bytes).collect();
    let tip = published["example5_tip_signed_with_test_key"].to_string();
    let chain = "ward:org/quox/env/staging";
    let find = |key_id: &str| (key_id == "test-key-00").then(|| key(&vectors));
    let finding = ward::verify(chain, lines.iter().copied(), &[tip.as_bytes()], find);
    let head = published["example2_intact_result"]["head_chain_hash"]
        .as_str()
        .unwrap();
    assert_eq!(
        finding,
        ward::Finding::Intact {
            entry_count: 3,
            head: head.into(),
            tips: 1,
            signatures: 1
        }
    );
    // The published tampering: another payload hash in the second entry.
    let mut changed: Value = serde_json::from_slice(lines[1]).unwrap();
    changed["payload_hash"] = "0".repeat(64).into();
    let changed = changed.to_string();
    let tampered = [lines[0], changed.as_bytes(), lines[2]];
    let finding = ward::verify(chain, tampered, &[], find);
    assert!(
        matches!(
            finding,
            ward::Finding::Broken {
                reason: ward::Reason::ChainHashMismatch,
                seq: 2,
                ..
            }
        ),
        "{finding:?}"
    );
}
