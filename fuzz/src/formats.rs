//! Formats of frameworks: what is wrapped is valid, the same each time, and comes back; envelopes of
//! anybody are put together or refused.

use formats::{Format, Options, Tier, card, unwrap, wrap, write_anew};
use protocol::json::{Limits, read};
use protocol::{Rules, Timestamp, canonical, decode};

/// Takes `data` for a document of every framework, for a list of declarations, and for an envelope.
pub fn run(data: &[u8]) {
    for format in Format::ALL.map(Some).into_iter().chain([None]) {
        for tier in [Tier::Full, Tier::Mve5] {
            document(data, format, tier);
        }
    }
    if let Err(refused) = card(data, "x") {
        refused.all().for_each(super::check_fault);
    }
    let lines: Vec<&[u8]> = data.split(|byte| *byte == b'\n').collect();
    for envelopes in [vec![data], lines] {
        for format in Format::ALL {
            if let Err(refused) = write_anew(&envelopes, format) {
                refused.all().for_each(super::check_fault);
            }
        }
        match unwrap(&envelopes, Some(Format::OpenAi)) {
            Ok(documents) => {
                for text in documents {
                    assert!(read(text.as_bytes(), any()).is_ok(), "{text}");
                }
            }
            Err(refused) => refused.all().for_each(super::check_fault),
        }
    }
}

fn any() -> Limits {
    Limits {
        bytes_max: usize::MAX,
        depth_max: 256,
    }
}

fn document(data: &[u8], format: Option<Format>, tier: Tier) {
    let options = Options {
        tier,
        ..Options::default()
    };
    let envelopes = match wrap(data, format, &options) {
        Ok(envelopes) => envelopes,
        Err(refused) => return refused.all().for_each(super::check_fault),
    };
    assert_eq!(wrap(data, format, &options).as_ref(), Ok(&envelopes));
    let rules = Rules {
        envelope_bytes_max: usize::MAX,
        ..Rules::at(Timestamp::from_millis(0))
    };
    for envelope in &envelopes {
        let reading = decode(envelope.as_bytes(), &rules);
        assert!(reading.is_valid(), "{envelope}: {:?}", reading.faults);
    }
    let texts: Vec<&[u8]> = envelopes.iter().map(String::as_bytes).collect();
    let back = unwrap(&texts, None).expect("it comes back");
    assert_eq!(back.len(), 1);
    let text = |data: &[u8]| {
        let document = read(data, any()).ok()?;
        canonical::canonicalize(document.root(), &[]).ok()
    };
    assert_eq!(text(back[0].as_bytes()), text(data));
}
