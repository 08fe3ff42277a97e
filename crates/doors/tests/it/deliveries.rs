//! Pulling and settling over HTTP.

use crate::world::{World, aee, within};
use serde_json::{Value, json};

async fn settle(world: &World, verdict: &str, body: Value) -> Value {
    let answer = world
        .post(
            &format!("/v1/deliveries/{verdict}"),
            "application/json",
            body.to_string(),
        )
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["results"].clone()
}

#[tokio::test]
async fn a_delivery_is_pulled_acknowledged_once_and_gone() {
    let world = World::start().await;
    let envelope = aee("m-1", "agent.b", "{}");
    let cursor = world.publish(&envelope).await["cursor"].clone();
    let pulled = world.get("/v1/inbox/agent:b").await.json();
    let delivery = &pulled["deliveries"][0];
    assert_eq!(
        (&delivery["attempt"], &delivery["cursor"]),
        (&1.into(), &cursor)
    );
    assert!(delivery["lease_until"].is_string());
    assert_eq!(
        delivery["envelope"],
        serde_json::from_str::<Value>(&envelope).unwrap()
    );
    assert_eq!(
        world.get("/v1/inbox/agent.b").await.json()["deliveries"],
        json!([])
    );
    let ask = json!({"deliveries": [delivery["delivery"], "nonsense"]});
    let results = settle(&world, "ack", ask.clone()).await;
    assert_eq!(
        results[0],
        json!({"delivery": delivery["delivery"], "ok": true})
    );
    assert_eq!(results[1]["ok"], false);
    assert_eq!(results[1]["fault"]["code"], "not_found");
    let late = settle(&world, "ack", ask).await;
    assert_eq!(late[0]["fault"]["code"], "lease_lost");
    world.stop().await;
}

#[tokio::test]
async fn a_returned_delivery_comes_again_with_its_attempt() {
    let world = World::start().await;
    world.publish(&aee("m-1", "agent.b", "{}")).await;
    let first = world.get("/v1/inbox/agent.b").await.json()["deliveries"][0]["delivery"].clone();
    let extended = settle(
        &world,
        "extend",
        json!({"deliveries": [first], "lease_ms": 60_000}),
    )
    .await;
    assert_eq!(extended[0]["ok"], true);
    let ask = json!({"deliveries": [first], "retry_after_ms": 0, "reason": "busy"});
    assert_eq!(settle(&world, "nack", ask).await[0]["ok"], true);
    let second = world.get("/v1/inbox/agent.b?wait_ms=20000").await.json()["deliveries"][0].clone();
    assert_eq!(second["attempt"], 2);
    assert_ne!(second["delivery"], first);
    world.stop().await;
}

#[tokio::test]
async fn a_waiting_pull_gets_what_comes() {
    let world = World::start().await;
    let waiting = world
        .client
        .get(world.url("/v1/inbox/agent.b?wait_ms=60000"))
        .send();
    let waiting = tokio::spawn(waiting);
    world.publish(&aee("m-1", "agent.b", "{}")).await;
    let answer = crate::world::Answer::of(within(waiting).await.unwrap().unwrap()).await;
    assert_eq!(answer.json()["deliveries"][0]["id"], "m-1");
    world.stop().await;
}

#[tokio::test]
async fn a_large_pull_is_answered_in_full_and_in_order() {
    let world = World::start().await;
    world.publish_many(50).await;
    let pulled = world.get("/v1/inbox/agent.b?max=40").await.json();
    let ids: Vec<_> = pulled["deliveries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| d["id"].clone())
        .collect();
    let expected: Vec<Value> = (1..=40)
        .map(|number| format!("m-{number}").into())
        .collect();
    assert_eq!(ids, expected);
    world.stop().await;
}

#[tokio::test]
async fn bad_requests_are_refused_whole() {
    let world = World::start().await;
    for (path, body, pointer) in [
        ("ack", "{}", "/deliveries"),
        (
            "ack",
            r#"{"deliveries":["1.1.1"],"retry_after_ms":1}"#,
            "/retry_after_ms",
        ),
        (
            "nack",
            r#"{"deliveries":["1.1.1"],"retry_after_ms":-1}"#,
            "/retry_after_ms",
        ),
        ("extend", r#"{"deliveries":[7]}"#, "/deliveries"),
    ] {
        let answer = world
            .post(&format!("/v1/deliveries/{path}"), "", body)
            .await;
        assert_eq!(answer.refuses(400, "bad_request")["pointer"], pointer);
    }
    for path in [
        "/v1/inbox/agent.b?max=0",
        "/v1/inbox/agent.b?wait_ms=60001",
        "/v1/inbox/agent.b?x=1",
    ] {
        world.get(path).await.refuses(400, "bad_request");
    }
    world.stop().await;
}
