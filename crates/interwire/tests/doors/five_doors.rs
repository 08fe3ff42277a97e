//! One conversation of agents that each know one door and one dialect, and its trace as one tree.

use crate::door::{self, Door};
use crate::driver::Driver;
use crate::exchange::{Exchange, free_address};
use crate::server::Server;
use protocol::Timestamp;
use protocol::dialect::aee::Aee;
use protocol::dialect::aep::Aep;
use protocol::dialect::uai::build::{Agent, Handoff, Heading};
use serde_json::{Value, json};
use std::process::Command;

const CONVERSATION: &str = "CONV_REPORT";
const NOON: Timestamp = Timestamp::from_millis(1_772_274_600_000);

fn enter(door: &Door, url: &str, party: &str) -> Driver {
    Driver::start(door.script, &json!({"url": url, "party": party}))
}

/// Takes what must be the next message of a party.
fn take(driver: &mut Driver, party: &str, expected: &str) -> String {
    driver.consume(party).expect("every door has it");
    let (text, delivery, attempt) = driver.take().expect("every door has it");
    assert_eq!((text.as_str(), attempt), (expected, 1));
    delivery
}

fn publish(driver: &mut Driver, envelope: &str) {
    let receipt = driver.publish(envelope).expect("every door has it");
    let receipt = receipt.expect("every door has receipts");
    assert_eq!(receipt["durability"], "fsync", "{receipt}");
}

fn ack(driver: &mut Driver, delivery: &str) {
    driver.ack(delivery).expect("every door has it");
}

/// What the verb prints.
fn trace(exchange: &Exchange, more: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_interwire"));
    command.args(["trace", CONVERSATION, "--url", &exchange.url]);
    let ran = command.args(more).env("NO_COLOR", "1").output();
    let ran = ran.expect("the verb runs");
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{errors}");
    String::from_utf8(ran.stdout).expect("UTF-8")
}

/// The hops: door, dialect, id, from, to.
const HOPS: [(&str, &str, &str, &str, &str); 5] = [
    ("http", "aee", "hop-1-http", "human:adam", "agent:planner"),
    (
        "nats",
        "aep",
        "hop-2-nats",
        "agent:planner",
        "agent:researcher",
    ),
    (
        "grpc",
        "uai",
        "hop-3-grpc",
        "agent:researcher",
        "agent:writer",
    ),
    ("mcp", "aep", "hop-4-mcp", "agent:writer", "agent:checker"),
    (
        "websocket",
        "aee",
        "hop-5-websocket",
        "agent:checker",
        "human:adam",
    ),
];

/// What each of the five says, and what the one before it said is its cause.
fn envelopes() -> [String; 5] {
    let [first, second, third, fourth, fifth] = HOPS.map(|(_, _, id, ..)| id);
    let task = Aee::task("human.adam", "agent.planner", "market.report.write");
    let passed_on = Aep::event("task.submitted", "agent:planner");
    let mut handoff = Handoff::new(
        "task_draft",
        "Prices of the week.",
        "specialization",
        "Write it.",
    );
    handoff.scope = vec!["prices:read".into()];
    let heading = Heading {
        id: third.into(),
        issued_at: NOON,
        source: Agent::new("agent", "researcher"),
        target: Agent::new("agent", "writer"),
        conversation: CONVERSATION.into(),
    };
    let check = Aep::event("task.submitted", "agent:writer");
    let finding = Aee::event("agent.checker", "human.adam", "market.report.checked");
    [
        task.corr(CONVERSATION)
            .payload_json(r#"{"pages": 3.0}"#)
            .build(first, NOON),
        passed_on
            .target("agent:researcher")
            .conversation(CONVERSATION)
            .task("task_research")
            .cause(first)
            .payload_json(r#"{"intent": "prices.collect"}"#)
            .build(second, NOON),
        handoff
            .envelope(heading)
            .reply_to(second)
            .write()
            .expect("it can be written"),
        check
            .target("agent:checker")
            .conversation(CONVERSATION)
            .task("task_check")
            .cause(third)
            .payload_json(r#"{"intent": "report.check"}"#)
            .build(fourth, NOON),
        finding
            .corr(CONVERSATION)
            .reply_to(fourth)
            .payload_json(r#"{"good": true}"#)
            .build(fifth, NOON),
    ]
}

#[test]
fn a_conversation_through_five_doors_in_three_dialects_is_one_tree() {
    let (broker, folder) = (Server::nats(), tempfile::tempdir().expect("a folder"));
    let settings = broker.settings();
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let exchange = Exchange::start(folder.path(), &free_address(), &settings);
    exchange.is_on(broker.bus);
    let said = envelopes();
    // Each of them has one connection, to one door.
    let mut adam = enter(&door::http(), &exchange.url, "human.adam");
    let mut planner = enter(&door::nats(), &broker.url, "agent.planner");
    let mut researcher = enter(&door::grpc(), &exchange.url, "agent.researcher");
    let mut writer = enter(&door::mcp(), &exchange.url, "agent:writer");
    let mut checker = enter(&door::websocket(), &exchange.url, "agent.checker");

    publish(&mut adam, &said[0]);
    let delivery = take(&mut planner, "agent.planner", &said[0]);
    publish(&mut planner, &said[1]);
    // On a bus an agent acknowledges with an answer, here a result for adam.
    ack(&mut planner, &delivery);
    let delivery = take(&mut researcher, "agent.researcher", &said[1]);
    publish(&mut researcher, &said[2]);
    ack(&mut researcher, &delivery);
    let delivery = take(&mut writer, "agent:writer", &said[2]);
    publish(&mut writer, &said[3]);
    ack(&mut writer, &delivery);
    let delivery = take(&mut checker, "agent.checker", &said[3]);
    publish(&mut checker, &said[4]);
    ack(&mut checker, &delivery);
    adam.consume("human.adam").expect("HTTP has it");
    for _ in 0..2 {
        let (_, delivery, _) = adam.take().expect("HTTP has it");
        ack(&mut adam, &delivery);
    }

    let json = trace(&exchange, &["--json"]);
    let found: Value = serde_json::from_str(&json).expect("JSON");
    let text = trace(&exchange, &[]);
    println!("{text}");
    // Five hops, and the planner's answer to the first.
    assert_eq!(found["messages"], 6, "{json}");
    assert_eq!(found["missing"], 0, "{json}");
    assert_eq!(found["absent"], json!([]));
    assert_eq!(found["name"], CONVERSATION);
    let nodes = found["nodes"].as_array().expect("nodes");
    let node = |id: &str| nodes.iter().find(|node| node["id"] == id).expect(id);
    let mut cause = None;
    for (_, dialect, id, from, to) in HOPS {
        let node = node(id);
        assert_eq!(node["dialect"], dialect, "{node}");
        assert_eq!(
            (&node["from"], &node["to"]),
            (&json!(from), &json!([to])),
            "{node}"
        );
        assert_eq!(node["conversation"], CONVERSATION, "{node}");
        match cause {
            None => assert_eq!(node["cause"], Value::Null, "{node}"),
            Some(cause) => {
                assert_eq!(node["cause"]["state"], "found", "{node}");
                assert_eq!(node["cause"]["cursor"], cause, "{node}");
            }
        }
        cause = Some(node["cursor"].clone());
    }
    let roots = nodes.iter().filter(|node| node["cause"].is_null()).count();
    assert_eq!(roots, 1, "one tree: {json}");
    for node in nodes {
        let deliveries = node["deliveries"].as_array().expect("deliveries");
        // The bus has what it is owed a moment later.
        let open = |one: &&Value| one["party"].is_string() && one["state"] != "acked";
        assert_eq!(deliveries.iter().find(open), None, "{node}");
    }
    // The tree as text: each hop one step deeper than its cause.
    let depths: Vec<_> = HOPS.map(|(_, _, id, ..)| depth(&text, id)).into();
    assert!(depths.is_sorted_by(|a, b| a < b), "{depths:?} in\n{text}");
    assert!(!text.contains('?'), "a hole in\n{text}");
}

/// How far in a line is drawn.
fn depth(text: &str, id: &str) -> usize {
    let line = text.lines().find(|line| line.ends_with(id)).expect(id);
    let bars = line.chars().skip(" +0000 ms  ".len());
    bars.take_while(|letter| " │├└─".contains(*letter)).count()
}
