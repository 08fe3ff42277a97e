//! What is wrong is said with its place, all of it.

use interwire_formats::{Format, Options, read, unwrap, wrap, write_anew};

fn faults(document: &str, format: Option<Format>) -> Vec<String> {
    let refused = read(document.as_bytes(), format).unwrap_err();
    let all = refused.all().map(|fault| {
        assert!(fault.detail.contains("expected"), "{fault}");
        format!("{} {}", fault.code, fault.pointer)
    });
    all.collect()
}

#[test]
fn every_fault_has_its_place() {
    let cases: [(&str, Option<Format>, &[&str]); 17] = [
        ("{", None, &["malformed_json "]),
        ("[]", None, &["type_mismatch "]),
        ("7", None, &["type_mismatch "]),
        (r#"{"a":1}"#, None, &["type_mismatch "]),
        ("[]", Some(Format::OpenAi), &["too_short "]),
        (
            r#"[{"role":"wizard","content":"x"},{"role":"tool","content":"x"},{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f"}},{"function":{}}]}]"#,
            Some(Format::OpenAi),
            &[
                "enum_unknown /0/role",
                "missing_field /1/tool_call_id",
                "missing_field /2/tool_calls/0/function/arguments",
                "missing_field /2/tool_calls/1/id",
            ],
        ),
        (
            r#"{"object":"chat.completion.chunk","choices":[]}"#,
            None,
            &["enum_unknown "],
        ),
        (
            r#"{"messages":7}"#,
            Some(Format::OpenAi),
            &["type_mismatch /messages"],
        ),
        (
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":"x"},{"type":"tool_result"}]}"#,
            Some(Format::Anthropic),
            &[
                "type_mismatch /content/0/input",
                "missing_field /content/1/tool_use_id",
            ],
        ),
        (
            r#"{"role":"assistant"}"#,
            Some(Format::Anthropic),
            &["missing_field /content"],
        ),
        (
            r#"{"parts":[{"functionCall":{"args":{}}},7]}"#,
            Some(Format::Google),
            &[
                "missing_field /parts/0/functionCall/name",
                "type_mismatch /parts/1",
            ],
        ),
        (
            r#"[{"type":"ai","content":"","tool_calls":[{"name":"f","args":"x"}]},{"type":"who","content":""}]"#,
            Some(Format::LangChain),
            &["type_mismatch /0/tool_calls/0/args", "type_mismatch /1"],
        ),
        (
            r#"[7,{}]"#,
            Some(Format::LangGraph),
            &["type_mismatch /0", "too_short /1"],
        ),
        (
            r#"{"source":"a","type":"Nothing","content":""}"#,
            Some(Format::AutoGen),
            &["enum_unknown /type"],
        ),
        (
            r#"{"type":"ToolCallRequestEvent","source":"a","content":[{"name":"f","arguments":{}}]}"#,
            Some(Format::AutoGen),
            &["missing_field /content/0/id"],
        ),
        (
            r#"{"description":"x","agent":7}"#,
            Some(Format::CrewAi),
            &["missing_field /raw"],
        ),
        (
            r#"{"raw":"","tasks_output":[{"raw":"x"}]}"#,
            None,
            &["missing_field /tasks_output/0/description"],
        ),
    ];
    for (document, format, expected) in cases {
        assert_eq!(faults(document, format), expected, "{document}");
    }
}

#[test]
fn options_that_no_envelope_can_hold_are_refused() {
    let document = br#"{"role":"user","content":"x"}"#;
    for options in [
        Options {
            conversation: Some("short".into()),
            ..Options::default()
        },
        Options {
            party: Some(String::new()),
            ..Options::default()
        },
        Options {
            peer: Some("a\nb".into()),
            ..Options::default()
        },
    ] {
        let refused = wrap(document, None, &options).unwrap_err();
        assert_eq!(refused.code().as_str(), "pattern_mismatch");
    }
}

#[test]
fn envelopes_that_cannot_be_read_are_named_by_their_number() {
    let good = wrap(
        br#"{"role":"user","content":"x"}"#,
        None,
        &Options::default(),
    )
    .unwrap();
    let first = |envelopes: &[&[u8]]| {
        let refused = unwrap(envelopes, None).unwrap_err();
        format!("{} {}", refused.code(), refused.first().pointer)
    };
    let good = good[0].as_str();
    assert_eq!(first(&[good.as_bytes(), b"{}"]), "not_an_envelope /1");
    assert_eq!(first(&[b"{"]), "malformed_json /0");
    for (old, new, expected) in [
        (
            r#""format":"openai""#,
            r#""format":"x""#,
            "type_mismatch /0/payload/interwire_format/format",
        ),
        (
            r#""at":"""#,
            r#""at":"x""#,
            "type_mismatch /0/payload/interwire_format/at",
        ),
        (r#""at":"""#, r#""at":"/0/x""#, "missing_field /0"),
        (
            r#""from":"/content""#,
            r#""from":"/contents""#,
            "type_mismatch /0/payload/interwire_format/moved",
        ),
        (
            r#"{"content":"x","#,
            r#"{"other":"x","#,
            "missing_field /0/payload/content",
        ),
    ] {
        assert!(good.contains(old), "{good}");
        assert_eq!(first(&[good.replacen(old, new, 1).as_bytes()]), expected);
    }
}

#[test]
fn what_a_framework_has_no_word_for_is_refused() {
    let said = wrap(
        br#"{"role":"user","content":"x"}"#,
        None,
        &Options::default(),
    )
    .unwrap();
    let texts: Vec<&[u8]> = said.iter().map(String::as_bytes).collect();
    let refused = write_anew(&texts, Format::CrewAi).unwrap_err();
    assert_eq!(refused.code().as_str(), "not_translatable");
}
