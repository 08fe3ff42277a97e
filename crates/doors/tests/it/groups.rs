//! Several consumers of one place: they share its messages, a conversation is with one at a time, and
//! whoever goes leaves nothing behind.

use crate::world::{Socket, World, aee_in, op};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A durable reader of `agent.b` and the name it reads under.
async fn reader(world: &World, members: &str) -> (Socket, String) {
    let mut socket = world.socket().await;
    let frame = format!(r#"{{"op":"subscribe","ref":"r","inbox":"agent.b"{members}}}"#);
    let subscribed = socket.ask(frame).await;
    assert_eq!(subscribed["op"], "subscribed", "{subscribed}");
    let name = subscribed["consumer"].as_str().unwrap().to_owned();
    (socket, name)
}

/// Settles a delivery; gives back what was delivered before the answer came.
async fn settle(socket: &mut Socket, how: &str, delivery: &Value) -> Option<Value> {
    let frame = json!({"op": how, "ref": how, "deliveries": [delivery]});
    socket.send(frame.to_string()).await;
    let mut delivered = None;
    loop {
        let frame = socket.frame().await;
        if frame["op"] == "deliver" {
            delivered = Some(frame);
            continue;
        }
        assert_eq!(frame["results"][0]["ok"], true, "{frame}");
        return delivered;
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_conversation_stays_with_one_consumer_until_it_is_settled() {
    let world = World::start().await;
    let (mut one, first_name) = reader(&world, r#","max_in_flight":1"#).await;
    let (mut other, second_name) = reader(&world, r#","max_in_flight":1"#).await;
    assert_ne!(
        first_name, second_name,
        "each connection is its own consumer"
    );
    for (id, conversation) in [
        ("a-1", "conversation-a"),
        ("a-2", "conversation-a"),
        ("b-1", "conversation-b"),
    ] {
        world.publish(&aee_in(conversation, id, "agent.b")).await;
    }
    let mut held = [
        op(&mut one, "deliver").await,
        op(&mut other, "deliver").await,
    ];
    let ids: BTreeSet<String> = held.iter().map(|frame| text(&frame["id"])).collect();
    assert_eq!(ids, ["a-1", "b-1"].map(String::from).into());
    // The consumer of b is free, but a-2 waits for the end of a-1.
    let of_a = usize::from(held[1]["id"] == "a-1");
    let sockets = [&mut one, &mut other];
    let [first, second] = sockets;
    let (owner, free) = if of_a == 0 {
        (first, second)
    } else {
        (second, first)
    };
    settle(free, "ack", &held[1 - of_a]["delivery"]).await;
    assert_eq!(free.ask(r#"{"op":"ping"}"#).await["op"], "pong");
    settle(owner, "ack", &held[of_a]["delivery"]).await;
    // Now whoever asked first has it, once.
    let shown = world.receipt("a-2").await;
    assert_eq!(shown["recipients"][0]["state"], "delivered");
    assert_eq!(shown["recipients"][0]["attempts"], 1);
    held.reverse();
    world.stop().await;
}

#[tokio::test]
async fn an_owner_gets_the_next_message_of_its_conversation_while_others_wait() {
    let world = World::start().await;
    let (mut owner, name) = reader(&world, r#","consumer":"owner""#).await;
    assert_eq!(name, "owner");
    world
        .publish(&aee_in("conversation-a", "a-1", "agent.b"))
        .await;
    assert_eq!(op(&mut owner, "deliver").await["id"], "a-1");
    let (mut other, _) = reader(&world, "").await;
    // The other looks at it first, and may not have it.
    world
        .publish(&aee_in("conversation-a", "a-2", "agent.b"))
        .await;
    assert_eq!(op(&mut owner, "deliver").await["id"], "a-2");
    assert_eq!(other.ask(r#"{"op":"ping"}"#).await["op"], "pong");
    world.stop().await;
}

#[tokio::test]
async fn what_a_dead_consumer_held_is_with_another_at_once_and_has_failed() {
    let world = World::start().await;
    let (mut dying, _) = reader(&world, r#","consumer":"dying""#).await;
    for id in ["a-1", "a-2"] {
        world
            .publish(&aee_in("conversation-a", id, "agent.b"))
            .await;
        assert_eq!(op(&mut dying, "deliver").await["id"], id);
    }
    let (mut heir, _) = reader(&world, r#","consumer":"heir""#).await;
    drop(dying);
    for id in ["a-1", "a-2"] {
        let frame = op(&mut heir, "deliver").await;
        assert_eq!((&frame["id"], &frame["attempt"]), (&id.into(), &2.into()));
        assert_eq!(frame["redelivered"], true);
    }
    let receipt = world.receipt("a-1").await;
    let recipient = &receipt["recipients"][0];
    assert_eq!(recipient["consumer"], "heir");
    assert_eq!(recipient["failures"][0]["why"], "consumer_gone");
    world.stop().await;
}

#[tokio::test]
async fn a_message_that_kills_its_consumers_becomes_a_dead_letter() {
    let world = World::start().await;
    let body = r#"{"delivery":{"max_attempts":2}}"#;
    assert_eq!(world.put("/v1/inbox/agent.b", body).await.status, 200);
    world
        .publish(&aee_in("conversation-a", "a-1", "agent.b"))
        .await;
    for attempt in [1, 2] {
        let (mut dying, _) = reader(&world, "").await;
        let frame = op(&mut dying, "deliver").await;
        assert_eq!(frame["attempt"], attempt);
        drop(dying);
    }
    let receipt = world.final_receipt("a-1").await;
    let recipient = &receipt["recipients"][0];
    assert_eq!(recipient["state"], "dead");
    assert_eq!(recipient["reason"], "attempts_exhausted");
    let whys: Vec<_> = recipient["failures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| &f["why"])
        .collect();
    assert_eq!(whys, ["consumer_gone", "consumer_gone"]);
    world.stop().await;
}

#[tokio::test]
async fn a_consumer_that_says_goodbye_has_not_failed() {
    let world = World::start().await;
    let (mut leaving, _) = reader(&world, "").await;
    world
        .publish(&aee_in("conversation-a", "a-1", "agent.b"))
        .await;
    op(&mut leaving, "deliver").await;
    let (mut heir, _) = reader(&world, "").await;
    let left = leaving.ask(r#"{"op":"unsubscribe","ref":"r"}"#).await;
    assert_eq!(left["op"], "unsubscribed");
    let frame = op(&mut heir, "deliver").await;
    assert_eq!(
        (&frame["attempt"], &frame["redelivered"]),
        (&2.into(), &true.into())
    );
    let (mut last, _) = reader(&world, "").await;
    heir.close().await;
    assert_eq!(op(&mut last, "deliver").await["attempt"], 3);
    let receipt = world.receipt("a-1").await;
    assert_eq!(receipt["recipients"][0].get("failures"), None, "{receipt}");
    world.stop().await;
}

#[tokio::test]
async fn an_acknowledgement_counts_although_its_sender_leaves_right_after_it() {
    let world = World::start().await;
    let (mut leaving, _) = reader(&world, "").await;
    world
        .publish(&aee_in("conversation-a", "a-1", "agent.b"))
        .await;
    let delivery = op(&mut leaving, "deliver").await["delivery"].clone();
    leaving
        .send(json!({"op": "ack", "deliveries": [delivery]}).to_string())
        .await;
    leaving.close().await;
    let receipt = world.final_receipt("a-1").await;
    assert_eq!(receipt["recipients"][0]["state"], "acked");
    assert_eq!(receipt["recipients"][0]["attempts"], 1);
    world.stop().await;
}

#[tokio::test]
async fn a_client_that_came_back_under_its_name_keeps_what_it_holds() {
    let world = World::start().await;
    let (mut old, _) = reader(&world, r#","consumer":"w1""#).await;
    world
        .publish(&aee_in("conversation-a", "a-1", "agent.b"))
        .await;
    let held = op(&mut old, "deliver").await["delivery"].clone();
    // It is back before its old connection is known to be gone.
    let (mut new, _) = reader(&world, r#","consumer":"w1""#).await;
    old.close().await;
    settle(&mut new, "ack", &held).await;
    assert_eq!(world.receipt("a-1").await["recipients"][0]["attempts"], 1);
    world.stop().await;
}

#[tokio::test]
async fn a_slow_consumer_does_not_hold_up_a_fast_one() {
    let world = World::start().await;
    let (mut slow, _) = reader(&world, r#","max_in_flight":1"#).await;
    let (mut fast, _) = reader(&world, r#","max_in_flight":1"#).await;
    for number in 0..20 {
        let conversation = format!("conversation-{number:02}");
        world
            .publish(&aee_in(&conversation, &format!("m-{number}"), "agent.b"))
            .await;
    }
    // The slow one takes one message and is busy with it; all the rest go to the other.
    let kept = op(&mut slow, "deliver").await;
    let mut seen = BTreeSet::from([text(&kept["id"])]);
    let mut early = None;
    while seen.len() < 20 {
        let frame = match early.take() {
            Some(frame) => frame,
            None => op(&mut fast, "deliver").await,
        };
        assert!(seen.insert(text(&frame["id"])), "{frame}");
        early = settle(&mut fast, "ack", &frame["delivery"]).await;
    }
    world.stop().await;
}

#[tokio::test]
async fn consumers_share_a_place_over_http_and_leave_it_in_words() {
    let world = World::start().await;
    world
        .put("/v1/subscriptions/s", r#"{"filter":{"type":"task"}}"#)
        .await;
    for (id, conversation) in [
        ("a-1", "conversation-a"),
        ("a-2", "conversation-a"),
        ("b-1", "conversation-b"),
    ] {
        world.publish(&aee_in(conversation, id, "agent.b")).await;
    }
    let pull = |name: &str, max: usize| {
        format!("/v1/subscriptions/s/deliveries?consumer={name}&max={max}")
    };
    let ids = |answer: Value| -> Vec<String> {
        answer["deliveries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|d| text(&d["id"]))
            .collect()
    };
    assert_eq!(ids(world.get(&pull("w1", 1)).await.json()), ["a-1"]);
    assert_eq!(ids(world.get(&pull("w2", 9)).await.json()), ["b-1"]);
    assert_eq!(ids(world.get(&pull("w1", 9)).await.json()), ["a-2"]);
    let leave = r#"{"consumer":"w1","subscription":"s"}"#;
    let left = world
        .post("/v1/deliveries/leave", "application/json", leave)
        .await;
    assert_eq!((left.status, left.body.len()), (204, 0));
    let again = world.get(&pull("w2", 9)).await.json();
    assert_eq!(ids(again.clone()), ["a-1", "a-2"]);
    assert!(
        again["deliveries"]
            .as_array()
            .unwrap()
            .iter()
            .all(|d| d["redelivered"] == true)
    );
    for (body, pointer) in [
        ("{}", "/consumer"),
        (r#"{"consumer":"a b","inbox":"agent.b"}"#, "/consumer"),
        (r#"{"consumer":"w1"}"#, ""),
        (
            r#"{"consumer":"w1","inbox":"agent.b","subscription":"s"}"#,
            "",
        ),
    ] {
        let refused = world.post("/v1/deliveries/leave", "", body).await;
        assert_eq!(
            refused.refuses(400, "bad_request")["pointer"],
            pointer,
            "{body}"
        );
    }
    let refused = world.get("/v1/inbox/agent.b?consumer=a%20b").await;
    assert_eq!(refused.refuses(400, "bad_request")["pointer"], "/consumer");
    world.stop().await;
}
