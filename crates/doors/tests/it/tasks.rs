//! Tasks over HTTP, server-sent events and the socket.

use crate::world::{World, aee, within};
use protocol::dialect::aep::Aep;
use serde_json::{Value, json};

fn event(id: &str, word: &str, task: &str, payload: &str) -> String {
    let (from, to) = if matches!(word, "submitted" | "cancel.requested") {
        ("agent:a", "agent:w")
    } else {
        ("agent:w", "agent:a")
    };
    let event = Aep::event(&format!("task.{word}"), from)
        .target(to)
        .task(task);
    event
        .payload_json(payload)
        .build(id, protocol::Timestamp::from_millis(1_796_054_400_000))
}

fn result(id: &str, of: &str, kind: &str, payload: &str) -> String {
    aee(id, "human.adam", payload)
        .replace("\"from\":\"human.adam\"", "\"from\":\"agent.w\"")
        .replace("\"type\":\"task\"", &format!("\"type\":\"{kind}\""))
        .replace("\"reply_to\":null", &format!("\"reply_to\":\"{of}\""))
}

fn states(task: &Value) -> Vec<&str> {
    let history = task["history"].as_array().expect("a history");
    history
        .iter()
        .map(|line| line["state"].as_str().expect("a state"))
        .collect()
}

const JSON: &str = "application/json";
const EVENTS: (&str, &str) = ("accept", "text/event-stream");

#[tokio::test]
async fn a_task_shows_where_it_stands_and_how_it_came_there() {
    let world = World::start().await;
    let request = world
        .publish(&event(
            "e1",
            "submitted",
            "t/1 ü",
            r#"{"timeout_ms":3600000}"#,
        ))
        .await;
    world.publish(&event("e2", "started", "t/1 ü", "{}")).await;
    world
        .publish(&event(
            "c1",
            "submitted",
            "child",
            r#"{"parent_task_id":"t/1 ü"}"#,
        ))
        .await;
    let shown = world.get("/v1/tasks/t%2F1%20%C3%BC").await.json();
    assert_eq!(
        (shown["state"].as_str(), shown["dialect"].as_str()),
        (Some("started"), Some("aep"))
    );
    assert_eq!(
        shown["workers"],
        json!([{"party": "agent:w", "state": "started"}])
    );
    assert_eq!(
        shown["request"],
        json!({"id": "e1", "cursor": request["cursor"]})
    );
    assert_eq!(
        (&shown["children"], &shown["ended"]),
        (&json!(["child"]), &Value::Null)
    );
    assert!(shown["deadline"].is_string() && shown["cancel_requested"] == false);
    assert_eq!(states(&shown), ["submitted", "started"]);
    assert_eq!(shown["history"][1]["by"], "agent:w");
    assert_eq!(world.get("/v1/tasks/child").await.json()["parent"], "t/1 ü");
    world.publish(&aee("m-1", "agent.b", "{}")).await;
    let list = world.get("/v1/tasks?state=open&limit=2").await.json();
    assert_eq!(
        (&list["tasks"][0]["task"], &list["more"]),
        (&json!("m-1"), &json!(true))
    );
    let by = |query: &str| {
        let path = format!("/v1/tasks?{query}");
        let world = &world;
        async move {
            world.get(&path).await.json()["tasks"]
                .as_array()
                .expect("a list")
                .len()
        }
    };
    assert_eq!(by("party=agent.w").await, 2);
    assert_eq!(by("conversation=CONV_m-1").await, 1);
    assert_eq!(by("state=started&state=completed").await, 1);
    assert_eq!(by("state=ended").await, 0);
    world
        .get("/v1/tasks?state=running")
        .await
        .refuses(400, "bad_request");
    world
        .get("/v1/tasks?typ=x")
        .await
        .refuses(400, "bad_request");
    world
        .get("/v1/tasks/nobody")
        .await
        .refuses(404, "not_found");
    world.stop().await;
}

#[tokio::test]
async fn a_stream_of_a_task_has_its_past_then_what_comes_then_a_clean_end() {
    let world = World::start().await;
    let first = world.publish(&event("e1", "submitted", "t1", "{}")).await;
    let mut events = world.stream("/v1/tasks/t1", &[EVENTS]).await;
    assert_eq!(events.event().await.id.as_deref(), first["cursor"].as_str());
    world.publish(&event("e2", "started", "t1", "{}")).await;
    let started = events.event().await;
    assert!(started.data.expect("data").contains("e2"));
    world.publish(&event("e3", "completed", "t1", "{}")).await;
    let world = {
        let last = events.event().await;
        assert!(last.name.is_none() && last.data.expect("data").contains("e3"));
        let end = events.event().await;
        assert_eq!(end.name.as_deref(), Some("end"));
        let data: Value = serde_json::from_str(&end.data.expect("data")).expect("JSON");
        assert_eq!(
            data,
            json!({"task": "t1", "state": "completed", "id": "e3"})
        );
        assert_eq!(events.next().await, None, "the stream ends");
        world
    };
    let mut late = world
        .stream("/v1/tasks/t1", &[EVENTS, ("last-event-id", "e2")])
        .await;
    assert!(late.event().await.data.expect("data").contains("e3"));
    assert_eq!(late.event().await.name.as_deref(), Some("end"));
    let mut after = world
        .stream("/v1/tasks/t1", &[EVENTS, ("last-event-id", "e3")])
        .await;
    assert_eq!(after.event().await.name.as_deref(), Some("end"));
    assert_eq!(after.next().await, None);
    world.stop().await;
}

#[tokio::test]
async fn a_socket_watches_a_task_to_its_end_and_serves_on() {
    let world = World::start().await;
    let mut socket = world.socket().await;
    let unknown = socket.ask(r#"{"op":"watch","ref":"w","task":"t1"}"#).await;
    assert_eq!(unknown["fault"]["code"], "not_found");
    world.publish(&event("e1", "submitted", "t1", "{}")).await;
    let subscribed = socket.ask(r#"{"op":"watch","ref":"w","task":"t1"}"#).await;
    assert_eq!(subscribed, json!({"op": "subscribed", "ref": "w"}));
    assert_eq!(socket.frame().await["envelope"]["id"], "e1");
    world.publish(&event("e2", "started", "t1", "{}")).await;
    assert_eq!(socket.frame().await["envelope"]["id"], "e2");
    world.publish(&event("e3", "failed", "t1", "{}")).await;
    let last = socket.frame().await;
    assert_eq!(last["envelope"]["id"], "e3");
    let ended = socket.frame().await;
    let expected = json!({"op": "ended", "ref": "w", "task": "t1", "state": "failed", "id": "e3", "cursor": last["cursor"]});
    assert_eq!(ended, expected);
    // The name is free again, and who comes late gets the end at once.
    socket
        .send(r#"{"op":"watch","ref":"w","task":"t1","from":"e2"}"#)
        .await;
    let ops = [
        socket.frame().await,
        socket.frame().await,
        socket.frame().await,
    ]
    .map(|frame| frame["op"].clone());
    assert_eq!(ops, ["subscribed", "deliver", "ended"]);
    assert_eq!(socket.ask(r#"{"op":"ping"}"#).await["op"], "pong");
    world.stop().await;
}

#[tokio::test]
async fn a_cancellation_is_asked_of_the_worker_and_ends_with_its_word() {
    let world = World::start().await;
    world.publish(&event("e1", "submitted", "t1", "{}")).await;
    let asked = world
        .post(
            "/v1/tasks/t1/cancel",
            JSON,
            r#"{"reason":"enough","as":"agent.a"}"#,
        )
        .await;
    assert_eq!(asked.status, 202, "{}", asked.text());
    assert_eq!(asked.json()["recipients"][0]["party"], "agent:w");
    let pulled = world.get("/v1/inbox/agent:w").await.json();
    let envelope = &pulled["deliveries"][1]["envelope"];
    assert_eq!(
        (&envelope["type"], &envelope["source"]),
        (&json!("task.cancel.requested"), &json!("agent:a"))
    );
    assert_eq!(
        envelope["payload"],
        json!({"task_id": "t1", "reason": "enough"})
    );
    let shown = world.get("/v1/tasks/t1").await.json();
    assert_eq!(
        (&shown["cancel_requested"], &shown["state"]),
        (&json!(true), &json!("submitted"))
    );
    world.publish(&event("e2", "cancelled", "t1", "{}")).await;
    let again = world.post("/v1/tasks/t1/cancel", "", "").await;
    let problem = again.refuses(409, "illegal_transition");
    assert!(
        problem["detail"]
            .as_str()
            .expect("text")
            .contains("which is cancelled")
    );
    world
        .post("/v1/tasks/t2/cancel", "", "")
        .await
        .refuses(404, "not_found");
    let body = r#"{"because":"x"}"#;
    world
        .post("/v1/tasks/t1/cancel", JSON, body)
        .await
        .refuses(400, "bad_request");
    world.stop().await;
}

#[tokio::test]
async fn who_asks_gets_the_reply_as_it_was_sent_and_the_same_again() {
    let world = World::start().await;
    let request = aee("m-1", "agent.w", "{}");
    let ask = || world.post("/v1/ask?timeout_ms=20000", JSON, request.clone());
    let reply = result(
        "m-2",
        "m-1",
        "result",
        "{\"n\": 1.50,\r\n \"x\":\"\\u00fc\"}",
    );
    let (answer, ()) = tokio::join!(ask(), async {
        let pulled = world.get("/v1/inbox/agent.w?wait_ms=20000").await.json();
        assert_eq!(pulled["deliveries"][0]["id"], "m-1");
        world.publish(&result("m-3", "m-1", "stream", "{}")).await;
        world.publish(&reply).await;
    });
    for answer in [answer, ask().await] {
        assert_eq!((answer.status, answer.text()), (200, reply.clone()));
        assert_eq!(answer.header("interwire-task"), "m-1");
        assert_eq!(answer.header("interwire-task-state"), "completed");
        assert_eq!(answer.header("interwire-dialect"), "aee");
        let cursor = answer.header("interwire-cursor");
        let shown = world.get("/v1/tasks/m-1").await.json();
        assert_eq!(shown["ended"], cursor);
    }
    let event = aee("m-4", "agent.w", "{}").replace("\"type\":\"task\"", "\"type\":\"event\"");
    world
        .post("/v1/ask", JSON, event)
        .await
        .refuses(422, "not_a_request");
    world
        .get("/v1/messages/m-4")
        .await
        .refuses(404, "not_found");
    world
        .post("/v1/ask", JSON, "{}")
        .await
        .refuses(400, "not_an_envelope");
    world.stop().await;
}

#[tokio::test]
async fn who_asks_in_vain_is_told_the_task_and_can_come_back() {
    let world = World::start().await;
    let request = aee("m-1", "agent.w", "{}");
    let late = world
        .post("/v1/ask?timeout_ms=1", JSON, request.clone())
        .await;
    let problem = late.refuses(504, "no_reply");
    assert!(
        problem["detail"]
            .as_str()
            .expect("text")
            .contains("task \"m-1\" to end within 1 ms")
    );
    world
        .publish(&result(
            "m-2",
            "m-1",
            "error",
            "{\"code\":\"E_X\",\"message\":\"no\"}",
        ))
        .await;
    let answer = world.post("/v1/ask?timeout_ms=1000", JSON, request).await;
    assert_eq!(
        (answer.status, answer.header("interwire-task-state")),
        (200, "failed")
    );
    world
        .post("/v1/ask?timeout_ms=0", JSON, "{}")
        .await
        .refuses(400, "bad_request");
    world.stop().await;
}

#[tokio::test]
async fn who_asks_for_events_sees_the_progress_and_then_the_reply() {
    let world = World::start().await;
    let request = aee("m-1", "agent.w", "{}");
    let send = || {
        world
            .client
            .post(world.url("/v1/ask"))
            .header("accept", "text/event-stream")
            .body(request.clone())
    };
    let response = within(send().send()).await.expect("an answer");
    let mut events = crate::world::Events::of(response);
    let receipt = events.event().await;
    assert_eq!(receipt.name.as_deref(), Some("receipt"));
    let data: Value = serde_json::from_str(&receipt.data.expect("data")).expect("JSON");
    assert_eq!(
        (&data["task"], &data["receipt"]["duplicate"]),
        (&json!("m-1"), &json!(false))
    );
    world.publish(&result("m-2", "m-1", "stream", "{}")).await;
    let progress = events.event().await;
    assert!(progress.name.is_none() && progress.data.expect("data").contains("m-2"));
    world.publish(&result("m-3", "m-1", "result", "{}")).await;
    let reply = events.event().await;
    assert_eq!(reply.name.as_deref(), Some("reply"));
    assert_eq!(
        reply.data.expect("data"),
        result("m-3", "m-1", "result", "{}")
    );
    let end = events.event().await;
    assert_eq!(end.name.as_deref(), Some("end"));
    assert!(end.data.expect("data").contains(r#""state":"completed""#));
    assert_eq!(events.next().await, None);
    let resumed = send().header("last-event-id", progress.id.expect("a cursor"));
    let mut events = crate::world::Events::of(within(resumed.send()).await.expect("an answer"));
    assert_eq!(events.event().await.name.as_deref(), Some("receipt"));
    assert_eq!(events.event().await.name.as_deref(), Some("reply"));
    world.stop().await;
}

#[tokio::test]
async fn a_drain_tells_who_waits_to_ask_again() {
    let world = World::start().await;
    let url = world.url("/v1/ask?timeout_ms=60000");
    let request = aee("m-1", "agent.w", "{}");
    let (client, body) = (world.client.clone(), request.clone());
    let waiting = tokio::spawn(async move { client.post(url).body(body).send().await });
    world.get("/v1/inbox/agent.w?wait_ms=20000").await;
    world.stop().await;
    let answer =
        crate::world::Answer::of(within(waiting).await.expect("a task").expect("an answer")).await;
    answer.refuses(503, "draining");
}
