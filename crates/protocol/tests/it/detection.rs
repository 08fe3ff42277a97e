//! One text is of one dialect: a version member decides, then the shape.

use interwire_protocol::dialect::DIALECTS;
use interwire_protocol::json::{Limits, read};
use proptest::prelude::*;

#[test]
fn a_version_of_one_dialect_outweighs_the_shape_of_another() {
    let cases = [
        (
            r#"{"aep_version":"1.0","profile":"uai.agent.handoff.v1"}"#,
            "aep",
        ),
        (r#"{"v":"1","profile":"uai.agent.handoff.v1"}"#, "aee"),
        (
            r#"{"from":"agent.a","intent":"a.b","source":"agent:a","type":"a.b","payload":{}}"#,
            "aep",
        ),
        (
            r#"{"from":"agent.a","intent":"a.b","profile":"uai.agent.message.v1"}"#,
            "uai",
        ),
        (
            r#"{"v":"1","uai_version":"1.0","from":"agent.a","intent":"a.b"}"#,
            "uai",
        ),
        (r#"{"v":"1","spec_version":"0.2"}"#, ""),
    ];
    for (text, expected) in cases {
        let document = read(text.as_bytes(), Limits::default()).unwrap();
        let names: Vec<_> = DIALECTS
            .iter()
            .filter(|dialect| dialect.recognizes(document.root()))
            .map(|dialect| dialect.name().as_str())
            .collect();
        assert_eq!(names.join(" "), expected, "{text}");
    }
}

proptest! {
    #[test]
    fn no_mixture_of_members_is_of_two_dialects(picked in proptest::sample::subsequence(MEMBERS.to_vec(), 0..MEMBERS.len())) {
        let text = format!("{{{}}}", picked.join(","));
        let document = read(text.as_bytes(), Limits::default()).unwrap();
        let count = DIALECTS.iter().filter(|dialect| dialect.recognizes(document.root())).count();
        prop_assert!(count <= 1, "{count} dialects recognise {text}");
    }
}

const MEMBERS: [&str; 14] = [
    r#""v":"1""#,
    r#""spec_version":"0.2""#,
    r#""aep_version":"0.1""#,
    r#""uai_version":"1.0""#,
    r#""uaix_version":"0.1""#,
    r#""from":"agent.a""#,
    r#""intent":"a.b""#,
    r#""corr":"conversation""#,
    r#""type":"task.started""#,
    r#""source":"agent:a""#,
    r#""created_at":"2026-11-30T16:00:00Z""#,
    r#""payload":{}"#,
    r#""profile":"uai.agent.message.v1""#,
    r#""message_id":"m""#,
];
