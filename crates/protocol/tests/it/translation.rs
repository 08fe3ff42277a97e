//! Translation between the dialects: laws over generated envelopes and over every published example, for
//! every ordered pair.
//!
//! `INTERWIRE_TRANSLATION_CASES` says how many envelopes of each dialect are generated.

mod envelopes;
mod page;
mod published;
mod replies;

use interwire_protocol::json::{self, Limits};
use interwire_protocol::translate::words::{Word, word};
use interwire_protocol::translate::{self, origin, translate};
use interwire_protocol::{
    Act, Code, DialectName, Fault, Header, Intake, Mode, Reading, Rules, SettlementVerdict,
    Timestamp, canonical, decode,
};
use proptest::prelude::*;

const DIALECTS: [DialectName; 3] = [DialectName::Aee, DialectName::Aep, DialectName::Uai];

fn cases() -> u32 {
    let asked = std::env::var("INTERWIRE_TRANSLATION_CASES");
    asked
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(64)
}

/// A reader for whom nothing has expired.
fn rules() -> Rules {
    Rules {
        depth_max: 64,
        ..Rules::at(Timestamp::from_millis(i64::MIN))
    }
}

fn read(text: &str) -> Reading {
    decode(text.as_bytes(), &rules())
}

fn canonical(text: &str) -> Result<String, Fault> {
    let limits = Limits {
        bytes_max: usize::MAX,
        depth_max: 512,
    };
    canonical::canonicalize(json::read(text.as_bytes(), limits)?.root(), &[])
}

/// What the table says becomes of it.
fn expected(header: &Header, to: DialectName) -> Option<Act> {
    let is_no = header
        .settles
        .as_ref()
        .is_some_and(|settled| !matches!(settled.verdict, SettlementVerdict::Acknowledged));
    let act = if header.act == Act::Ack && is_no {
        Act::Reject
    } else {
        header.act
    };
    match word(act, to) {
        // What says "never" is a refusal in UAI-1.
        Word::Near(_, _)
            if act == Act::Reject
                && header.settles.as_ref().is_some_and(|settled| {
                    matches!(settled.verdict, SettlementVerdict::Never { .. })
                }) =>
        {
            Some(Act::Refuse)
        }
        Word::Exact(_) => Some(act),
        Word::Near(_, near) => Some(near),
        Word::Missing(_) => None,
    }
}

/// Checks every law for one envelope in one direction; whether it could be translated.
fn hold(text: &str, to: DialectName) -> Result<bool, String> {
    let reading = read(text);
    let Some(header) = reading.header else {
        return Ok(false);
    };
    let from = header.dialect;
    let said = |what: &str, got: &str| {
        format!(
            "{what}\n{} -> {}\n{text}\n{got}",
            from.as_str(),
            to.as_str()
        )
    };
    let there = match (translate(text.as_bytes(), to), expected(&header, to)) {
        (Ok(there), Some(_)) if from != to => there,
        (Ok(there), _) if from == to => {
            return if there == text {
                Ok(true)
            } else {
                Err(said("changed", &there))
            };
        }
        (Err(fault), None) if fault.code == Code::NotTranslatable => return Ok(false),
        (Err(fault), _) if header.intake == Intake::Log && fault.code == Code::LogTierOnly => {
            return Ok(false);
        }
        (Err(fault), Some(_))
            if matches!(
                fault.code,
                Code::TimestampMalformed | Code::NumberNotInteroperable
            ) =>
        {
            return Ok(false);
        }
        (got, want) => {
            return Err(said(
                "the table says otherwise",
                &format!("{got:?} {want:?}"),
            ));
        }
    };
    let strict = decode(there.as_bytes(), &rules().mode(Mode::Strict));
    let lenient = read(&there);
    if !lenient.is_valid() || lenient.dialect != Some(to) {
        return Err(said("not valid", &format!("{there}\n{:?}", lenient.faults)));
    }
    if to != DialectName::Aee && !strict.is_valid() {
        return Err(said(
            "not valid in strict mode",
            &format!("{there}\n{:?}", strict.faults),
        ));
    }
    let got = lenient.header.ok_or_else(|| said("no header", &there))?;
    let wrong = |what: &str| said(what, &format!("{there}\n{header:#?}\n{got:#?}"));
    if Some(got.act) != expected(&header, to) {
        return Err(wrong("another act"));
    }
    if got.sender != header.sender {
        return Err(wrong("another sender"));
    }
    let first = header.recipients.first();
    if first.is_some() && !got.recipients.iter().eq(first) && !got.recipients.is_empty() {
        return Err(wrong("another recipient"));
    }
    if let Some(conversation) = &header.conversation
        && got.conversation.as_ref() != Some(conversation)
        && conversation.len() < 40
    {
        return Err(wrong("another conversation"));
    }
    let is_request = matches!(header.act, Act::Request | Act::Query);
    let is_early = |moment: Timestamp| {
        (-62_135_596_800_000..=253_402_300_799_999).contains(&moment.as_millis())
    };
    if let Some(deadline) = header.deadline.filter(|moment| is_early(*moment)) {
        let is_late = |got: Timestamp| got >= deadline;
        let is_kept = match to {
            DialectName::Aee => !is_request || got.deadline.is_some_and(is_late),
            DialectName::Aep | DialectName::Uai => got.deadline == Some(deadline),
        };
        if !is_kept {
            return Err(wrong("another deadline"));
        }
    }
    let has_priority = to != DialectName::Aep || header.act == Act::Request;
    if has_priority && got.priority != header.priority {
        return Err(wrong("another priority"));
    }
    if let Some(task) = header.task.as_ref().filter(|task| task.len() < 40)
        && to != DialectName::Aee
        && got.task.as_ref() != Some(task)
    {
        return Err(wrong("another task"));
    }
    if there.contains("\"jws\"")
        && to == DialectName::Uai
        && from != DialectName::Uai
        && !text.contains("jws")
    {
        return Err(wrong("a signature of its own"));
    }
    let own = canonical(text).map_err(|fault| fault.to_string())?;
    let back = translate(there.as_bytes(), from)
        .map_err(|fault| said("no way back", &format!("{there}\n{fault}")))?;
    if canonical(&back).as_ref() != Ok(&own) {
        return Err(said("not the same", &format!("{there}\n{back}")));
    }
    let named = origin(there.as_bytes()).ok_or_else(|| said("no origin", &there))?;
    if named.dialect != from || *named.id != *header.id || named.text != own {
        return Err(said("another origin", &format!("{named:?}")));
    }
    if translate(text.as_bytes(), to).as_ref() != Ok(&there)
        || translate(own.as_bytes(), to).as_ref() != Ok(&there)
    {
        return Err(said("not the same twice", &there));
    }
    for third in DIALECTS {
        if third != from
            && third != to
            && translate(there.as_bytes(), third) != translate(text.as_bytes(), third)
        {
            return Err(said("another translation by way of a third", &there));
        }
    }
    if there.len() > 4 * own.len() + 8_192 {
        return Err(said(
            "too large",
            &format!("{} for {}", there.len(), own.len()),
        ));
    }
    Ok(true)
}

fn hold_everywhere(text: &str) -> Result<usize, TestCaseError> {
    let mut done = 0;
    for to in DIALECTS {
        done += usize::from(hold(text, to).map_err(TestCaseError::fail)?);
    }
    Ok(done)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn every_aee_envelope_comes_back_from_every_dialect(text in envelopes::aee()) {
        hold_everywhere(&text)?;
    }

    #[test]
    fn every_aep_event_comes_back_from_every_dialect(text in envelopes::aep()) {
        hold_everywhere(&text)?;
    }

    #[test]
    fn every_uai_envelope_comes_back_from_every_dialect(text in envelopes::uai()) {
        hold_everywhere(&text)?;
    }
}

/// The laws say nothing about what was never generated.
#[test]
fn the_generated_envelopes_say_every_act_of_their_dialect_and_most_can_be_translated() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    use std::collections::BTreeSet;

    let mut runner = TestRunner::deterministic();
    let strategies = [
        envelopes::aee().boxed(),
        envelopes::aep().boxed(),
        envelopes::uai().boxed(),
    ];
    let (mut said, mut valid, mut done) = (BTreeSet::new(), 0, 0);
    for strategy in strategies {
        for _ in 0..2_000 {
            let text = strategy.new_tree(&mut runner).unwrap().current();
            let Some(header) = read(&text).header else {
                continue;
            };
            said.insert((header.dialect, header.act.as_str()));
            valid += 1;
            let others = DIALECTS.into_iter().filter(|to| *to != header.dialect);
            done += others
                .filter(|to| translate(text.as_bytes(), *to).is_ok())
                .count();
        }
    }
    let count = |dialect| said.iter().filter(|(of, _)| *of == dialect).count();
    // All of the table's but what the dialect has no word for; AEP and UAI-1 have control messages.
    assert_eq!(
        [DialectName::Aee, DialectName::Aep, DialectName::Uai].map(count),
        [17, 18, 17],
        "{said:?}"
    );
    assert!(
        valid > 4_000 && done > valid,
        "{valid} valid, {done} translations"
    );
}

#[test]
fn a_changed_translation_is_no_translation() {
    let aee = interwire_protocol::dialect::aee::Aee::task("agent.a", "agent.b", "demo.work")
        .payload_json(r#"{"x":1}"#)
        .sig_json(r#"{"alg":"ed25519","kid":"k","value":"c2ln"}"#)
        .build(
            "01KJHX7SJ00000000000000000",
            Timestamp::from_millis(1_772_274_600_000),
        );
    let there = translate(aee.as_bytes(), DialectName::Aep).unwrap();
    assert!(origin(there.as_bytes()).is_some());
    for (before, after) in [
        ("agent:b", "agent:c"),
        ("{\"x\":1}", "{\"x\":2}"),
        ("\\\"agent.a\\\"", "\\\"agent.z\\\""),
    ] {
        let forged = there.replace(before, after);
        assert_ne!(forged, there, "{before}");
        assert_eq!(origin(forged.as_bytes()), None, "{before}");
        let aee = translate(forged.as_bytes(), DialectName::Aee).unwrap();
        assert!(aee.contains("\"sig\":null"), "{aee}");
        let spoken = origin(aee.as_bytes()).unwrap();
        assert_eq!(
            spoken.dialect,
            DialectName::Aep,
            "it is an envelope of its own"
        );
    }
}

#[test]
fn an_unread_signature_is_never_the_translations_own() {
    let aee = interwire_protocol::dialect::aee::Aee::task("agent.a", "agent.b", "demo.work")
        .sig_json(r#"{"alg":"ed25519","kid":"k","value":"c2ln"}"#)
        .build(
            "01KJHX7SJ00000000000000000",
            Timestamp::from_millis(1_772_274_600_000),
        );
    for to in [DialectName::Aep, DialectName::Uai] {
        let there = translate(aee.as_bytes(), to).unwrap();
        let mark = if to == DialectName::Aep {
            translate::MEMBER
        } else {
            translate::EXTENSION
        };
        assert!(there.contains(mark));
        assert!(
            !there.contains("\"sig\"") && !there.contains("signature"),
            "{there}"
        );
        assert!(
            there.contains("\\\"sig\\\""),
            "it is carried as text: {there}"
        );
    }
}
