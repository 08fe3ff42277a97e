//! What filters promise, beyond single patterns.

use super::{Field, Filter};
use crate::json;
use crate::{Act, Code, DialectName, Header, Intake, Party, Priority, Rejection, digest};
use proptest::prelude::*;

fn header() -> Header {
    Header {
        dialect: DialectName::Aep,
        id: "m1".into(),
        sender: Party::parse("agent:a"),
        act: Act::Progress,
        kind: "task.progress".into(),
        recipients: vec![Party::parse("agent:b"), Party::parse("bus:ops")],
        topics: vec!["build.linux.x86".into()],
        conversation: Some("c1".into()),
        correlation: None,
        cause: None,
        task: Some("t1".into()),
        session: None,
        intent: None,
        priority: Priority::High,
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
        fingerprint: digest(b"m1"),
    }
}

fn from_text(text: &str) -> Result<Filter, Rejection> {
    let document = json::read(text.as_bytes(), json::Limits::default()).unwrap();
    Filter::from_json(document.root())
}

fn pairs<const N: usize>(pairs: [(&'static str, &'static str); N]) -> Filter {
    Filter::from_pairs(pairs).unwrap()
}

fn pointers(rejection: &Rejection) -> Vec<&str> {
    assert!(
        rejection
            .all()
            .all(|fault| fault.code == Code::FilterMalformed)
    );
    rejection
        .all()
        .map(|fault| fault.pointer.as_str())
        .collect()
}

#[test]
fn the_default_wants_everything() {
    assert!(Filter::default().is_unconstrained());
    assert!(Filter::default().matches(&header()));
    assert_eq!(Filter::default().to_json(), "{}");
}

#[test]
fn values_of_a_field_are_alternatives_and_fields_are_all_needed() {
    assert!(pairs([("type", "tool.*"), ("type", "task.*")]).matches(&header()));
    assert!(pairs([("type", "task.*"), ("target", "agent.b")]).matches(&header()));
    assert!(!pairs([("type", "task.*"), ("target", "agent.c")]).matches(&header()));
}

#[test]
fn each_field_looks_at_its_own_part_of_the_header() {
    let fits = [
        ("type", "*.progress"),
        ("source", "agent.*"),
        ("source", "agent:a"),
        ("target", "bus.*"),
        ("target", "*:b"),
        ("topic", "build.**"),
        ("topic", "build.*.x86"),
        ("conversation", "c1"),
        ("task", "t1"),
        ("dialect", "aep"),
        ("priority", "high"),
    ];
    let misses = [
        ("type", "progress"),
        ("source", "agent.b"),
        ("target", "agent.a"),
        ("topic", "build"),
        ("conversation", "*"),
        ("conversation", "c2"),
        ("task", "t"),
        ("session", "s1"),
        ("intent", "*"),
        ("dialect", "uai"),
        ("priority", "low"),
    ];
    for pair in fits {
        assert!(pairs([pair]).matches(&header()), "{pair:?}");
    }
    for pair in misses {
        assert!(!pairs([pair]).matches(&header()), "{pair:?}");
    }
}

#[test]
fn a_broadcast_does_not_match_a_named_target() {
    let broadcast = Header {
        recipients: Vec::new(),
        ..header()
    };
    assert!(!pairs([("target", "*")]).matches(&broadcast));
    assert!(pairs([("type", "*")]).matches(&broadcast));
}

#[test]
fn both_spellings_and_any_order_give_the_same_filter() {
    let ours = pairs([
        ("type", "b"),
        ("type", "a"),
        ("type", "b"),
        ("target", "agent.x"),
        ("task", "t"),
    ]);
    let aep = from_text(
        r#"{"types":["a","b"],"task_id":"t","target":"agent:x","from_cursor":"e:1","delivery_mode":"replayable"}"#,
    );
    assert_eq!(Ok(ours.clone()), aep);
    assert_eq!(
        ours.to_json(),
        r#"{"target":["agent:x"],"task":["t"],"type":["a","b"]}"#
    );
    assert_eq!(pairs([("source", "*:b")]), pairs([("source", "*.b")]));
}

#[test]
fn an_empty_list_matches_nothing() {
    let filter = from_text(r#"{"types":[]}"#).unwrap();
    assert!(!filter.matches(&header()));
    assert_eq!(from_text(&filter.to_json()), Ok(filter));
}

#[test]
fn every_defect_is_named_in_order() {
    let refusal = from_text(
        r#"{"tpye":"a","types":42,"source":["x",null,""],"priority":"top","topic":"a.**.b","a/b":1}"#,
    )
    .unwrap_err();
    assert_eq!(
        pointers(&refusal),
        [
            "/tpye",
            "/types",
            "/source/1",
            "/source/2",
            "/priority",
            "/topic",
            "/a~1b"
        ]
    );
    assert!(
        refusal
            .first()
            .detail
            .ends_with("got `tpye`; did you mean `type`"),
        "{refusal}"
    );
    assert_eq!(pointers(&from_text("[]").unwrap_err()), [""]);
    assert_eq!(
        pointers(&Filter::from_pairs([("type", ""), ("nope", "x")]).unwrap_err()),
        ["/type", "/nope"]
    );
}

#[test]
fn sizes_are_limited() {
    let long = "x".repeat(256);
    assert!(Filter::from_pairs([("type", &long[1..])]).is_ok());
    assert!(Filter::from_pairs([("type", &*long)]).is_err());
    let many: Vec<String> = (0..258).map(|n| format!("v{n}")).collect();
    let of = |count: usize| {
        Filter::from_pairs(many[..count].iter().map(|value| ("task", value.as_str())))
    };
    assert!(of(256).is_ok());
    assert_eq!(of(258).unwrap_err().all().count(), 1);
}

fn any_filter() -> impl Strategy<Value = Filter> {
    let pair = (0..Field::ALL.len(), "[a*.:\"\\\\\u{7}é]{1,6}").prop_map(|(field, text)| {
        let field = Field::ALL[field];
        let text = match field {
            Field::Dialect => "aee".into(),
            Field::Priority => "low".into(),
            // `**` has its own rule and its own tests.
            _ => {
                let mut text = text;
                while text.contains("**") {
                    text = text.replace("**", "*");
                }
                text
            }
        };
        (field.as_str(), text)
    });
    prop::collection::vec(pair, 0..6).prop_map(|pairs| {
        Filter::from_pairs(pairs.iter().map(|(name, value)| (*name, value.as_str()))).unwrap()
    })
}

proptest! {
    #[test]
    fn json_text_reads_back_equal(filter in any_filter()) {
        prop_assert_eq!(from_text(&filter.to_json()), Ok(filter));
    }

    #[test]
    fn an_exact_value_matches_only_what_it_spells(filter in any_filter(), text in "[a*.:]{0,6}") {
        for (field, values) in filter.terms() {
            for value in values.iter().filter(|value| field.is_exact(value)) {
                let mut header = header();
                let spelled = match field {
                    Field::Source => { header.sender = Party::parse(&text); header.sender.to_string() }
                    Field::Target => { header.recipients = vec![Party::parse(&text)]; header.recipients[0].to_string() }
                    Field::Topic => { header.topics = vec![text.as_str().into()]; text.clone() }
                    Field::Type => { header.kind = text.as_str().into(); text.clone() }
                    Field::Intent => { header.intent = Some(text.as_str().into()); text.clone() }
                    _ => continue,
                };
                prop_assert_eq!(field.accepts(value, &header), **value == *spelled);
            }
        }
    }
}
