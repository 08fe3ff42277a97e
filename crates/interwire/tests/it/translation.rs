//! The verb `translate`, and reading in a dialect of one's own from the command line.

use crate::process::{Exchange, run, run_with, task};
use protocol::Timestamp;
use protocol::dialect::uai::build::{Agent, Handoff, Heading};
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
fn a_uai_1_message_is_written_in_every_form_and_carriage() {
    let message = Handoff::new("task_1", "A summary.", "A reason.", "Begin.")
        .envelope(Heading {
            id: "msg_1".into(),
            issued_at: Timestamp::from_millis(1_772_274_600_000),
            source: Agent::new("agent", "manager"),
            target: Agent::new("agent", "b"),
            conversation: "conv_1".into(),
        })
        .also_to(Agent::new("agent", "c"))
        .write()
        .unwrap();
    let written = |more: &[&str], text: &str| {
        let arguments = [&["translate", "--to", "uai"], more].concat();
        let run = run_with(&arguments, text);
        assert_eq!(run.code, Some(0), "{}", run.err);
        run.out
    };
    let spaced = message.replacen('{', "{ ", 1);
    let minified = written(&["--form", "minified-keyed"], &spaced);
    assert_eq!(minified.trim_end(), message);
    let keyless = written(&["--form", "keyless"], &message);
    assert!(keyless.starts_with("[\"1.0\","), "{keyless}");
    assert_eq!(written(&["--form", "keyed"], &keyless), minified);
    let strict = written(&["--carriage", "strict"], &message);
    let judged = run_with(&["validate", "--mode", "strict"], &strict);
    assert_eq!(judged.code, Some(0), "{}", judged.out);
    let back = written(&["--carriage", "native"], &strict);
    let value = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
    assert_eq!(value(&back), value(&message));
    let copies = written(&["--carriage", "split", "--form", "keyless"], &message);
    assert_eq!(copies.lines().count(), 2);
    assert_eq!(copies, written(&["--carriage", "split"], &keyless));
    let other = run_with(&["translate", "--to", "aep", "--form", "keyless"], &message);
    assert_ne!(other.code, Some(0));
    assert!(other.err.contains("only with --to uai"), "{}", other.err);
}

/// UAI 8: a file is what it holds, whatever its name.
#[test]
fn files_of_uai_1_are_told_apart_by_content() {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes, code) in [
        (
            "totem.uai",
            &b"The totem\n\nPurpose: what is kept\nMemory scope: project\n"[..],
            "foreign_format",
        ),
        (
            "pack.uaix",
            &b"PK\x03\x04\x14\x00\x00\x00"[..],
            "foreign_format",
        ),
        (
            "draft.uai",
            &br#"{"uaix_version":"0.1","source":"a"}"#[..],
            "superseded_draft_shape",
        ),
        ("page.json", &br#"{"spec":"UAI-1"}"#[..], "foreign_format"),
        ("notes.uai", &b"only words\n"[..], "malformed_json"),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let judged = run(&["validate", "--json", path.to_str().unwrap()]);
        assert_eq!(judged.code, Some(1), "{name}: {}", judged.err);
        let verdicts = judged.json();
        assert_eq!(verdicts.len(), 1, "{name}");
        assert_eq!(verdicts[0]["faults"][0]["code"], code, "{name}");
    }
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
