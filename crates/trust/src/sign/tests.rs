//! Signatures of every dialect: made, checked, and every way of cheating named.

use super::{Signer, sign, verify};
use crate::did::did_key;
use crate::key::{Algorithm, PublicKey, SecretKey};
use crate::key_ring::{KeyRing, Known};
use crate::verdict::{Binding, Judgement, Verdict};
use protocol::json::{self, Limits};
use protocol::{DialectName, Party, Timestamp};

const NOW: Timestamp = Timestamp::from_millis(1_772_274_600_000);

const AEE: &str = r#"{"v":"1", "id":"01JFX7K2M4N8P1Q3R5S7T9V0W2","ts":"2026-02-28T10:30:00Z","type":"task",
 "from":"agent.planner","to":"agent.worker","intent":"market.report.write","corr":"CONV_0123456789",
 "reply_to":null,"priority":"high","requires":{"human_approval":true},"payload":{"n":1.50},"x_more":[1, 2],"sig":null}"#;
const AEP: &str = r#"{"spec_version":"0.2","id":"evt_1","type":"environment.observed","source":"agent:planner","created_at":"2026-02-28T10:30:00Z","payload":{"c":20.50}}"#;
const UAI: &str = r#"{"uai_version":"1.0","profile":"uai.agent.message.v1","message_id":"msg_1",
 "source":{"type":"agent","id":"planner","label":"Planner"},"target":{"type":"agent","id":"worker","label":"Worker"},
 "conversation":{"conversation_id":"c1","correlation_id":"c1"},
 "delivery":{"mode":"request","priority":"normal","ack_required":false,"retry_count":0,"idempotency_key":"key-00001","fallback_directive":"raise_blocker"},
 "trust":{"channel":"signed","auth_scheme":"did-jws","principal":"PRINCIPAL"},
 "body":{"message_type":"inform","content":"hello","context_refs":[],"requires_acknowledgement":false},"provenance":{"issued_at":"2026-02-28T10:30:00Z"},
 "integrity":{"algorithm":"sha-256","canonicalization":"RFC8785","checksum":"sha256:0000000000000000000000000000000000000000000000000000000000000000"},
 "extensions":[]}"#;

fn key() -> SecretKey {
    SecretKey::ed25519(&[7; 32])
}

fn did() -> String {
    key().public().did().unwrap()
}

fn uai() -> String {
    UAI.replace("PRINCIPAL", &did())
}

fn known(kid: &str, key: PublicKey, parties: &[&str]) -> Known {
    Known {
        kid: kid.into(),
        key,
        parties: parties.iter().map(|one| (*one).into()).collect(),
        from: None,
        until: None,
        revoked_at: None,
    }
}

fn ring(kid: &str) -> KeyRing {
    let mut ring = KeyRing::new();
    ring.add(known(kid, key().public(), &["agent:planner"]));
    ring
}

fn judged(text: &str, dialect: DialectName, ring: &KeyRing) -> Judgement {
    let document = json::read(text.as_bytes(), Limits::default()).unwrap();
    verify(
        document.root(),
        dialect,
        &Party::parse("agent:planner"),
        ring,
        NOW,
    )
}

fn signed(text: &str, dialect: DialectName, kid: &str) -> String {
    sign(text, dialect, &Signer { kid, key: &key() }).unwrap()
}

/// Every dialect's envelope, and the name that its signature has for the key.
fn each() -> [(DialectName, String, String); 3] {
    [
        (DialectName::Aee, AEE.into(), "k".into()),
        (DialectName::Aep, AEP.into(), "k".into()),
        (DialectName::Uai, uai(), did()),
    ]
}

#[test]
fn a_signature_holds_and_changes_no_other_byte() {
    for (dialect, text, kid) in each() {
        assert_eq!(judged(&text, dialect, &ring(&kid)).verdict, Verdict::Absent);
        let signed = signed(&text, dialect, &kid);
        let judgement = judged(&signed, dialect, &ring(&kid));
        assert_eq!(
            judgement.verdict,
            Verdict::Verified,
            "{judgement:?} {signed}"
        );
        assert_eq!(judgement.binding, Some(Binding::Full));
        assert_eq!(judgement.kid.as_deref(), Some(&*kid));
        if dialect == DialectName::Aee {
            assert!(signed.contains(r#""payload":{"n":1.50},"x_more":[1, 2],"sig":{"#));
        }
    }
}

#[test]
fn every_changed_member_is_found() {
    for (dialect, text, kid) in each() {
        let signed = signed(&text, dialect, &kid);
        let document = json::read(signed.as_bytes(), Limits::default()).unwrap();
        let members: Vec<_> = document.root().members().collect();
        for (name, value) in members {
            let name = name.text();
            if matches!(&*name, "sig" | "interwire_signature" | "extensions") {
                continue;
            }
            let changed = crate::edit::set(&signed, document.root(), &name, r#"{"other":1}"#);
            let verdict = judged(&changed, dialect, &ring(&kid)).verdict;
            assert_eq!(verdict, Verdict::Bad, "{dialect:?} {name}");
            let range = value.range();
            assert!(range.start < range.end);
        }
        let added = crate::edit::set(&signed, document.root(), "smuggled", "true");
        let judgement = judged(&added, dialect, &ring(&kid));
        let is_seen =
            judgement.verdict == Verdict::Bad || judgement.binding == Some(Binding::Minimal);
        assert!(is_seen, "{dialect:?} {judgement:?}");
    }
}

#[test]
fn the_same_values_in_another_spelling_still_hold() {
    let signed = signed(AEE, DialectName::Aee, "k");
    let respelled = signed
        .replace("1.50", "15e-1")
        .replace("human_approval", "human\\u005fapproval");
    assert_eq!(
        judged(&respelled, DialectName::Aee, &ring("k")).verdict,
        Verdict::Verified
    );
}

#[test]
fn a_wrong_key_an_unknown_one_and_one_of_another_party_are_told_apart() {
    for (dialect, text, kid) in each() {
        let signed = signed(&text, dialect, &kid);
        let mut other = KeyRing::new();
        other.add(known(
            &kid,
            SecretKey::ed25519(&[8; 32]).public(),
            &["agent:planner"],
        ));
        assert_eq!(judged(&signed, dialect, &other).verdict, Verdict::Bad);
        let mut foreign = KeyRing::new();
        foreign.add(known(&kid, key().public(), &["agent:someone"]));
        let verdict = judged(&signed, dialect, &foreign).verdict;
        // UAI-1 may carry signatures of others, which say nothing about the sender.
        let expected = if dialect == DialectName::Uai {
            Verdict::Unverified
        } else {
            Verdict::Bad
        };
        assert_eq!(verdict, expected, "{dialect:?}");
        let verdict = judged(&signed, dialect, &KeyRing::new()).verdict;
        let expected = if dialect == DialectName::Uai {
            Verdict::Verified
        } else {
            Verdict::UnknownKey
        };
        assert_eq!(
            verdict, expected,
            "a did:key carries its own key: {dialect:?}"
        );
    }
}

#[test]
fn revoked_expired_and_early_keys_are_bad() {
    let change: [fn(&mut Known); 3] = [
        |key| key.revoked_at = Some(NOW),
        |key| key.until = Some(NOW),
        |key| key.from = Some(NOW.plus_millis(1)),
    ];
    for (dialect, text, kid) in each() {
        let signed = signed(&text, dialect, &kid);
        for change in change {
            let mut one = known(&kid, key().public(), &["agent:planner"]);
            change(&mut one);
            let mut ring = KeyRing::new();
            ring.add(one);
            assert_eq!(judged(&signed, dialect, &ring).verdict, Verdict::Bad);
        }
        // A successor of the same name takes over.
        let mut ring = ring(&kid);
        ring.add(known(
            &kid,
            SecretKey::ed25519(&[9; 32]).public(),
            &["agent:planner"],
        ));
        assert_eq!(judged(&signed, dialect, &ring).verdict, Verdict::Verified);
    }
}

#[test]
fn a_binding_without_priority_is_minimal_and_one_without_the_payload_is_bad() {
    let full = signed(AEE, DialectName::Aee, "k");
    let document = json::read(full.as_bytes(), Limits::default()).unwrap();
    let minimal = r#"["v","id","ts","type","from","to","intent","corr","reply_to","payload"]"#;
    let message = crate::volt::canonical::canonicalize_members(
        document.root(),
        |name| minimal.contains(&format!("{name:?}")),
        &[],
    )
    .unwrap();
    let mut value = Vec::new();
    protocol::base64::encode(&mut value, &key().sign(message.as_bytes()));
    let value = String::from_utf8(value).unwrap();
    let with = |sig: &str| crate::edit::set(&full, document.root(), "sig", sig);
    for sig in [
        format!(r#"{{"alg":"ed25519","kid":"k","value":"{value}"}}"#),
        format!(r#"{{"alg":"ed25519","kid":"k","value":"{value}","bind":{minimal}}}"#),
    ] {
        let judgement = judged(&with(&sig), DialectName::Aee, &ring("k"));
        assert_eq!(judgement.verdict, Verdict::Verified, "{judgement:?}");
        assert_eq!(judgement.binding, Some(Binding::Minimal));
    }
    let without = minimal.replace(r#","payload""#, "");
    let sig = format!(r#"{{"alg":"ed25519","kid":"k","value":"{value}","bind":{without}}}"#);
    let judgement = judged(&with(&sig), DialectName::Aee, &ring("k"));
    assert_eq!(
        (judgement.verdict, &*judgement.pointer),
        (Verdict::Bad, "/sig/bind")
    );
}

#[test]
fn what_cannot_be_judged_is_never_verified() {
    let with = |sig: &str| AEE.replace(r#""sig":null"#, &format!(r#""sig":{sig}"#));
    for (sig, verdict) in [
        (r#""eyJhbGciOi""#, Verdict::Unverified),
        (
            r#"{"alg":"none","kid":"k","value":""}"#,
            Verdict::Unverified,
        ),
        (
            r#"{"alg":"ed25519","kid":"k","value":"AAAA","canon":"jcs"}"#,
            Verdict::Unverified,
        ),
        (r#"{"alg":"ed25519","kid":"k","value":"*"}"#, Verdict::Bad),
        (r#"{"alg":"ed25519","kid":"k","value":""}"#, Verdict::Bad),
        (r#"{"alg":"ed25519","value":"AAAA"}"#, Verdict::Bad),
        (
            r#"{"alg":"ed25519","kid":"q","value":"AAAA"}"#,
            Verdict::UnknownKey,
        ),
        ("{}", Verdict::Unverified),
        ("7", Verdict::Unverified),
    ] {
        let judgement = judged(&with(sig), DialectName::Aee, &ring("k"));
        assert_eq!(judgement.verdict, verdict, "{sig}: {judgement:?}");
    }
}

#[test]
fn a_public_key_is_no_shared_secret() {
    // The classic confusion: HMAC with the bytes of a public key.
    let public = match key().public() {
        PublicKey::Ed25519(key) => key.as_bytes().to_vec(),
        _ => unreachable!(),
    };
    let forger = SecretKey::Hs256(public.into());
    let forged = sign(
        AEE,
        DialectName::Aee,
        &Signer {
            kid: "k",
            key: &forger,
        },
    )
    .unwrap();
    assert_eq!(
        judged(&forged, DialectName::Aee, &ring("k")).verdict,
        Verdict::Bad
    );
    assert!(
        sign(
            &uai(),
            DialectName::Uai,
            &Signer {
                kid: "k",
                key: &forger
            }
        )
        .is_err()
    );
}

#[test]
fn a_shared_secret_signs_aee() {
    let secret = SecretKey::read(
        Algorithm::Hs256,
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
    )
    .unwrap();
    let mut ring = KeyRing::new();
    ring.add(known("s", secret.public(), &["agent:*"]));
    let signed = sign(
        AEE,
        DialectName::Aee,
        &Signer {
            kid: "s",
            key: &secret,
        },
    )
    .unwrap();
    assert_eq!(
        judged(&signed, DialectName::Aee, &ring).verdict,
        Verdict::Verified
    );
}

#[test]
fn uai_signatures_hold_in_every_form_beside_others_and_are_missed_when_taken_out() {
    let first = signed(&uai(), DialectName::Uai, &did());
    let document = json::read(first.as_bytes(), Limits::default()).unwrap();
    let keyless = protocol::dialect::uai::keyless::to_keyless(document.root()).unwrap();
    assert_eq!(
        judged(&keyless, DialectName::Uai, &KeyRing::new()).verdict,
        Verdict::Verified
    );
    // The checksum that the signature covers is the right one.
    let reading = protocol::decode(first.as_bytes(), &protocol::Rules::at(NOW));
    assert!(reading.is_valid(), "{:?}", reading.faults);
    // Another's signature beside it.
    let broker = SecretKey::ed25519(&[9; 32]);
    let kid = broker.public().did().unwrap();
    let both = sign(
        &first,
        DialectName::Uai,
        &Signer {
            kid: &kid,
            key: &broker,
        },
    )
    .unwrap();
    assert_eq!(
        judged(&both, DialectName::Uai, &KeyRing::new()).verdict,
        Verdict::Verified
    );
    // Stripped.
    let extensions = document.root().get("extensions").unwrap();
    let mut stripped = first.clone();
    stripped.replace_range(extensions.range(), "[]");
    let judgement = judged(&stripped, DialectName::Uai, &KeyRing::new());
    assert_eq!(
        (judgement.verdict, &*judgement.pointer),
        (Verdict::Bad, "/trust/signature_ref")
    );
    // Signed again by another: it holds, but not as the principal that the envelope names.
    let resigned = sign(
        &stripped,
        DialectName::Uai,
        &Signer {
            kid: &kid,
            key: &broker,
        },
    )
    .unwrap();
    let verdict = judged(&resigned, DialectName::Uai, &KeyRing::new()).verdict;
    assert_eq!(verdict, Verdict::Unverified);
}

#[test]
fn jws_headers_that_open_doors_are_refused() {
    let signed = signed(&uai(), DialectName::Uai, &did());
    let at = signed.find(r#""jws":""#).unwrap() + 7;
    let protected = &signed[at..at + signed[at..].find("..").unwrap()];
    for header in [
        r#"{"alg":"none","kid":"KID","typ":"uai+jws"}"#,
        r#"{"alg":"HS256","kid":"KID","typ":"uai+jws"}"#,
        r#"{"alg":"EdDSA","kid":"KID","typ":"JWT"}"#,
        r#"{"alg":"EdDSA","kid":"KID","crit":["exp"]}"#,
        r#"{"alg":"EdDSA","kid":"KID","b64":false}"#,
        r#"{"alg":"EdDSA"}"#,
        r#"{"alg":"EdDSA","alg":"none","kid":"KID"}"#,
        "[]",
    ] {
        let header = crate::base64url::encode(header.replace("KID", &did()).as_bytes());
        let forged = signed.replace(protected, &header);
        assert_eq!(
            judged(&forged, DialectName::Uai, &KeyRing::new()).verdict,
            Verdict::Bad,
            "{header}"
        );
    }
}

#[test]
fn our_published_vector_holds() {
    // The key of all vectors: seed 00..1f. See docs/signatures.md.
    let mut seed = [0_u8; 32];
    for (at, byte) in seed.iter_mut().enumerate() {
        *byte = u8::try_from(at).unwrap();
    }
    let key = SecretKey::ed25519(&seed);
    assert_eq!(
        key.public().did().unwrap(),
        did_key(&[
            0x03, 0xa1, 0x07, 0xbf, 0xf3, 0xce, 0x10, 0xbe, 0x1d, 0x70, 0xdd, 0x18, 0xe7, 0x4b,
            0xc0, 0x99, 0x67, 0xe4, 0xd6, 0x30, 0x9b, 0xa5, 0x0d, 0x5f, 0x1d, 0xdc, 0x86, 0x64,
            0x12, 0x55, 0x31, 0xb8
        ])
    );
    let once = sign(
        AEE,
        DialectName::Aee,
        &Signer {
            kid: "v",
            key: &key,
        },
    )
    .unwrap();
    let again = sign(
        &once,
        DialectName::Aee,
        &Signer {
            kid: "v",
            key: &key,
        },
    )
    .unwrap();
    assert_eq!(
        once, again,
        "signing is deterministic, and replaces a signature"
    );
}
