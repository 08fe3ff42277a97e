//! Translation: what can be translated is valid there and comes back, whatever it is.

use protocol::json::{Limits, read};
use protocol::translate::{origin, translate};
use protocol::{Code, DialectName, Rules, Timestamp, canonical, decode};

/// Translates `data` into every dialect and back.
pub fn run(data: &[u8]) {
    let rules = Rules::at(Timestamp::from_millis(i64::MIN));
    let reading = decode(data, &rules);
    let is_translation = origin(data).is_some();
    for to in [DialectName::Aee, DialectName::Aep, DialectName::Uai] {
        let text = match translate(data, to) {
            Ok(text) => text,
            Err(fault) => {
                super::check_fault(&fault);
                assert_ne!(fault.code, Code::InternalError);
                continue;
            }
        };
        let Some(header) = &reading.header else {
            continue;
        };
        let there = decode(text.as_bytes(), &rules);
        assert_eq!(there.dialect, Some(to));
        if header.dialect == to || is_translation {
            continue;
        }
        assert!(there.is_valid(), "{:?}", there.faults);
        let back = translate(text.as_bytes(), header.dialect).expect("it comes back");
        assert_eq!(canonical_form(back.as_bytes()), canonical_form(data));
    }
}

fn canonical_form(data: &[u8]) -> Option<String> {
    let limits = Limits {
        bytes_max: usize::MAX,
        depth_max: 256,
    };
    let document = read(data, limits).ok()?;
    canonical::canonicalize(document.root(), &[]).ok()
}
