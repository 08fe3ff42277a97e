//! Messages whose time is over are not handed out any more, and their senders can know.

use crate::world::World;
use protocol::dialect::aee::Aee;
use protocol::dialect::aep::Aep;
use protocol::dialect::uai::build::{Agent, Heading, Message};
use serde_json::json;

/// Long enough to be accepted, short enough to wait for.
const SOON_MS: i64 = 1_000;

#[tokio::test]
async fn an_expired_event_is_not_delivered_and_its_receipt_says_so() {
    let world = World::start().await;
    let now = world.handle.now();
    let event = Aep::event("agent.ready", "agent:a")
        .target("agent:b")
        .expires_at(now.plus_millis(SOON_MS))
        .build("e-1", now);
    world.publish(&event).await;
    let receipt = world.final_receipt("e-1").await;
    let line = &receipt["recipients"][0];
    assert_eq!(
        (&line["state"], &line["attempts"]),
        (&"expired".into(), &0.into())
    );
    assert!(line["at"].is_string());
    let pulled = world.get("/v1/inbox/agent.b").await.json();
    assert_eq!(pulled["deliveries"], json!([]));
    world.stop().await;
}

#[tokio::test]
async fn what_a_consumer_holds_may_be_finished_but_is_not_handed_out_again() {
    let world = World::start().await;
    let now = world.handle.now();
    let event = |id: &str| {
        let event = Aep::event("agent.ready", "agent:a").target("agent:b");
        event.expires_at(now.plus_millis(SOON_MS)).build(id, now)
    };
    for id in ["e-1", "e-2", "e-3"] {
        world.publish(&event(id)).await;
    }
    let pulled = world
        .get("/v1/inbox/agent.b?max=2&consumer=w1")
        .await
        .json();
    assert_eq!(
        world.final_receipt("e-3").await["recipients"][0]["state"],
        "expired"
    );
    let held = |at: usize| pulled["deliveries"][at]["delivery"].clone();
    let body = json!({"deliveries": [held(0)]}).to_string();
    let acked = world.post("/v1/deliveries/ack", "", body).await.json();
    assert_eq!(acked["results"][0]["ok"], true);
    let leave = r#"{"consumer":"w1","inbox":"agent.b"}"#;
    world.post("/v1/deliveries/leave", "", leave).await;
    let receipt = world.final_receipt("e-2").await;
    assert_eq!(receipt["recipients"][0]["state"], "expired");
    assert_eq!(
        world.get("/v1/inbox/agent.b").await.json()["deliveries"],
        json!([])
    );
    world.stop().await;
}

#[tokio::test]
async fn an_aee_task_expires_when_its_time_is_up() {
    let world = World::start().await;
    let task = Aee::task("agent.a", "agent.b", "quox.security.scan")
        .requires(&format!(r#"{{"timeout_ms":{SOON_MS}}}"#))
        .build("task-0001", world.handle.now());
    world.publish(&task).await;
    let receipt = world.final_receipt("task-0001").await;
    assert_eq!(receipt["recipients"][0]["state"], "expired");
    world.stop().await;
}

#[tokio::test]
async fn the_sender_of_an_expired_uai_message_gets_an_error_for_each_recipient() {
    let world = World::start().await;
    let now = world.handle.now();
    world
        .put(
            "/v1/subscriptions/audit",
            r#"{"filter":{"type":"uai.agent.message.v1"}}"#,
        )
        .await;
    let heading = Heading {
        id: "msg-1".into(),
        issued_at: now,
        source: Agent::new("agent", "a"),
        target: Agent::new("agent", "b"),
        conversation: "conversation-1".into(),
    };
    let text = Message::new("inform", "The gate is open.")
        .envelope(heading)
        .also_to(Agent::new("agent", "c"))
        .expires_at(now.plus_millis(SOON_MS))
        .write()
        .unwrap();
    world.publish(&text).await;
    let receipt = world.final_receipt("msg-1").await;
    let states: Vec<_> = receipt["recipients"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| &r["state"])
        .collect();
    assert_eq!(states, ["expired", "expired"]);
    let pulled = world
        .get("/v1/inbox/agent.a?max=9&wait_ms=30000")
        .await
        .json();
    let errors: Vec<_> = pulled["deliveries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| &d["envelope"])
        .collect();
    assert_eq!(
        errors.len(),
        2,
        "who subscribed was not known to the sender: {pulled}"
    );
    for (error, party) in errors.iter().zip(["agent:b", "agent:c"]) {
        assert_eq!(error["profile"], "uai.error.v1");
        assert_eq!(error["source"]["id"], "interwire");
        assert_eq!(error["conversation"]["parent_message_id"], "msg-1");
        let body = &error["body"];
        assert_eq!(
            (&body["status"], &body["code"]),
            (&410.into(), &"message_expired".into())
        );
        assert_eq!(body["related_message_id"], "msg-1");
        assert!(body["detail"].as_str().unwrap().contains(party), "{body}");
    }
    world.stop().await;
}
