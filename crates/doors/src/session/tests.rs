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

/// A peer of a session with heartbeats, on a clock that jumps to what is due.
struct Beating {
    ours: super::Pair,
    session: tokio::task::JoinHandle<bool>,
    broker: Broker,
}

impl Beating {
    async fn open(settings: SessionSettings, wish: &str) -> Self {
        let broker = Broker::open(Settings::default(), 7).unwrap();
        let host = Host::new(broker.handle(), settings, Stop::new());
        let (ours, theirs) = pair();
        let session = tokio::spawn(run(host, broker.handle().connection(), &[], theirs));
        let mut peer = Self {
            ours,
            session,
            broker,
        };
        peer.say("session.opened", wish).await;
        assert_eq!(peer.kind().await.as_deref(), Some("session.ready"));
        peer
    }

    async fn say(&mut self, kind: &str, payload: &str) {
        let text = format!(
            r#"{{"spec_version":"0.2","id":"e","type":"{kind}","source":"agent:a","created_at":"2026-07-01T12:00:00Z","payload":{payload}}}"#
        );
        self.ours.send(text.into()).await.unwrap();
    }

    /// The type of what comes next; nothing at the end.
    async fn kind(&mut self) -> Option<String> {
        let Heard::Text(text) = self.ours.next().await else {
            return None;
        };
        let event: serde_json::Value = serde_json::from_slice(&text).unwrap();
        Some(event["type"].as_str().unwrap().to_owned())
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_beats_stays_and_one_that_falls_silent_ends_after_three_intervals() {
    let wish = r#"{"session_id":"s","heartbeat_interval_ms":1000}"#;
    let mut peer = Beating::open(SessionSettings::default(), wish).await;
    for _ in 0..20 {
        assert_eq!(peer.kind().await.as_deref(), Some("session.heartbeat"));
        peer.say("session.heartbeat", "{}").await;
    }
    let mut beats = 0;
    let last = loop {
        match peer.kind().await.as_deref() {
            Some("session.heartbeat") => beats += 1,
            other => break other.map(str::to_owned),
        }
    };
    assert_eq!(last.as_deref(), Some("session.error"));
    // Both sides beat once an interval: two more, and with the third the silence is three long.
    assert_eq!(beats, 2);
    assert_eq!(peer.kind().await, None);
    assert!(!peer.session.await.unwrap());
    peer.broker.close().await;
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_named_no_interval_hears_heartbeats_and_is_not_judged_by_them() {
    let settings = SessionSettings {
        heartbeat_ms: 1_000,
        ..SessionSettings::default()
    };
    let mut peer = Beating::open(settings, r#"{"session_id":"s"}"#).await;
    for _ in 0..20 {
        assert_eq!(peer.kind().await.as_deref(), Some("session.heartbeat"));
    }
    peer.say("session.closed", "{}").await;
    assert_eq!(peer.kind().await.as_deref(), Some("event.acknowledged"));
    assert_eq!(peer.kind().await.as_deref(), Some("session.closed"));
    drop(peer.ours);
    assert!(!peer.session.await.unwrap());
    peer.broker.close().await;
}
