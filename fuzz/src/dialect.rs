//! The three dialects, strict and lenient.

use protocol::dialect::{DIALECTS, decode_as};
use protocol::json::{Limits, read};
use protocol::{AeePolicy, DialectName, Mode, Rules, Timestamp, decode};

/// The reader's clock in every run, 2026-02-28T10:30:00Z, so that a finding can be repeated.
const NOW: Timestamp = Timestamp::from_millis(1_772_274_600_000);

/// Reads `data` as AEE under every admission policy.
pub fn run_aee(data: &[u8]) {
    for policy in [
        AeePolicy::Repo,
        AeePolicy::Seed,
        AeePolicy::Both,
        AeePolicy::Either,
        AeePolicy::Log,
    ] {
        check(data, DialectName::Aee, &Rules::at(NOW).policy(policy));
    }
}

/// Reads `data` as AEP, with and without the older spelling.
pub fn run_aep(data: &[u8]) {
    for aep_accept_0_1 in [false, true] {
        check(
            data,
            DialectName::Aep,
            &Rules {
                aep_accept_0_1,
                ..Rules::at(NOW)
            },
        );
    }
}

/// Reads `data` as UAI-1, also with a low limit on recipients.
pub fn run_uai(data: &[u8]) {
    for recipients_max in [2, 256] {
        check(
            data,
            DialectName::Uai,
            &Rules {
                recipients_max,
                ..Rules::at(NOW)
            },
        );
    }
}

fn check(data: &[u8], name: DialectName, rules: &Rules) {
    let strict = reads_well(data, name, &rules.clone().mode(Mode::Strict));
    let lenient = reads_well(data, name, &rules.clone().mode(Mode::Lenient));
    assert!(
        lenient || !strict,
        "the strict reader accepts what the lenient one refuses"
    );
    if let Ok(document) = read(data, Limits::default()) {
        let count = DIALECTS
            .iter()
            .filter(|dialect| dialect.recognizes(document.root()))
            .count();
        assert!(count <= 1, "{count} dialects recognise one text");
    }
    // Detection by content must hold for any text too.
    let _ = decode(data, rules);
}

/// Whether `data` is accepted.
fn reads_well(data: &[u8], name: DialectName, rules: &Rules) -> bool {
    let reading = decode_as(data, name, rules);
    assert_eq!(
        reading.header.is_some(),
        reading.faults.is_empty(),
        "a header must be there exactly when there are no faults: {:?}",
        reading.faults
    );
    for fault in reading.faults.iter().chain(&reading.warnings) {
        super::check_fault(fault);
    }
    if let Some(header) = &reading.header {
        assert_eq!(header.dialect, name);
        assert!(header.recipients.len() <= rules.recipients_max);
        for (at, party) in header.recipients.iter().enumerate() {
            assert!(
                !header
                    .recipients
                    .iter()
                    .take(at)
                    .any(|other| other == party),
                "{party:?} twice"
            );
        }
    }
    let again = decode_as(data, name, rules);
    assert_eq!(
        format!("{reading:?}"),
        format!("{again:?}"),
        "reading twice differs"
    );
    reading.header.is_some()
}
