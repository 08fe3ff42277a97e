//! What a sender can see of its message: once, and as it happens, over HTTP and over the socket.

use crate::world::{World, aee, op};
use serde_json::{Value, json};

async fn pull(world: &World, query: &str) -> Value {
    let pulled = world.get(&format!("/v1/inbox/agent.b{query}")).await.json();
    pulled["deliveries"][0]["delivery"].clone()
}

async fn settle(world: &World, how: &str, mut body: Value, delivery: &Value) {
    body["deliveries"] = json!([delivery]);
    let answer = world
        .post(&format!("/v1/deliveries/{how}"), "", body.to_string())
        .await;
    assert_eq!(answer.json()["results"][0]["ok"], true, "{}", answer.text());
}

fn line(receipt: &Value) -> &Value {
    &receipt["recipients"][0]
}

#[tokio::test]
async fn a_receipt_goes_from_stored_to_acked_and_says_who_when_and_how_often() {
    let world = World::start().await;
    let published = world.publish(&aee("m-1", "agent.b", "{}")).await;
    let mut events = world.watch("m-1").await;
    let mut next = async || -> Value {
        let event = events.event().await;
        assert_eq!(event.name.as_deref(), Some("receipt"));
        serde_json::from_str(&event.data.unwrap()).unwrap()
    };
    let receipt = next().await;
    assert_eq!(receipt["cursor"], published["cursor"]);
    assert_eq!(
        (&receipt["sender"], &receipt["dialect"], &receipt["final"]),
        (&"human:adam".into(), &"aee".into(), &false.into())
    );
    assert_eq!(
        (&line(&receipt)["party"], &line(&receipt)["state"]),
        (&"agent:b".into(), &"stored".into())
    );
    assert_eq!(line(&receipt)["at"], receipt["accepted_at"]);
    let first = pull(&world, "?consumer=w1").await;
    let receipt = next().await;
    assert_eq!(
        (&line(&receipt)["state"], &line(&receipt)["consumer"]),
        (&"delivered".into(), &"w1".into())
    );
    assert!(line(&receipt)["lease_until"].is_string());
    let nack = json!({"reason": "the disk is full", "retry_after_ms": 200});
    settle(&world, "nack", nack, &first).await;
    let receipt = next().await;
    assert_eq!(
        (&line(&receipt)["state"], &line(&receipt)["attempts"]),
        (&"stored".into(), &1.into())
    );
    assert!(line(&receipt)["again_at"].is_string(), "{receipt}");
    let failure = &line(&receipt)["failures"][0];
    assert_eq!(
        (&failure["attempt"], &failure["why"], &failure["error"]),
        (&1.into(), &"nacked".into(), &"the disk is full".into())
    );
    let second = pull(&world, "?consumer=w2&wait_ms=30000").await;
    settle(&world, "ack", json!({}), &second).await;
    let mut receipt = next().await;
    while receipt["final"] == false {
        receipt = next().await;
    }
    assert_eq!(
        (
            &line(&receipt)["state"],
            &line(&receipt)["consumer"],
            &line(&receipt)["attempts"]
        ),
        (&"acked".into(), &"w2".into(), &2.into())
    );
    assert!(line(&receipt)["at"].is_string());
    assert_eq!(line(&receipt)["failures"].as_array().unwrap().len(), 1);
    assert_eq!(events.next().await, None, "a final receipt ends the stream");
    assert_eq!(world.receipt("m-1").await, receipt, "once is the same");
    world.stop().await;
}

#[tokio::test]
async fn every_recipient_has_its_own_line_and_every_place_its_delivery() {
    let world = World::start().await;
    world.put("/v1/subscriptions/watch", "{}").await;
    let event = r#"{"v":"1","id":"message-1","ts":"2026-02-28T10:30:00Z","type":"event","from":"agent.a","to":"bus.ops","intent":"a.b","corr":"conv-0001","reply_to":null,"trace":null,"priority":"normal","requires":null,"payload":{},"sig":null}"#;
    world.publish(event).await;
    let receipt = world.receipt("message-1").await;
    assert_eq!(
        (&line(&receipt)["party"], &line(&receipt)["state"]),
        (&"bus:ops".into(), &"stored".into())
    );
    assert_eq!(
        receipt["final"], true,
        "whoever subscribed is not a recipient"
    );
    let full = world.get("/v1/messages/message-1?view=full").await.json();
    assert_eq!(full["receipts"], receipt["recipients"]);
    assert_eq!(
        (
            &full["deliveries"][0]["subscription"],
            &full["deliveries"][0]["state"]
        ),
        (&"watch".into(), &"stored".into())
    );
    world.delete("/v1/subscriptions/watch").await;
    let full = world.get("/v1/messages/message-1?view=full").await.json();
    assert_eq!(
        (
            &full["deliveries"][0]["subscription"],
            &full["deliveries"][0]["state"]
        ),
        (&Value::Null, &"removed".into())
    );
    world.stop().await;
}

#[tokio::test]
async fn a_socket_tells_a_receipt_once_and_watches_one() {
    let world = World::start().await;
    world.publish(&aee("m-1", "agent.b", "{}")).await;
    let mut socket = world.socket().await;
    let once = socket
        .ask(r#"{"op":"receipt","ref":"o","id":"m-1","sender":"human.adam"}"#)
        .await;
    assert_eq!(
        (&once["op"], &once["ref"]),
        (&"receipt".into(), &"o".into())
    );
    assert_eq!(once["receipt"], world.receipt("m-1").await);
    let watched = socket.ask(r#"{"op":"watch","ref":"w","id":"m-1"}"#).await;
    assert_eq!(watched["receipt"], once["receipt"]);
    let taken = socket.ask(r#"{"op":"watch","ref":"w","id":"m-1"}"#).await;
    assert_eq!(taken["fault"]["code"], "subscription_conflict");
    let pulled = socket
        .ask(r#"{"op":"pull","ref":"p","inbox":"agent.b"}"#)
        .await;
    // The news and the answer come in any order.
    let (pulled, told) = match pulled["op"].as_str() {
        Some("receipt") => (socket.frame().await, pulled),
        _ => (pulled.clone(), socket.frame().await),
    };
    assert_eq!(line(&told["receipt"])["state"], "delivered");
    let delivery = &pulled["deliveries"][0]["delivery"];
    socket
        .send(
            json!({"op": "reject", "ref": "x", "deliveries": [delivery], "reason": "not mine"})
                .to_string(),
        )
        .await;
    let mut told = socket.frame().await;
    while told["op"] != "receipt" {
        told = socket.frame().await;
    }
    assert_eq!(
        (
            &told["receipt"]["final"],
            &line(&told["receipt"])["state"],
            &line(&told["receipt"])["reason"]
        ),
        (&true.into(), &"dead".into(), &"rejected".into())
    );
    assert_eq!(line(&told["receipt"])["failures"][0]["error"], "not mine");
    let mut socket = world.socket().await;
    let missing = socket.ask(r#"{"op":"watch","ref":"n","id":"none"}"#).await;
    assert_eq!(missing["fault"]["code"], "not_found");
    let missing = socket.ask(r#"{"op":"receipt","id":"none"}"#).await;
    assert_eq!(missing["fault"]["code"], "not_found");
    // A watcher leaves like any reader.
    world.publish(&aee("m-2", "agent.b", "{}")).await;
    socket.ask(r#"{"op":"watch","ref":"w","id":"m-2"}"#).await;
    let left = socket.ask(r#"{"op":"unsubscribe","ref":"w"}"#).await;
    assert_eq!(left["op"], "unsubscribed");
    op_none(&mut socket).await;
    world.stop().await;
}

async fn op_none(socket: &mut crate::world::Socket) {
    socket.send(r#"{"op":"ping"}"#).await;
    op(socket, "pong").await;
}

#[tokio::test]
async fn a_restart_forgets_no_receipt() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::in_folder(folder.path()).await;
    world.publish_many(3).await;
    let delivery = pull(&world, "?consumer=w1&max=1").await;
    settle(&world, "ack", json!({}), &delivery).await;
    let delivery = pull(&world, "?max=1").await;
    settle(&world, "reject", json!({"reason": "bad"}), &delivery).await;
    let before = [
        world.receipt("m-1").await,
        world.receipt("m-2").await,
        world.receipt("m-3").await,
    ];
    let states = before
        .each_ref()
        .map(|receipt| line(receipt)["state"].clone());
    assert_eq!(states, ["acked", "dead", "stored"]);
    world.stop().await;
    let world = World::in_folder(folder.path()).await;
    let after = [
        world.receipt("m-1").await,
        world.receipt("m-2").await,
        world.receipt("m-3").await,
    ];
    assert_eq!(after, before);
    world.stop().await;
}

#[tokio::test]
async fn two_senders_of_one_id_are_told_apart() {
    let world = World::start().await;
    world.publish(&aee("m-1", "agent.b", "{}")).await;
    let other = crate::world::aee_from("agent.x", "m-1", "agent.c", "{}");
    world.publish(&other).await;
    world
        .get("/v1/messages/m-1/receipt")
        .await
        .refuses(409, "ambiguous_id");
    let receipt = world
        .get("/v1/messages/m-1/receipt?sender=agent:x")
        .await
        .json();
    assert_eq!(line(&receipt)["party"], "agent:c");
    world
        .get("/v1/messages/none/receipt")
        .await
        .refuses(404, "not_found");
    world
        .get("/v1/messages/m-1/receipt?view=full")
        .await
        .refuses(400, "bad_request");
    world.stop().await;
}
