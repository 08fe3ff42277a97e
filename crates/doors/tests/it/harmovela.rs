//! AEP sessions over WebSocket as their peers meet them.

use crate::world::{World, within};
use broker::Settings;
use futures_util::{SinkExt as _, StreamExt as _};
use interwire_doors::http::HttpSettings;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

pub struct Peer {
    inner: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl Peer {
    pub async fn of(world: &World) -> Self {
        Self::at(world, "/harmovela", "harmovela-0.2").await
    }

    async fn at(world: &World, path: &str, protocol: &str) -> Self {
        let url = format!("ws://{}{path}", world.address);
        let mut request = url.into_client_request().unwrap();
        request
            .headers_mut()
            .insert("sec-websocket-protocol", protocol.parse().unwrap());
        let (inner, response) = within(connect_async(request)).await.unwrap();
        assert_eq!(response.headers()["sec-websocket-protocol"], protocol);
        assert!(!response.headers().contains_key("sec-websocket-extensions"));
        Self { inner }
    }

    pub async fn send(&mut self, text: &str) {
        within(self.inner.send(Message::text(text))).await.unwrap();
    }

    async fn frame(&mut self) -> Message {
        self.lasting().await.expect("a frame")
    }

    /// The next frame; nothing when the link broke.
    async fn lasting(&mut self) -> Option<Message> {
        loop {
            let frame = within(self.inner.next()).await?.ok()?;
            if !matches!(frame, Message::Ping(_) | Message::Pong(_)) {
                return Some(frame);
            }
        }
    }

    pub async fn text(&mut self) -> String {
        self.frame().await.into_text().unwrap().to_string()
    }

    /// The next event; nothing when the connection was closed or broke.
    pub async fn event_or_end(&mut self) -> Option<Value> {
        let Message::Text(text) = self.lasting().await? else {
            return None;
        };
        Some(serde_json::from_str(&text).unwrap())
    }

    pub async fn event(&mut self) -> Value {
        serde_json::from_str(&self.text().await).unwrap()
    }

    /// The next event, which must be of that type.
    pub async fn expect(&mut self, kind: &str) -> Value {
        let event = self.event().await;
        assert_eq!(event["type"], kind, "{event}");
        event
    }

    async fn close_code(&mut self) -> u16 {
        match self.frame().await {
            Message::Close(Some(frame)) => frame.code.into(),
            other => panic!("expected a close frame, got {other:?}"),
        }
    }

    pub async fn open(&mut self, source: &str, payload: Value) -> Value {
        self.send(&event("evt_open", "session.opened", source, payload))
            .await;
        self.expect("session.ready").await
    }

    pub async fn subscribe(&mut self, source: &str, payload: Value) -> Value {
        self.send(&event("evt_sub", "subscription.requested", source, payload))
            .await;
        self.expect("subscription.created").await
    }
}

pub fn event(id: &str, kind: &str, source: &str, payload: Value) -> String {
    json!({"spec_version": "0.2", "id": id, "type": kind, "source": source,
           "created_at": "2026-07-01T12:00:00Z", "payload": payload})
    .to_string()
}

pub fn to(id: &str, target: &str, mode: Option<&str>) -> String {
    let mut event: Value =
        serde_json::from_str(&event(id, "agent.message.sent", "agent:a", json!({"n": 1}))).unwrap();
    event["target"] = target.into();
    if let Some(mode) = mode {
        event["delivery"] = json!({"mode": mode});
    }
    event.to_string()
}

#[tokio::test]
async fn both_spellings_of_the_handshake_tell_what_is_true() {
    let world = World::start().await;
    let mut peer = Peer::of(&world).await;
    peer.send(&event(
        "evt_1",
        "capabilities.requested",
        "agent:a",
        json!({}),
    ))
    .await;
    let declared = peer.expect("capabilities.declared").await;
    assert_eq!(declared["causation_id"], "evt_1");
    assert_eq!(declared["payload"]["max_payload_size"], 1 << 20);
    let ready = peer
        .open("agent:a", json!({"session_id": "s", "version": "0.1"}))
        .await;
    let capabilities = &ready["payload"]["capabilities"];
    assert_eq!(capabilities["protocol"], "harmovela");
    assert_eq!(capabilities["compression"], json!([]));
    assert_eq!(
        capabilities["transports"],
        json!(["websocket", "sse", "grpc"])
    );
    peer.send(&event(
        "evt_9",
        "session.closed",
        "agent:a",
        json!({"session_id": "s"}),
    ))
    .await;
    peer.expect("event.acknowledged").await;
    assert_eq!(
        peer.expect("session.closed").await["payload"]["reason"],
        "closed_by_peer"
    );
    let mut old = Peer::at(&world, "/aep", "aep-0.1").await;
    old.open("agent:b", json!({"session_id": "t"})).await;
    drop((peer, old));
    world.stop().await;
}

#[tokio::test]
async fn what_is_published_is_acknowledged_and_reaches_subscribers_byte_for_byte() {
    let world = World::start().await;
    let (mut one, mut two) = (Peer::of(&world).await, Peer::of(&world).await);
    let created = two
        .subscribe("agent:b", json!({"types": "agent.*", "x": 1}))
        .await;
    assert_eq!(created["payload"]["subscription_id"], "sub_0001");
    let text = format!(" {} ", to("evt_m", "agent:c", None));
    one.send(&text).await;
    let receipt = one.expect("event.acknowledged").await;
    assert_eq!(receipt["payload"]["acknowledged_event_id"], "evt_m");
    assert!(receipt["payload"]["cursor"].is_string());
    assert_eq!(two.text().await, text);
    one.send("{").await;
    let refused = one.expect("event.rejected").await;
    assert_eq!(
        refused["payload"]["error"]["details"]["code"],
        "malformed_json"
    );
    one.inner
        .send(Message::binary(b"x".to_vec()))
        .await
        .unwrap();
    let refused = one.expect("event.rejected").await;
    assert_eq!(refused["payload"]["error"]["details"]["code"], "bad_frame");
    one.send(&to("evt_m", "agent:other", None)).await;
    let refused = one.expect("event.rejected").await;
    assert_eq!(
        refused["payload"]["error"]["details"]["code"],
        "id_conflict"
    );
    drop((one, two));
    world.stop().await;
}

#[tokio::test]
async fn a_profile_that_is_not_supported_ends_the_session_with_the_list() {
    let world = World::start().await;
    let mut peer = Peer::of(&world).await;
    let offer = json!({"session_id": "s", "required_profiles": ["harmovela.security.v1"]});
    peer.send(&event("evt_1", "session.opened", "agent:a", offer))
        .await;
    let error = peer.expect("session.error").await["payload"]["error"].take();
    assert_eq!(error["code"], "unsupported_profile");
    assert_eq!(
        error["details"]["required"],
        json!(["harmovela.security.v1"])
    );
    assert_eq!(peer.close_code().await, 1002);
    world.stop().await;
}

#[tokio::test]
async fn a_peer_without_heartbeats_is_told_and_closed() {
    let world = World::start().await;
    let mut peer = Peer::of(&world).await;
    peer.open(
        "agent:a",
        json!({"session_id": "s", "heartbeat_interval_ms": 50}),
    )
    .await;
    loop {
        let event = peer.event().await;
        if event["type"] == "session.error" {
            assert_eq!(event["payload"]["error"]["code"], "session_timeout");
            assert_eq!(event["payload"]["error"]["retryable"], true);
            break;
        }
        assert_eq!(event["type"], "session.heartbeat");
    }
    assert_eq!(peer.close_code().await, 1001);
    world.stop().await;
}

#[tokio::test]
async fn a_session_that_was_cut_comes_back_and_no_event_is_lost() {
    for mode in ["replayable", "at_least_once", "best_effort"] {
        let world = World::start().await;
        let mut peer = Peer::of(&world).await;
        peer.open("agent:b", json!({"session_id": "s"})).await;
        let wish = json!({"types": "agent.message.*", "delivery_mode": mode});
        peer.subscribe("agent:b", wish).await;
        world.publish(&to("evt_1", "agent:x", None)).await;
        assert_eq!(peer.event().await["id"], "evt_1");
        let ack = json!({"acknowledged_event_id": "evt_1"});
        peer.send(&event("evt_ack", "event.acknowledged", "agent:b", ack))
            .await;
        peer.expect("event.acknowledged").await;
        // Without a farewell.
        drop(peer);
        for number in 2..=4 {
            world
                .publish(&to(&format!("evt_{number}"), "agent:x", None))
                .await;
        }
        let mut peer = Peer::of(&world).await;
        let ready = peer.open("agent:b", json!({"session_id": "s"})).await;
        assert_eq!(ready["payload"]["resumed"], true, "{mode}: {ready}");
        let mut seen = Vec::new();
        while seen.len() < 3 {
            let event = peer.event().await;
            if event["type"] == "agent.message.sent" {
                seen.push(event["id"].as_str().unwrap().to_owned());
            }
        }
        assert_eq!(seen, ["evt_2", "evt_3", "evt_4"], "{mode}");
        drop(peer);
        world.stop().await;
    }
}

#[tokio::test]
async fn a_replay_begins_after_an_event_id_and_says_when_the_present_follows() {
    let world = World::start().await;
    for number in 1..=3 {
        world
            .publish(&to(&format!("evt_{number}"), "agent:x", None))
            .await;
    }
    let mut peer = Peer::of(&world).await;
    let wish = json!({"types": "agent.*", "from_cursor": "evt_1"});
    let created = peer.subscribe("agent:b", wish).await;
    assert_eq!(created["payload"]["delivery_mode"], "replayable");
    assert_eq!(peer.event().await["id"], "evt_2");
    assert_eq!(peer.event().await["id"], "evt_3");
    let replayed = peer.expect("event.replayed").await;
    assert_eq!(replayed["payload"]["events_replayed"], 2);
    let wish = json!({"types": "agent.*", "from_cursor": "no such place"});
    peer.send(&event("evt_bad", "subscription.requested", "agent:b", wish))
        .await;
    peer.expect("subscription.rejected").await;
    drop(peer);
    world.stop().await;
}

#[tokio::test]
async fn what_waits_for_the_party_is_delivered_and_acknowledged_by_envelope() {
    let world = World::start().await;
    world
        .publish(&to("evt_1", "agent:b", Some("at_least_once")))
        .await;
    world.publish(&to("evt_2", "agent:b", None)).await;
    let mut peer = Peer::of(&world).await;
    peer.open("agent:b", json!({"session_id": "s"})).await;
    assert_eq!(peer.event().await["id"], "evt_1");
    assert_eq!(peer.event().await["id"], "evt_2");
    let ack = json!({"acknowledged_event_id": "evt_1"});
    peer.send(&event("evt_ack", "event.acknowledged", "agent:b", ack))
        .await;
    peer.expect("event.acknowledged").await;
    assert_eq!(world.final_receipt("evt_1").await["final"], true);
    assert_eq!(world.final_receipt("evt_2").await["final"], true);
    drop(peer);
    world.stop().await;
}

#[tokio::test]
async fn a_foreign_envelope_needs_no_handshake() {
    let world = World::start().await;
    let mut peer = Peer::of(&world).await;
    world
        .publish(&crate::world::aee("m-1", "agent.a", "{}"))
        .await;
    let hello = crate::world::aee("m-2", "agent.c", "{}").replace("human.adam", "agent.a");
    peer.send(&hello).await;
    // What waited for the party and the answer to its envelope come in any order.
    let heard = [peer.event().await, peer.event().await];
    let is_answer = |event: &&Value| event["type"] == "event.acknowledged";
    let is_delivery = |event: &&Value| event["id"] == "m-1";
    assert!(heard.iter().any(|event| is_answer(&event)), "{heard:?}");
    assert!(heard.iter().any(|event| is_delivery(&event)), "{heard:?}");
    drop(peer);
    world.stop().await;
}

#[tokio::test]
async fn a_drain_says_where_every_subscription_stands() {
    let settings = HttpSettings {
        session_resume_ms: 50,
        ..HttpSettings::default()
    };
    let world = World::with(Settings::default(), settings).await;
    let mut peer = Peer::of(&world).await;
    peer.open("agent:b", json!({"session_id": "s"})).await;
    peer.subscribe("agent:b", json!({"types": "agent.*"})).await;
    world.stop.ask();
    let farewell = peer.expect("session.closed").await;
    assert_eq!(farewell["payload"]["reason"], "draining");
    assert!(farewell["payload"]["subscriptions"][0]["cursor"].is_string());
    assert_eq!(peer.close_code().await, 1001);
    world.ended().await;
}

#[tokio::test]
async fn lines_are_taken_with_a_result_each_and_a_stream_resumes_by_event_id() {
    let world = World::start().await;
    let body = format!(
        "{}\n{{\n{}\n",
        to("evt_1", "agent:x", None),
        to("evt_2", "agent:x", None)
    );
    let answer = world
        .post("/harmovela/events", "application/x-ndjson", body)
        .await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    let answer = answer.json();
    assert_eq!(
        (&answer["accepted"], &answer["rejected"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(answer["errors"][0]["event_index"], 1);
    assert_eq!(answer["results"][2]["receipt"]["id"], "evt_2");
    let cursor = answer["results"][0]["receipt"]["cursor"]
        .as_str()
        .unwrap()
        .to_owned();
    for (path, last) in [("/harmovela/events", "evt_1"), ("/aep/events", &*cursor)] {
        let mut events = world.stream(path, &[("last-event-id", last)]).await;
        loop {
            let event = events.next().await.unwrap();
            if event.name.as_deref() == Some("agent.message.sent") {
                assert_eq!(event.id.as_deref(), Some("evt_2"));
                assert_eq!(event.data.unwrap(), to("evt_2", "agent:x", None));
                break;
            }
        }
    }
    let answer = world.post("/aep/events", "application/json", "{").await;
    assert_eq!(answer.status, 400);
    world.stop().await;
}

#[tokio::test]
async fn a_peer_that_says_nothing_hears_every_event_of_others() {
    let world = World::start().await;
    let mut listener = Peer::of(&world).await;
    let mut speaker = Peer::of(&world).await;
    // Other dialects are not what such a peer reads.
    world
        .publish(&crate::world::aee("m-1", "agent.b", "{}"))
        .await;
    for id in ["evt_1", "evt_2"] {
        speaker.send(&to(id, "agent:nobody", None)).await;
        assert_eq!(
            speaker.expect("event.acknowledged").await["causation_id"],
            id
        );
        assert_eq!(listener.text().await, to(id, "agent:nobody", None));
    }
    // Who speaks hears others, too, and not itself.
    listener.send(&to("evt_3", "agent:nobody", None)).await;
    assert_eq!(speaker.text().await, to("evt_3", "agent:nobody", None));
    assert_eq!(
        listener.expect("event.acknowledged").await["causation_id"],
        "evt_3"
    );
    // Who says what it wants gets that, and no more.
    let wanted = json!({"types": "memory.*"});
    listener.subscribe("agent:l", wanted).await;
    speaker.send(&to("evt_4", "agent:nobody", None)).await;
    speaker.expect("event.acknowledged").await;
    let fact = event(
        "evt_5",
        "memory.fact.added",
        "agent:s",
        json!({"fact_id": "f", "value": 1}),
    );
    speaker.send(&fact).await;
    assert_eq!(listener.text().await, fact);
    world.stop().await;
}
