//! Readers on a socket: live, durable, several at once.

use crate::world::{World, aee, op, within};
use serde_json::{Value, json};

#[tokio::test]
async fn a_live_reader_replays_then_follows_and_leaves() {
    let world = World::start().await;
    let cursors = world.publish_many(3).await;
    let mut socket = world.socket().await;
    let subscribe = format!(r#"{{"op":"subscribe","ref":"s","from":"{}"}}"#, cursors[0]);
    let subscribed = socket.ask(subscribe.clone()).await;
    assert_eq!(
        (&subscribed["op"], &subscribed["cursor"]),
        (&"subscribed".into(), &cursors[0].clone().into())
    );
    for number in [2, 3] {
        let frame = op(&mut socket, "deliver").await;
        assert_eq!(frame["envelope"]["id"], format!("m-{number}"));
        assert_eq!(
            (&frame["ref"], &frame["cursor"]),
            (&"s".into(), &cursors[number - 1].clone().into())
        );
    }
    assert_eq!(op(&mut socket, "caught_up").await["cursor"], cursors[2]);
    let again = socket.ask(subscribe).await;
    assert_eq!(again["fault"]["code"], "subscription_conflict");
    world.publish(&aee("m-4", "agent.b", "{}")).await;
    assert_eq!(op(&mut socket, "deliver").await["envelope"]["id"], "m-4");
    assert_eq!(
        socket.ask(r#"{"op":"unsubscribe","ref":"s"}"#).await["op"],
        "unsubscribed"
    );
    world.publish(&aee("m-5", "agent.b", "{}")).await;
    assert_eq!(socket.ask(r#"{"op":"ping"}"#).await["op"], "pong");
    world.stop().await;
}

#[tokio::test]
async fn several_readers_share_one_socket() {
    let world = World::start().await;
    let mut socket = world.socket().await;
    for (name, target) in [("one", "agent.b"), ("two", "agent.c"), ("all", "*")] {
        let frame = format!(
            r#"{{"op":"subscribe","ref":"{name}","filter":{{"target":"{target}"}},"from":"earliest"}}"#
        );
        assert_eq!(socket.ask(frame).await["op"], "subscribed");
        op(&mut socket, "caught_up").await;
    }
    for number in 0..200 {
        let to = if number % 2 == 0 {
            "agent.b"
        } else {
            "agent.c"
        };
        world.publish(&aee(&format!("m-{number}"), to, "{}")).await;
    }
    let mut seen: std::collections::HashMap<String, Vec<String>> = Default::default();
    for _ in 0..400 {
        let frame = op(&mut socket, "deliver").await;
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        seen.entry(text(&frame["ref"]))
            .or_default()
            .push(text(&frame["envelope"]["id"]));
    }
    let ids = |wanted: &dyn Fn(usize) -> bool| -> Vec<String> {
        (0..200)
            .filter(|number| wanted(*number))
            .map(|number| format!("m-{number}"))
            .collect()
    };
    assert_eq!(seen["one"], ids(&|number| number % 2 == 0));
    assert_eq!(seen["two"], ids(&|number| number % 2 == 1));
    assert_eq!(seen["all"], ids(&|_| true));
    world.stop().await;
}

#[tokio::test]
async fn a_durable_reader_holds_no_more_than_it_asked_for() {
    let world = World::start().await;
    world.publish_many(5).await;
    let mut socket = world.socket().await;
    let frame = r#"{"op":"subscribe","ref":"w","inbox":"agent.b","max_in_flight":2}"#;
    assert_eq!(socket.ask(frame).await["op"], "subscribed");
    let mut held: Vec<Value> = Vec::new();
    for number in 1..=5 {
        let mut early = None;
        if held.len() == 2 {
            // Nothing more comes before something is settled: the answer to a ping is next.
            assert_eq!(socket.ask(r#"{"op":"ping"}"#).await["op"], "pong");
            let ack = json!({"op": "ack", "ref": "a", "deliveries": [held.remove(0)]});
            let mut settled = socket.ask(ack.to_string()).await;
            // What takes the place of the settled one may be told before the answer.
            if settled["op"] == "deliver" {
                early = Some(settled);
                settled = op(&mut socket, "settled").await;
            }
            assert_eq!(
                (&settled["op"], &settled["results"][0]["ok"]),
                (&"settled".into(), &true.into())
            );
        }
        let frame = match early {
            Some(frame) => frame,
            None => op(&mut socket, "deliver").await,
        };
        assert_eq!(
            (&frame["id"], &frame["ref"]),
            (&format!("m-{number}").into(), &"w".into())
        );
        assert_eq!(frame["attempt"], 1);
        assert!(frame["lease_until"].is_string() && frame["cursor"].is_string());
        held.push(frame["delivery"].clone());
    }
    let nack = json!({"op": "nack", "ref": "n", "deliveries": held, "retry_after_ms": 0});
    assert_eq!(socket.ask(nack.to_string()).await["op"], "settled");
    let mut again = Vec::new();
    for _ in 0..2 {
        let frame = op(&mut socket, "deliver").await;
        assert_eq!(frame["attempt"], 2);
        again.push(frame["id"].clone());
    }
    again.sort_by_key(Value::to_string);
    assert_eq!(again, ["m-4", "m-5"]);
    world.stop().await;
}

#[tokio::test]
async fn a_waiting_durable_reader_gets_what_comes() {
    let world = World::start().await;
    world
        .put("/v1/subscriptions/tasks", r#"{"filter":{"type":"task"}}"#)
        .await;
    let mut socket = world.socket().await;
    let frame = r#"{"op":"subscribe","ref":"w","subscription":"tasks"}"#;
    assert_eq!(socket.ask(frame).await["op"], "subscribed");
    world.publish_many(40).await;
    let mut deliveries = Vec::new();
    for number in 1..=40 {
        let frame = op(&mut socket, "deliver").await;
        assert_eq!(frame["id"], format!("m-{number}"));
        deliveries.push(frame["delivery"].clone());
    }
    let ack = json!({"op": "ack", "ref": "a", "deliveries": deliveries});
    let results = socket.ask(ack.to_string()).await["results"].clone();
    assert!(
        results
            .as_array()
            .unwrap()
            .iter()
            .all(|result| result["ok"] == true)
    );
    let extend =
        json!({"op": "extend", "ref": "e", "deliveries": [deliveries[0]], "lease_ms": 1000});
    let late = socket.ask(extend.to_string()).await;
    assert_eq!(late["results"][0]["fault"]["code"], "lease_lost");
    assert_eq!(late["results"][0]["fault"]["pointer"], "/deliveries/0");
    let none = socket
        .ask(r#"{"op":"subscribe","ref":"x","subscription":"none"}"#)
        .await;
    assert_eq!(none["op"], "subscribed");
    assert_eq!(op(&mut socket, "fault").await["fault"]["code"], "not_found");
    world.stop().await;
}

#[tokio::test]
async fn a_pull_answers_once_and_waits_when_asked() {
    let world = World::start().await;
    let mut socket = world.socket().await;
    let empty = socket
        .ask(r#"{"op":"pull","ref":"p","inbox":"agent.b"}"#)
        .await;
    assert_eq!(
        empty,
        json!({"op": "deliveries", "ref": "p", "deliveries": []})
    );
    socket
        .send(r#"{"op":"pull","ref":"q","inbox":"agent.b","max":5,"wait_ms":60000}"#)
        .await;
    // The wait does not hold up other operations.
    assert_eq!(socket.ask(r#"{"op":"ping"}"#).await["op"], "pong");
    world.publish(&aee("m-1", "agent.b", "{}")).await;
    let pulled = op(&mut socket, "deliveries").await;
    assert_eq!(
        (&pulled["ref"], &pulled["deliveries"][0]["id"]),
        (&"q".into(), &"m-1".into())
    );
    world.stop().await;
}

#[tokio::test]
async fn a_reader_that_leaves_without_a_word_frees_its_place() {
    let world = World::start().await;
    let mut socket = world.socket().await;
    socket
        .ask(r#"{"op":"subscribe","ref":"s","filter":{"target":"agent.b"}}"#)
        .await;
    op(&mut socket, "caught_up").await;
    assert_eq!(world.handle.counts().await.unwrap().0.channels, 1);
    drop(socket);
    within(async {
        while world.handle.counts().await.unwrap().0.channels > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    world.stop().await;
}
