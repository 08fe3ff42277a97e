//! Reading in a dialect of one's own: `as=` on every reading door, and one job that three parties do who
//! speak one dialect each.

use crate::world::{Socket, World, op};
use protocol::dialect::aee::Aee;
use protocol::dialect::aep::Aep;
use protocol::dialect::uai::build::{Agent, Envelope, Heading};
use protocol::{DialectName, Rules, decode};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const TASK: &str = "01KJHX7SJ00000000000000000";
const CONVERSATION: &str = "CONV_01KJHX7SJ00000000000000001";

fn task(world: &World) -> String {
    Aee::task("agent.planner", "agent.worker", "demo.build")
        .corr(CONVERSATION)
        .payload_json(r#"{"what":"the roof"}"#)
        .build(TASK, world.handle.now())
}

/// What speaks of a link, and can be said in AEP only.
fn heartbeat(world: &World) -> String {
    Aep::event("session.heartbeat", "agent:planner")
        .target("agent:worker")
        .build("evt_heartbeat", world.handle.now())
}

#[tokio::test]
async fn an_inbox_is_read_in_the_dialect_that_is_asked_for() {
    let world = World::start().await;
    let (task, heartbeat) = (task(&world), heartbeat(&world));
    world.publish(&task).await;
    world.publish(&heartbeat).await;
    let answer = world.get("/v1/inbox/agent.worker?as=uai").await.json();
    let [first, second] = &answer["deliveries"].as_array().unwrap()[..] else {
        panic!("{answer}");
    };
    assert_eq!((&first["as"], &first["id"]), (&json!("uai"), &json!(TASK)));
    assert_eq!(first["envelope"]["message_id"], TASK);
    assert_eq!(first["envelope"]["profile"], "uai.intent.request.v1");
    assert_eq!(first["envelope"]["body"]["parameters"]["what"], "the roof");
    let text = first["envelope"].to_string();
    let reading = decode(text.as_bytes(), &Rules::at(world.handle.now()));
    assert!(reading.is_valid(), "{:?}", reading.faults);
    assert_eq!(second["untranslated"]["code"], "not_translatable");
    assert_eq!(
        second["envelope"]["type"], "session.heartbeat",
        "as it was sent"
    );
    assert!(second.get("as").is_none());
    // Its own dialect is its own bytes.
    let message = world.get(&format!("/v1/messages/{TASK}?as=aee")).await;
    assert_eq!(message.text(), task);
    let message = world.get(&format!("/v1/messages/{TASK}?as=aep")).await;
    assert_eq!(message.header("interwire-dialect"), "aep");
    assert_eq!(message.json()["type"], "task.submitted");
    let native = world.get(&format!("/v1/messages/{TASK}?as=native")).await;
    assert_eq!(native.text(), task);
    world
        .get("/v1/messages/evt_heartbeat?as=aee")
        .await
        .refuses(422, "not_translatable");
    world
        .get("/v1/inbox/agent.worker?as=latin")
        .await
        .refuses(400, "bad_request");
    world.stop().await;
}

#[tokio::test]
async fn a_stream_and_a_socket_are_followed_in_the_dialect_that_is_asked_for() {
    let world = World::start().await;
    world.publish(&task(&world)).await;
    world.publish(&heartbeat(&world)).await;
    let mut events = world.stream("/v1/stream?from=earliest&as=aep", &[]).await;
    let mut native = world.stream("/v1/stream?from=earliest", &[]).await;
    let mut aee = world.stream("/v1/stream?from=earliest&as=aee", &[]).await;
    let data = |event: crate::world::Event| -> Value {
        serde_json::from_str(&event.data.unwrap()).unwrap()
    };
    let seen = data(events.event().await);
    assert_eq!(
        (&seen["type"], &seen["id"]),
        (&json!("task.submitted"), &json!(TASK))
    );
    assert_eq!(data(events.event().await)["type"], "session.heartbeat");
    assert_eq!(data(native.event().await)["v"], "1");
    assert_eq!(data(aee.event().await)["v"], "1");
    let untold = aee.event().await;
    assert_eq!(untold.name.as_deref(), Some("untranslated"));
    let untold = data(untold);
    assert_eq!(untold["untranslated"]["code"], "not_translatable");
    assert_eq!(untold["envelope"]["type"], "session.heartbeat");

    let mut socket = world.socket().await;
    let follow = r#"{"op":"subscribe","ref":"f","from":"earliest","as":"uai"}"#;
    assert_eq!(socket.ask(follow).await["op"], "subscribed");
    let seen = op(&mut socket, "deliver").await;
    assert_eq!(seen["as"], "uai");
    assert_eq!(seen["envelope"]["message_id"], TASK);
    let seen = op(&mut socket, "deliver").await;
    assert_eq!(seen["untranslated"]["code"], "not_translatable");

    let mut socket: Socket = world.socket().await;
    let consume = r#"{"op":"subscribe","ref":"c","inbox":"agent.worker","as":"aep"}"#;
    assert_eq!(socket.ask(consume).await["op"], "subscribed");
    let seen = op(&mut socket, "deliver").await;
    assert_eq!(
        (&seen["as"], &seen["envelope"]["type"]),
        (&json!("aep"), &json!("task.submitted"))
    );
    let mut socket = world.socket().await;
    let refused = socket
        .ask(r#"{"op":"subscribe","ref":"x","as":"latin"}"#)
        .await;
    assert_eq!(refused["fault"]["errors"][0]["pointer"], "/as", "{refused}");
    world.stop().await;
}

/// A party that reads its inbox in one dialect, and nothing else.
struct Reader<'w> {
    world: &'w World,
    party: &'static str,
    dialect: DialectName,
}

impl Reader<'_> {
    /// The next envelope, which is in its dialect; settled by what it publishes, or here.
    async fn next(&self, is_settled_here: bool) -> Value {
        let path = format!(
            "/v1/inbox/{}?max=1&as={}",
            self.party,
            self.dialect.as_str()
        );
        let answer = self.world.get(&path).await.json();
        let delivery = &answer["deliveries"][0];
        assert!(delivery.is_object(), "{}: {answer}", self.party);
        assert_eq!(delivery.get("untranslated"), None, "{delivery}");
        let text = delivery["envelope"].to_string();
        let reading = decode(text.as_bytes(), &Rules::at(self.world.handle.now()));
        assert_eq!(reading.dialect, Some(self.dialect), "{text}");
        assert!(reading.is_valid(), "{:?} {text}", reading.faults);
        if is_settled_here {
            let body = json!({ "deliveries": [delivery["delivery"]] }).to_string();
            let settled = self
                .world
                .post("/v1/deliveries/ack", "application/json", body)
                .await;
            assert_eq!(settled.json()["results"][0]["ok"], true);
        }
        delivery["envelope"].clone()
    }

    async fn says(&self, envelope: &str) {
        let answer = self
            .world
            .post("/v1/messages", "application/json", envelope.to_owned())
            .await;
        assert_eq!(answer.status, 201, "{envelope}\n{}", answer.text());
    }
}

async fn state_of_delivery(world: &World, id: &str) -> Value {
    world.receipt(id).await["recipients"][0]["state"].clone()
}

#[tokio::test]
async fn three_parties_that_speak_one_dialect_each_finish_one_job() {
    let world = World::start().await;
    let now = world.handle.now();
    let planner = Reader {
        world: &world,
        party: "agent.planner",
        dialect: DialectName::Aee,
    };
    let worker = Reader {
        world: &world,
        party: "agent.worker",
        dialect: DialectName::Aep,
    };
    let reviewer = Reader {
        world: &world,
        party: "agent.reviewer",
        dialect: DialectName::Uai,
    };

    planner.says(&task(&world)).await;

    // The worker gets an event, acknowledges that event, and reports on its task.
    let work = worker.next(false).await;
    assert_eq!(work["type"], "task.submitted");
    assert_eq!(work["payload"]["input"]["what"], "the roof");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let (event, id) = (text(&work["id"]), text(&work["task_id"]));
    let conversation = text(&work["conversation_id"]);
    let say = |kind: &str, target: &str| {
        Aep::event(kind, "agent:worker")
            .target(target)
            .conversation(&conversation)
    };
    let acknowledged = json!({ "acknowledged_event_id": event }).to_string();
    let ack = say("event.acknowledged", "agent:planner")
        .cause(&event)
        .payload_json(&acknowledged);
    worker.says(&ack.build("evt_ack", now)).await;
    assert_eq!(state_of_delivery(&world, TASK).await, "acked");
    let report = |kind: &str| say(kind, "agent:planner").task(&id).cause(&event);
    worker
        .says(&report("task.accepted").build("evt_accepted", now))
        .await;
    worker
        .says(&report("task.started").build("evt_started", now))
        .await;

    // It hands part of it to the reviewer, whose answer to the message ends that task.
    let part = say("task.submitted", "agent:reviewer")
        .task("review-1")
        .cause(&event)
        .payload_json(r#"{"task_id":"review-1","description":"Review the roof"}"#);
    worker.says(&part.build("evt_r1", now)).await;
    let review = reviewer.next(false).await;
    assert_eq!(review["profile"], "uai.intent.request.v1");
    assert_eq!(review["body"]["subject"], "Review the roof");
    let agent = |name: &str| Agent::new(&text(&review[name]["type"]), &text(&review[name]["id"]));
    let heading = Heading {
        id: "msg_review".into(),
        issued_at: now,
        source: agent("target"),
        target: agent("source"),
        conversation: text(&review["conversation"]["conversation_id"]),
    };
    let body = json!({
        "status": "completed",
        "request_message_id": review["message_id"],
        "result": {"verdict": "it holds"},
    });
    let answer = Envelope::new("uai.intent.response.v1", body.to_string(), heading)
        .reply_to(&text(&review["message_id"]))
        .task_ref(&text(&review["delivery"]["task_ref"]));
    reviewer.says(&answer.write().unwrap()).await;
    assert_eq!(state_of_delivery(&world, "evt_r1").await, "acked");
    assert_eq!(
        world.get("/v1/tasks/review-1").await.json()["state"],
        "completed"
    );

    // The worker reads the answer as an event, and ends the task.
    let verdict = worker.next(true).await;
    assert_eq!(
        (&verdict["type"], &verdict["task_id"]),
        (&json!("task.completed"), &json!("review-1"))
    );
    assert_eq!(verdict["payload"]["result"]["verdict"], "it holds");
    let result =
        json!({ "task_id": id, "state": "completed", "result": verdict["payload"]["result"] });
    worker
        .says(
            &report("task.completed")
                .payload_json(&result.to_string())
                .build("evt_done", now),
        )
        .await;

    // The planner reads four envelopes of its own dialect; the last answers its task.
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push(planner.next(true).await);
    }
    let said: Vec<_> = seen
        .iter()
        .map(|one| format!("{} {}", text(&one["type"]), text(&one["intent"])))
        .collect();
    assert_eq!(
        said,
        [
            "event event.acknowledged",
            "event task.accepted",
            "event task.started",
            "result task.completed"
        ]
    );
    let last = seen.last().unwrap();
    assert_eq!(
        (&last["reply_to"], &last["corr"]),
        (&json!(TASK), &json!(CONVERSATION))
    );
    assert_eq!(last["payload"]["verdict"], "it holds");
    assert_eq!(
        world.get(&format!("/v1/tasks/{TASK}")).await.json()["state"],
        "completed"
    );

    // One conversation, whatever it was said in.
    let told = world
        .get(&format!("/v1/conversations/{CONVERSATION}?format=json"))
        .await;
    assert_eq!(told.status, 200, "{}", told.text());
    let mut ids = BTreeSet::new();
    collect_ids(&told.json(), &mut ids);
    for id in [
        TASK,
        "evt_ack",
        "evt_accepted",
        "evt_started",
        "evt_r1",
        "msg_review",
        "evt_done",
    ] {
        assert!(ids.contains(id), "{id} is not in {ids:?}");
    }
    world.stop().await;
}

fn collect_ids(value: &Value, ids: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            if let Some(id) = members.get("id").and_then(Value::as_str) {
                ids.insert(id.to_owned());
            }
            members.values().for_each(|member| collect_ids(member, ids));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_ids(item, ids)),
        _ => {}
    }
}

#[tokio::test]
async fn an_aee_worker_answers_a_task_of_aep_by_its_message() {
    let world = World::start().await;
    let now = world.handle.now();
    let event = Aep::event("task.submitted", "harness:x")
        .target("agent:worker")
        .task("t 1")
        .payload_json(r#"{"task_id":"t 1","description":"Count"}"#)
        .build("e1", now);
    world.publish(&event).await;
    let worker = Reader {
        world: &world,
        party: "agent.worker",
        dialect: DialectName::Aee,
    };
    let seen = worker.next(false).await.to_string();
    let seen = decode(seen.as_bytes(), &Rules::at(now)).header.unwrap();
    assert_eq!(&*seen.id, "iw.name.e1", "too short for AEE");
    let result = Aee::result_of(&seen).build("01KJHX7SJ00000000000000009", now);
    worker.says(&result).await;
    assert_eq!(state_of_delivery(&world, "e1").await, "acked");
    assert_eq!(
        world.get("/v1/tasks/t%201").await.json()["state"],
        "completed"
    );
    world.stop().await;
}

#[tokio::test]
async fn an_envelope_is_translated_without_being_published() {
    let world = World::start().await;
    let text = task(&world);
    let told = world
        .post("/v1/translate?to=uai", "application/json", text.clone())
        .await;
    assert_eq!(
        (told.status, &told.json()["message_id"]),
        (200, &json!(TASK))
    );
    let back = world
        .post(
            "/v1/translate?to=aee",
            "application/json",
            told.body.clone(),
        )
        .await;
    assert_eq!(back.json(), serde_json::from_str::<Value>(&text).unwrap());
    for (query, body, status, code) in [
        ("", text.clone(), 400, "bad_request"),
        ("?to=latin", text, 400, "bad_request"),
        ("?to=aee", heartbeat(&world), 422, "not_translatable"),
        ("?to=aee", "{}".into(), 400, "not_an_envelope"),
    ] {
        let refused = world
            .post(&format!("/v1/translate{query}"), "application/json", body)
            .await;
        refused.refuses(status, code);
    }
    assert_eq!(world.get(&format!("/v1/messages/{TASK}")).await.status, 404);
    world.stop().await;
}
