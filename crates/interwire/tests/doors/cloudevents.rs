//! Envelopes of all three dialects through the CloudEvents SDK for Python, in both modes and both ways.

use crate::exchange::{Exchange, free_address};
use crate::python;
use protocol::Timestamp;
use protocol::dialect::aee::Aee;
use protocol::dialect::aep::Aep;
use protocol::dialect::uai::build::{Agent, Handoff, Heading};
use std::io::Write as _;
use std::process::{Command, Stdio};

/// One of each dialect, with numbers and space that a JSON library would spell in its own way.
fn envelopes() -> [String; 3] {
    let now = Timestamp::from_millis(1_772_274_600_000);
    let payload = "{\"n\": 1.50,  \"text\": \"\\u00fc\"}";
    let aee = Aee::task("human.adam", "agent.b", "quox.security.scan")
        .corr("conversation-1")
        .payload_json(payload)
        .build("message-1", now);
    let aep = Aep::event("memory.fact.added", "agent:b")
        .topic("memory")
        .payload_json("{\"fact_id\":\"f-1\", \"value\": 1.50}")
        .build("event-1", now);
    let mut handoff = Handoff::new("task_1", "Do it.", "parallelization", "Do your part.");
    handoff.scope = vec!["x:read".into()];
    let heading = Heading {
        id: "msg_0001".into(),
        issued_at: now,
        source: Agent::new("agent", "agt_a"),
        target: Agent::new("agent", "agt_b"),
        conversation: "conversation_1".into(),
    };
    let uai = handoff
        .envelope(heading)
        .write()
        .expect("it can be written");
    // Space around it belongs to the bytes.
    [aee, format!("{aep}\n"), uai]
}

#[test]
fn the_python_sdk_gets_and_sends_the_same_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let exchange = Exchange::start(folder.path(), &free_address(), &[]);
    let mut child = Command::new(python::interpreter())
        .arg("-P")
        .arg(python::suite().join("cloudevents/sdk.py"))
        .arg(&exchange.url)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let input = serde_json::json!(envelopes()).to_string();
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(input.as_bytes()).expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said.trim(), "3 envelopes, 4 ways");
}
