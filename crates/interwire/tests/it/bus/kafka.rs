//! Kafka as a door, against Tansu. Tansu forgets everything with its process, so here it is frozen and not
//! killed; brokers that fail are in the tests of the doors, with the mock cluster of librdkafka.

use super::load::{both_ways, event};
use super::pair::Bus;
use super::proxy::Proxy;
use super::watch::{FOLLOWS, arrives, is_up};
use crate::process::task;
use crate::raw::within;
use crate::server::{Server, free_port};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::net::TcpListener;
use std::time::{Duration, Instant};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_write_arrives_once_byte_for_byte_and_does_not_go_back() {
    let bus = Bus::of(Server::kafka());
    let (mut agent, mut other) = (bus.driver(), bus.driver());
    other.follow(&json!({}));
    // Before anybody reads there.
    let aee = task("m-1", "agent.b", "c");
    agent.publish(&aee);
    let exchange = bus.exchange(&[]);
    let aep = event("agent:far", "e1", "c");
    agent.publish(&aep);
    assert_eq!(arrives(&exchange, "m-1").await, aee);
    assert_eq!(arrives(&exchange, "e1").await, aep);
    let own = event("agent:near", "e2", "c");
    exchange.client().publish(own.clone()).await.unwrap();
    let seen: Vec<Value> = (0..3).map(|_| other.next(FOLLOWS).unwrap()).collect();
    let texts: Vec<_> = seen
        .iter()
        .map(|one| one["envelope"].as_str().unwrap())
        .collect();
    assert_eq!(texts, [&aee, &aep, &own]);
    assert_eq!(seen[2]["key"], "c");
    let headers = &seen[2]["headers"];
    assert_eq!(headers["aep-type"], "environment.observed");
    assert_eq!(headers["interwire-message"], "agent:near/e2");
    let client = exchange.client();
    let all = client
        .page(&client::Filter::new(), &client::From::Earliest, 9)
        .await;
    assert_eq!(all.unwrap().envelopes.len(), 3);
    assert!(other.next(500).is_none(), "nothing was sent twice");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_names_a_topic_for_it_gets_a_receipt_or_every_fault_and_others_are_not_held_up() {
    let bus = Bus::of(Server::kafka());
    let exchange = bus.exchange(&[]);
    is_up(&exchange, "kafka").await;
    let mut agent = bus.driver();
    let publish = json!({ "op": "publish", "envelope": event("agent:far", "e1", "c") });
    let first = agent.ask(&publish);
    assert_eq!(first["receipt"]["id"], "e1", "{first}");
    assert_eq!(agent.ask(&publish)["receipt"]["duplicate"], true);
    let refused = agent.ask(&json!({ "op": "raw", "text": "{]" }));
    assert_eq!(refused["fault"]["code"], "malformed_json", "{refused}");
    agent.ask(&json!({ "op": "publish", "text": "x", "bare": true, "how": "stream" }));
    let bad = agent.publish("{]");
    agent.publish(&event("agent:far", "e2", "c"));
    arrives(&exchange, "e2").await;
    let follow = json!({ "op": "follow", "filter": {}, "topic": "aep.faults", "all": true });
    assert_eq!(agent.ask(&follow), json!({ "ok": true }));
    let faults: Vec<Value> = (0..2)
        .map(|_| agent.next(FOLLOWS).unwrap()["envelope"].clone())
        .map(|text| serde_json::from_str(text.as_str().unwrap()).unwrap())
        .collect();
    let codes: Vec<_> = faults
        .iter()
        .map(|one| one["fault"]["code"].as_str().unwrap())
        .collect();
    assert!(
        codes.contains(&"missing_field") && codes.contains(&"malformed_json"),
        "{codes:?}"
    );
    let of_bad = faults
        .iter()
        .find(|one| one["fault"]["code"] == "malformed_json")
        .unwrap();
    assert_eq!(of_bad["original"]["offset"], bad["offset"], "{of_bad}");
    within(async {
        while agent.ask(&json!({ "op": "committed", "group": "interwire" }))["behind"] != 0 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_overtaken_when_the_broker_is_frozen_under_load() {
    let bus = Bus::of(Server::kafka());
    let exchange = bus.exchange(&[]);
    // A group takes a while to form; from here on it reads.
    bus.driver().publish(&event("agent:first", "first", "c"));
    arrives(&exchange, "first").await;
    let drivers = || bus.driver();
    both_ways(exchange, drivers, |exchange, before, outage| {
        std::thread::sleep(before);
        bus.server.signal(Signal::SIGSTOP);
        std::thread::sleep(outage);
        bus.server.signal(Signal::SIGCONT);
        exchange
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_overtaken_when_connections_are_cut_under_load() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = listener.local_addr().unwrap().port();
    let port = free_port();
    let proxy = Proxy::start(listener, port);
    let bus = Bus::of(Server::kafka_behind(near, port));
    let exchange = bus.exchange(&[]);
    // A group takes a while to form; from here on it reads.
    bus.driver().publish(&event("agent:first", "first", "c"));
    arrives(&exchange, "first").await;
    let drivers = || bus.driver();
    both_ways(exchange, drivers, |exchange, before, outage| {
        std::thread::sleep(before);
        let end = Instant::now() + outage;
        let mut cuts = 0;
        while Instant::now() < end {
            cuts += proxy.cut();
            std::thread::sleep(Duration::from_millis(250));
        }
        eprintln!("{cuts} connections were cut");
        assert!(cuts > 0, "nothing was cut");
        exchange
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_overtaken_when_the_exchange_is_killed_under_load() {
    let bus = Bus::of(Server::kafka());
    let exchange = bus.exchange(&[]);
    // A group takes a while to form; from here on it reads.
    bus.driver().publish(&event("agent:first", "first", "c"));
    arrives(&exchange, "first").await;
    bus.exchange_killed_under_load(exchange).await;
}

#[test]
fn the_doctor_says_whether_the_broker_is_there() {
    Bus::of(Server::kafka()).doctor_tells();
}
