//! NATS as a door.

use super::driver::Driver;
use super::load::event;
use super::pair::Bus;
use super::watch::{FOLLOWS, arrives, is_up, metric, value};
use crate::process::task;
use crate::raw::within;
use crate::server::Server;
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_is_answered_with_a_receipt_or_with_every_fault() {
    let bus = Bus::of(Server::nats());
    let exchange = bus.exchange(&[]);
    is_up(&exchange, "nats").await;
    let mut agent = bus.driver();
    let envelope = event("agent:far", "e1", "c");
    let publish = json!({ "op": "publish", "envelope": envelope });
    let first = agent.ask(&publish);
    assert_eq!(first["receipt"]["id"], "e1", "{first}");
    assert_eq!(first["receipt"]["durability"], "fsync");
    assert_eq!(agent.ask(&publish)["receipt"]["duplicate"], true);
    let refused = agent.ask(&json!({ "op": "raw", "text": "{\"spec_version\": \"0.2\"" }));
    assert_eq!(refused["fault"]["code"], "malformed_json", "{refused}");
    let incomplete = envelope.replace("\"id\": \"e1\"", "\"id\": 7");
    let refused = agent.ask(&json!({ "op": "raw", "text": incomplete }));
    assert_eq!(refused["fault"]["pointer"], "/id", "{refused}");
    assert_eq!(arrives(&exchange, "e1").await, envelope);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_publish_arrives_once_byte_for_byte_and_does_not_go_back() {
    let bus = Bus::of(Server::nats());
    let exchange = bus.exchange(&[]);
    is_up(&exchange, "nats").await;
    let (mut agent, mut other) = (bus.driver(), bus.driver());
    other.follow(&json!({}));
    let aee = task("m-1", "agent.b", "c");
    let aep = event("agent:far", "e1", "c");
    agent.publish(&aee);
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
    assert_eq!(seen[2]["subject"], "aep.type.environment.observed");
    assert_eq!(seen[2]["headers"]["Nats-Msg-Id"], "agent:near/e2");
    // Its own words come back to it from the stream, and are nothing new.
    let client = exchange.client();
    let all = client
        .page(&client::Filter::new(), &client::From::Earliest, 9)
        .await;
    assert_eq!(all.unwrap().envelopes.len(), 3);
    assert!(other.next(500).is_none(), "nothing was sent twice");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_read_becomes_a_fault_and_holds_nothing_up() {
    let bus = Bus::of(Server::nats());
    let exchange = bus.exchange(&[]);
    is_up(&exchange, "nats").await;
    let mut agent = bus.driver();
    let mut watcher = bus.driver();
    watcher.ask(&json!({ "op": "listen", "subject": "aep.faults" }));
    let sent = agent.ask(&json!({ "op": "publish", "envelope": "{]", "how": "stream" }));
    agent.publish(&event("agent:far", "e1", "c"));
    let told = watcher.ask(&json!({ "op": "heard", "timeout_ms": FOLLOWS }));
    let told: Value = serde_json::from_str(told["text"].as_str().unwrap()).unwrap();
    assert_eq!(told["fault"]["code"], "malformed_json", "{told}");
    assert_eq!(told["original"]["stream"], "interwire");
    assert_eq!(told["original"]["sequence"], sent["sequence"]);
    arrives(&exchange, "e1").await;
    // Longer than the time after which the server would give it again.
    let again = watcher.ask(&json!({ "op": "heard", "timeout_ms": 2_500 }));
    assert_eq!(again, json!({ "nothing": true }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acknowledgement_from_there_settles_the_delivery_here() {
    let bus = Bus::of(Server::nats());
    let exchange = bus.exchange(&[]);
    is_up(&exchange, "nats").await;
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
async fn filters_and_directions_decide_what_crosses() {
    let bus = Bus::of(Server::nats());
    let exchange = bus.exchange(&[
        "nats.in_filter=source=agent.far",
        "nats.out_filter=conversation=yes",
        "nats.out_routing=events",
    ]);
    is_up(&exchange, "nats").await;
    let mut agent = bus.driver();
    agent.follow(&json!({ "source": ["agent:near"] }));
    agent.publish(&event("agent:other", "unwanted", "c"));
    agent.publish(&event("agent:far", "wanted", "c"));
    arrives(&exchange, "wanted").await;
    let client = exchange.client();
    assert!(client.message("unwanted", None).await.is_err());
    client
        .publish(event("agent:near", "stays", "no"))
        .await
        .unwrap();
    client
        .publish(event("agent:near", "goes", "yes"))
        .await
        .unwrap();
    let seen = agent.next(FOLLOWS).unwrap();
    assert_eq!(seen["subject"], "aep.events");
    assert!(seen["envelope"].as_str().unwrap().contains("goes"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_server_never_takes_becomes_a_dead_letter_and_holds_nothing_up() {
    let bus = Bus::of(Server::nats());
    let exchange = bus.exchange(&[]);
    is_up(&exchange, "nats").await;
    let mut agent = bus.driver();
    agent.follow(&json!({ "source": ["agent:near"] }));
    // With its headers it is over the server's limit.
    let plain = event("agent:near", "large", "c");
    let large = plain.replace(
        "1.50",
        &format!("\"{}\"", "x".repeat((1 << 20) - plain.len() - 8)),
    );
    let client = exchange.client();
    client.publish(large).await.unwrap();
    client
        .publish(event("agent:near", "small", "c"))
        .await
        .unwrap();
    let seen = agent.next(FOLLOWS).unwrap();
    assert!(seen["envelope"].as_str().unwrap().contains("small"));
    let place = client::Place::Subscription("bus-nats".into());
    assert_eq!(client.place(&place).await.unwrap().dead, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_has_the_subjects_is_used_whatever_it_is_called() {
    let bus = Bus::of(Server::nats());
    let mut agent = Driver::start("nats", &json!({ "url": bus.server.url, "stream": "MINE" }));
    let made = agent.ask(&json!({ "op": "make", "name": "MINE", "subjects": ["aep.type.>"] }));
    assert_eq!(made, json!({ "ok": true }));
    let exchange = bus.exchange(&[]);
    is_up(&exchange, "nats").await;
    agent.follow(&json!({ "source": ["agent:near"] }));
    // Its fault has no subject there, and goes to whoever listens.
    agent.publish("{]");
    agent.publish(&event("agent:far", "e1", "c"));
    arrives(&exchange, "e1").await;
    exchange
        .client()
        .publish(event("agent:near", "e2", "c"))
        .await
        .unwrap();
    assert!(
        agent.next(FOLLOWS).unwrap()["envelope"]
            .as_str()
            .unwrap()
            .contains("e2")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_jetstream_those_who_listen_get_it_and_requests_are_answered() {
    let bus = Bus::of(Server::nats());
    let exchange = bus.exchange(&["nats.jetstream=false"]);
    is_up(&exchange, "nats").await;
    let mut agent = bus.driver();
    agent.ask(&json!({ "op": "listen", "subject": "aep.type.>" }));
    let request = json!({ "op": "publish", "envelope": event("agent:far", "e1", "c"), "subject": "aep.type.environment.observed" });
    let answer = agent.ask(&request);
    assert_eq!(answer["receipt"]["id"], "e1", "{answer}");
    exchange
        .client()
        .publish(event("agent:near", "e2", "c"))
        .await
        .unwrap();
    let heard: Vec<_> = (0..2)
        .map(|_| agent.ask(&json!({ "op": "heard", "timeout_ms": FOLLOWS }))["text"].to_string())
        .collect();
    assert!(
        heard[0].contains("e1") && heard[1].contains("e2"),
        "{heard:?}"
    );
    let nothing = agent.ask(&json!({ "op": "heard", "timeout_ms": 300 }));
    assert_eq!(nothing, json!({ "nothing": true }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_owed_waits_for_a_server_that_comes_later() {
    let mut bus = Bus::of(Server::nats());
    bus.server.kill();
    let exchange = bus.exchange(&[]);
    exchange
        .client()
        .publish(event("agent:near", "e1", "c"))
        .await
        .unwrap();
    assert_eq!(value(&exchange, "interwire_bus_up{bus=\"nats\"}").await, 0);
    exchange.kill();
    let exchange = bus.exchange(&[]);
    bus.server.start_again();
    metric(
        &exchange,
        "interwire_bus_out_total{bus=\"nats\",result=\"confirmed\"}",
        1,
    )
    .await;
    let mut agent = bus.driver();
    agent.ask(&json!({ "op": "follow", "filter": {}, "from": "0" }));
    let seen = agent.next(FOLLOWS).unwrap();
    assert!(seen["envelope"].as_str().unwrap().contains("e1"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_overtaken_when_the_server_is_killed_under_load() {
    let bus = Bus::of(Server::nats());
    let exchange = bus.exchange(&[]);
    is_up(&exchange, "nats").await;
    bus.killed_under_load(exchange).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_overtaken_when_the_exchange_is_killed_under_load() {
    let bus = Bus::of(Server::nats());
    let exchange = bus.exchange(&[]);
    is_up(&exchange, "nats").await;
    bus.exchange_killed_under_load(exchange).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_ends_well_when_told_to_stop_and_the_server_is_gone() {
    let mut bus = Bus::of(Server::nats());
    let exchange = bus.exchange(&["http.drain_notice_ms=0"]);
    is_up(&exchange, "nats").await;
    bus.server.kill();
    exchange
        .client()
        .publish(event("agent:near", "e1", "c"))
        .await
        .unwrap();
    exchange.signal(nix::sys::signal::Signal::SIGTERM);
    let ended = tokio::task::spawn_blocking(|| exchange.wait());
    assert!(within(ended).await.unwrap().success());
}

#[test]
fn the_doctor_says_whether_the_server_is_there() {
    Bus::of(Server::nats()).doctor_tells();
}
