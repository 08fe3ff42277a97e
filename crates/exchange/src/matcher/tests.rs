//! The index against the definition, and what it looks at.

use super::Matcher;
use proptest::prelude::*;
use protocol::{Act, DialectName, Filter, Header, Intake, Party, Priority, digest};
use std::collections::{BTreeMap, HashMap};

fn header(kind: &str, sender: &str, recipients: &[&str], topics: &[&str]) -> Header {
    Header {
        dialect: DialectName::Aep,
        id: "m".into(),
        sender: Party::parse(sender),
        act: Act::Inform,
        kind: kind.into(),
        recipients: recipients.iter().map(|text| Party::parse(text)).collect(),
        topics: topics.iter().map(|&text| text.into()).collect(),
        conversation: None,
        correlation: None,
        cause: None,
        task: None,
        session: None,
        intent: None,
        priority: Priority::Normal,
        deadline: None,
        intake: Intake::Work,
        idempotency_key: None,
        origin: None,
        retry: None,
        settles: None,
        replay_of: None,
        step: None,
        flow: None,
        coordination: None,
        fingerprint: digest(b"m"),
    }
}

fn filter(pairs: &[(&str, &str)]) -> Filter {
    Filter::from_pairs(pairs.iter().copied()).unwrap()
}

/// Few words, so that filters and headers meet often.
fn dotted(wild: bool) -> impl Strategy<Value = String> {
    let words: &[&str] = if wild {
        &["a", "b", "*", "a", "b", "*", "c"]
    } else {
        &["a", "b", "c"]
    };
    prop::collection::vec(prop::sample::select(words.to_vec()), 1..4)
        .prop_map(|parts| parts.join("."))
}

fn party(wild: bool) -> impl Strategy<Value = String> {
    let kind = if wild {
        vec!["agent.", "*.", "bus:", "x:"]
    } else {
        vec!["agent:", "bus:", "x:", "x."]
    };
    prop_oneof![
        4 => (prop::sample::select(kind), dotted(wild)).prop_map(|(kind, name)| format!("{kind}{name}")),
        1 => Just(if wild { "*".into() } else { "someone".to_string() }),
    ]
}

fn any_filter() -> impl Strategy<Value = Filter> {
    let topic = (dotted(true), any::<bool>())
        .prop_map(|(t, tail)| if tail { format!("{t}.**") } else { t });
    let pair = prop_oneof![
        4 => dotted(true).prop_map(|value| ("type", value)),
        2 => party(true).prop_map(|value| ("target", value)),
        2 => party(true).prop_map(|value| ("source", value)),
        2 => topic.prop_map(|value| ("topic", value)),
        1 => dotted(true).prop_map(|value| ("intent", value)),
        1 => prop::sample::select(vec!["conversation", "task", "session"])
            .prop_flat_map(|name| dotted(false).prop_map(move |value| (name, value))),
        1 => Just(("priority", "high".to_string())),
        1 => Just(("dialect", "aep".to_string())),
    ];
    prop::collection::vec(pair, 0..5).prop_map(|pairs| {
        let pairs: Vec<_> = pairs
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        filter(&pairs)
    })
}

fn any_header() -> impl Strategy<Value = Header> {
    let texts = || prop::option::of(dotted(false));
    let parties = prop::collection::vec(party(false), 0..3);
    let topics = prop::collection::vec(dotted(false), 0..3);
    (
        dotted(false),
        party(false),
        parties,
        topics,
        [texts(), texts(), texts(), texts()],
        any::<bool>(),
    )
        .prop_map(
            |(kind, sender, recipients, topics, [conversation, task, session, intent], is_high)| {
                let recipients: Vec<&str> = recipients.iter().map(String::as_str).collect();
                let topics: Vec<&str> = topics.iter().map(String::as_str).collect();
                Header {
                    conversation: conversation.map(Into::into),
                    task: task.map(Into::into),
                    session: session.map(Into::into),
                    intent: intent.map(Into::into),
                    priority: if is_high {
                        Priority::High
                    } else {
                        Priority::Low
                    },
                    ..header(&kind, &sender, &recipients, &topics)
                }
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn the_index_finds_exactly_what_the_definition_finds(
        filters in prop::collection::vec((0..24_u32, any_filter(), any::<bool>()), 0..40),
        headers in prop::collection::vec(any_header(), 1..8),
    ) {
        let (mut matcher, mut naive) = (Matcher::default(), BTreeMap::new());
        for (id, filter, stays) in filters {
            matcher.insert(id, filter.clone());
            naive.insert(id, filter);
            if !stays {
                prop_assert_eq!(matcher.remove(id), naive.remove(&id));
            }
        }
        for header in &headers {
            let wanted: Vec<u32> =
                naive.iter().filter(|(_, filter)| filter.matches(header)).map(|(id, _)| *id).collect();
            prop_assert_eq!(matcher.matching(header), wanted);
        }
        for id in naive.into_keys() {
            matcher.remove(id);
        }
        prop_assert!(matcher.rest.is_empty() && matcher.anchored.iter().all(HashMap::is_empty));
    }
}

/// The fields of the n-th filter that cannot match.
type Others = fn(u32) -> Vec<(&'static str, String)>;

/// How many filters are looked at for one header with `others` filters that cannot match it.
fn considered(others: u32, pairs: Others) -> usize {
    let mut matcher = Matcher::default();
    matcher.insert(0, filter(&[("target", "agent:b"), ("type", "task.*")]));
    for n in 1..=others {
        let pairs = pairs(n);
        let pairs: Vec<_> = pairs
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        matcher.insert(n, filter(&pairs));
    }
    let header = header("task.progress", "agent:a", &["agent:b"], &["build.linux"]);
    assert_eq!(matcher.matching(&header), [0]);
    matcher.considered.get()
}

#[test]
fn filters_that_cannot_match_cost_nothing() {
    let kinds: [Others; 7] = [
        |n| vec![("target", format!("agent:other{n}"))],
        |n| {
            vec![
                ("topic", format!("build.other{n}")),
                ("type", "task.*".into()),
            ]
        },
        |n| vec![("source", format!("agent:other{n}")), ("type", "*".into())],
        |n| vec![("task", format!("t{n}")), ("target", "agent:b".into())],
        |n| {
            vec![
                ("intent", format!("ops.x{n}")),
                ("target", "agent.*".into()),
            ]
        },
        |n| vec![("type", format!("tool.x{n}.*"))],
        // The hot case: everybody watches one target, for other types.
        |n| vec![("target", "agent:b".into()), ("type", format!("*.x{n}"))],
    ];
    for pairs in kinds {
        let few = considered(10, pairs);
        assert_eq!((few, considered(5_000, pairs)), (1, 1), "{:?}", pairs(1));
    }
}

#[test]
fn the_same_number_again_replaces_the_filter() {
    let mut matcher = Matcher::default();
    matcher.insert(1, filter(&[("type", "a")]));
    matcher.insert(1, filter(&[("type", "b")]));
    assert_eq!(matcher.matching(&header("a", "x", &[], &[])), [0_u32; 0]);
    assert_eq!(matcher.matching(&header("b", "x", &[], &[])), [1]);
}
