//! T8: a consumer that freezes past its lease cannot settle what another has by then, and the order of
//! the conversation holds over the change of hands.

use crate::process::{Exchange, task};
use crate::raw::{Socket, ask, get};
use serde_json::{Value, json};

/// An exchange whose inbox of `agent.b` has short leases and two messages of one conversation.
async fn exchange() -> Exchange {
    let exchange = Exchange::in_memory();
    let media = [("content-type", "application/json")];
    let body = r#"{"delivery":{"lease_ms":1500}}"#;
    let put = ask(&exchange.url, "PUT /v1/inbox/agent.b", &media, body).await;
    assert_eq!(put.status, 200, "{}", put.text());
    let client = exchange.client();
    for n in 1..=2 {
        let envelope = task(&format!("message-{n:04}"), "agent.b", "conversation-1");
        client.publish(envelope).await.unwrap();
    }
    exchange
}

async fn settle(url: &str, how: &str, delivery: &Value) -> Value {
    let answer = ask(
        url,
        &format!("POST /v1/deliveries/{how}"),
        &[("content-type", "application/json")],
        &json!({"deliveries": [delivery]}).to_string(),
    )
    .await;
    answer.json()["results"][0].clone()
}

/// What must have come of it: one acknowledgement, of the second attempt, by the other.
async fn check(url: &str) {
    let receipt = get(url, "/v1/messages/message-0001/receipt").await.json();
    let line = &receipt["recipients"][0];
    assert_eq!(
        (&line["state"], &line["attempts"]),
        (&"acked".into(), &2.into())
    );
    assert_eq!(line["failures"][0]["why"], "lease_expired");
    let metrics = get(url, "/metrics").await.text();
    let acks = metrics
        .lines()
        .find(|line| line.starts_with("interwire_ack_total"));
    assert_eq!(
        acks,
        Some("interwire_ack_total 2"),
        "each message counts once"
    );
}

#[tokio::test]
async fn over_http() {
    let exchange = exchange().await;
    let url = exchange.url.as_str();
    let pull = async |consumer: &str| -> Value {
        let path = format!("/v1/inbox/agent.b?consumer={consumer}&max=1&wait_ms=30000");
        get(url, &path).await.json()["deliveries"][0].clone()
    };
    let frozen = pull("a").await;
    assert_eq!(
        (&frozen["id"], &frozen["attempt"]),
        (&"message-0001".into(), &1.into())
    );
    // The lease runs out while the other waits; it gets the first message, not the second.
    let other = pull("b").await;
    assert_eq!(
        (&other["id"], &other["attempt"]),
        (&"message-0001".into(), &2.into())
    );
    assert_eq!(other["redelivered"], true);
    let early = settle(url, "ack", &frozen["delivery"]).await;
    assert_eq!(
        early["fault"]["code"], "lease_lost",
        "before the other has settled"
    );
    assert_eq!(settle(url, "ack", &other["delivery"]).await["ok"], true);
    for how in ["ack", "nack", "reject", "extend"] {
        let late = settle(url, how, &frozen["delivery"]).await;
        assert_eq!(late["fault"]["code"], "lease_lost", "{how}");
    }
    let next = pull("a").await;
    assert_eq!(
        (&next["id"], &next["attempt"]),
        (&"message-0002".into(), &1.into())
    );
    assert_eq!(settle(url, "ack", &next["delivery"]).await["ok"], true);
    check(url).await;
}

#[tokio::test]
async fn over_sockets() {
    let exchange = exchange().await;
    let url = exchange.url.as_str();
    // Each connection is a consumer of its own.
    let (mut frozen, mut other) = (Socket::open(url).await, Socket::open(url).await);
    let pull = async |socket: &mut Socket| -> Value {
        let frame = r#"{"op":"pull","ref":"p","inbox":"agent.b","max":1,"wait_ms":30000}"#;
        socket.send(frame).await;
        socket.op("deliveries").await["deliveries"][0].clone()
    };
    let settle = async |socket: &mut Socket, how: &str, delivery: &Value| -> Value {
        let frame = json!({"op": how, "ref": how, "deliveries": [delivery["delivery"]]});
        socket.send(frame.to_string()).await;
        socket.op("settled").await["results"][0].clone()
    };
    let lost = pull(&mut frozen).await;
    assert_eq!(
        (&lost["id"], &lost["attempt"]),
        (&"message-0001".into(), &1.into())
    );
    let held = pull(&mut other).await;
    assert_eq!(
        (&held["id"], &held["attempt"]),
        (&"message-0001".into(), &2.into())
    );
    assert_eq!(settle(&mut other, "ack", &held).await["ok"], true);
    for how in ["ack", "nack", "reject", "extend"] {
        let late = settle(&mut frozen, how, &lost).await;
        assert_eq!(late["fault"]["code"], "lease_lost", "{how}");
    }
    let next = pull(&mut frozen).await;
    assert_eq!(
        (&next["id"], &next["attempt"]),
        (&"message-0002".into(), &1.into())
    );
    assert_eq!(settle(&mut frozen, "ack", &next).await["ok"], true);
    check(url).await;
}
