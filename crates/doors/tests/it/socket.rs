//! The socket: handshake, publishing, bad frames.

use crate::world::{World, aee};
use broker::Settings;
use interwire_doors::http::HttpSettings;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message};

fn publish(reference: &str, envelope: &str) -> String {
    format!("{{\"op\":\"publish\",\"ref\":\"{reference}\",\"envelope\":{envelope}}}")
}

#[tokio::test]
async fn the_subprotocol_is_chosen_or_refused() {
    let world = World::start().await;
    let chosen = async |offer| world.socket_as(offer).await.map(|(_, chosen)| chosen);
    assert_eq!(
        chosen(Some("interwire.v1")).await.unwrap().as_deref(),
        Some("interwire.v1")
    );
    assert_eq!(
        chosen(Some("soap, interwire.v1")).await.unwrap().as_deref(),
        Some("interwire.v1")
    );
    assert_eq!(chosen(None).await.unwrap(), None);
    let Err(Error::Http(refused)) = chosen(Some("soap")).await else {
        panic!("expected a refusal")
    };
    assert_eq!(refused.status(), 400);
    assert_eq!(
        refused.headers()["content-type"],
        "application/problem+json"
    );
    world.stop().await;
}

#[tokio::test]
async fn publishes_are_pipelined_and_each_is_answered_by_its_reference() {
    let world = World::start().await;
    let mut socket = world.socket().await;
    for number in 0..300 {
        let envelope = match number {
            7 => "{}".to_owned(),
            8 => aee("m-6", "agent.b", "{}"),
            9 => aee("m-6", "agent.z", "{}"),
            _ => aee(&format!("m-{number}"), "agent.b", "{}"),
        };
        socket.send(publish(&format!("r{number}"), &envelope)).await;
    }
    let mut answers = std::collections::HashMap::new();
    for _ in 0..300 {
        let answer = socket.frame().await;
        answers.insert(answer["ref"].as_str().unwrap().to_owned(), answer);
    }
    for number in 0..300 {
        let answer = &answers[&format!("r{number}")];
        match number {
            7 => assert_eq!(answer["fault"]["code"], "not_an_envelope"),
            8 => assert_eq!(answer["receipt"]["duplicate"], true),
            9 => assert_eq!(answer["fault"]["code"], "id_conflict"),
            _ => assert_eq!(answer["receipt"]["id"], format!("m-{number}")),
        }
    }
    let faults = &answers["r7"]["fault"];
    assert_eq!(
        (&faults["pointer"], &faults["status"]),
        (&"/envelope".into(), &400.into())
    );
    world.stop().await;
}

#[tokio::test]
async fn more_publishes_than_the_window_are_all_answered() {
    let http = HttpSettings {
        in_flight_max: 2,
        ..HttpSettings::default()
    };
    let world = World::with(Settings::default(), http).await;
    let mut socket = world.socket().await;
    for number in 0..50 {
        socket
            .send(publish("r", &aee(&format!("m-{number}"), "agent.b", "{}")))
            .await;
    }
    for number in 0..50 {
        assert_eq!(socket.frame().await["receipt"]["id"], format!("m-{number}"));
    }
    world.stop().await;
}

#[tokio::test]
async fn what_was_sent_before_the_goodbye_counts() {
    let world = World::start().await;
    let mut socket = world.socket().await;
    for number in 0..20 {
        let frame = publish("r", &aee(&format!("m-{number}"), "agent.b", "{}"));
        socket.send(frame).await;
    }
    let goodbye = CloseFrame {
        code: CloseCode::Normal,
        reason: "done".into(),
    };
    socket
        .send_message(Message::Close(Some(goodbye.clone())))
        .await;
    assert_eq!(socket.closed().await, Some(goodbye), "goodbye is answered");
    let waiting = world
        .get("/v1/inbox/agent.b?max=1&wait_ms=20000")
        .await
        .json();
    assert_eq!(waiting["deliveries"][0]["id"], "m-0");
    let last = async || world.get("/v1/messages/m-19").await.status == 200;
    crate::world::within(async {
        while !last().await {
            tokio::task::yield_now().await;
        }
    })
    .await;
    world.stop().await;
}

#[tokio::test]
async fn a_bad_frame_is_a_fault_and_the_socket_lives_on() {
    let mut settings = Settings::default();
    settings.rules.envelope_bytes_max = 2_000;
    let world = World::with(settings, HttpSettings::default()).await;
    let mut socket = world.socket().await;
    for (frame, code) in [
        ("nonsense", "malformed_json"),
        ("", "malformed_json"),
        ("7", "bad_frame"),
        (r#"{"op":"shout","ref":"r"}"#, "bad_frame"),
        (r#"{"ref":"r"}"#, "bad_frame"),
        (r#"{"op":"publish","ref":"r"}"#, "bad_frame"),
        (
            r#"{"op":"publish","ref":"r","envelope":{}}"#,
            "not_an_envelope",
        ),
        (r#"{"op":"unsubscribe","ref":"r"}"#, "not_found"),
        (
            r#"{"op":"ack","ref":"r","deliveries":["x"],"more":1}"#,
            "bad_frame",
        ),
        (
            r#"{"op":"subscribe","ref":"r","from":"nonsense"}"#,
            "cursor_unknown",
        ),
        (
            r#"{"op":"pull","ref":"r","subscription":"none"}"#,
            "not_found",
        ),
    ] {
        let fault = socket.ask(frame).await;
        assert_eq!(
            (&fault["op"], &fault["fault"]["code"]),
            (&"fault".into(), &code.into()),
            "{frame}"
        );
        assert_eq!(fault["ref"] == "r", frame.contains("\"r\""), "{frame}");
    }
    socket.send_message(Message::binary(b"{}".to_vec())).await;
    assert_eq!(socket.frame().await["fault"]["code"], "bad_frame");
    // Over the frame limit, under four times that.
    let large = socket.ask(format!("\"{}\"", "x".repeat(100_000))).await;
    assert_eq!(large["fault"]["code"], "too_large");
    let pong = socket.ask(r#"{"op":"ping","ref":"\u0061"}"#).await;
    assert_eq!(pong, serde_json::json!({"op": "pong", "ref": "a"}));
    world.stop().await;
}

#[tokio::test]
async fn a_frame_that_nobody_could_hold_closes_the_socket_with_the_right_code() {
    let mut settings = Settings::default();
    settings.rules.envelope_bytes_max = 2_000;
    let world = World::with(settings, HttpSettings::default()).await;
    let mut socket = world.socket().await;
    socket.send("x".repeat(400_000)).await;
    let closed = socket.closed().await.expect("a close frame");
    assert_eq!(u16::from(closed.code), 1009);
    world.stop().await;
}

#[tokio::test]
async fn the_peer_is_pinged() {
    let http = HttpSettings {
        keep_alive_ms: 100,
        ..HttpSettings::default()
    };
    let world = World::with(Settings::default(), http).await;
    let mut socket = world.socket().await;
    // Reading answers the pings, so a peer that does it stays.
    socket.send(r#"{"op":"subscribe","ref":"s"}"#).await;
    for op in ["subscribed", "caught_up"] {
        assert_eq!(socket.frame().await["op"], op);
    }
    let stayed = tokio::spawn(async move { socket.frame().await });
    tokio::task::yield_now().await;
    world.publish(&aee("m-1", "agent.b", "{}")).await;
    assert_eq!(stayed.await.unwrap()["op"], "deliver");
    // One that never reads is taken for gone.
    let silent = world.socket().await;
    let open = async || {
        world
            .get("/metrics")
            .await
            .text()
            .contains("interwire_http_sockets 1\n")
    };
    crate::world::within(async {
        while open().await {
            tokio::task::yield_now().await;
        }
    })
    .await;
    drop(silent);
    world.stop().await;
}
