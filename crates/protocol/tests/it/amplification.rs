//! A document of one mistake repeated is answered with a bounded list.

use interwire_protocol::fault::FAULTS_MAX;
use interwire_protocol::{DialectName, Mode, Rules, Timestamp, dialect};

#[test]
fn a_mistake_repeated_a_hundred_thousand_times_does_not_fill_memory() {
    let items = "1,".repeat(100_000);
    let items = items.trim_end_matches(',');
    let members: String = (0..50_000).map(|n| format!("\"x{n}\":1,")).collect();
    let texts = [
        format!(
            r#"{{"v":"1","id":"12345678","type":"task","from":"agent.a","intent":"a.b","payload":{{"references":[{items}]}}}}"#
        ),
        format!(
            r#"{{"spec_version":"0.2","id":"e","type":"subscription.requested","source":"agent:a","created_at":"2026-11-30T16:00:00Z","payload":{{"types":[{items}]}},"evidence_chain":[{items}]}}"#
        ),
        format!(
            r#"{{"uai_version":"1.0",{members}"profile":"uai.agent.message.v1","additional_targets":[{items}],"extensions":[{items}]}}"#
        ),
    ];
    for mode in [Mode::Strict, Mode::Lenient] {
        let rules = Rules::at(Timestamp::from_millis(0)).mode(mode);
        for (name, text) in [DialectName::Aee, DialectName::Aep, DialectName::Uai]
            .into_iter()
            .zip(&texts)
        {
            let reading = dialect::decode_as(text.as_bytes(), name, &rules);
            let found = reading.faults.len() + reading.warnings.len();
            assert!(found >= FAULTS_MAX, "{name:?}: {found}");
            let most = FAULTS_MAX + 64;
            assert!(
                reading.faults.len() <= most,
                "{name:?}: {}",
                reading.faults.len()
            );
            assert!(
                reading.warnings.len() <= most,
                "{name:?}: {}",
                reading.warnings.len()
            );
        }
    }
}
