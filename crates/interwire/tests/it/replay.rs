//! `interwire replay` against a running exchange: bytes to standard output, marked envelopes into a party.

use crate::process::{Exchange, run, run_with, task};
use protocol::Timestamp;
use protocol::dialect::aep::Aep;
use protocol::dialect::uai::build::{Agent, Handoff, Heading};
use serde_json::Value;

fn send(exchange: &Exchange, envelope: &str) {
    let sent = run_with(&["send", "--url", &exchange.url], envelope);
    assert_eq!(sent.code, Some(0), "{}{}", sent.out, sent.err);
}

/// An AEE task, an AEP event it caused, a UAI-1 handoff that caused; all in one trace.
fn played(exchange: &Exchange) -> Vec<String> {
    let now = Timestamp::from_millis(1_772_274_600_000);
    let event = Aep::event("memory.fact.added", "agent:b")
        .target("human:adam")
        .conversation("CONV_1")
        .cause("message-1")
        .payload_json("{\"fact_id\":\"f\",\"value\":  0.50}")
        .build("evt_1", now);
    let heading = Heading {
        id: "msg_1".into(),
        issued_at: now,
        source: Agent::new("agent", "b"),
        target: Agent::new("agent", "c"),
        conversation: "grp_1".into(),
    };
    let handoff = Handoff::new("task_9", "All of it.", "parallelization", "Begin.")
        .envelope(heading)
        .reply_to("evt_1")
        .write()
        .unwrap();
    let all = vec![task("message-1", "agent.b", "CONV_1"), event, handoff];
    all.iter().for_each(|envelope| send(exchange, envelope));
    all
}

fn replay(exchange: &Exchange, arguments: &[&str]) -> crate::process::Ran {
    let mut all = vec!["replay", "--url", &exchange.url];
    all.extend(arguments);
    run(&all)
}

fn trace(exchange: &Exchange, id: &str) -> Value {
    let ran = run(&["trace", id, "--json", "--url", &exchange.url]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ran.json().remove(0)
}

#[test]
fn the_bytes_of_a_conversation_are_printed_as_they_came() {
    let exchange = Exchange::in_memory();
    let all = played(&exchange);
    let ran = replay(&exchange, &["message-1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(ran.out.lines().collect::<Vec<_>>(), all);
    let marked = replay(&exchange, &["CONV_1", "--json"]).json();
    assert_eq!(marked.len(), 3);
    assert_eq!(marked[1]["id"], "evt_1");
    assert!(marked[1]["replay_of"].as_str().unwrap().ends_with("-2"));
    assert!(marked[1]["accepted_at"].is_string() && marked[1]["offset_ms"].is_number());
    let own: Value = serde_json::from_str(&all[1]).unwrap();
    assert_eq!(marked[1]["envelope"], own);
    let only = replay(&exchange, &["CONV_1", "--target", "agent.c"]);
    assert_eq!(only.out.trim_end(), all[2]);
}

#[test]
fn a_range_ends_where_it_is_told() {
    let exchange = Exchange::in_memory();
    let all = played(&exchange);
    let cursors: Vec<String> = replay(&exchange, &["CONV_1", "--json"])
        .json()
        .iter()
        .map(|line| line["replay_of"].as_str().unwrap().to_owned())
        .collect();
    let ran = replay(&exchange, &["--from", &cursors[0], "--to", &cursors[1]]);
    assert_eq!(ran.out.trim_end(), all[1]);
    let ran = replay(&exchange, &["--from", "2000-01-01T00:00:00Z"]);
    assert_eq!(ran.out.lines().count(), 3);
    let ran = replay(
        &exchange,
        &["--from", "earliest", "--to", "2000-01-01T00:00:00Z"],
    );
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""));
    for wrong in [&["--from", "earliest", "--to", "soon"][..], &[]] {
        assert_eq!(replay(&exchange, wrong).code, Some(2), "{wrong:?}");
    }
}

#[test]
fn a_party_gets_new_marked_envelopes_and_the_original_trace_stays_as_it_was() {
    let exchange = Exchange::in_memory();
    played(&exchange);
    run(&[
        "sub",
        "create",
        "audit",
        "--type",
        "task.*",
        "--url",
        &exchange.url,
    ]);
    let before = trace(&exchange, "CONV_1");
    let ran = replay(
        &exchange,
        &["CONV_1", "--into", "agent.test", "--speed", "1000x"],
    );
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(
        ran.err.contains("3 played in conversation replay-"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("0 refused, 0 skipped"), "{}", ran.err);
    let inbox = run(&[
        "inbox",
        "agent.test",
        "--json",
        "--ack",
        "--url",
        &exchange.url,
    ]);
    let deliveries = inbox.json();
    assert_eq!(deliveries.len(), 3);
    let [aee, aep, uai] = [0, 1, 2].map(|at: usize| &deliveries[at]["envelope"]);
    assert_eq!(aee["payload"]["text"], "\u{fc}");
    assert_eq!(
        (&aee["from"], &aee["to"]),
        (&"service.replay".into(), &"agent.test".into())
    );
    assert_eq!(aee["interwire_replay"]["id"], "message-1");
    assert_eq!(aep["interwire_replay"]["from"], "agent:b");
    // Under the replay of its cause, not under the original.
    assert_eq!(aep["causation_id"], aee["id"]);
    assert_eq!(uai["conversation"]["parent_message_id"], aep["id"]);
    assert_eq!(
        uai["extensions"][0]["namespace"],
        "urn:interwire:ext:replay"
    );
    assert_eq!(uai["body"]["target_agent_id"], "test");
    let conversation = aee["corr"].as_str().unwrap();
    let replays = trace(&exchange, conversation);
    assert_eq!(
        (&replays["messages"], &replays["missing"]),
        (&3.into(), &0.into())
    );
    assert_eq!(
        replays["nodes"][0]["replay_of"],
        before["nodes"][0]["cursor"]
    );
    let text = run(&["trace", conversation, "--url", &exchange.url]);
    assert!(
        text.out.contains("replay: task quox.security.scan"),
        "{}",
        text.out
    );
    let after = trace(&exchange, "CONV_1");
    assert_eq!(after["nodes"], before["nodes"]);
    // Nobody who only subscribed got it, and playing again is not a duplicate.
    let audit = run(&[
        "inbox",
        "--subscription",
        "audit",
        "--json",
        "--url",
        &exchange.url,
    ]);
    assert_eq!(audit.out, "");
    let again = replay(&exchange, &["CONV_1", "--into", "agent.test", "--json"]);
    assert_eq!(again.json().len(), 3);
    assert!(again.json().iter().all(|line| line["status"] == "accepted"));
}

#[test]
fn replays_are_not_played_again() {
    let exchange = Exchange::in_memory();
    send(&exchange, &task("message-1", "agent.b", "CONV_1"));
    replay(&exchange, &["CONV_1", "--into", "agent.test"]);
    let ran = replay(&exchange, &["--from", "earliest", "--into", "agent.test"]);
    assert!(ran.err.contains("1 played"), "{}", ran.err);
    assert!(ran.err.contains("0 refused, 1 skipped"), "{}", ran.err);
}
