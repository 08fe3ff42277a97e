//! The client crate against a real exchange: every door it speaks.

use crate::process::{Exchange, task};
use bytes::Bytes;
use client::{Error, Event, Filter, From, Outcome, Place, SocketEvent};
use futures_util::StreamExt as _;
use std::time::Duration;

fn numbered(n: usize) -> Bytes {
    Bytes::from(task(
        &format!("message-{n:04}"),
        "agent.b",
        "conversation-1",
    ))
}

#[tokio::test]
async fn a_refusal_carries_the_problem_document() {
    let (_exchange, client) = Exchange::in_memory_with_client();
    let refused = client.publish("{\"v\":\"1\"}").await.unwrap_err();
    let problem = refused.problem().unwrap();
    assert_eq!(problem.status, 422);
    assert!(problem.errors.len() > 1 && !refused.is_retryable());
    assert!(serde_json::from_str::<serde_json::Value>(&problem.raw).is_ok());
}

#[tokio::test]
async fn many_in_one_request_give_one_result_each() {
    let (_exchange, client) = Exchange::in_memory_with_client();
    let mut lines: Vec<Bytes> = (0..100).map(numbered).collect();
    lines.insert(3, Bytes::from_static(b"nonsense"));
    lines.push(numbered(0));
    let mut results = client
        .publish_many(futures_util::stream::iter(lines))
        .await
        .unwrap();
    let (mut accepted, mut duplicates, mut refused) = (0, 0, 0);
    while let Some(line) = results.next().await {
        match line.unwrap().outcome {
            Outcome::Accepted(_) => accepted += 1,
            Outcome::Duplicate(_) => duplicates += 1,
            Outcome::Refused(_) => refused += 1,
        }
    }
    assert_eq!((accepted, duplicates, refused), (100, 1, 1));
}

#[tokio::test]
async fn a_message_is_found_by_id_with_its_bytes() {
    let (_exchange, client) = Exchange::in_memory_with_client();
    let receipt = client.publish(numbered(1)).await.unwrap();
    let message = client.message("message-0001", None).await.unwrap();
    assert_eq!(
        (message.envelope, message.cursor),
        (numbered(1), receipt.cursor)
    );
    assert_eq!(message.dialect, "aee");
    let missing = client.message("no such/id", None).await.unwrap_err();
    assert_eq!(missing.problem().unwrap().code, "not_found");
}

#[tokio::test]
async fn a_live_reader_goes_on_after_the_exchange_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let exchange = Exchange::on(folder.path());
    let address = exchange.url.trim_start_matches("http://").to_owned();
    let client = exchange.client();
    for n in 0..5 {
        client.publish(numbered(n)).await.unwrap();
    }
    let mut live = client.subscribe(Filter::new().with("target", "agent.b"), From::Earliest);
    let mut read = Vec::new();
    while read.len() < 5 {
        if let Event::Envelope { envelope, .. } = live.next().await.unwrap() {
            read.push(envelope);
        }
    }
    exchange.kill();
    let data = folder.path().to_str().unwrap();
    let _again = Exchange::start_again(&["--listen", &address, "--data", data]);
    for n in 5..9 {
        client.publish(numbered(n)).await.unwrap();
    }
    let mut was_interrupted = false;
    while read.len() < 9 {
        match live.next().await.unwrap() {
            Event::Envelope { envelope, .. } => read.push(envelope),
            Event::Reconnecting(_) => was_interrupted = true,
            Event::CaughtUp => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(was_interrupted);
    assert_eq!(read, (0..9).map(numbered).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_socket_publishes_follows_and_settles() {
    let (_exchange, client) = Exchange::in_memory_with_client();
    let socket = client.socket().await.unwrap();
    let mut inbox = socket
        .read(&Place::Inbox("agent.b".into()), 2)
        .await
        .unwrap();
    let mut under_way = Vec::new();
    for n in 0..50 {
        under_way.push(socket.submit(numbered(n)).await.unwrap());
    }
    for submitted in under_way {
        assert!(!submitted.receipt().await.unwrap().duplicate);
    }
    for n in 0..50 {
        let Some(SocketEvent::Deliver(delivery)) = inbox.next().await.unwrap() else {
            panic!("expected a delivery");
        };
        assert_eq!((delivery.envelope, delivery.attempt), (numbered(n), 1));
        let name = delivery.delivery.unwrap();
        assert!(socket.ack(&[&name]).await.unwrap()[0].is_ok());
        assert!(
            socket.ack(&[&name]).await.unwrap()[0].is_err(),
            "twice is once too often"
        );
    }
    socket.ping().await.unwrap();
    let twice = socket.publish("{\"a\":1,\"a\":2}").await.unwrap_err();
    assert!(matches!(twice, Error::Input(_)), "{twice}");
    let refused = socket.publish("{\"v\":\"1\"}").await.unwrap_err();
    assert!(refused.problem().is_some(), "{refused}");
}

#[tokio::test]
async fn too_deep_an_envelope_ends_a_socket_but_nobody_waits_for_ever() {
    let (_exchange, client) = Exchange::in_memory_with_client();
    let socket = client.socket().await.unwrap();
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    let refused = socket.publish(deep).await.unwrap_err();
    assert_eq!(refused.problem().unwrap().code, "too_deep");
}

#[tokio::test]
async fn an_inbox_hands_out_again_what_was_given_back_and_not_what_was_acknowledged() {
    let (_exchange, client) = Exchange::in_memory_with_client();
    client.publish(numbered(0)).await.unwrap();
    client.publish(numbered(1)).await.unwrap();
    let mut inbox = client.inbox("agent.b").max_in_flight(1);
    let first = inbox.next().await.unwrap();
    first.extend(None).await.unwrap();
    first.nack(None).await.unwrap();
    let late = first.ack().await.unwrap_err();
    assert_eq!(late.problem().unwrap().code, "lease_lost");
    let mut seen = Vec::new();
    while seen.len() < 2 {
        let delivery = inbox.next().await.unwrap();
        delivery.ack().await.unwrap();
        seen.push((delivery.id.clone(), delivery.attempt));
    }
    seen.sort();
    assert_eq!(
        seen,
        [
            ("message-0000".to_owned(), 2),
            ("message-0001".to_owned(), 1)
        ]
    );
}

#[tokio::test]
async fn an_exchange_that_is_away_is_an_unreachable_one() {
    let exchange = Exchange::in_memory();
    let client = exchange.client();
    client.ready().await.unwrap();
    exchange.kill();
    let error = client.publish(numbered(0)).await.unwrap_err();
    assert!(
        matches!(error, Error::Unreachable { .. }) && error.is_retryable(),
        "{error}"
    );
    assert!(matches!(
        client.socket().await.unwrap_err(),
        Error::Unreachable { .. }
    ));
}

#[tokio::test]
async fn a_patient_publish_comes_back_until_the_exchange_does() {
    let exchange = Exchange::in_memory();
    let address = exchange.url.trim_start_matches("http://").to_owned();
    let client = exchange.client();
    exchange.kill();
    let given_up = client.publish_within(numbered(0), Duration::ZERO).await;
    assert!(matches!(given_up, Err(Error::Unreachable { .. })));
    let patient = tokio::spawn(async move {
        let patience = Duration::from_secs(60);
        let first = client.publish_within(numbered(1), patience).await.unwrap();
        let again = client.publish_within(numbered(1), patience).await.unwrap();
        let refused = client.publish_within("{\"v\":\"1\"}", patience).await;
        (first, again, refused)
    });
    let _again = Exchange::start_again(&["--listen", &address, "--ephemeral"]);
    let (first, again, refused) = patient.await.unwrap();
    assert!(!first.duplicate && again.duplicate);
    assert!(!refused.unwrap_err().is_retryable(), "told at once");
}

#[tokio::test]
async fn a_client_reads_as_a_consumer_and_sees_what_becomes_of_a_message() {
    let (_exchange, client) = Exchange::in_memory_with_client();
    let place = Place::Inbox("agent.b".into());
    client.publish(numbered(1)).await.unwrap();
    let (worker, sender) = (
        client.socket().await.unwrap(),
        client.socket().await.unwrap(),
    );
    let mut reader = worker.read_as(&place, Some("w1"), 1).await.unwrap();
    assert_eq!(reader.consumer, "w1");
    let Some(SocketEvent::Deliver(first)) = reader.next().await.unwrap() else {
        panic!("expected a delivery");
    };
    assert!(!first.redelivered);
    let mut watch = sender.watch_receipt("message-0001", None).await.unwrap();
    let seen = watch.next().await.unwrap().unwrap();
    assert_eq!(seen.recipients[0].consumer.as_deref(), Some("w1"));
    let once = sender.receipt("message-0001", Some("human.adam")).await;
    assert_eq!(once.unwrap().raw, seen.raw);
    let name = first.delivery.unwrap();
    let rejected = worker.reject(&[&name], "not mine").await.unwrap();
    assert!(rejected[0].is_ok());
    let mut last = seen;
    while let Some(next) = watch.next().await.unwrap() {
        last = next;
    }
    assert_eq!((&*last.recipients[0].state, last.is_final), ("dead", true));
    let letters = client.dead_letters(Some(&place), None, 9).await.unwrap();
    assert_eq!(letters.next, None);
    let letter = &letters.letters[0];
    assert_eq!(
        (&*letter.failures[0].error, &letter.envelope),
        ("not mine", &numbered(1))
    );
    client.redrive(&letter.delivery).await.unwrap();
    let Some(SocketEvent::Deliver(again)) = reader.next().await.unwrap() else {
        panic!("expected a delivery");
    };
    assert_eq!((again.attempt, again.redelivered), (2, true));
    drop(reader);
    // Its deliveries are for others once it has left.
    let waited = client.pull_as(&place, Some("w2"), 1, Duration::from_secs(30));
    let taken = waited.await.unwrap();
    assert_eq!(taken[0].attempt, 3);
    client.leave(&place, "w2").await.unwrap();
    let mut inbox = client.inbox("agent.b").consumer("w3");
    let delivery = inbox.next().await.unwrap();
    delivery.ack().await.unwrap();
    let receipt = client
        .watch_receipt("message-0001", None)
        .to_the_end()
        .await;
    assert_eq!(receipt.unwrap().recipients[0].attempts, 4);
}
