//! T1: a reader that was cut off comes back and gets exactly what it missed, then what is new.

use crate::process::{Exchange, task};
use crate::raw::{Events, Socket};
use client::Client;

const WATCHED: &str = "task-7-conversation";

/// Publishes message `n` of the watched conversation, and one of another; gives the first's cursor.
async fn publish(client: &Client, n: usize) -> String {
    let other = task(&format!("other-{n:04}"), "agent.b", "other-conversation");
    client.publish(other).await.unwrap();
    let envelope = task(&format!("message-{n:04}"), "agent.b", WATCHED);
    client.publish(envelope).await.unwrap().cursor
}

#[tokio::test]
async fn over_server_sent_events() {
    let (exchange, client) = Exchange::in_memory_with_client();
    let mut cursors = Vec::new();
    for n in 1..=7 {
        cursors.push(publish(&client, n).await);
    }
    let path = format!("/v1/stream?conversation={WATCHED}&from=earliest");
    let mut events = Events::open(&exchange.url, &path, &[]).await.unwrap();
    for cursor in &cursors[..4] {
        assert_eq!(events.event().await.id.as_ref(), Some(cursor));
    }
    drop(events);
    for n in 8..=10 {
        cursors.push(publish(&client, n).await);
    }
    // A cursor, or the id of the message that was seen last.
    for seen in [cursors[3].clone(), "message-0004".to_owned()] {
        // The address still says where the reader first began; what it saw last wins.
        let headers = [("last-event-id", seen.as_str())];
        let mut events = Events::open(&exchange.url, &path, &headers).await.unwrap();
        let primer = events.block().await.unwrap();
        assert_eq!(primer.id.as_ref(), Some(&cursors[3]), "{primer:?}");
        for cursor in &cursors[4..] {
            let event = events.event().await;
            assert_eq!((event.id.as_ref(), event.event), (Some(cursor), None));
        }
        events.control("caught_up").await;
        cursors.push(publish(&client, cursors.len() + 1).await);
        assert_eq!(events.event().await.id.as_ref(), cursors.last());
    }
}

#[tokio::test]
async fn over_a_socket() {
    let (exchange, client) = Exchange::in_memory_with_client();
    let mut cursors = Vec::new();
    for n in 1..=7 {
        cursors.push(publish(&client, n).await);
    }
    let subscribe = |from: &str| {
        format!(
            r#"{{"op":"subscribe","ref":"s","filter":{{"conversation":"{WATCHED}"}},"from":"{from}"}}"#
        )
    };
    let mut socket = Socket::open(&exchange.url).await;
    socket.send(subscribe("earliest")).await;
    socket.op("subscribed").await;
    for cursor in &cursors[..4] {
        assert_eq!(socket.op("deliver").await["cursor"], *cursor);
    }
    drop(socket);
    for n in 8..=10 {
        cursors.push(publish(&client, n).await);
    }
    let mut socket = Socket::open(&exchange.url).await;
    socket.send(subscribe(&cursors[3])).await;
    assert_eq!(socket.op("subscribed").await["cursor"], cursors[3]);
    for cursor in &cursors[4..] {
        assert_eq!(socket.op("deliver").await["cursor"], *cursor);
    }
    socket.op("caught_up").await;
    cursors.push(publish(&client, 11).await);
    assert_eq!(
        socket.op("deliver").await["cursor"],
        *cursors.last().unwrap()
    );
}
