//! T9: one message for several recipients has one receipt line for each, whatever else happens to the
//! others, and the same message again changes nothing.
//!
//! DIFFERENCE: a recipient who is named twice is refused by UAI 9.1 M2, so the repeat gets nothing
//! instead of one copy. A recipient without permission comes with callers and scopes; there are none
//! yet.

use crate::process::Exchange;
use crate::raw::{Events, Socket, ask, get, publish};
use protocol::Timestamp;
use protocol::dialect::uai::build::{Agent, Heading, Message};
use serde_json::{Value, json};

/// To `w1` and `w2`.
fn message() -> String {
    to(&["w2"])
}

/// To `w1` and others.
fn to(others: &[&str]) -> String {
    let heading = Heading {
        id: "msg_1".into(),
        issued_at: Timestamp::from_millis(1_772_274_600_000),
        source: Agent::new("agent", "manager"),
        target: Agent::new("agent", "w1"),
        conversation: "conv_1".into(),
    };
    let envelope = Message::new("directive", "Check every partition.").envelope(heading);
    let others = others.iter().map(|name| Agent::new("agent", name));
    let envelope = others.fold(envelope, protocol::dialect::uai::build::Envelope::also_to);
    envelope.write().unwrap()
}

/// Party, state and attempts of each line.
fn lines(receipt: &Value) -> Vec<(String, String, u64)> {
    let lines = receipt["recipients"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    lines
        .map(|line| {
            let attempts = line["attempts"].as_u64().unwrap();
            (text(&line["party"]), text(&line["state"]), attempts)
        })
        .collect()
}

fn line(party: &str, state: &str, attempts: u64) -> (String, String, u64) {
    (party.into(), state.into(), attempts)
}

async fn receipt(url: &str) -> Value {
    get(url, "/v1/messages/msg_1/receipt").await.json()
}

async fn ack(url: &str, delivery: &Value) {
    let body = json!({"deliveries": [delivery]}).to_string();
    let media = [("content-type", "application/json")];
    let answer = ask(url, "POST /v1/deliveries/ack", &media, &body).await;
    assert_eq!(answer.json()["results"][0]["ok"], true, "{}", answer.text());
}

#[tokio::test]
async fn over_http_and_server_sent_events() {
    let exchange = Exchange::in_memory();
    let url = exchange.url.as_str();
    // The first worker is there and waits.
    let waiting = tokio::spawn({
        let url = exchange.url.clone();
        async move { get(&url, "/v1/inbox/agent:w1?wait_ms=60000").await.json() }
    });
    let repeat = publish(url, &to(&["w2", "w1"])).await;
    let problem = repeat.refuses(422, "duplicate_target");
    assert_eq!(problem["pointer"], "/additional_targets/1/id");
    let first = publish(url, &message()).await;
    assert_eq!(first.status, 201, "{}", first.text());
    assert_eq!(
        first.json()["recipients"].as_array().unwrap().len(),
        2,
        "one line each"
    );
    let pulled = waiting.await.unwrap()["deliveries"].clone();
    assert_eq!(pulled.as_array().unwrap().len(), 1, "and gets it once");
    assert_eq!(
        lines(&receipt(url).await),
        [
            line("agent:w1", "delivered", 1),
            line("agent:w2", "stored", 0)
        ]
    );
    ack(url, &pulled[0]["delivery"]).await;
    assert_eq!(
        lines(&receipt(url).await),
        [line("agent:w1", "acked", 1), line("agent:w2", "stored", 0)]
    );
    let again = publish(url, &message()).await;
    assert_eq!(
        (again.status, &again.json()["duplicate"]),
        (200, &true.into())
    );
    assert_eq!(again.json()["cursor"], first.json()["cursor"]);
    let none = get(url, "/v1/inbox/agent:w1").await.json();
    assert_eq!(none["deliveries"], json!([]));
    // The second worker comes back: it gets the message once.
    let accept = [("accept", "text/event-stream")];
    let mut events = Events::open(url, "/v1/messages/msg_1/receipt", &accept)
        .await
        .unwrap();
    let pulled = get(url, "/v1/inbox/agent:w2").await.json()["deliveries"].clone();
    assert_eq!(pulled.as_array().unwrap().len(), 1);
    ack(url, &pulled[0]["delivery"]).await;
    let mut last = Value::Null;
    while let Some(block) = events.block().await {
        if block.data.is_some() {
            last = block.json();
        }
    }
    assert_eq!(
        lines(&last),
        [line("agent:w1", "acked", 1), line("agent:w2", "acked", 1)]
    );
    assert_eq!(last["final"], true);
}

#[tokio::test]
async fn over_sockets() {
    let exchange = Exchange::in_memory();
    let mut worker = Socket::open(&exchange.url).await;
    let subscribe =
        |party: &str| format!(r#"{{"op":"subscribe","ref":"r","inbox":"agent:{party}"}}"#);
    worker.send(subscribe("w1")).await;
    worker.op("subscribed").await;
    let mut sender = Socket::open(&exchange.url).await;
    let publish = |envelope: &str| format!(r#"{{"op":"publish","ref":"p","envelope":{envelope}}}"#);
    let repeat = sender.ask(publish(&to(&["w2", "w1"]))).await;
    assert_eq!(repeat["fault"]["code"], "duplicate_target", "{repeat}");
    let frame = publish(&message());
    let first = sender.ask(frame.clone()).await["receipt"].clone();
    let delivery = worker.op("deliver").await["delivery"].clone();
    sender
        .send(r#"{"op":"watch","ref":"w","id":"msg_1"}"#)
        .await;
    let seen = sender.op("receipt").await["receipt"].clone();
    assert_eq!(
        lines(&seen),
        [
            line("agent:w1", "delivered", 1),
            line("agent:w2", "stored", 0)
        ]
    );
    worker
        .send(json!({"op": "ack", "ref": "a", "deliveries": [delivery]}).to_string())
        .await;
    worker.op("settled").await;
    let seen = sender.op("receipt").await["receipt"].clone();
    assert_eq!(
        lines(&seen),
        [line("agent:w1", "acked", 1), line("agent:w2", "stored", 0)]
    );
    let again = sender.ask(frame).await["receipt"].clone();
    assert_eq!(
        (&again["duplicate"], &again["cursor"]),
        (&true.into(), &first["cursor"])
    );
    let mut late = Socket::open(&exchange.url).await;
    late.send(subscribe("w2")).await;
    late.op("subscribed").await;
    let delivery = late.op("deliver").await["delivery"].clone();
    late.send(json!({"op": "ack", "ref": "a", "deliveries": [delivery]}).to_string())
        .await;
    late.op("settled").await;
    let mut last = sender.op("receipt").await["receipt"].clone();
    while last["final"] == false {
        last = sender.op("receipt").await["receipt"].clone();
    }
    assert_eq!(
        lines(&last),
        [line("agent:w1", "acked", 1), line("agent:w2", "acked", 1)]
    );
    // Nothing more has come to the first worker.
    worker.send(r#"{"op":"ping"}"#).await;
    worker.op("pong").await;
}
