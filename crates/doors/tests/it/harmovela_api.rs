//! The AEP daemon's HTTP API as its clients call it.

use crate::world::{Answer, World, within};
use broker::Settings;
use interwire_doors::http::HttpSettings;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const BASES: [&str; 2] = ["/harmovela/api", "/aep/api"];
const BASE: &str = BASES[0];

fn event(id: &str) -> String {
    event_of(id, "agent.message.sent")
}

fn event_of(id: &str, kind: &str) -> String {
    format!(
        "{{\"spec_version\":\"0.2\",\"id\":\"{id}\",\"type\":\"{kind}\",\"source\":\"agent:a\",\
         \"created_at\":\"2026-07-11T10:00:00Z\",\"payload\":{{}}}}"
    )
}

async fn subscribe(world: &World, filter: Value) -> String {
    let body = json!({ "filter": filter }).to_string();
    let answer = post(world, "/subscriptions", &body).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    answer.json()["id"].as_str().unwrap().to_owned()
}

async fn post(world: &World, path: &str, body: &str) -> Answer {
    let path = format!("{BASE}{path}");
    world.post(&path, "application/json", body).await
}

async fn get(world: &World, path: &str) -> Value {
    let answer = world.get(&format!("{BASE}{path}")).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

async fn publish(world: &World, ids: &[&str]) {
    for id in ids {
        let answer = post(world, "/events", &event(id)).await;
        assert_eq!(answer.status, 202, "{}", answer.text());
        assert_eq!(answer.json()["id"], *id);
    }
}

/// The ids of the events that a read gives, and the name of their batch.
async fn read(world: &World, subscription: &str, query: &str) -> (Vec<String>, Value) {
    let answer = get(
        world,
        &format!("/subscriptions/{subscription}/events{query}"),
    )
    .await;
    let events = answer["events"].as_array().unwrap();
    let ids = events.iter().map(|event| event["id"].as_str().unwrap());
    (ids.map(str::to_owned).collect(), answer["batch"].clone())
}

/// Waits until nothing is owed any more.
async fn until_nothing_is_owed(world: &World) {
    within(async {
        while get(world, "/stats").await["pending"] != 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn subscriptions_are_made_listed_shown_and_removed_under_both_names() {
    let world = World::start().await;
    for base in BASES {
        let path = format!("{base}/subscriptions");
        let made = world
            .post(
                &path,
                "application/json",
                r#"{"filter":{"types":"task.*"}}"#,
            )
            .await;
        assert_eq!(made.status, 201, "{}", made.text());
        let made = made.json();
        assert!(made["id"].as_str().unwrap().starts_with("sub_"), "{made}");
        assert_eq!(made["filter"], json!({"types": "task.*"}));
        assert!(
            made["created_at"].as_str().unwrap().ends_with('Z'),
            "{made}"
        );
        let one = format!("{path}/{}", made["id"].as_str().unwrap());
        assert_eq!(world.get(&one).await.json(), made);
        assert_eq!(
            world.get(&path).await.json(),
            json!({"subscriptions": [made], "next": null})
        );
        assert_eq!(world.delete(&one).await.json(), json!({"deleted": true}));
        for gone in [world.get(&one).await, world.delete(&one).await] {
            assert_eq!(gone.status, 404);
            let gone = gone.json();
            assert_eq!(
                (&gone["error"], &gone["code"]),
                (&json!("not found"), &json!("not_found"))
            );
        }
    }
    world.stop().await;
}

#[tokio::test]
async fn lists_are_bounded_and_go_on_where_they_ended() {
    let world = World::start().await;
    let put = world.put("/v1/subscriptions/sub_mine", "").await;
    assert_eq!(put.status, 201, "it belongs to another door");
    let mut made = Vec::new();
    for _ in 0..3 {
        made.push(subscribe(&world, json!({})).await);
    }
    let (mut seen, mut path) = (Vec::new(), "/subscriptions?limit=2".to_owned());
    loop {
        let page = get(&world, &path).await;
        for one in page["subscriptions"].as_array().unwrap() {
            seen.push(one["id"].as_str().unwrap().to_owned());
        }
        let Some(next) = page["next"].as_str() else {
            break;
        };
        path = format!("/subscriptions?limit=2&after={next}");
    }
    assert_eq!(seen, made, "the oldest first");
    world.stop().await;
}

#[tokio::test]
async fn a_filter_that_cannot_be_read_is_refused_and_poisons_nothing() {
    let world = World::start().await;
    for (body, code, pointer) in [
        (r#"{"types":42}"#, "filter_malformed", "/types"),
        (
            r#"{"filter":{"source":[1]}}"#,
            "filter_malformed",
            "/filter/source/0",
        ),
        (
            r#"{"filter":{"from_cursor":"x"}}"#,
            "subscription_rejected",
            "/filter/from_cursor",
        ),
        ("{", "malformed_json", ""),
    ] {
        let refused = post(&world, "/subscriptions", body).await;
        assert_eq!(refused.status, 400, "{body}");
        let refused = refused.json();
        assert_eq!(refused["code"], code, "{refused}");
        assert_eq!(refused["errors"][0]["pointer"], pointer, "{refused}");
        assert!(refused["error"].is_string(), "{refused}");
    }
    publish(&world, &["evt_1"]).await;
    world.stop().await;
}

#[tokio::test]
async fn events_that_are_refused_are_refused_with_the_faults_of_every_door() {
    let world = World::start().await;
    let elsewhere = world
        .post(
            "/v1/messages",
            "application/json",
            r#"{"spec_version":"9.9"}"#,
        )
        .await
        .json();
    let here = post(&world, "/events", r#"{"spec_version":"9.9"}"#).await;
    assert_eq!(here.status, 400);
    let here = here.json();
    assert_eq!(here["accepted"], false);
    assert_eq!(here["faults"], elsewhere["errors"]);
    assert_eq!(
        here["errors"].as_array().unwrap().len(),
        elsewhere["errors"].as_array().unwrap().len()
    );
    assert!(here["errors"][0].is_string());
    let broken = post(&world, "/events", "{").await.json();
    assert_eq!(broken["errors"], json!(["invalid JSON body"]));
    let unknown = post(&world, "/events", &event_of("evt_1", "bogus.type")).await;
    assert_eq!(
        (unknown.status, &unknown.json()["code"]),
        (400, &json!("invalid_event_type"))
    );
    publish(&world, &["evt_2", "evt_2"]).await;
    let nowhere = world.get("/aep/api/nope").await;
    assert_eq!(
        (nowhere.status, &nowhere.json()["error"]),
        (404, &json!("not found"))
    );
    let method = world.put("/harmovela/api/stats", "").await;
    assert_eq!(
        (method.status, &method.json()["error"]),
        (405, &json!("method not allowed"))
    );
    world.stop().await;
}

#[tokio::test]
async fn a_read_gives_at_most_a_hundred_events_and_the_next_one_acknowledges_them() {
    let world = World::start().await;
    let all = subscribe(&world, json!({})).await;
    let none = subscribe(&world, json!({"types": "task.*"})).await;
    let ids: Vec<String> = (0..130).map(|number| format!("evt_{number:03}")).collect();
    let names: Vec<&str> = ids.iter().map(String::as_str).collect();
    publish(&world, &names).await;
    assert_eq!(read(&world, &none, "").await.0, [""; 0]);
    let (first, batch) = read(&world, &all, "").await;
    assert_eq!(first, ids[..100]);
    assert!(batch.is_string());
    let stats = get(&world, "/stats").await;
    assert_eq!(
        (&stats["pending"], &stats["acknowledged"]),
        (&json!(130), &json!(0))
    );
    assert_eq!(read(&world, &all, "").await.0, ids[100..]);
    assert_eq!(read(&world, &all, "").await, (vec![], Value::Null));
    let stats = get(&world, "/stats").await;
    assert_eq!(
        (&stats["pending"], &stats["acknowledged"]),
        (&json!(0), &json!(130))
    );
    assert!(stats["lastAckCursor"].is_string());
    world.stop().await;
}

#[tokio::test]
async fn an_answer_that_did_not_arrive_costs_nothing() {
    let world = World::start().await;
    let id = subscribe(&world, json!({})).await;
    let large = "x".repeat(500_000);
    for number in 0..8 {
        let text =
            event(&format!("evt_{number}")).replace("{}", &format!("{{\"text\":\"{large}\"}}"));
        assert_eq!(post(&world, "/events", &text).await.status, 202);
    }
    // It asks, takes the beginning of the answer, and is gone.
    let mut reader = TcpStream::connect(world.address).await.unwrap();
    let request =
        format!("GET {BASE}/subscriptions/{id}/events HTTP/1.1\r\nhost: localhost\r\n\r\n");
    reader.write_all(request.as_bytes()).await.unwrap();
    let mut beginning = [0; 16];
    within(reader.read_exact(&mut beginning)).await.unwrap();
    assert_eq!(&beginning, b"HTTP/1.1 200 OK\r");
    drop(reader);
    within(async {
        while get(&world, &format!("/subscriptions/{id}/events?max=1")).await["events"][0]["id"]
            != "evt_0"
        {
            tokio::task::yield_now().await;
        }
    })
    .await;
    world.stop().await;
}

#[tokio::test]
async fn a_reader_that_names_its_batch_loses_nothing_whatever_is_lost() {
    let world = World::start().await;
    let id = subscribe(&world, json!({})).await;
    publish(&world, &["evt_1", "evt_2", "evt_3"]).await;
    let (first, batch) = read(&world, &id, "?max=2&ack=").await;
    assert_eq!(first, ["evt_1", "evt_2"]);
    let lost = read(&world, &id, "?max=2&ack=").await;
    assert_eq!(lost.0, ["evt_1", "evt_2"], "nothing was named");
    let again = read(
        &world,
        &id,
        &format!("?max=2&ack={}", batch.as_str().unwrap()),
    )
    .await;
    assert_eq!(
        again.0,
        ["evt_1", "evt_2"],
        "that batch is over, another one is out"
    );
    let last = read(&world, &id, &format!("?ack={}", again.1.as_str().unwrap())).await;
    assert_eq!(last.0, ["evt_3"]);
    let end = read(&world, &id, &format!("?ack={}", last.1.as_str().unwrap())).await;
    assert_eq!(end, (vec![], Value::Null));
    world.stop().await;
}

#[tokio::test]
async fn what_waits_is_there_after_a_restart_and_so_is_the_subscription() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::in_folder(folder.path()).await;
    let id = subscribe(&world, json!({"types": ["agent.*", "task.*"]})).await;
    publish(&world, &["evt_1", "evt_2"]).await;
    assert_eq!(read(&world, &id, "?max=1").await.0, ["evt_1"]);
    let before = get(&world, &format!("/subscriptions/{id}")).await;
    world.stop().await;
    let world = World::in_folder(folder.path()).await;
    assert_eq!(get(&world, &format!("/subscriptions/{id}")).await, before);
    assert_eq!(read(&world, &id, "").await.0, ["evt_1", "evt_2"]);
    world.stop().await;
}

#[tokio::test]
async fn a_stream_tells_what_waits_then_what_comes_and_lives_on_in_silence() {
    let http = HttpSettings {
        keep_alive_ms: 20,
        ..HttpSettings::default()
    };
    let world = World::with(Settings::default(), http).await;
    let id = subscribe(&world, json!({})).await;
    publish(&world, &["evt_1"]).await;
    let spread = event("evt_2").replacen(',', ",\n\r ", 1);
    assert_eq!(post(&world, "/events", &spread).await.status, 202);
    let path = format!("{BASE}/subscriptions/{id}/stream");
    let mut stream = world.stream(&path, &[]).await;
    assert_eq!(stream.next().await.unwrap().comment.as_deref(), Some("ok"));
    let first = stream.event().await;
    assert_eq!(first.data.unwrap(), event("evt_1"), "byte for byte");
    assert!(first.id.is_some() && first.name.is_none());
    let one_line = event("evt_2").replacen(',', ",   ", 1);
    assert_eq!(stream.event().await.data.unwrap(), one_line);
    let mut quiet = stream.next().await.unwrap();
    while quiet.comment.as_deref() != Some("keep-alive") {
        quiet = stream.next().await.unwrap();
    }
    publish(&world, &["evt_3"]).await;
    assert_eq!(stream.event().await.data.unwrap(), event("evt_3"));
    until_nothing_is_owed(&world).await;
    assert_eq!(read(&world, &id, "").await.0, [""; 0], "all of it arrived");
    world.stop().await;
}

#[tokio::test]
async fn a_stream_that_ends_is_gone_on_with_and_nothing_is_missing() {
    let world = World::start().await;
    // Not what the exchange says of deliveries.
    let id = subscribe(&world, json!({"types": "agent.*"})).await;
    let path = format!("{BASE}/subscriptions/{id}/stream");
    publish(&world, &["evt_1", "evt_2", "evt_3"]).await;
    let mut stream = world.stream(&path, &[]).await;
    let seen = stream.event().await;
    assert_eq!(seen.data.unwrap(), event("evt_1"));
    drop(stream);
    // Without a word of what it saw, everything comes again.
    let mut stream = world.stream(&path, &[]).await;
    for id in ["evt_1", "evt_2", "evt_3"] {
        assert_eq!(stream.event().await.data.unwrap(), event(id));
    }
    drop(stream);
    // With it, only what is behind it, also under the event's own id.
    for last in [seen.id.as_deref().unwrap(), "evt_1"] {
        let mut stream = world.stream(&path, &[("last-event-id", last)]).await;
        for id in ["evt_2", "evt_3"] {
            assert_eq!(stream.event().await.data.unwrap(), event(id));
        }
    }
    // Also what counted as received: the reader knows better.
    let stream = world.stream(&path, &[("last-event-id", "evt_3")]).await;
    until_nothing_is_owed(&world).await;
    drop(stream);
    let mut stream = world.stream(&path, &[("last-event-id", "evt_2")]).await;
    assert_eq!(stream.event().await.data.unwrap(), event("evt_3"));
    publish(&world, &["evt_4"]).await;
    assert_eq!(stream.event().await.data.unwrap(), event("evt_4"));
    let unknown = world
        .client
        .get(world.url(&path))
        .header("last-event-id", "evt_9");
    let unknown = Answer::of(within(unknown.send()).await.unwrap()).await;
    assert_eq!(
        (unknown.status, &unknown.json()["code"]),
        (400, &json!("cursor_unknown"))
    );
    world.stop().await;
}

#[tokio::test]
async fn what_is_owed_and_what_is_dead_is_listed_by_subscription() {
    let world = World::start().await;
    let (one, two) = (
        subscribe(&world, json!({"types": "agent.*"})).await,
        subscribe(&world, json!({"types": "agent.*"})).await,
    );
    publish(&world, &["evt_1", "evt_2"]).await;
    let pulled = world
        .get(&format!("/v1/subscriptions/{one}/deliveries?max=1"))
        .await
        .json();
    let delivery = &pulled["deliveries"][0]["delivery"];
    let body = json!({"deliveries": [delivery], "reason": "no use"}).to_string();
    let rejected = world
        .post("/v1/deliveries/reject", "application/json", body)
        .await;
    assert_eq!(rejected.status, 200, "{}", rejected.text());

    let (mut seen, mut path) = (Vec::new(), "/pending?limit=1".to_owned());
    loop {
        let page = get(&world, &path).await;
        assert_eq!(page["pending"], 3, "all there are");
        for record in page["records"].as_array().unwrap() {
            let text = |name: &str| record[name].as_str().unwrap().to_owned();
            seen.push((text("subscriptionId"), text("eventId")));
        }
        let Some(next) = page["next"].as_str() else {
            break;
        };
        path = format!("/pending?limit=1&after={next}");
    }
    let expected = [(&one, "evt_2"), (&two, "evt_1"), (&two, "evt_2")];
    assert_eq!(
        seen,
        expected.map(|(place, id)| (place.clone(), id.to_owned()))
    );
    let only = get(&world, &format!("/pending?subscription={two}")).await;
    assert_eq!(
        (&only["pending"], &only["records"][0]["attempts"]),
        (&json!(2), &json!(0))
    );

    let dead = get(&world, "/dlq").await;
    assert_eq!(
        (&dead["deadLettered"], &dead["next"]),
        (&json!(1), &Value::Null)
    );
    let record = &dead["records"][0];
    assert_eq!(record["eventId"], "evt_1");
    assert_eq!(record["subscriptionId"], one);
    assert_eq!(record["attempts"], 1);
    assert!(record["deadLetteredAt"].is_string() && record["lastAttemptAt"].is_string());
    assert_eq!(record["reason"]["error"]["code"], "rejected", "{record}");
    let health = get(&world, "/healthz").await;
    assert_eq!(health["status"], "ok");
    let delivery = &health["delivery"];
    assert_eq!(
        (&delivery["pending"], &delivery["deadLettered"]),
        (&json!(3), &json!(1))
    );
    world.stop().await;
}
