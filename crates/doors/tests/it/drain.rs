//! Ending with readers attached.

use crate::world::{World, aee};
use broker::Settings;
use interwire_doors::http::HttpSettings;
use serde_json::{Value, json};

#[tokio::test]
async fn every_reader_is_told_where_to_go_on() {
    let world = World::start().await;
    let head = world.publish_many(3).await.remove(2);
    let mut events = world.stream("/v1/stream", &[]).await;
    assert_eq!(events.event().await.name.as_deref(), Some("caught_up"));
    let mut reader = world.socket().await;
    for frame in [
        r#"{"op":"subscribe","ref":"s"}"#,
        r#"{"op":"subscribe","ref":"w","inbox":"agent.z"}"#,
    ] {
        reader.send(frame).await;
    }
    for _ in 0..3 {
        reader.frame().await;
    }
    let mut idle = world.socket().await;
    idle.ask(r#"{"op":"ping"}"#).await;
    let waiting = tokio::spawn(
        world
            .client
            .get(world.url("/v1/inbox/agent.z?wait_ms=60000"))
            .send(),
    );
    world.get("/healthz").await;
    world.stop.ask();
    let draining = events.event().await;
    assert_eq!(draining.name.as_deref(), Some("draining"));
    assert_eq!(draining.id.as_ref(), Some(&head));
    let data: Value = serde_json::from_str(&draining.data.unwrap()).unwrap();
    assert_eq!(data, json!({"cursor": head, "retry_ms": 1_000}));
    assert_eq!(events.next().await, None);
    let draining = reader.frame().await;
    assert_eq!(
        draining,
        json!({"op": "draining", "ref": "s", "cursor": head, "retry_ms": 1_000})
    );
    let closed = reader.closed().await.expect("a close frame");
    assert_eq!(
        (u16::from(closed.code), closed.reason.as_str()),
        (1001, "draining")
    );
    let draining = idle.frame().await;
    assert_eq!(
        draining,
        json!({"op": "draining", "cursor": head, "retry_ms": 1_000})
    );
    idle.closed().await;
    // A pull that was still on its way to the server may have found the door closed.
    if let Ok(answer) = crate::world::within(waiting).await.unwrap() {
        let answer = crate::world::Answer::of(answer).await;
        assert_eq!(answer.json()["deliveries"], json!([]));
    }
    world.ended().await;
}

#[tokio::test]
async fn a_client_that_never_reads_cannot_hold_the_end_beyond_the_grace() {
    let http = HttpSettings {
        drain_grace_ms: 50,
        ..HttpSettings::default()
    };
    let world = World::with(Settings::default(), http).await;
    let stuck = world.stream("/v1/stream?from=earliest", &[]).await;
    let payload = format!("{{\"text\":\"{}\"}}", "x".repeat(500_000));
    for number in 0..40 {
        world
            .publish(&aee(&format!("m-{number}"), "agent.b", &payload))
            .await;
    }
    let silent = world.socket().await;
    world.stop().await;
    drop((stuck, silent));
}
