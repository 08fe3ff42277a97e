//! Long journals from outside: starts, duplicates and retention of the real process.

use crate::process::Exchange;
use bytes::Bytes;
use client::{Client, Error, Filter, From, Outcome, Place};
use futures_util::StreamExt as _;
use protocol::dialect::uai::build::{Agent, Envelope, Heading, Message};
use protocol::{Party, Timestamp};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

fn start(folder: &Path, more: &[&str]) -> Exchange {
    let data = folder.to_str().unwrap();
    let mut arguments = vec!["--listen", "127.0.0.1:0", "--data", data];
    let small = [
        "segment_bytes=65536",
        "dedupe_recent_max=1024",
        "checkpoint_every_records=1000",
        "checkpoint_every_ms=1000",
    ];
    for setting in small.iter().chain(more) {
        arguments.extend(["--set", setting]);
    }
    Exchange::start(&arguments)
}

/// An event; a task's id would stay taken by the task.
fn numbered(n: usize) -> Bytes {
    let event = protocol::dialect::aee::Aee::event("human.adam", "agent.b", "test.thing.happened");
    let moment = Timestamp::from_millis(1_772_274_600_000);
    Bytes::from(
        event
            .corr("conversation-1")
            .build(&format!("message-{n:05}"), moment),
    )
}

/// Publishes many; returns how many were accepted and how many were duplicates.
async fn publish(client: &Client, numbers: std::ops::Range<usize>) -> (usize, usize) {
    let lines = futures_util::stream::iter(numbers.map(numbered));
    let mut results = client.publish_many(lines).await.unwrap();
    let (mut accepted, mut duplicates) = (0, 0);
    while let Some(line) = results.next().await {
        match line.unwrap().outcome {
            Outcome::Accepted(_) => accepted += 1,
            Outcome::Duplicate(_) => duplicates += 1,
            Outcome::Refused(problem) => panic!("{problem:?}"),
        }
    }
    (accepted, duplicates)
}

/// Names of files that end like this, in order.
fn files(folder: &Path, end: &str) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(end)).collect();
    names.sort();
    names
}

async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so().await {
        assert!(Instant::now() < deadline, "{what} did not happen");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_killed_exchange_starts_from_its_checkpoint_and_knows_every_message() {
    let folder = tempfile::tempdir().unwrap();
    let exchange = start(folder.path(), &[]);
    assert_eq!(publish(&exchange.client(), 0..5_000).await, (5_000, 0));
    until("a checkpoint", async || {
        let newest = files(folder.path(), ".ckp").pop();
        newest.is_some_and(|name| name.trim_end_matches(".ckp").parse::<u64>().unwrap() >= 4_000)
    })
    .await;
    until("files of keys", async || {
        files(folder.path(), ".keys").len() > 1
    })
    .await;
    exchange.kill();

    // A start that read this segment would refuse.
    let segments = files(folder.path(), ".seg");
    assert!(segments.len() > 10);
    let path = folder.path().join(&segments[2]);
    let mut options = std::fs::OpenOptions::new();
    let file = options.read(true).write(true).open(path).unwrap();
    let mut whole = [0; 6];
    file.read_exact_at(&mut whole, 30_000).unwrap();
    file.write_all_at(b"damage", 30_000).unwrap();

    let exchange = start(folder.path(), &[]);
    file.write_all_at(&whole, 30_000).unwrap();
    let client = exchange.client();
    assert_eq!(publish(&client, 0..5_000).await, (0, 5_000));
    assert_eq!(publish(&client, 5_000..5_100).await, (100, 0));
    let place = Place::Inbox("agent.b".into());
    let waiting = client.pull(&place, 10, Duration::ZERO).await.unwrap();
    assert_eq!(waiting.len(), 10);
    exchange.kill();
    let exchange = start(folder.path(), &[]);
    assert_eq!(publish(&exchange.client(), 4_900..5_200).await, (100, 200));
}

/// UAI 4 D4 and D6, over HTTP.
#[tokio::test]
async fn uai_messages_are_the_same_by_recipient_source_and_idempotency_key() {
    let exchange = Exchange::in_memory();
    let client = exchange.client();
    let message = |id: &str, text: &str| -> Envelope {
        let heading = Heading {
            id: id.into(),
            issued_at: Timestamp::from_millis(1_772_274_600_000),
            source: Agent::new("agent", "a"),
            target: Agent::new("agent", "b"),
            conversation: "conv_1".into(),
        };
        let envelope = Message::new("directive", text).envelope(heading);
        envelope.idempotency_key("only-once")
    };
    let send = async |envelope: Envelope| client.publish(envelope.write().unwrap()).await;

    let first = send(message("msg_1", "Look.")).await.unwrap();
    assert!(!first.duplicate);
    let retry = send(message("msg_1", "Look.").retry_count(1))
        .await
        .unwrap();
    assert!(retry.duplicate && retry.cursor == first.cursor);
    assert_eq!(retry.duplicate_of, None);
    let other_id = send(message("msg_2", "Look.")).await.unwrap();
    assert!(other_id.duplicate && other_id.cursor == first.cursor);
    assert_eq!(other_id.duplicate_of.as_deref(), Some("msg_1"));
    let Err(Error::Refused(problem)) = send(message("msg_3", "Look away.")).await else {
        panic!("expected a conflict");
    };
    assert_eq!(
        (problem.status, &*problem.code),
        (409, "idempotency_conflict")
    );
    assert_eq!(problem.errors[0].pointer, "/delivery/idempotency_key");

    let both = message("msg_4", "Look.").also_to(Agent::new("agent", "c"));
    let further = send(both).await.unwrap();
    assert!(!further.duplicate);
    let states: Vec<_> = further.recipients.iter().map(|one| &*one.state).collect();
    assert_eq!(states, ["duplicate", "stored"]);
    for (party, count) in [("agent.b", 1), ("agent.c", 1)] {
        let place = Place::Inbox(Party::parse(party).to_string());
        let pulled = client.pull(&place, 10, Duration::ZERO).await.unwrap();
        assert_eq!(pulled.len(), count, "{party}");
    }
    let receipt = client.get("/v1/messages/msg_4/receipt").await.unwrap();
    let receipt = String::from_utf8(receipt.to_vec()).unwrap();
    assert!(receipt.contains("\"state\":\"duplicate\""), "{receipt}");
}

#[tokio::test]
async fn old_messages_go_and_their_cursors_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let exchange = start(
        folder.path(),
        &["retention_records=1500", "retention_owed=drop"],
    );
    let client = exchange.client();
    let first = client.publish(numbered(0)).await.unwrap();
    assert_eq!(publish(&client, 1..5_000).await, (4_999, 0));
    let dropped = async || {
        let metrics = client.get("/metrics").await.unwrap();
        let metrics = String::from_utf8(metrics.to_vec()).unwrap();
        let mut values = ["records", "deliveries"].into_iter().map(|what| {
            let name = format!("interwire_retention_{what}_total ");
            let line = metrics.lines().find_map(|line| line.strip_prefix(&name));
            line.unwrap().parse::<u64>().unwrap()
        });
        (values.next().unwrap(), values.next().unwrap())
    };
    until("dropping", async || dropped().await.0 > 1_000).await;
    assert!(dropped().await.1 > 1_000, "deliveries are counted");

    let everything = Filter::new();
    let cursor = From::At(first.cursor.clone());
    let Err(Error::Refused(problem)) = client.page(&everything, &cursor, 10).await else {
        panic!("expected an expired cursor");
    };
    assert_eq!((problem.status, &*problem.code), (410, "cursor_expired"));
    assert!(
        problem.raw.contains("valid cursors run from"),
        "{}",
        problem.raw
    );
    let page = client.page(&everything, &From::Earliest, 1).await.unwrap();
    assert_ne!(page.envelopes[0], numbered(0));
    let gone = client.message("message-00000", None).await.unwrap_err();
    assert_eq!(gone.problem().unwrap().code, "not_found");
    // It is free for another message now, and the newest is not.
    assert_eq!(publish(&client, 0..1).await, (1, 0));
    assert_eq!(publish(&client, 4_999..5_000).await, (0, 1));
    exchange.kill();
    let exchange = start(folder.path(), &[]);
    assert_eq!(publish(&exchange.client(), 4_900..5_001).await, (1, 100));
}
