//! Too much at once: everybody has a share, waits for a while, and is told when to come back.

use crate::world::{Answer, World, aee, within};
use broker::{Broker, Published, Settings, Submission};
use interwire_doors::http::HttpSettings;
use serde_json::{Value, json};
use std::sync::Arc;
use testkit::HeldDisk;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

/// An exchange that commits one publish at a time and has room for one more, on a disk that can be
/// held.
async fn narrow() -> (World, HeldDisk) {
    let disk = HeldDisk::default();
    let settings = Settings {
        batch_max: 1,
        queue_max: 1,
        queue_wait_ms: 0,
        ..Settings::default()
    };
    let broker = Broker::open_on(Arc::new(disk.clone()), None, settings, 7).unwrap();
    (World::of(broker, HttpSettings::default()).await, disk)
}

type Results = mpsc::UnboundedReceiver<(u64, Published)>;

/// While the disk is held: one publish into the commit that waits and one into the queue. Their
/// results come when it is released.
async fn fill(world: &World) -> Results {
    let (results, mut filled) = mpsc::unbounded_channel();
    let (mut taken, mut tried) = (0, 0);
    while taken < 2 {
        tried += 1;
        let text = aee(&format!("fills-{tried}"), "agent.b", "{}");
        let reading = protocol::decode(text.as_bytes(), &world.handle.rules());
        let (header, warnings) = reading.into_result().unwrap();
        let one = Submission {
            number: tried,
            header,
            envelope: text.into(),
            warnings,
        };
        world.handle.submit(vec![one], &results).await;
        // Refused at once while the first is not in the commit yet.
        taken += usize::from(filled.try_recv().is_err());
    }
    filled
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_queue_is_told_with_a_time_to_come_back_on_every_door() {
    let (world, disk) = narrow().await;
    disk.hold();
    let mut filled = fill(&world).await;
    let answer = world
        .post("/v1/messages", "", aee("over-http", "agent.b", "{}"))
        .await;
    let problem = answer.refuses(429, "overloaded");
    assert_eq!(problem["retry_after_ms"], 1_000);
    assert_eq!(answer.header("retry-after"), "1");
    let mut socket = world.socket().await;
    let envelope = aee("over-a-socket", "agent.b", "{}");
    let frame = format!("{{\"op\":\"publish\",\"ref\":\"p\",\"envelope\":{envelope}}}");
    let fault = socket.ask(frame).await;
    assert_eq!(fault["fault"]["code"], "overloaded");
    assert_eq!(fault["fault"]["retry_after_ms"], 1_000);
    let lines = world
        .post("/v1/messages", "application/x-ndjson", envelope)
        .await
        .lines();
    assert_eq!(lines[0]["fault"]["code"], "overloaded");
    assert_eq!(lines[0]["fault"]["retry_after_ms"], 1_000);
    disk.release();
    for _ in 0..2 {
        let (_, result) = within(filled.recv()).await.unwrap();
        assert!(result.is_ok(), "what was taken is answered");
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_publisher_waits_for_room_before_it_is_told() {
    let disk = HeldDisk::default();
    let settings = Settings {
        queue_max: 1,
        queue_wait_ms: 60_000,
        ..Settings::default()
    };
    let broker = Broker::open_on(Arc::new(disk.clone()), None, settings, 7).unwrap();
    let world = World::of(broker, HttpSettings::default()).await;
    disk.hold();
    let waiting: Vec<_> = (0..8)
        .map(|number| {
            let envelope = aee(&format!("waits-{number}"), "agent.b", "{}");
            let request = world.client.post(world.url("/v1/messages")).body(envelope);
            tokio::spawn(async move { Answer::of(request.send().await.unwrap()).await })
        })
        .collect();
    disk.release();
    for answer in waiting {
        assert_eq!(within(answer).await.unwrap().status, 201);
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_on_one_socket_does_not_keep_out_a_single_post() {
    let world = World::start().await;
    let mut flood = world.socket().await;
    let (count, mut received) = (5_000, 0);
    let payload = format!("{{\"text\":\"{}\"}}", "x".repeat(2_000));
    let frame = |number: usize| {
        let envelope = aee(&format!("flood-{number}"), "agent.b", &payload);
        format!("{{\"op\":\"publish\",\"ref\":\"f\",\"envelope\":{envelope}}}")
    };
    // A thousand are under way all the time.
    for number in 0..1_000 {
        flood.send(frame(number)).await;
    }
    let single = world.client.post(world.url("/v1/messages"));
    let single = single.body(aee("single", "agent.b", "{}")).send();
    let single = tokio::spawn(async move { Answer::of(single.await.unwrap()).await.json() });
    let mut last = Value::Null;
    for number in 1_000..count + 1_000 {
        if number < count {
            flood.send(frame(number)).await;
        }
        let receipt = flood.frame().await;
        assert_eq!(receipt["op"], "receipt");
        last = receipt["receipt"]["cursor"].clone();
        received += 1;
    }
    assert_eq!(received, count);
    let sequence = |cursor: &Value| -> u64 {
        let (_, sequence) = cursor.as_str().unwrap().rsplit_once('-').unwrap();
        sequence.parse().unwrap()
    };
    let single = within(single).await.unwrap();
    assert!(
        sequence(&single["cursor"]) < sequence(&last),
        "{single} before {last}"
    );
    world.stop().await;
}

#[tokio::test]
async fn connections_beyond_the_limit_are_told_and_room_is_given_back() {
    let http = HttpSettings {
        connections_max: 2,
        ..HttpSettings::default()
    };
    let world = World::with(Settings::default(), http).await;
    let one = world.socket().await;
    let two = world.socket().await;
    let mut third = TcpStream::connect(world.address).await.unwrap();
    let request = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    third.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    within(third.read_to_string(&mut answer)).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(
        head.starts_with("HTTP/1.1 429 Too Many Requests\r\n"),
        "{head}"
    );
    assert!(head.contains("retry-after: 1") && head.contains("connection: close"));
    let problem: Value = serde_json::from_str(body).unwrap();
    assert_eq!(problem["code"], "overloaded");
    assert_eq!(problem["retry_after_ms"], 1_000);
    drop(one);
    within(async {
        // Its end is noticed when it is.
        while world
            .client
            .get(world.url("/healthz"))
            .send()
            .await
            .is_err()
        {
            tokio::task::yield_now().await;
        }
        while world.get("/healthz").await.status != 200 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(
        world
            .get("/metrics")
            .await
            .text()
            .contains("interwire_http_turned_away_total ")
    );
    drop(two);
    world.stop().await;
}

#[tokio::test]
async fn a_best_effort_reader_is_taken_to_the_newest_on_every_door() {
    let settings = Settings {
        best_effort_max: 10,
        ..Settings::default()
    };
    let world = World::with(settings, HttpSettings::default()).await;
    let cursors = world.publish_many(30).await;
    // From far behind: everything is skipped, and said.
    let expected = json!({
        "from": cursors[1], "to": cursors[29], "count": 29, "exact": false, "reason": "slow"
    });
    let path = format!("/v1/stream?mode=best_effort&from={}", cursors[0]);
    let mut events = world.stream(&path, &[]).await;
    let gap = events.event().await;
    assert_eq!(gap.name.as_deref(), Some("gap"));
    assert_eq!(gap.id.as_ref(), Some(&cursors[29]));
    assert_eq!(
        serde_json::from_str::<Value>(&gap.data.unwrap()).unwrap(),
        expected
    );
    assert_eq!(events.event().await.name.as_deref(), Some("caught_up"));
    let mut socket = world.socket().await;
    let from = &cursors[0];
    socket
        .send(format!(
            r#"{{"op":"subscribe","ref":"s","mode":"best_effort","from":"{from}"}}"#
        ))
        .await;
    assert_eq!(socket.frame().await["op"], "subscribed");
    let mut gap = socket.frame().await;
    for (name, value) in [("op", "gap"), ("ref", "s"), ("cursor", &cursors[29])] {
        let member = gap.as_object_mut().unwrap().remove(name);
        assert_eq!(member, Some(value.into()), "{name}");
    }
    assert_eq!(gap, expected);
    assert_eq!(socket.frame().await["op"], "caught_up");
    // Near enough, nothing is.
    let path = format!("/v1/stream?mode=best_effort&from={}", cursors[24]);
    let mut events = world.stream(&path, &[]).await;
    for cursor in &cursors[25..] {
        assert_eq!(events.event().await.id.as_ref(), Some(cursor));
    }
    let metrics = world.get("/metrics").await.text();
    assert!(
        metrics.contains("interwire_gap_total{reason=\"slow\"} 2"),
        "{metrics}"
    );
    drop(events);
    world.stop().await;
}
