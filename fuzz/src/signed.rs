//! Signatures, key rings and evidence: nothing that comes makes them panic or is taken for verified, and
//! what is signed verifies.

use protocol::json::{Limits, read};
use protocol::{DialectName, Party, Rules, Timestamp, decode};
use trust::volt::{Bundle, Options, Outcome};
use trust::{KeyRing, Known, SecretKey, Signer, Verdict, sign, verify, ward};

const NOW: Timestamp = Timestamp::from_millis(1_772_274_600_000);
const KID: &str = "did:key:z6MkmRC22d9L8HdvBE3SejBsGqurUmHDAF8dWzmxohGYQWyH";

/// A key that no seed was signed with, speaking for everybody.
fn keys() -> (SecretKey, KeyRing) {
    let key = SecretKey::ed25519(&[0x5a; 32]);
    let mut ring = KeyRing::new();
    ring.add(Known {
        kid: KID.into(),
        key: key.public(),
        parties: vec!["*".into()],
        from: None,
        until: None,
        revoked_at: None,
    });
    (key, ring)
}

/// Takes `data` for an envelope, for a key ring, and for the files of a bundle and of a chain.
pub fn run(data: &[u8]) {
    envelope(data);
    if let Err(fault) = KeyRing::read(data) {
        super::check_fault(&fault);
    }
    let mut files = data.split(|byte| *byte == 0);
    let mut bundle = Bundle::default();
    for name in ["manifest.json", "events.ndjson", "signatures/sig-1.json"] {
        if let Some(file) = files.next() {
            bundle.files.insert(name.into(), file.to_vec());
        }
    }
    let report = trust::volt::verify(&bundle, &Options::default());
    assert_eq!(report.outcome == Outcome::Pass, report.reason.is_none());
    assert!(read(report.to_json().as_bytes(), any()).is_ok());
    let lines: Vec<&[u8]> = data.split(|byte| *byte == b'\n').collect();
    let tips = lines.last().copied().into_iter().collect::<Vec<_>>();
    let _ = ward::verify("ward:a", lines.iter().copied(), &tips, |_| None);
}

fn any() -> Limits {
    Limits {
        bytes_max: usize::MAX,
        depth_max: 256,
    }
}

fn envelope(data: &[u8]) {
    let Ok(document) = read(data, any()) else {
        return;
    };
    let (key, ring) = keys();
    let sender = Party::parse("agent.a");
    for dialect in [DialectName::Aee, DialectName::Aep, DialectName::Uai] {
        let judgement = verify(document.root(), dialect, &sender, &ring, NOW);
        let is_own = judgement.kid.as_deref() == Some(KID);
        assert!(judgement.verdict != Verdict::Verified || !is_own, "{judgement:?}");
    }
    let reading = decode(data, &Rules::at(NOW));
    let (Some(dialect), Some(header), Ok(text)) =
        (reading.dialect, reading.header, std::str::from_utf8(data))
    else {
        return;
    };
    let Ok(signed) = sign(text, dialect, &Signer { kid: KID, key: &key }) else {
        return;
    };
    let document = read(signed.as_bytes(), any()).expect("a signed envelope is JSON");
    let judgement = verify(document.root(), dialect, &header.sender, &ring, NOW);
    // One that carries a signature of somebody else that does not hold stays bad.
    let had_one = matches!(dialect, DialectName::Uai) && text.contains("urn:uai:ext:signature");
    assert!(judgement.verdict == Verdict::Verified || had_one, "{judgement:?} {signed}");
}
