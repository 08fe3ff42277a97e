//! The verb `translate`, and reading in a dialect of one's own from the command line.

use crate::process::{Exchange, run, run_with, task};
use serde_json::Value;

const BEAT: &str = r#"{"spec_version":"0.2","id":"evt_beat","type":"session.heartbeat","source":"agent:a","target":"agent:b","created_at":"2026-02-28T10:30:00Z","payload":{}}"#;

#[test]
fn files_are_translated_there_and_back() {
    let aee = task("message-1", "agent.b", "conversation-1");
    let aep = run_with(&["translate", "--to", "aep"], &aee);
    assert_eq!(aep.code, Some(0), "{}", aep.err);
    assert_eq!(aep.json()[0]["type"], "task.submitted");
    let uai = run_with(&["translate", "--to", "uai"], &aep.out);
    assert_eq!(uai.json()[0]["profile"], "uai.intent.request.v1");
    assert_eq!(
        run_with(&["validate", "--mode", "strict"], &uai.out).code,
        Some(0)
    );
    let back = run_with(&["translate", "--to", "aee"], &uai.out);
    let own: Value = serde_json::from_str(&aee).unwrap();
    assert_eq!(back.json(), [own]);
    let both = run_with(
        &["translate", "--to", "aee"],
        &format!("{}\n{BEAT}\n", aep.out),
    );
    assert_eq!((both.code, both.json().len()), (Some(1), 1));
    assert!(both.err.contains("not_translatable"), "{}", both.err);
}

#[test]
fn an_inbox_and_a_stream_are_read_in_one_dialect() {
    let exchange = Exchange::in_memory();
    let url = exchange.url.as_str();
    run_with(
        &["send", "--url", url],
        &task("message-1", "agent.b", "conversation-1"),
    );
    run_with(&["send", "--url", url], BEAT);
    let inbox = run(&[
        "inbox",
        "agent.b",
        "--url",
        url,
        "--translate",
        "aee",
        "--json",
    ])
    .json();
    assert_eq!(inbox[0]["envelope"]["v"], "1");
    assert_eq!(inbox[1]["untranslated"], "not_translatable");
    assert_eq!(inbox[1]["envelope"]["type"], "session.heartbeat");
    let tail = [
        "tail",
        "--url",
        url,
        "--from",
        "earliest",
        "--until-caught-up",
        "--json",
        "--translate",
        "aep",
    ];
    let types: Vec<Value> = run(&tail)
        .json()
        .iter()
        .map(|one| one["type"].clone())
        .collect();
    assert_eq!(types, ["task.submitted", "session.heartbeat"]);
    let tail = [
        "tail",
        "--url",
        url,
        "--from",
        "earliest",
        "--until-caught-up",
        "--json",
        "--translate",
        "uai",
    ];
    let seen = run(&tail).json();
    assert_eq!(seen[0]["profile"], "uai.intent.request.v1");
    assert_eq!(seen[1]["type"], "session.heartbeat", "as it was sent");
}
