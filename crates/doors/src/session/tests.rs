#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that meets the unexpected should stop"
)]
use super::{Frames, Goodbye, Heard, Host, LineFrames, SessionSettings, pair, run};
use crate::http::Stop;
use broker::{Broker, Settings};
use bytes::Bytes;

/// What every transport has to do.
async fn keeps_the_contract<F: Frames>(mut left: F, mut right: F) {
    left.send(Bytes::from_static(b"{\"a\":1}")).await.unwrap();
    left.send(Bytes::from_static(b"{\"b\":2}")).await.unwrap();
    left.flush().await.unwrap();
    assert_eq!(
        right.next().await,
        Heard::Text(Bytes::from_static(b"{\"a\":1}"))
    );
    right
        .send(Bytes::from_static(b"\"\xc3\xbc\""))
        .await
        .unwrap();
    right.flush().await.unwrap();
    assert_eq!(
        left.next().await,
        Heard::Text(Bytes::from_static(b"\"\xc3\xbc\""))
    );
    left.ping().await.unwrap();
    assert_eq!(
        right.next().await,
        Heard::Text(Bytes::from_static(b"{\"b\":2}"))
    );
    left.close(Goodbye::Done).await;
    assert_eq!(right.next().await, Heard::Closed);
}

#[tokio::test]
async fn ends_in_memory_keep_the_contract() {
    let (left, right) = pair();
    keeps_the_contract(left, right).await;
}

#[tokio::test]
async fn lines_keep_the_contract() {
    let (left, right) = tokio::io::duplex(64);
    let (left_in, left_out) = tokio::io::split(left);
    let (right_in, right_out) = tokio::io::split(right);
    let left = LineFrames::new(left_in, left_out, 100);
    keeps_the_contract(left, LineFrames::new(right_in, right_out, 100)).await;
}

#[tokio::test]
async fn a_line_that_is_too_long_costs_itself_only() {
    let text = format!("{}\r\n\n{{}}\r\nrest", "x".repeat(50));
    let mut frames = LineFrames::new(text.as_bytes(), tokio::io::sink(), 10);
    let Heard::Text(long) = frames.next().await else {
        panic!("expected a text")
    };
    assert!(long.len() > 10);
    assert_eq!(frames.next().await, Heard::Text(Bytes::from_static(b"{}")));
    assert_eq!(
        frames.next().await,
        Heard::Text(Bytes::from_static(b"rest"))
    );
    assert_eq!(frames.next().await, Heard::Closed);
}

#[tokio::test]
async fn a_session_runs_between_two_ends_in_memory() {
    let broker = Broker::open(Settings::default(), 7).unwrap();
    let host = Host::new(broker.handle(), SessionSettings::default(), Stop::new());
    let (mut ours, theirs) = pair();
    let session = tokio::spawn(run(host, broker.handle().connection(), &[], theirs));
    let open = r#"{"spec_version":"0.2","id":"e","type":"session.opened","source":"agent:a","created_at":"2026-07-01T12:00:00Z","payload":{"session_id":"s"}}"#;
    ours.send(Bytes::from_static(open.as_bytes()))
        .await
        .unwrap();
    let Heard::Text(ready) = ours.next().await else {
        panic!("expected a text")
    };
    assert!(String::from_utf8_lossy(&ready).contains("session.ready"));
    drop(ours);
    assert!(!session.await.unwrap());
    broker.close().await;
}
