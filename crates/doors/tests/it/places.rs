//! Settings of inboxes and subscriptions: what they change, what they show, what is refused.

use crate::world::{World, aee, aee_in, op};
use serde_json::{Value, json};

#[tokio::test]
async fn an_inbox_has_settings_of_its_own_and_shows_what_it_holds() {
    let world = World::start().await;
    let shown = world.get("/v1/inbox/agent.b?view=place").await.json();
    assert_eq!(
        shown,
        json!({"inbox": "agent:b", "waiting": 0, "leased": 0, "dead": 0, "paused": false, "delivery": {
            "lease_ms": 30_000, "max_attempts": 10, "backoff_ms": 1_000, "backoff_multiplier": 2,
            "backoff_ms_max": 300_000, "max_in_flight": 1_024, "order": "conversation"
        }})
    );
    let body = r#"{"delivery":{"max_attempts":1,"max_in_flight":2,"backoff_multiplier":1.25}}"#;
    let put = world.put("/v1/inbox/agent.b", body).await;
    assert_eq!(put.status, 200, "{}", put.text());
    assert_eq!(put.json()["delivery"]["backoff_multiplier"], 1.25);
    world.publish_many(4).await;
    let pulled = world.get("/v1/inbox/agent.b").await.json();
    let deliveries = pulled["deliveries"].as_array().unwrap().clone();
    assert_eq!(deliveries.len(), 2, "no more than two are in flight");
    let nack = json!({"deliveries": [deliveries[0]["delivery"]]}).to_string();
    world.post("/v1/deliveries/nack", "", nack).await;
    let shown = world.get("/v1/inbox/agent:b?view=place").await.json();
    assert_eq!(
        (&shown["waiting"], &shown["leased"], &shown["dead"]),
        (&2.into(), &1.into(), &1.into()),
        "one attempt was all it had"
    );
    world.stop().await;
}

#[tokio::test]
async fn a_subscription_has_settings_of_its_own_and_keeps_them() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::in_folder(folder.path()).await;
    let body = r#"{"filter":{"type":"task"},"delivery":{"lease_ms":60000,"order":"none"}}"#;
    let put = world.put("/v1/subscriptions/s", body).await;
    assert_eq!(put.status, 201, "{}", put.text());
    let confirmed = world
        .put("/v1/subscriptions/s", r#"{"filter":{"type":"task"}}"#)
        .await;
    assert_eq!(confirmed.status, 200);
    assert_eq!(
        confirmed.json()["delivery"]["lease_ms"],
        60_000,
        "absent settings stay"
    );
    let changed = r#"{"filter":{"type":"task"},"delivery":{"lease_ms":7}}"#;
    world.put("/v1/subscriptions/s", changed).await;
    world.post("/v1/subscriptions/s/pause", "", "").await;
    world.publish(&aee("m-1", "agent.b", "{}")).await;
    let before = world.get("/v1/subscriptions/s").await.json();
    assert_eq!(
        (
            &before["delivery"]["lease_ms"],
            &before["delivery"]["order"]
        ),
        (&7.into(), &"conversation".into()),
        "a whole set of settings replaces the one before"
    );
    assert_eq!(
        (&before["paused"], &before["waiting"]),
        (&true.into(), &1.into())
    );
    world.stop().await;
    let world = World::in_folder(folder.path()).await;
    assert_eq!(world.get("/v1/subscriptions/s").await.json(), before);
    assert_eq!(
        world.get("/v1/subscriptions").await.json()["subscriptions"][0],
        before
    );
    world.stop().await;
}

#[tokio::test]
async fn a_paused_place_hands_out_nothing_and_goes_on_where_it_was() {
    let world = World::start().await;
    world.publish(&aee("m-1", "agent.b", "{}")).await;
    let held = world.get("/v1/inbox/agent.b").await.json()["deliveries"][0]["delivery"].clone();
    let paused = world.post("/v1/inbox/agent.b/pause", "", "").await;
    assert_eq!(
        (paused.status, &paused.json()["paused"]),
        (200, &true.into())
    );
    world.publish(&aee("m-2", "agent.b", "{}")).await;
    let mut socket = world.socket().await;
    socket
        .ask(r#"{"op":"subscribe","ref":"r","inbox":"agent.b"}"#)
        .await;
    assert_eq!(
        world.get("/v1/inbox/agent.b").await.json()["deliveries"],
        json!([])
    );
    let ack = json!({"op": "ack", "ref": "a", "deliveries": [held]});
    let settled = socket.ask(ack.to_string()).await;
    assert_eq!(
        settled["results"][0]["ok"], true,
        "what is held may still be settled"
    );
    let resumed = world.post("/v1/inbox/agent.b/resume", "", "").await;
    assert_eq!(resumed.json()["paused"], false);
    assert_eq!(op(&mut socket, "deliver").await["id"], "m-2");
    for path in [
        "/v1/inbox/agent.none/pause",
        "/v1/subscriptions/none/resume",
    ] {
        world.post(path, "", "").await.refuses(404, "not_found");
    }
    world.stop().await;
}

#[tokio::test]
async fn bad_settings_are_refused_with_their_range_and_unit() {
    let world = World::start().await;
    let lease = r#"{"delivery":{"lease_ms":86400001}}"#;
    for path in ["/v1/inbox/agent.b", "/v1/subscriptions/s"] {
        let problem = world.put(path, lease).await.refuses(400, "bad_request");
        assert_eq!(problem["pointer"], "/delivery/lease_ms");
        assert_eq!(
            problem["detail"],
            "expected `lease_ms` to be a whole number of milliseconds from 1 to 86400000, got 86400001"
        );
    }
    for (body, pointer) in [
        ("{}", "/delivery"),
        (r#"{"delivery":7}"#, "/delivery"),
        (r#"{"delivery":{},"filter":{}}"#, "/filter"),
        (
            r#"{"delivery":{"max_in_flight":0}}"#,
            "/delivery/max_in_flight",
        ),
        (
            r#"{"delivery":{"backoff_ms":10,"backoff_ms_max":9}}"#,
            "/delivery/backoff_ms_max",
        ),
    ] {
        let refused = world.put("/v1/inbox/agent.b", body).await;
        assert_eq!(
            refused.refuses(400, "bad_request")["pointer"],
            pointer,
            "{body}"
        );
    }
    world
        .get("/v1/inbox/agent.b?view=all")
        .await
        .refuses(400, "bad_request");
    world
        .get("/v1/inbox/agent.b?view=place&max=1")
        .await
        .refuses(400, "bad_request");
    world.stop().await;
}

#[tokio::test]
async fn urgent_messages_go_first_and_low_ones_are_not_forgotten() {
    let world = World::start().await;
    let of = |priority: &str, id: &str| {
        let priority = format!("\"priority\":\"{priority}\"");
        aee_in(&format!("conversation-{id}"), id, "agent.b")
            .replace("\"priority\":\"high\"", &priority)
    };
    world.publish(&of("low", "low-1")).await;
    for number in 0..20 {
        world
            .publish(&of("normal", &format!("normal-{number}")))
            .await;
    }
    world.publish(&of("urgent", "urgent-1")).await;
    let pulled = world.get("/v1/inbox/agent.b?max=10").await.json();
    let ids: Vec<&Value> = pulled["deliveries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| &d["id"])
        .collect();
    assert_eq!(ids[0], "urgent-1");
    assert!(ids.contains(&&"low-1".into()), "{ids:?}");
    world.stop().await;
}

#[tokio::test]
async fn an_extension_says_the_new_end_of_the_lease() {
    let world = World::start().await;
    world.publish(&aee("m-1", "agent.b", "{}")).await;
    let delivery = world.get("/v1/inbox/agent.b").await.json()["deliveries"][0].clone();
    let extend = json!({"deliveries": [delivery["delivery"]], "lease_ms": 3_600_000});
    let answer = world
        .post("/v1/deliveries/extend", "", extend.to_string())
        .await
        .json();
    let until = answer["results"][0]["lease_until"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(until.as_str() > delivery["lease_until"].as_str().unwrap());
    assert_eq!(
        world.receipt("m-1").await["recipients"][0]["lease_until"],
        until
    );
    world.stop().await;
}
