//! T5: one sender uses one id for one message. The same again is the first receipt, other bytes are a
//! conflict, another sender's id is another message, and a batch of nothing but repeats changes nothing.

use crate::process::{Exchange, task};
use crate::raw::{Socket, ask, get, publish};
use serde_json::Value;

fn body(n: usize) -> String {
    task("message-a", "agent.b", &format!("conversation-{n}"))
}

fn by_another() -> String {
    body(1).replace("human.adam", "human.eve")
}

/// Publishes through one door; the status and the receipt or the fault.
async fn over(door: &str, exchange: &Exchange, envelope: &str) -> (String, Value) {
    let url = exchange.url.as_str();
    match door {
        "http" => {
            let answer = publish(url, envelope).await;
            (answer.status.to_string(), answer.json())
        }
        "lines" => {
            let media = [("content-type", "application/x-ndjson")];
            let answer = ask(url, "POST /v1/messages", &media, envelope).await;
            let line = answer.json();
            let status = line["status"].as_str().unwrap().to_owned();
            let is_refused = status == "refused";
            let part = if is_refused { "fault" } else { "receipt" };
            (status, line[part].clone())
        }
        _ => {
            let mut socket = Socket::open(url).await;
            let frame = format!(r#"{{"op":"publish","ref":"p","envelope":{envelope}}}"#);
            let answer = socket.ask(frame).await;
            let op = answer["op"].as_str().unwrap().to_owned();
            let part = if op == "fault" { "fault" } else { "receipt" };
            (op, answer[part].clone())
        }
    }
}

#[tokio::test]
async fn on_every_door() {
    for (door, accepted, again, refused) in [
        ("http", "201", "200", "409"),
        ("lines", "accepted", "duplicate", "refused"),
        ("socket", "receipt", "receipt", "fault"),
    ] {
        let exchange = Exchange::in_memory();
        let (status, first) = over(door, &exchange, &body(1)).await;
        assert_eq!(
            (status.as_str(), &first["duplicate"]),
            (accepted, &false.into())
        );
        let (status, mut second) = over(door, &exchange, &body(1)).await;
        assert_eq!(
            (status.as_str(), &second["duplicate"]),
            (again, &true.into())
        );
        second["duplicate"] = false.into();
        assert_eq!(second, first, "the original receipt");
        let (status, conflict) = over(door, &exchange, &body(2)).await;
        assert_eq!(
            (status.as_str(), &conflict["code"]),
            (refused, &"id_conflict".into())
        );
        assert_eq!(conflict["status"], 409);
        let (status, theirs) = over(door, &exchange, &by_another()).await;
        assert_eq!(
            (status.as_str(), &theirs["duplicate"]),
            (accepted, &false.into())
        );
        assert_ne!(theirs["cursor"], first["cursor"]);
        let stored = get(&exchange.url, "/v1/messages").await;
        assert_eq!(stored.text().lines().count(), 2, "{door}");
    }
}

#[tokio::test]
async fn a_batch_of_repeats_has_three_receipts_and_no_new_place() {
    let exchange = Exchange::in_memory();
    let envelopes = [1, 2, 3].map(|n| task(&format!("message-{n}"), "agent.b", "conversation-1"));
    let media = [("content-type", "application/x-ndjson")];
    let batch = async || {
        let body = envelopes.join("\n");
        let answer = ask(&exchange.url, "POST /v1/messages", &media, &body).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let lines = answer.text();
        let lines: Vec<Value> = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        lines
    };
    let first = batch().await;
    let head = exchange.client().get("/").await.unwrap();
    for again in batch().await.iter().zip(&first) {
        assert_eq!(again.0["status"], "duplicate");
        assert_eq!(again.0["receipt"]["cursor"], again.1["receipt"]["cursor"]);
    }
    // The same three in flight at once on a socket.
    let mut socket = Socket::open(&exchange.url).await;
    for envelope in &envelopes {
        let frame = format!(r#"{{"op":"publish","ref":"p","envelope":{envelope}}}"#);
        socket.send(frame).await;
    }
    for line in &first {
        let receipt = socket.op("receipt").await["receipt"].clone();
        assert_eq!(receipt["duplicate"], true);
        assert_eq!(receipt["cursor"], line["receipt"]["cursor"]);
    }
    assert_eq!(
        exchange.client().get("/").await.unwrap(),
        head,
        "the newest place is the same"
    );
}
