//! A session over standard input and output, as a black box (AEP 9.1, 11.4 B).

use crate::process::{Exchange, interwire, run_with};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

fn suite() -> Option<PathBuf> {
    let shared = std::env::var_os("INTERWIRE_SHARED")
        .map(PathBuf::from)
        .unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    let suite = shared.join("data/aep/conformance");
    suite.join("manifest.json").is_file().then_some(suite)
}

fn event(id: &str, kind: &str, payload: &Value) -> String {
    json!({"spec_version": "0.2", "id": id, "type": kind, "source": "agent:a",
           "created_at": "2026-07-01T12:00:00Z", "payload": payload})
    .to_string()
}

/// Feeds events one by one; after each a question whose answer says that all answers are there.
fn answers(arguments: &[&str], events: &[String]) -> Vec<Vec<Value>> {
    let mut child = interwire(&[&["stdio"], arguments].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut all = Vec::new();
    for (number, text) in events.iter().enumerate() {
        let sentinel = format!("evt_sentinel_{number}");
        let ask = event(&sentinel, "capabilities.requested", &json!({}));
        writeln!(stdin, "{text}\n{ask}").unwrap();
        let mut answers = Vec::new();
        loop {
            let line = lines.next().expect("an answer").unwrap();
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["causation_id"] == *sentinel {
                break;
            }
            answers.push(answer);
        }
        all.push(answers);
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
    all
}

#[test]
fn every_published_fixture_passes_from_outside() {
    let Some(suite) = suite() else {
        println!("skipped: the published suite is not here");
        return;
    };
    let manifest = std::fs::read_to_string(suite.join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let fixtures = manifest["fixtures"].as_array().unwrap();
    assert!(fixtures.len() >= 32);
    for fixture in fixtures {
        let path = fixture["path"].as_str().unwrap();
        let text = std::fs::read_to_string(suite.join(path)).unwrap();
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let events: Vec<String> = lines.map(str::to_owned).collect();
        let answers = answers(&[], &events);
        let refused = answers.iter().flatten().filter(|answer| {
            answer["source"] == "service:interwire"
                && answer["type"]
                    .as_str()
                    .is_some_and(|kind| kind.ends_with(".rejected"))
        });
        let refused: Vec<&Value> = refused.collect();
        match fixture["expectation"].as_str().unwrap() {
            "reject_some" => assert!(!refused.is_empty(), "{path}"),
            // The fixture is never run through a state machine, and one of its events is illegal there.
            "accept_all" => {}
            _ => assert!(refused.is_empty(), "{path}: {refused:?}"),
        }
    }
}

#[test]
fn a_session_of_its_own_is_closed_with_its_input() {
    let input = [
        event("evt_1", "session.opened", &json!({"session_id": "s"})),
        event("evt_2", "agent.message.sent", &json!({})),
    ]
    .join("\n");
    let ran = run_with(&["stdio"], &input);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let kinds: Vec<_> = ran
        .json()
        .iter()
        .map(|event| event["type"].clone())
        .collect();
    assert_eq!(
        kinds,
        ["session.ready", "event.acknowledged", "session.closed"]
    );
    assert_eq!(
        ran.json()[0]["payload"]["capabilities"]["transports"],
        json!(["stdio"])
    );
}

#[test]
fn a_session_with_a_running_exchange_is_the_same() {
    let exchange = Exchange::in_memory();
    let input = [
        event("evt_1", "session.opened", &json!({"session_id": "s"})),
        "{".to_owned(),
        event("evt_2", "agent.message.sent", &json!({})),
    ]
    .join("\r\n");
    let ran = run_with(&["stdio", "--url", &exchange.url], &input);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let kinds: Vec<_> = ran
        .json()
        .iter()
        .map(|event| event["type"].clone())
        .collect();
    assert_eq!(
        kinds,
        [
            "session.ready",
            "event.rejected",
            "event.acknowledged",
            "event.acknowledged",
            "session.closed"
        ]
    );
}

/// A peer that stays.
struct Peer {
    child: Child,
    stdin: ChildStdin,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Peer {
    fn of(exchange: &Exchange) -> Self {
        let mut child = interwire(&["stdio", "--url", &exchange.url])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self {
            child,
            stdin,
            lines,
        }
    }

    fn say(&mut self, id: &str, kind: &str, payload: &Value) {
        writeln!(self.stdin, "{}", event(id, kind, payload)).unwrap();
    }

    fn next(&mut self) -> Value {
        let line = self.lines.next().expect("an event").unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn expect(&mut self, kind: &str) -> Value {
        let event = self.next();
        assert_eq!(event["type"], kind, "{event}");
        event
    }

    fn open(&mut self) -> Value {
        self.say("evt_open", "session.opened", &json!({"session_id": "s"}));
        self.expect("session.ready")["payload"].take()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Publishes events on a connection of their own.
fn publish(exchange: &Exchange, ids: &[&str]) {
    let events = ids
        .iter()
        .map(|id| event(id, "agent.message.sent", &json!({"n": 1})));
    let input = events.collect::<Vec<_>>().join("\n");
    let ran = run_with(&["stdio", "--url", &exchange.url], &input);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.json()
            .iter()
            .all(|answer| answer["type"] == "event.acknowledged"),
        "{}",
        ran.out
    );
}

#[test]
fn a_session_goes_on_with_its_subscriptions_after_the_exchange_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let exchange = Exchange::on(folder.path());
    let mut peer = Peer::of(&exchange);
    assert_eq!(peer.open()["resumed"], false);
    let wish = json!({"types": "agent.message.*", "delivery_mode": "at_least_once"});
    peer.say("evt_sub", "subscription.requested", &wish);
    let created = peer.expect("subscription.created");
    assert_eq!(created["payload"]["subscription_id"], "sub_0001");
    publish(&exchange, &["evt_1", "evt_2"]);
    assert_eq!(peer.next()["id"], "evt_1");
    assert_eq!(peer.next()["id"], "evt_2");
    peer.say(
        "evt_ack",
        "event.acknowledged",
        &json!({"acknowledged_event_id": "evt_1"}),
    );
    peer.expect("event.acknowledged");
    exchange.kill();
    drop(peer);

    let exchange = Exchange::on(folder.path());
    // At once: nobody is told that there is no such session before it was looked for.
    let mut peer = Peer::of(&exchange);
    let ready = peer.open();
    assert_eq!(ready["resumed"], true, "{ready}");
    assert_eq!(
        ready["subscriptions"][0]["subscription_id"], "sub_0001",
        "{ready}"
    );
    publish(&exchange, &["evt_3"]);
    let mut seen = Vec::new();
    while seen.len() < 2 {
        let event = peer.next();
        if event["type"] != "event.redelivered" {
            seen.push(event["id"].clone());
        }
    }
    // What was acknowledged does not come again, what was not does, and it goes on.
    assert_eq!(seen, ["evt_2", "evt_3"]);
}
