//! T20: a reader for whom nothing comes has a place to resume from, and its connection is never silent
//! for long enough to be cut.

use crate::process::Exchange;
use crate::raw::{Events, Socket};
use tokio_tungstenite::tungstenite::Message;

/// Often enough that a test need not wait.
fn often() -> Exchange {
    Exchange::start(&[
        "--listen",
        "127.0.0.1:0",
        "--ephemeral",
        "--set",
        "http.keep_alive_ms=20",
    ])
}

#[test]
fn proxies_that_cut_after_thirty_seconds_see_two_signs_of_life_by_default() {
    assert_eq!(doors::http::HttpSettings::default().keep_alive_ms, 15_000);
}

#[tokio::test]
async fn over_server_sent_events() {
    let exchange = often();
    let head = {
        let client = exchange.client();
        let envelope = crate::process::task("message-1", "agent.b", "conversation-1");
        client.publish(envelope).await.unwrap().cursor
    };
    let path = "/v1/stream?type=nothing.at.all";
    let mut events = Events::open(&exchange.url, path, &[]).await.unwrap();
    let primer = events.block().await.unwrap();
    assert!(primer.comment.is_some() && primer.data.is_none());
    assert_eq!(
        (primer.id.as_ref(), primer.retry),
        (Some(&head), Some("1000".into()))
    );
    events.control("caught_up").await;
    for _ in 0..3 {
        let block = events.block().await.unwrap();
        assert_eq!(block.comment.as_deref(), Some("keep-alive"));
        assert_eq!(block.data, None);
    }
}

#[tokio::test]
async fn over_a_socket() {
    let exchange = often();
    let mut socket = Socket::open(&exchange.url).await;
    socket
        .send(r#"{"op":"subscribe","ref":"s","filter":{"type":"nothing.at.all"}}"#)
        .await;
    let subscribed = socket.op("subscribed").await;
    assert!(subscribed["cursor"].as_str().unwrap().ends_with("-0"));
    socket.op("caught_up").await;
    for _ in 0..3 {
        assert!(matches!(socket.message().await, Some(Message::Ping(_))));
    }
}
