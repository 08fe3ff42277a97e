//! Witness chains of ours against every edit.

use interwire_trust::SecretKey;
use interwire_trust::ward::{Chain, Finding, Reason, Witnessed, verify};
use protocol::Timestamp;

const CHAIN: &str = "ward:org/test/env/dev";

fn chain(entries: u64) -> (Chain, Vec<String>) {
    let mut chain = Chain::new(CHAIN, "service.interwire").unwrap();
    let lines = (1..=entries)
        .map(|number| {
            let hash = protocol::digest(&number.to_be_bytes()).to_hex();
            let what = Witnessed {
                entry_id: &format!("W{number}"),
                at: Timestamp::from_millis(i64::try_from(number).unwrap()),
                source_kind: "AEE",
                source_id: &format!("envelope-{number}"),
                payload_hash: &hash,
            };
            chain.add(&what).unwrap()
        })
        .collect();
    (chain, lines)
}

fn check(lines: &[String], tips: &[&str]) -> Finding {
    let key = SecretKey::ed25519(&[7; 32]).public();
    let lines = lines.iter().map(String::as_bytes);
    let tips: Vec<_> = tips.iter().map(|tip| tip.as_bytes()).collect();
    verify(CHAIN, lines, &tips, |id| (id == "k").then(|| key.clone()))
}

#[test]
fn an_intact_chain_agrees_with_its_tips_and_a_cut_one_is_partial() {
    let (chain, lines) = chain(9);
    let key = SecretKey::ed25519(&[7; 32]);
    let tip = chain
        .tip("t1", Timestamp::from_millis(10), Some(("k", &key)))
        .unwrap();
    assert_eq!(
        check(&lines, &[&tip]),
        Finding::Intact {
            entry_count: 9,
            head: chain.head().into(),
            tips: 1,
            signatures: 1
        }
    );
    assert_eq!(
        check(&lines[..7], &[&tip]),
        Finding::Partial {
            verified_through: 7,
            expected: 9
        }
    );
    assert!(matches!(
        check(&[], &[]),
        Finding::Intact { entry_count: 0, .. }
    ));
}

#[test]
fn a_chain_that_was_written_anew_is_a_fork_of_what_was_witnessed_elsewhere() {
    let (one, _) = chain(5);
    let tip = one.tip("t1", Timestamp::from_millis(10), None).unwrap();
    let (_, mut lines) = chain(2);
    let mut forked = Chain::new(CHAIN, "service.interwire").unwrap();
    lines.clear();
    for number in 1..=6_u64 {
        let what = Witnessed {
            entry_id: "W",
            at: Timestamp::from_millis(0),
            source_kind: "AEE",
            source_id: &number.to_string(),
            payload_hash: &"0".repeat(64),
        };
        lines.push(forked.add(&what).unwrap());
    }
    let found = check(&lines, &[&tip]);
    assert!(
        matches!(
            found,
            Finding::Broken {
                reason: Reason::TipMismatch,
                seq: 5,
                ..
            }
        ),
        "{found:?}"
    );
}

#[test]
fn every_edit_has_its_reason() {
    let (_, lines) = chain(4);
    let edited = |at: usize, from: &str, to: &str| {
        let mut changed = lines.clone();
        changed[at] = changed[at].replace(from, to);
        check(&changed, &[])
    };
    let reason = |finding: Finding| match finding {
        Finding::Broken { reason, .. } => Some(reason),
        _ => None,
    };
    assert_eq!(
        reason(edited(1, "envelope-2", "envelope-x")),
        Some(Reason::ChainHashMismatch)
    );
    assert_eq!(
        reason(edited(0, CHAIN, "ward:org/test/env/prod")),
        Some(Reason::GenesisMismatch)
    );
    let mut without = lines.clone();
    without.remove(2);
    assert_eq!(reason(check(&without, &[])), Some(Reason::ChainLinkBroken));
    assert!(matches!(
        edited(2, "AEE", "MAIL"),
        Finding::Unreadable { line: 3, .. }
    ));
    let mut twice = Chain::new(CHAIN, "service.interwire").unwrap();
    let what = Witnessed {
        entry_id: "W",
        at: Timestamp::from_millis(0),
        source_kind: "AEE",
        source_id: "one",
        payload_hash: &"0".repeat(64),
    };
    let lines = [twice.add(&what).unwrap(), twice.add(&what).unwrap()];
    assert_eq!(reason(check(&lines, &[])), Some(Reason::DuplicateSource));
}

#[test]
fn texts_that_would_make_two_entries_one_are_refused() {
    assert!(Chain::new("a|b", "x").is_none());
    let mut chain = Chain::new(CHAIN, "x").unwrap();
    for (entry_id, source_id, kind) in [
        ("a|b", "c", "AEE"),
        ("a", "b|c", "AEE"),
        ("a", "b", "MAIL"),
        ("", "b", "AEE"),
    ] {
        let what = Witnessed {
            entry_id,
            at: Timestamp::from_millis(0),
            source_kind: kind,
            source_id,
            payload_hash: "0",
        };
        assert_eq!(chain.add(&what), None);
    }
    assert_eq!(chain.seq(), 0);
}
