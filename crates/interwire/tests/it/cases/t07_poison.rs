//! T7: a message that its worker cannot take does not hold up the others for ever. It ends as a dead
//! letter that tells everything, and can be delivered again; dedupe has no say in that.

use crate::process::{Exchange, task};
use crate::raw::{Events, Socket, ask, get};
use serde_json::{Value, json};

const POISON: &str = "message-0003";

/// An exchange whose inbox of `agent.b` gives up after three attempts, with ten messages of one
/// conversation in it.
async fn exchange() -> Exchange {
    let exchange = Exchange::in_memory();
    let media = [("content-type", "application/json")];
    let body = r#"{"delivery":{"max_attempts":3,"backoff_ms":0}}"#;
    let put = ask(&exchange.url, "PUT /v1/inbox/agent.b", &media, body).await;
    assert_eq!(put.status, 200, "{}", put.text());
    let client = exchange.client();
    for n in 1..=10 {
        client.publish(envelope(n)).await.unwrap();
    }
    exchange
}

fn envelope(n: usize) -> String {
    task(&format!("message-{n:04}"), "agent.b", "conversation-1")
}

async fn settle(url: &str, how: &str, body: Value) -> Value {
    let answer = ask(
        url,
        &format!("POST /v1/deliveries/{how}"),
        &[("content-type", "application/json")],
        &body.to_string(),
    )
    .await;
    answer.json()["results"][0].clone()
}

/// What must have come of it: nine are done, the third is dead with every error and its own bytes; it
/// is delivered again when somebody wants it, and is then done, too.
async fn check_the_dead_letter(url: &str) {
    for n in (1..=10).filter(|n| *n != 3) {
        let receipt = get(url, &format!("/v1/messages/message-{n:04}/receipt")).await;
        let line = receipt.json()["recipients"][0].clone();
        assert_eq!(
            (&line["state"], &line["attempts"]),
            (&"acked".into(), &1.into())
        );
    }
    let list = get(url, "/v1/dead-letters?inbox=agent.b").await;
    let original = envelope(3);
    assert!(
        list.text().contains(&format!("\"envelope\":{original}}}")),
        "{}",
        list.text()
    );
    let letters = list.json()["dead_letters"].clone();
    assert_eq!(letters.as_array().unwrap().len(), 1);
    let letter = &letters[0];
    assert_eq!(
        (&letter["id"], &letter["attempts"]),
        (&POISON.into(), &3.into())
    );
    assert_eq!(letter["reason"], "attempts_exhausted");
    let errors: Vec<_> = letter["failures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|failure| failure["error"].clone())
        .collect();
    assert_eq!(
        errors,
        [
            "cannot take it, 1",
            "cannot take it, 2",
            "cannot take it, 3"
        ]
    );
    let delivery = letter["delivery"].as_str().unwrap();
    let redriven = ask(
        url,
        &format!("POST /v1/dead-letters/{delivery}/redrive"),
        &[],
        "",
    )
    .await;
    assert_eq!(redriven.status, 200, "{}", redriven.text());
    let pulled = get(url, "/v1/inbox/agent.b").await.json()["deliveries"].clone();
    assert_eq!(pulled.as_array().unwrap().len(), 1);
    assert_eq!(
        (&pulled[0]["id"], &pulled[0]["attempt"]),
        (&POISON.into(), &4.into())
    );
    let acked = settle(url, "ack", json!({"deliveries": [pulled[0]["delivery"]]})).await;
    assert_eq!(acked["ok"], true);
    let empty = get(url, "/v1/dead-letters").await.json();
    assert_eq!(empty["dead_letters"], json!([]));
}

#[tokio::test]
async fn over_http_and_server_sent_events() {
    let exchange = exchange().await;
    let url = exchange.url.as_str();
    let accept = [("accept", "text/event-stream")];
    let path = format!("/v1/messages/{POISON}/receipt");
    let mut events = Events::open(url, &path, &accept).await.unwrap();
    let mut acked = 0;
    while acked < 9 {
        let pulled = get(url, "/v1/inbox/agent.b?max=1&wait_ms=30000")
            .await
            .json();
        let delivery = &pulled["deliveries"][0];
        let deliveries = json!([delivery["delivery"]]);
        let settled = if delivery["id"] == POISON {
            let reason = format!("cannot take it, {}", delivery["attempt"]);
            settle(
                url,
                "nack",
                json!({"deliveries": deliveries, "reason": reason}),
            )
            .await
        } else {
            acked += 1;
            settle(url, "ack", json!({"deliveries": deliveries})).await
        };
        assert_eq!(settled["ok"], true, "{settled}");
    }
    // Its sender saw all of it, up to the end.
    let mut last = Value::Null;
    let mut attempts = Vec::new();
    while let Some(block) = events.block().await {
        if block.data.is_some() {
            last = block.json();
            attempts.push(last["recipients"][0]["attempts"].as_u64().unwrap());
        }
    }
    assert!(
        attempts.is_sorted() && attempts.contains(&3),
        "{attempts:?}"
    );
    assert_eq!(last["recipients"][0]["state"], "dead");
    check_the_dead_letter(url).await;
}

#[tokio::test]
async fn over_a_socket() {
    let exchange = exchange().await;
    let mut socket = Socket::open(&exchange.url).await;
    let frame = r#"{"op":"subscribe","ref":"r","inbox":"agent.b","max_in_flight":1}"#;
    socket.send(frame).await;
    let mut acked = 0;
    while acked < 9 {
        let frame = socket.frame().await;
        match frame["op"].as_str().unwrap() {
            "deliver" if frame["id"] == POISON => {
                let reason = format!("cannot take it, {}", frame["attempt"]);
                let nack = json!({"op": "nack", "ref": "n", "deliveries": [frame["delivery"]], "reason": reason});
                socket.send(nack.to_string()).await;
            }
            "deliver" => {
                let ack = json!({"op": "ack", "ref": "a", "deliveries": [frame["delivery"]]});
                socket.send(ack.to_string()).await;
            }
            "settled" => {
                assert_eq!(frame["results"][0]["ok"], true, "{frame}");
                acked += usize::from(frame["ref"] == "a");
            }
            other => assert_eq!(other, "subscribed"),
        }
    }
    drop(socket);
    check_the_dead_letter(&exchange.url).await;
}
