//! Dead letters: how they come about, what is known of them, and what can be done with them.

use crate::world::{Events, World, aee, within};
use serde_json::{Value, json};

/// An inbox that gives up after two failed attempts, at once.
async fn world() -> World {
    let world = World::start().await;
    let body = r#"{"delivery":{"max_attempts":2,"backoff_ms":0}}"#;
    assert_eq!(world.put("/v1/inbox/agent.b", body).await.status, 200);
    world
}

/// Pulls the next message and gives it back; its id.
async fn fail(world: &World, reason: &str) -> String {
    let pulled = world
        .get("/v1/inbox/agent.b?wait_ms=30000&max=1")
        .await
        .json();
    let delivery = &pulled["deliveries"][0];
    let body = json!({"deliveries": [delivery["delivery"]], "reason": reason, "retry_after_ms": 0});
    let answer = world
        .post("/v1/deliveries/nack", "", body.to_string())
        .await;
    assert_eq!(answer.json()["results"][0]["ok"], true);
    delivery["id"].as_str().unwrap().to_owned()
}

async fn letters(world: &World, query: &str) -> Value {
    let answer = world.get(&format!("/v1/dead-letters{query}")).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

#[tokio::test]
async fn a_dead_letter_tells_everything_and_can_be_delivered_again() {
    let world = world().await;
    let envelope = aee("m-1", "agent.b", "{ \"n\" : 1.10,\n \"s\":\"\\u00fc\" }");
    world.publish(&envelope).await;
    for reason in ["too hot", "too cold"] {
        assert_eq!(fail(&world, reason).await, "m-1");
    }
    let list = letters(&world, "?inbox=agent.b").await;
    let letter = &list["dead_letters"][0];
    assert_eq!(list["next"], Value::Null);
    assert_eq!(
        (&letter["inbox"], &letter["reason"], &letter["attempts"]),
        (&"agent:b".into(), &"attempts_exhausted".into(), &2.into())
    );
    assert_eq!(
        (&letter["id"], &letter["sender"]),
        (&"m-1".into(), &"human:adam".into())
    );
    let errors: Vec<_> = letter["failures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["error"].as_str().unwrap())
        .collect();
    assert_eq!(errors, ["too hot", "too cold"]);
    let path = format!("/v1/dead-letters/{}", letter["delivery"].as_str().unwrap());
    let shown = world.get(&path).await;
    assert_eq!(&shown.json(), letter);
    assert!(
        shown
            .text()
            .ends_with(&format!(",\"envelope\":{envelope}}}")),
        "{}",
        shown.text()
    );
    let redriven = world.post(&format!("{path}/redrive"), "", "").await;
    assert_eq!(
        (redriven.status, &redriven.json()["redriven"]),
        (200, &true.into())
    );
    world.get(&path).await.refuses(404, "not_found");
    // Dedupe has no say in it: it is a delivery of the same message, with attempts going on.
    let pulled = world.get("/v1/inbox/agent.b").await.json()["deliveries"][0].clone();
    assert_eq!(
        (&pulled["id"], &pulled["attempt"], &pulled["redelivered"]),
        (&"m-1".into(), &3.into(), &true.into())
    );
    let ack = json!({"deliveries": [pulled["delivery"]]}).to_string();
    world.post("/v1/deliveries/ack", "", ack).await;
    assert_eq!(
        world.final_receipt("m-1").await["recipients"][0]["state"],
        "acked"
    );
    world.stop().await;
}

#[tokio::test]
async fn a_rejected_message_is_dead_at_once_and_can_be_let_go_of() {
    let world = world().await;
    world.publish(&aee("m-1", "agent.b", "{}")).await;
    let delivery = world.get("/v1/inbox/agent.b").await.json()["deliveries"][0]["delivery"].clone();
    let body = json!({"deliveries": [delivery], "reason": "unknown intent"}).to_string();
    let rejected = world
        .post("/v1/deliveries/reject", "", body.clone())
        .await
        .json();
    assert_eq!(rejected["results"][0]["ok"], true);
    let late = world.post("/v1/deliveries/reject", "", body).await.json();
    assert_eq!(late["results"][0]["fault"]["code"], "lease_lost");
    let list = letters(&world, "?place=inbox/agent.b").await;
    let letter = &list["dead_letters"][0];
    assert_eq!(
        (&letter["reason"], &letter["failures"][0]["error"]),
        (&"rejected".into(), &"unknown intent".into())
    );
    let path = format!("/v1/dead-letters/{}", letter["delivery"].as_str().unwrap());
    let gone = world.delete(&path).await;
    assert_eq!((gone.status, gone.body.len()), (204, 0));
    world.delete(&path).await.refuses(404, "not_found");
    world
        .post(&format!("{path}/redrive"), "", "")
        .await
        .refuses(404, "not_found");
    let receipt = world.receipt("m-1").await;
    let line = &receipt["recipients"][0];
    assert_eq!(
        (&line["state"], &line["reason"], &receipt["final"]),
        (&"dead".into(), &"dropped".into(), &true.into())
    );
    world.stop().await;
}

#[tokio::test]
async fn many_dead_letters_are_listed_page_by_page_and_by_place() {
    let world = World::start().await;
    world.put("/v1/subscriptions/audit", "{}").await;
    world.publish_many(5).await;
    for path in ["/v1/inbox/agent.b", "/v1/subscriptions/audit/deliveries"] {
        let pulled = world.get(path).await.json();
        let deliveries: Vec<_> = pulled["deliveries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|d| d["delivery"].clone())
            .collect();
        let body = json!({"deliveries": deliveries}).to_string();
        world.post("/v1/deliveries/reject", "", body).await;
    }
    let mut seen = Vec::new();
    let mut after = String::new();
    loop {
        let page = letters(&world, &format!("?limit=3{after}")).await;
        let found = page["dead_letters"].as_array().unwrap();
        assert!(found.len() <= 3);
        seen.extend(
            found
                .iter()
                .map(|letter| (letter["subscription"].clone(), letter["id"].clone())),
        );
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(seen.len(), 10);
    let of_audit = letters(&world, "?subscription=audit").await;
    let ids: Vec<_> = of_audit["dead_letters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|l| l["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["m-1", "m-2", "m-3", "m-4", "m-5"]);
    assert_eq!(
        letters(&world, "?inbox=agent.none").await["dead_letters"],
        json!([])
    );
    world
        .get("/v1/dead-letters?subscription=none")
        .await
        .refuses(404, "not_found");
    for query in [
        "?after=x",
        "?place=agent.b",
        "?inbox=a&subscription=b",
        "?limit=0",
        "?x=1",
    ] {
        world
            .get(&format!("/v1/dead-letters{query}"))
            .await
            .refuses(400, "bad_request");
    }
    world
        .get("/v1/dead-letters/nonsense")
        .await
        .refuses(404, "not_found");
    world.stop().await;
}

/// The next event of a type, past all others.
async fn event_of(events: &mut Events, kind: &str) -> Value {
    within(async {
        loop {
            let event = events.event().await;
            if event.name.is_none() {
                let envelope: Value = serde_json::from_str(&event.data.unwrap()).unwrap();
                if envelope["type"] == kind {
                    return envelope;
                }
            }
        }
    })
    .await
}

#[tokio::test]
async fn followers_of_aep_hear_of_redeliveries_and_dead_letters() {
    let world = world().await;
    let mut events = world.stream("/v1/stream?session=s-1", &[]).await;
    let event = r#"{"spec_version":"0.2","id":"e-1","type":"agent.ready","source":"agent:a","target":"agent:b","created_at":"2026-02-28T10:30:00Z","session_id":"s-1","conversation_id":"c-1","delivery":{"mode":"at_least_once"},"payload":{"n":1.10}}"#;
    world.publish(event).await;
    assert_eq!(fail(&world, "one").await, "e-1");
    assert_eq!(fail(&world, "two").await, "e-1");
    let again = event_of(&mut events, "event.redelivered").await;
    assert_eq!(
        again["payload"],
        json!({"original_event_id": "e-1", "attempt": 2})
    );
    assert_eq!(
        (&again["source"], &again["causation_id"]),
        (&"service:interwire".into(), &"e-1".into())
    );
    let dead = event_of(&mut events, "event.dead_lettered").await;
    assert_eq!(
        (&dead["conversation_id"], &dead["session_id"]),
        (&"c-1".into(), &"s-1".into())
    );
    let payload = &dead["payload"];
    assert_eq!(
        (
            &payload["original_event_id"],
            &payload["attempts"],
            &payload["error"]["code"]
        ),
        (&"e-1".into(), &2.into(), &"attempts_exhausted".into())
    );
    assert_eq!(
        payload["original_event"],
        serde_json::from_str::<Value>(event).unwrap()
    );
    world.stop().await;
}

#[tokio::test]
async fn a_message_may_ask_for_patience_of_its_own() {
    let world = World::start().await;
    let event = |id: &str, retry: &str| {
        format!(
            r#"{{"spec_version":"0.2","id":"{id}","type":"agent.ready","source":"agent:a","target":"agent:b","created_at":"2026-02-28T10:30:00Z","delivery":{{"mode":"at_least_once","retry":{retry}}},"payload":{{}}}}"#
        )
    };
    world
        .publish(&event(
            "e-1",
            r#"{"max_attempts":1,"ack_timeout_ms":3600000}"#,
        ))
        .await;
    let delivery = world.get("/v1/inbox/agent.b").await.json()["deliveries"][0].clone();
    let default = world.handle.now().plus_millis(1_800_000).to_string();
    assert!(
        delivery["lease_until"].as_str().unwrap() > default.as_str(),
        "{delivery}"
    );
    let nack = json!({"deliveries": [delivery["delivery"]]}).to_string();
    world.post("/v1/deliveries/nack", "", nack).await;
    let receipt = world.final_receipt("e-1").await;
    assert_eq!(
        receipt["recipients"][0]["state"], "dead",
        "one attempt was all it asked for"
    );
    world.stop().await;
}
