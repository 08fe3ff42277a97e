//! T6: a reader that stops reading costs its budget and nobody else: publishers and other readers go on,
//! it is told `slow_consumer` with its cursor, and loses nothing by coming back.
//!
//! `INTERWIRE_SLOW_MESSAGES` says how many messages pass it by; `interwire bench stalled` shows the same
//! with a thousand of them.

use crate::process::Exchange;
use crate::raw::{Events, Socket, get, within};
use client::{Client, Event, Filter, From};
use protocol::Timestamp;
use protocol::dialect::aee::Aee;
use serde_json::Value;
use std::ops::Range;
use std::path::Path;
use tokio::task::JoinHandle;

fn messages() -> usize {
    std::env::var("INTERWIRE_SLOW_MESSAGES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(30_000)
}

/// The usual budget, and all the time in the world to come back; little of the journal is in memory.
fn start(folder: &Path) -> Exchange {
    let folder = folder.to_str().unwrap();
    let on = ["--listen", "127.0.0.1:0", "--data", folder];
    let set = [
        "--set",
        "ring_bytes_max=1048576",
        "--set",
        "http.write_stall_ms=3600000",
    ];
    Exchange::start(&[&on[..], &set].concat())
}

/// About a kibibyte, to whoever listens: it waits in nobody's inbox.
fn envelope(n: usize) -> String {
    let payload = format!("{{\"text\":\"{}\"}}", "x".repeat(720));
    Aee::event("human.adam", "bus.load", "test.load")
        .corr("conversation-1")
        .payload_json(&payload)
        .build(&id(n), Timestamp::from_millis(1_772_274_600_000))
}

fn id(n: usize) -> String {
    format!("message-{n:06}")
}

/// The number in an envelope.
fn number(envelope: &str) -> usize {
    let (_, rest) = envelope.split_once("\"message-").expect("an id");
    rest[..6].parse().expect("a number")
}

/// Reads everything, as fast as it comes; ends with the last message.
fn healthy(client: &Client, numbers: Range<usize>) -> JoinHandle<()> {
    let mut live = client.subscribe(Filter::new(), From::Earliest);
    tokio::spawn(async move {
        let mut expected = 0;
        while expected < numbers.end {
            match live.next().await.unwrap() {
                Event::Envelope { envelope, .. } => {
                    assert_eq!(number(std::str::from_utf8(&envelope).unwrap()), expected);
                    expected += 1;
                }
                Event::CaughtUp => {}
                other => panic!("{other:?}"),
            }
        }
    })
}

/// Publishes these, many in flight; every one has its receipt when this returns.
async fn publish_all(client: &Client, numbers: Range<usize>) {
    let socket = client.socket().await.unwrap();
    let mut under_way = std::collections::VecDeque::new();
    for n in numbers {
        under_way.push_back(socket.submit(envelope(n)).await.unwrap());
        if under_way.len() == 256 {
            under_way.pop_front().unwrap().receipt().await.unwrap();
        }
    }
    for submitted in under_way {
        submitted.receipt().await.unwrap();
    }
}

async fn until_metric(exchange: &Exchange, line: &str) {
    within(async {
        while !get(&exchange.url, "/metrics").await.text().contains(line) {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// Resident bytes of the exchange.
fn resident(exchange: &Exchange) -> usize {
    let status = format!("/proc/{}/status", exchange.id());
    let status = std::fs::read_to_string(status).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.unwrap().trim().trim_end_matches(" kB");
    kibibytes.parse::<usize>().unwrap() << 10
}

/// Messages before the reader comes, so that what the exchange needs anyway is there.
const BEFORE: usize = 5_000;

async fn prepare(exchange: &Exchange) {
    publish_all(&exchange.client(), 0..BEFORE).await;
}

/// Publishes past a reader that does not read.
async fn pass_by(exchange: &Exchange, count: usize) {
    let (client, numbers) = (exchange.client(), BEFORE..BEFORE + count);
    let before = resident(exchange);
    let healthy = healthy(&client, numbers.clone());
    publish_all(&client, numbers).await;
    healthy.await.unwrap();
    until_metric(exchange, "interwire_http_stalled 1\n").await;
    let growth = resident(exchange).saturating_sub(before);
    let passed = count << 10;
    assert!(
        growth < passed,
        "{growth} bytes more: the backlog is in memory"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_server_sent_events() {
    let folder = tempfile::tempdir().unwrap();
    let exchange = start(folder.path());
    let count = messages();
    prepare(&exchange).await;
    let mut stalled = Events::open(&exchange.url, "/v1/stream", &[])
        .await
        .unwrap();
    pass_by(&exchange, count).await;
    // It reads again: what was on its way, then what became of it.
    let (mut seen, mut last) = (BEFORE, String::new());
    let told = loop {
        let block = stalled.block().await.expect("an end that is told");
        match block.event.as_deref() {
            None if block.data.is_some() => {
                assert_eq!(number(&block.data.unwrap()), seen);
                seen += 1;
            }
            None | Some("caught_up") => {}
            Some("slow_consumer") => break block,
            Some(other) => panic!("{other}"),
        }
        last = block.id.unwrap_or(last);
    };
    assert_eq!(told.json()["cursor"], last, "the cursor is its own");
    assert!(stalled.block().await.is_none());
    assert!(seen < BEFORE + count);
    let headers = [("last-event-id", last.as_str())];
    let mut events = Events::open(&exchange.url, "/v1/stream", &headers)
        .await
        .unwrap();
    for expected in seen..BEFORE + count {
        let event = events.event().await;
        assert_eq!(event.event, None);
        assert_eq!(number(&event.data.unwrap()), expected);
    }
    events.control("caught_up").await;
    until_metric(&exchange, "interwire_slow_consumer_total 1\n").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_a_socket() {
    let folder = tempfile::tempdir().unwrap();
    let exchange = start(folder.path());
    let count = messages();
    prepare(&exchange).await;
    let mut stalled = Socket::open(&exchange.url).await;
    stalled.send(r#"{"op":"subscribe","ref":"s"}"#).await;
    stalled.op("subscribed").await;
    pass_by(&exchange, count).await;
    let (mut seen, mut last) = (BEFORE, String::new());
    let told: Value = loop {
        let frame = stalled.frame().await;
        match frame["op"].as_str().unwrap() {
            "deliver" => {
                assert_eq!(frame["envelope"]["id"], id(seen));
                seen += 1;
            }
            "caught_up" => {}
            "slow_consumer" => break frame,
            other => panic!("{other}"),
        }
        last = frame["cursor"].as_str().unwrap().to_owned();
    };
    assert_eq!(
        (&told["ref"], &told["cursor"]),
        (&"s".into(), &last.clone().into())
    );
    assert!(stalled.try_frame().await.is_none());
    assert!(seen < BEFORE + count);
    let mut socket = Socket::open(&exchange.url).await;
    let resume = format!(r#"{{"op":"subscribe","ref":"s","from":"{last}"}}"#);
    assert_eq!(socket.ask(resume).await["op"], "subscribed");
    for expected in seen..BEFORE + count {
        assert_eq!(socket.op("deliver").await["envelope"]["id"], id(expected));
    }
    socket.op("caught_up").await;
    until_metric(&exchange, "interwire_slow_consumer_total 1\n").await;
}
