//! The verbs `wrap` and `unwrap`, with documents of our own.

use crate::process::{Exchange, run, run_with};
use serde_json::{Value, json};

const COMPLETION: &str = r#"{"id":"chatcmpl-0123","object":"chat.completion","created":1772274600,"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_weather0123456789","type":"function","function":{"name":"get_weather","arguments":"{\"city\": \"Bern\"}"}}]}}]}"#;
const RESULT: &str = r#"{"role":"tool","tool_call_id":"call_weather0123456789","content":"sun"}"#;

#[test]
fn documents_are_wrapped_and_come_back() {
    let both = format!("{COMPLETION}\n{RESULT}\n");
    let wrapped = run_with(
        &["wrap", "--from", "openai", "--as", "agent.planner"],
        &both,
    );
    assert_eq!(wrapped.code, Some(0), "{}", wrapped.err);
    let envelopes = wrapped.json();
    let kinds: Vec<_> = envelopes
        .iter()
        .map(|one| one["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["event", "event", "task", "result"]);
    assert_eq!(envelopes[2]["ts"], "2026-02-28T10:30:00.000Z");
    assert_eq!(envelopes[2]["from"], "agent.planner");
    assert_eq!(envelopes[3]["reply_to"], envelopes[2]["id"]);
    let back = run_with(&["unwrap", "--to", "openai"], &wrapped.out).json();
    let whole: Vec<Value> = [COMPLETION, RESULT]
        .map(|one| serde_json::from_str(one).unwrap())
        .into();
    assert_eq!(back, whole);
    let other = run_with(&["unwrap", "--to", "anthropic"], &wrapped.out).json();
    assert_eq!(other[0][0]["content"][0]["input"], json!({"city": "Bern"}));
    let anew = run_with(&["unwrap", "--to", "openai", "--anew"], &wrapped.out).json();
    assert_eq!(anew[0].as_array().unwrap().len(), 2);
}

#[test]
fn a_wrapped_call_is_work_that_any_agent_answers() {
    let exchange = Exchange::in_memory();
    let url = exchange.url.as_str();
    let wrap = [
        "wrap",
        "--to",
        "agent.weather",
        "--as",
        "agent.planner",
        "--send",
        "--json",
        "--url",
        url,
    ];
    let sent = run_with(&wrap, COMPLETION);
    assert_eq!(sent.code, Some(0), "{}", sent.err);
    let states = |ran: &crate::process::Ran| -> Vec<Value> {
        ran.json().iter().map(|one| one["status"].clone()).collect()
    };
    assert_eq!(states(&sent), ["accepted", "accepted", "accepted"]);
    // The same once more is known.
    assert_eq!(
        states(&run_with(&wrap, COMPLETION)),
        ["duplicate", "duplicate", "duplicate"]
    );
    let reply = [
        "send",
        "--aee",
        "--type",
        "result",
        "--from",
        "agent.weather",
        "--reply-to",
        "call_weather0123456789",
        "--payload",
        r#"{"sky":"sun"}"#,
        "--url",
        url,
    ];
    let sent = run(&reply);
    assert_eq!(sent.code, Some(0), "{}{}", sent.out, sent.err);
    let inbox = run(&["inbox", "agent.planner", "--json", "--url", url]).json();
    let replies: Vec<_> = inbox
        .iter()
        .map(|one| one["envelope"].to_string())
        .collect();
    let written = run_with(&["unwrap", "--to", "openai"], &replies.join("\n")).json();
    assert_eq!(
        written,
        [
            json!([{"role": "tool", "tool_call_id": "call_weather0123456789", "content": "{\"sky\":\"sun\"}"}])
        ]
    );
}

#[test]
fn a_log_record_is_kept_and_delivered_to_nobody() {
    let exchange = Exchange::in_memory();
    let url = exchange.url.as_str();
    let sent = run_with(
        &["wrap", "--tier", "mve5", "--send", "--json", "--url", url],
        COMPLETION,
    )
    .json();
    assert!(
        sent.iter()
            .all(|one| one["receipt"]["recipients"] == json!([])),
        "{sent:?}"
    );
    let tail = [
        "tail",
        "--from",
        "earliest",
        "--until-caught-up",
        "--json",
        "--url",
        url,
    ];
    let kept = run(&tail).out;
    let back = run_with(&["unwrap"], &kept).json();
    let whole: Value = serde_json::from_str(COMPLETION).unwrap();
    assert_eq!(back, [whole]);
}

#[test]
fn faults_name_the_place_and_the_file() {
    let bad = r#"{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f"}}]}"#;
    let ran = run_with(&["wrap"], &format!("{bad}\n{RESULT}\n"));
    assert_eq!((ran.code, ran.json().len()), (Some(1), 1));
    assert!(
        ran.err
            .contains("-:1: missing_field at \"/tool_calls/0/function/arguments\""),
        "{}",
        ran.err
    );
    let wrapped = run_with(&["wrap"], COMPLETION);
    let lines: Vec<_> = wrapped.out.lines().collect();
    let ran = run_with(&["unwrap"], &lines[..2].join("\n"));
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.err.contains("-:2: missing_field at \"/1\""),
        "{}",
        ran.err
    );
    for (arguments, said) in [
        (&["wrap", "--from", "x"][..], "expected openai"),
        (&["wrap", "--tier", "x"], "mve5 or full"),
        (&["wrap", "--corr", "x"], "--corr of 8"),
        (&["wrap", "--at", "noon"], "expected a time"),
        (&["wrap", "--as", ""], "--as"),
        (&["wrap", "--json"], "--send"),
        (&["unwrap", "--anew"], "--to FORMAT"),
    ] {
        let ran = run_with(arguments, RESULT);
        assert_eq!(ran.code, Some(2), "{arguments:?}");
        assert!(ran.err.contains(said), "{}", ran.err);
    }
    for verb in ["wrap", "unwrap"] {
        assert_eq!(run_with(&[verb], "").code, Some(1));
    }
}

#[test]
fn declared_tools_are_found_in_the_directory() {
    let exchange = Exchange::in_memory();
    let url = exchange.url.as_str();
    let declared = r#"{"functionDeclarations":[{"name":"get_weather","description":"The weather of a city","parameters":{"type":"OBJECT"}}]}"#;
    let card = run_with(&["wrap", "--card", "weather"], declared);
    assert_eq!(card.code, Some(0), "{}", card.err);
    let register = ["agent", "register", "agent.weather", "-", "--url", url];
    let registered = run_with(&register, &card.out);
    assert_eq!(registered.code, Some(0), "{}", registered.err);
    let found = run(&[
        "find",
        "--intent",
        "tool.get_weather",
        "--presence",
        "any",
        "--json",
        "--url",
        url,
    ]);
    assert!(
        found.out.contains("agent:weather"),
        "{}{}",
        found.out,
        found.err
    );
}

/// The documents that the library is tested with.
const DOCUMENTS: &str = include_str!("../../../formats/tests/vectors/documents.ndjson");

#[test]
fn an_exchange_takes_every_envelope_knows_a_repeat_and_gives_the_documents_back() {
    for line in DOCUMENTS.lines() {
        let vector: Value = serde_json::from_str(line).unwrap();
        let document = vector["document"].to_string();
        let exchange = Exchange::in_memory();
        let url = exchange.url.as_str();
        for status in ["accepted", "duplicate"] {
            let sent = run_with(&["wrap", "--send", "--json", "--url", url], &document);
            assert_eq!(
                sent.code,
                Some(0),
                "{} {}{}",
                vector["name"],
                sent.out,
                sent.err
            );
            let answers = sent.json();
            assert!(
                answers.iter().all(|one| one["status"] == status),
                "{} {}",
                vector["name"],
                sent.out
            );
        }
        let tail = [
            "tail",
            "--from",
            "earliest",
            "--until-caught-up",
            "--json",
            "--url",
            url,
        ];
        let kept = run(&tail).out;
        let kept: Vec<_> = kept
            .lines()
            .filter(|one| one.contains("interwire_format"))
            .collect();
        let back = run_with(&["unwrap"], &kept.join("\n"));
        assert_eq!(back.code, Some(0), "{}", back.err);
        assert_eq!(
            back.json(),
            [vector["document"].clone()],
            "{}",
            vector["name"]
        );
    }
}
