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
async fn publishes_in_flight_are_answered_one_way_or_the_other() {
    let world = World::start().await;
    let mut socket = world.socket().await;
    for number in 0..200 {
        let envelope = aee(&format!("m-{number}"), "agent.b", "{}");
        socket
            .send(format!(
                "{{\"op\":\"publish\",\"ref\":\"{number}\",\"envelope\":{envelope}}}"
            ))
            .await;
    }
    assert_eq!(socket.frame().await["op"], "receipt");
    world.stop.ask();
    let mut accepted = vec!["m-0".to_owned()];
    loop {
        let frame = socket.frame().await;
        match frame["op"].as_str().unwrap() {
            "receipt" => accepted.push(frame["receipt"]["id"].as_str().unwrap().to_owned()),
            "fault" => assert_eq!(frame["fault"]["code"], "draining"),
            "draining" => break,
            other => panic!("unexpected {other}"),
        }
    }
    socket.closed().await;
    for id in &accepted {
        assert!(
            world.handle.find(id, None).await.is_ok(),
            "{id} was acknowledged"
        );
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

#[tokio::test]
async fn a_second_stop_ends_at_once() {
    let http = HttpSettings {
        drain_grace_ms: u64::MAX / 2,
        ..HttpSettings::default()
    };
    let world = World::with(Settings::default(), http).await;
    let silent = world.socket().await;
    let stuck = world.stream("/v1/stream", &[]).await;
    let payload = format!("{{\"text\":\"{}\"}}", "x".repeat(500_000));
    for number in 0..40 {
        world
            .publish(&aee(&format!("m-{number}"), "agent.b", &payload))
            .await;
    }
    world.stop.ask();
    world.stop.ask();
    world.ended().await;
    drop((silent, stuck));
}

#[tokio::test]
async fn a_slow_reader_is_told_and_loses_nothing() {
    // It stops reading, is given up, comes back for what was on its way and resumes from there.
    let http = HttpSettings {
        write_stall_ms: 300,
        keep_alive_ms: 60_000,
        ..HttpSettings::default()
    };
    let world = World::with(Settings::default(), http).await;
    let mut events = world.stream("/v1/stream?from=earliest", &[]).await;
    let payload = format!("{{\"text\":\"{}\"}}", "x".repeat(500_000));
    for number in 0..60 {
        world
            .publish(&aee(&format!("m-{number}"), "agent.b", &payload))
            .await;
    }
    let slow = async || {
        world
            .get("/metrics")
            .await
            .text()
            .contains("interwire_http_streams 0\n")
    };
    crate::world::within(async {
        while !slow().await {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let (mut seen, mut last) = (0, String::new());
    while let Some(event) = events.next().await {
        if event.data.is_some() && event.name.is_none() {
            seen += 1;
        }
        last = event.id.unwrap_or(last);
    }
    assert!(seen < 60, "the stall was not noticed");
    let mut events = world
        .stream("/v1/stream", &[("last-event-id", &last)])
        .await;
    while seen < 60 {
        let event = events.event().await;
        assert!(event.data.unwrap().contains(&format!("\"m-{seen}\"")));
        seen += 1;
    }
    drop(events);
    world.stop().await;
}

#[tokio::test]
async fn a_slow_socket_is_given_up_and_its_reader_loses_nothing() {
    let http = HttpSettings {
        write_stall_ms: 1_000,
        keep_alive_ms: 60_000,
        ..HttpSettings::default()
    };
    let world = World::with(Settings::default(), http).await;
    let mut socket = world.socket().await;
    socket
        .send(r#"{"op":"subscribe","ref":"s","from":"earliest"}"#)
        .await;
    let payload = format!("{{\"text\":\"{}\"}}", "x".repeat(500_000));
    for number in 0..60 {
        world
            .publish(&aee(&format!("m-{number}"), "agent.b", &payload))
            .await;
    }
    let given_up = async || {
        let metrics = world.get("/metrics").await.text();
        metrics.contains("interwire_slow_consumer_total 1\n")
    };
    crate::world::within(async {
        while !given_up().await {
            tokio::task::yield_now().await;
        }
    })
    .await;
    // What was on its way still comes; told or cut, the last cursor is where to go on.
    let (mut seen, mut last) = (0, String::new());
    while let Some(frame) = socket.try_frame().await {
        match frame["op"].as_str().unwrap() {
            "deliver" => {
                assert_eq!(frame["envelope"]["id"], format!("m-{seen}"));
                seen += 1;
            }
            "subscribed" | "caught_up" | "slow_consumer" => {}
            other => panic!("unexpected {other}"),
        }
        last = frame["cursor"].as_str().unwrap().to_owned();
    }
    assert!(seen < 60, "the stall was not noticed");
    let mut socket = world.socket().await;
    let resume = format!(r#"{{"op":"subscribe","ref":"s","from":"{last}"}}"#);
    assert_eq!(socket.ask(resume).await["op"], "subscribed");
    for number in seen..60 {
        let frame = socket.frame().await;
        assert_eq!(frame["envelope"]["id"], format!("m-{number}"));
    }
    assert_eq!(socket.frame().await["op"], "caught_up");
    world.stop().await;
}
