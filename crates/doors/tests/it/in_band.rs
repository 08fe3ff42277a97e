//! Acknowledgements by envelope: in every dialect the answer of a recipient settles what it was given,
//! over HTTP and over the socket.

use crate::world::{Socket, World, op};
use protocol::dialect::aee::Aee;
use protocol::dialect::aep::Aep;
use protocol::dialect::uai::build::{Ack, Agent, Handoff, Heading, Message, TaskStatus};
use protocol::{Header, Rules, Timestamp, decode};
use serde_json::{Value, json};

/// A worker that gets what is sent to `agent.b` over a socket and answers over the same.
async fn worker(world: &World) -> Socket {
    let mut socket = world.socket().await;
    let frame = r#"{"op":"subscribe","ref":"r","inbox":"agent.b","max_in_flight":1}"#;
    assert_eq!(socket.ask(frame).await["op"], "subscribed");
    socket
}

/// Publishes over the socket.
async fn answer(socket: &mut Socket, envelope: &str) {
    let frame = format!(r#"{{"op":"publish","ref":"p","envelope":{envelope}}}"#);
    let answered = socket.ask(frame).await;
    assert_eq!(answered["op"], "receipt", "{answered}");
}

fn header(world: &World, envelope: &str) -> Header {
    decode(envelope.as_bytes(), &Rules::at(world.handle.now()))
        .header
        .expect("valid")
}

/// The line of the only recipient.
async fn line(world: &World, id: &str) -> Value {
    world.receipt(id).await["recipients"][0].clone()
}

fn aee_task(id: &str, now: Timestamp) -> String {
    Aee::task("agent.a", "agent.b", "quox.security.scan")
        .corr("conversation-1")
        .build(id, now)
}

#[tokio::test]
async fn an_aee_result_or_error_in_reply_acknowledges_the_task() {
    let world = World::start().await;
    let now = world.handle.now();
    let mut socket = worker(&world).await;
    // With one message in flight the next comes only when the answer settled the one before.
    for (number, is_error) in [false, true, false].into_iter().enumerate() {
        let id = format!("task-000{number}");
        let task = aee_task(&id, now);
        world.publish(&task).await;
        assert_eq!(op(&mut socket, "deliver").await["id"], id);
        let cause = header(&world, &task);
        let reply = format!("reply-000{number}");
        let text = if is_error {
            Aee::error_of(&cause, "E_PAYLOAD", "no such host").build(&reply, now)
        } else {
            Aee::result_of(&cause).build(&reply, now)
        };
        answer(&mut socket, &text).await;
        let line = line(&world, &id).await;
        assert_eq!(
            (&line["state"], &line["message"]),
            (&"acked".into(), &reply.into())
        );
        assert_eq!(line["attempts"], 1);
        assert!(line["consumer"].is_string(), "who held it is known: {line}");
    }
    world.stop().await;
}

#[tokio::test]
async fn only_an_answer_of_its_reader_to_its_sender_settles_a_message() {
    let world = World::start().await;
    let now = world.handle.now();
    let task = aee_task("task-0001", now);
    world.publish(&task).await;
    let cause = header(&world, &task);
    let progress = Aee::stream_of(&cause).build("reply-0001", now);
    let foreign = Aee::result_of(&cause)
        .from("agent.x")
        .build("reply-0002", now);
    let elsewhere = Aee::event("agent.b", "agent.a", "a.b")
        .reply_to("task-0001")
        .build("reply-0003", now);
    for text in [progress, foreign, elsewhere] {
        let published = world
            .post("/v1/messages", "application/json", text.clone())
            .await;
        assert!(published.status < 500, "{text}: {}", published.text());
        assert_eq!(line(&world, "task-0001").await["state"], "stored");
    }
    world.stop().await;
}

fn aep_event(id: &str, now: Timestamp) -> String {
    Aep::event("agent.ready", "agent:a")
        .target("agent:b")
        .delivery("at_least_once", None, None)
        .build(id, now)
}

fn aep_answer(kind: &str, id: &str, payload: &Value, now: Timestamp) -> String {
    Aep::event(kind, "agent:b")
        .target("agent:a")
        .payload_json(&payload.to_string())
        .build(id, now)
}

#[tokio::test]
async fn aep_events_acknowledge_and_reject() {
    let world = World::start().await;
    let now = world.handle.now();
    for (id, kind, error, state) in [
        ("e-1", "event.acknowledged", None, "acked"),
        ("e-2", "event.rejected", Some(true), "stored"),
        ("e-3", "event.rejected", Some(false), "dead"),
    ] {
        world.publish(&aep_event(id, now)).await;
        let pulled = world.get("/v1/inbox/agent.b").await.json();
        assert_eq!(pulled["deliveries"][0]["id"], id);
        let mut payload = json!({"acknowledged_event_id": id});
        if let Some(retryable) = error {
            payload["error"] =
                json!({"code": "busy", "message": "the disk is full", "retryable": retryable});
        }
        world
            .publish(&aep_answer(kind, &format!("answer-{id}"), &payload, now))
            .await;
        let line = line(&world, id).await;
        assert_eq!(line["state"], state, "{line}");
        if error.is_some() {
            assert_eq!(line["failures"][0]["error"], "the disk is full");
        } else {
            assert_eq!(line["message"], "answer-e-1");
        }
    }
    world.stop().await;
}

#[tokio::test]
async fn an_aep_acknowledgement_over_the_socket_makes_room_for_the_next_event() {
    let world = World::start().await;
    let now = world.handle.now();
    let mut socket = worker(&world).await;
    for number in 1..=3 {
        world.publish(&aep_event(&format!("e-{number}"), now)).await;
    }
    let mut next = op(&mut socket, "deliver").await;
    for number in 1..=3 {
        let id = format!("e-{number}");
        assert_eq!(next["id"], id);
        let payload = json!({"acknowledged_event_id": id});
        let text = aep_answer(
            "event.acknowledged",
            &format!("ack-{number}"),
            &payload,
            now,
        );
        let frame = format!(r#"{{"op":"publish","ref":"p","envelope":{text}}}"#);
        socket.send(frame).await;
        // The receipt and the next delivery are of one commit and come in any order.
        let frames = if number < 3 { 2 } else { 1 };
        for _ in 0..frames {
            let frame = socket.frame().await;
            if frame["op"] == "deliver" {
                next = frame;
            } else {
                assert_eq!(frame["receipt"]["id"], format!("ack-{number}"));
            }
        }
    }
    world.stop().await;
}

fn heading(id: &str, from: &str, to: &str, now: Timestamp) -> Heading {
    Heading {
        id: id.into(),
        issued_at: now,
        source: Agent::new("agent", from),
        target: Agent::new("agent", to),
        conversation: "conversation-1".into(),
    }
}

#[tokio::test]
async fn uai_acks_settle_by_their_status() {
    let world = World::start().await;
    let now = world.handle.now();
    for (status, state) in [
        ("received", "acked"),
        ("accepted", "acked"),
        ("rejected", "acked"),
        ("human_review", "acked"),
        ("duplicate", "acked"),
        ("deferred", "stored"),
    ] {
        let id = format!("msg-{status}");
        let message = Message {
            ack_required: true,
            ..Message::new("directive", "Check every partition.")
        };
        // Its idempotency key is another text than its id.
        let text = message
            .envelope(heading(&id, "a", "b", now))
            .idempotency_key(&format!("some-key-of-{status}"))
            .write()
            .unwrap();
        world.publish(&text).await;
        let pulled = world.get("/v1/inbox/agent.b").await.json();
        assert_eq!(pulled["deliveries"][0]["id"], id, "{status}");
        let mut ack = Ack::new(&id, status, now);
        ack.reason = Some("the disk is full".into());
        if status == "duplicate" {
            ack.duplicate_of_message_id = Some("msg-received".into());
        }
        let text = ack
            .envelope(heading(&format!("ack-{status}"), "b", "a", now))
            .write();
        world.publish(&text.unwrap()).await;
        let line = line(&world, &id).await;
        assert_eq!(line["state"], state, "{status}: {line}");
        if state == "stored" {
            assert_eq!(line["failures"][0]["error"], "the disk is full");
        }
    }
    world.stop().await;
}

#[tokio::test]
async fn a_uai_task_status_tells_that_the_handoff_has_arrived() {
    let world = World::start().await;
    let now = world.handle.now();
    let mut socket = worker(&world).await;
    let handoff = Handoff::new(
        "task-1",
        "The summary of what is known.",
        "It is your part.",
        "Run the check.",
    );
    world
        .publish(
            &handoff
                .envelope(heading("msg-1", "a", "b", now))
                .write()
                .unwrap(),
        )
        .await;
    assert_eq!(op(&mut socket, "deliver").await["id"], "msg-1");
    let status = TaskStatus::accepted("task-1", "Taken on.")
        .envelope(heading("msg-2", "b", "a", now))
        .reply_to("msg-1")
        .write();
    answer(&mut socket, &status.unwrap()).await;
    let line = line(&world, "msg-1").await;
    assert_eq!(
        (&line["state"], &line["message"]),
        (&"acked".into(), &"msg-2".into())
    );
    world.stop().await;
}
