//! Keys, signatures and evidence from the command line.

use crate::process::{Exchange, run, run_with, task};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// The body of a message of UAI-1.
const INFORM: &str = r#"{"message_type":"inform","content":"hello","context_refs":[],"requires_acknowledgement":false}"#;

/// A new key of that party, and a ring that knows it.
fn key(folder: &Path, party: &str) -> (String, String) {
    let file = folder.join("a.key").display().to_string();
    let made = run(&["key", "new", &file, "--party", party]);
    assert_eq!(made.code, Some(0), "{}", made.err);
    let ring = folder.join("ring.json");
    fs::write(&ring, format!("{{\"keys\":[{}]}}", made.out.trim())).unwrap();
    (file, ring.display().to_string())
}

#[test]
fn a_key_is_made_once_for_its_owner_and_its_secret_is_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let (file, _) = key(folder.path(), "agent.planner");
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let secret: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let shown = run(&["key", "show", &file]);
    assert!(!shown.out.contains(secret["private"].as_str().unwrap()));
    assert!(
        shown.json()[0]["public"]
            .as_str()
            .unwrap()
            .starts_with("did:key:z6Mk")
    );
    let again = run(&["key", "new", &file, "--party", "agent.planner"]);
    assert_eq!(
        again.code,
        Some(1),
        "a key is never written over: {}",
        again.err
    );
}

#[test]
fn every_dialect_is_signed_carried_and_verified() {
    let folder = tempfile::tempdir().unwrap();
    let (file, ring) = key(folder.path(), "agent.planner");
    let exchange = Exchange::in_memory();
    for more in [
        &["--aee", "--intent", "a.b"][..],
        &["--aep", "--type", "task.submitted"],
        &[
            "--uai",
            "--profile",
            "uai.agent.message.v1",
            "--payload",
            INFORM,
        ],
    ] {
        let mut arguments = vec![
            "send",
            "--print",
            "--from",
            "agent.planner",
            "--to",
            "agent.b",
        ];
        arguments.extend(more);
        let built = run(&arguments);
        assert_eq!(built.code, Some(0), "{}", built.err);
        let signed = run_with(&["sign", "--key", &file], &built.out);
        assert_eq!(signed.code, Some(0), "{}", signed.err);
        let sent = run_with(&["send", "--url", &exchange.url], &signed.out);
        assert_eq!(sent.code, Some(0), "{}", sent.err);
        let verified = run_with(&["verify", "--keys", &ring, "--json"], &signed.out);
        assert_eq!(
            verified.json()[0]["verdict"],
            "verified",
            "{}",
            verified.out
        );
        assert_eq!(verified.code, Some(0));
        let unsigned = run_with(&["verify", "--keys", &ring, "--json"], &built.out);
        assert_eq!(
            (unsigned.code, &unsigned.json()[0]["verdict"]),
            (Some(1), &"absent".into())
        );
        let forged = signed.out.replace("agent", "human");
        let forged = run_with(&["verify", "--keys", &ring, "--json"], &forged);
        assert_ne!(forged.code, Some(0), "{}", forged.out);
    }
    let read = run(&[
        "inbox",
        "agent.b",
        "--url",
        &exchange.url,
        "--ack",
        "--json",
    ]);
    let rows = read.json();
    assert_eq!(rows.len(), 3);
    for row in rows {
        let envelope = row["envelope"].to_string();
        let verified = run_with(&["verify", "--keys", &ring, "--json"], &envelope);
        assert_eq!(
            verified.json()[0]["verdict"],
            "verified",
            "{}",
            verified.out
        );
    }
}

/// A conversation of a task, its result and an event, in two dialects.
fn conversation() -> Exchange {
    let exchange = Exchange::in_memory();
    let url = exchange.url.as_str();
    let sent = run_with(
        &["send", "--url", url],
        &task("message-1", "agent.b", "CONV_12345"),
    );
    assert_eq!(sent.code, Some(0), "{}", sent.err);
    let reply = [
        "send",
        "--url",
        url,
        "--aee",
        "--type",
        "result",
        "--from",
        "agent.b",
        "--reply-to",
        "message-1",
    ];
    assert_eq!(run(&reply).code, Some(0));
    exchange
}

#[test]
fn a_conversation_is_exported_and_verified_without_the_exchange() {
    let folder = tempfile::tempdir().unwrap();
    let (file, _) = key(folder.path(), "service.auditor");
    let exchange = conversation();
    for content in [false, true] {
        let out = folder
            .path()
            .join(format!("evidence-{content}"))
            .display()
            .to_string();
        let mut arguments = vec![
            "audit",
            "export",
            "message-1",
            "--url",
            &exchange.url,
            "--out",
            &out,
            "--sign",
            &file,
        ];
        if content {
            arguments.push("--content");
        }
        let exported = run(&arguments);
        assert_eq!(exported.code, Some(0), "{}", exported.err);
        let events = fs::read_to_string(Path::new(&out).join("events.ndjson")).unwrap();
        assert!(
            !events.contains("nw-web-01"),
            "content is only in attachments: {events}"
        );
        let events: Vec<Value> = events
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let types: Vec<_> = events
            .iter()
            .map(|event| event["event_type"].as_str().unwrap())
            .collect();
        assert_eq!(types.first(), Some(&"run.started"));
        assert_eq!(types.last(), Some(&"run.completed"), "{types:?}");
        assert_eq!(
            types
                .iter()
                .filter(|word| **word == "aee.envelope.received")
                .count(),
            2
        );
        assert_eq!(events[1]["context"]["aee_envelope_id"], "message-1");
        let result = events
            .iter()
            .find(|event| event["payload"]["type"] == "result")
            .unwrap();
        assert_eq!(result["context"]["parent_event_id"], events[1]["event_id"]);
        let verified = run(&["audit", "verify", &out, "--json"]);
        assert_eq!(verified.code, Some(0), "{}{}", verified.out, verified.err);
        let report = &verified.json()[0];
        assert_eq!(report["result"], "PASS");
        assert_eq!(report["signatures_verified"], true);
    }
}

#[test]
fn a_changed_bundle_names_the_first_event_that_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let exchange = conversation();
    let out = folder.path().join("evidence");
    let name = out.display().to_string();
    let exported = run(&[
        "audit",
        "export",
        "CONV_12345",
        "--url",
        &exchange.url,
        "--out",
        &name,
    ]);
    assert_eq!(exported.code, Some(0), "{}", exported.err);
    let path = out.join("events.ndjson");
    let events = fs::read_to_string(&path).unwrap();
    let changed = 1 + events
        .lines()
        .position(|line| line.contains("agent.b"))
        .unwrap();
    fs::write(&path, events.replacen("agent.b", "agent.c", 1)).unwrap();
    let verified = run(&["audit", "verify", &name, "--json"]);
    assert_eq!(verified.code, Some(1));
    let report = &verified.json()[0];
    assert_eq!(
        (&report["result"], &report["reason"]),
        (&"FAIL".into(), &"EVENT_HASH_MISMATCH".into())
    );
    assert_eq!(report["details"]["seq"], changed, "{report}");
    fs::write(&path, &events).unwrap();
    assert_eq!(run(&["audit", "verify", &name]).code, Some(0));
    // A link could lead anywhere.
    std::os::unix::fs::symlink("/etc/hostname", out.join("notes")).unwrap();
    assert_eq!(run(&["audit", "verify", &name]).code, Some(2));
    fs::remove_file(out.join("notes")).unwrap();
    fs::remove_file(out.join("manifest.json")).unwrap();
    let verified = run(&["audit", "verify", &name, "--json"]);
    assert_eq!(
        (verified.code, &verified.json()[0]["reason"]),
        (Some(2), &"MANIFEST_MISSING".into())
    );
}
