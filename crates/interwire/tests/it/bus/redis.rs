//! Redis Streams as a door.

use super::load::event;
use super::pair::Bus;
use super::watch::{FOLLOWS, arrives, is_up, metric};
use crate::process::task;
use crate::raw::within;
use crate::server::Server;
use serde_json::{Value, json};
use std::time::Duration;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_add_arrives_once_byte_for_byte_and_does_not_go_back() {
    let bus = Bus::of(Server::redis());
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
    let headers = &seen[2]["headers"];
    assert_eq!(headers["aep-type"], "environment.observed");
    assert_eq!(headers["aep-source"], "agent:near");
    assert_eq!(headers["aep-conversation"], "c");
    assert_eq!(headers["interwire-message"], "agent:near/e2");
    let client = exchange.client();
    let all = client
        .page(&client::Filter::new(), &client::From::Earliest, 9)
        .await;
    assert_eq!(all.unwrap().envelopes.len(), 3);
    assert!(other.next(500).is_none(), "nothing was sent twice");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_names_a_stream_for_it_gets_a_receipt_or_every_fault() {
    let bus = Bus::of(Server::redis());
    let exchange = bus.exchange(&[]);
    is_up(&exchange, "redis").await;
    let mut agent = bus.driver();
    let publish = json!({ "op": "publish", "envelope": event("agent:far", "e1", "c") });
    let first = agent.ask(&publish);
    assert_eq!(first["receipt"]["id"], "e1", "{first}");
    assert_eq!(agent.ask(&publish)["receipt"]["duplicate"], true);
    let refused = agent.ask(&json!({ "op": "raw", "text": "{]" }));
    assert_eq!(refused["fault"]["code"], "malformed_json", "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_read_becomes_a_fault_is_confirmed_and_holds_nothing_up() {
    let bus = Bus::of(Server::redis());
    let exchange = bus.exchange(&[]);
    is_up(&exchange, "redis").await;
    let mut agent = bus.driver();
    let bad = agent.publish("{]");
    agent.ask(&json!({ "op": "publish", "text": "x", "bare": true, "how": "stream" }));
    agent.publish(&event("agent:far", "e1", "c"));
    arrives(&exchange, "e1").await;
    within(async {
        while agent.ask(&json!({ "op": "pending", "group": "interwire" }))["pending"] != 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let faults = agent.ask(&json!({ "op": "read", "stream": "aep.faults" }));
    let told: Vec<Value> = faults["bodies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|text| serde_json::from_str(text.as_str().unwrap()).unwrap())
        .collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[0]["fault"]["code"], "malformed_json");
    assert_eq!(
        told[0]["original"],
        json!({ "stream": "aep.events", "entry": bad["entry"] })
    );
    assert_eq!(told[1]["fault"]["code"], "missing_field");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_instance_took_and_never_confirmed_is_taken_over() {
    let bus = Bus::of(Server::redis());
    let other = bus.exchange_on(&bus.folder.path().join("other"), &[]);
    // The group is there.
    is_up(&other, "redis").await;
    other.kill();
    let mut agent = bus.driver();
    agent.publish(&event("agent:far", "e1", "c"));
    let grabbed = agent.ask(&json!({ "op": "grab", "group": "interwire" }));
    assert_eq!(grabbed, json!({ "count": 1 }));
    let exchange = bus.exchange(&["redis.claim_idle_ms=200"]);
    arrives(&exchange, "e1").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acknowledgement_from_there_settles_the_delivery_here() {
    let bus = Bus::of(Server::redis());
    let exchange = bus.exchange(&[]);
    is_up(&exchange, "redis").await;
    let mut agent = bus.driver();
    agent.follow(&json!({ "source": ["agent:near"] }));
    let sent =
        event("agent:near", "e1", "c").replace("\"type\"", "\"target\": \"agent:b\", \"type\"");
    let client = exchange.client();
    client.publish(sent).await.unwrap();
    agent.next(FOLLOWS).unwrap();
    let acknowledgement = event("agent:b", "a1", "c")
        .replace("environment.observed", "event.acknowledged")
        .replace(
            "\"type\"",
            "\"target\": \"agent:near\", \"causation_id\": \"e1\", \"type\"",
        )
        .replace("{\"n\": 1.50}", "{\"acknowledged_event_id\": \"e1\"}");
    agent.publish(&acknowledgement);
    arrives(&exchange, "a1").await;
    let fate = client.receipt("e1", None).await.unwrap();
    assert_eq!(fate.recipients[0].state, "acked", "{fate:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_is_trimmed_and_named_as_the_settings_say() {
    let bus = Bus::of(Server::redis());
    let settings = [
        "redis.entries_max=100",
        "redis.out_routing=type",
        "redis.prefix=mine",
    ];
    let exchange = bus.exchange(&settings);
    is_up(&exchange, "redis").await;
    let client = exchange.client();
    for n in 0..400 {
        let one = event("agent:near", &format!("e{n}"), &format!("c{n}"));
        client.publish(one).await.unwrap();
    }
    metric(
        &exchange,
        "interwire_bus_out_total{bus=\"redis\",result=\"confirmed\"}",
        400,
    )
    .await;
    let kept = bus
        .driver()
        .ask(&json!({ "op": "read", "stream": "mine.type.environment.observed" }));
    let kept = kept["bodies"].as_array().unwrap().len();
    assert!((100..400).contains(&kept), "{kept}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_overtaken_when_the_server_is_killed_under_load() {
    let bus = Bus::of(Server::redis());
    let exchange = bus.exchange(&[]);
    is_up(&exchange, "redis").await;
    bus.killed_under_load(exchange).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_overtaken_when_the_exchange_is_killed_under_load() {
    let bus = Bus::of(Server::redis());
    let exchange = bus.exchange(&[]);
    is_up(&exchange, "redis").await;
    bus.exchange_killed_under_load(exchange).await;
}

#[test]
fn the_doctor_says_whether_the_server_is_there() {
    Bus::of(Server::redis()).doctor_tells();
}
