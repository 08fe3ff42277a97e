//! A reader that is stopped in its tracks, as a debugger or a laptop that sleeps does it. It holds
//! nobody up, and when it goes on it has missed nothing.

use crate::process::{Exchange, interwire};
use client::{Event, Filter, From, Place};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use protocol::Timestamp;
use protocol::dialect::aee::Aee;
use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::Duration;

/// Together far more than all buffers between two processes take, and than the exchange may keep.
const LETTERS: usize = 4_000;
const PAYLOAD_BYTES: usize = 24 << 10;
const RING_BYTES: usize = 1 << 20;
/// Queues, buffers and what an allocator keeps: about half of it, however many letters pass.
const GROWTH_MAX: usize = 64 << 20;
/// What it may not have grown by: every letter.
const _: () = assert!(LETTERS * PAYLOAD_BYTES > GROWTH_MAX + GROWTH_MAX / 3);

fn letter(number: usize) -> String {
    let text = "x".repeat(PAYLOAD_BYTES);
    Aee::event("agent.a", "agent.b", "test.thing.happened")
        .corr("conversation")
        .payload_json(&format!("{{\"text\":\"{text}\"}}"))
        .build(&id(number), Timestamp::from_millis(1_772_274_600_000))
}

fn id(number: usize) -> String {
    format!("letter-{number:05}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn holds_nobody_up_and_misses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let exchange = Exchange::start(&[
        "--listen",
        "127.0.0.1:0",
        "--data",
        folder.path().to_str().unwrap(),
        "--set",
        &format!("ring_bytes_max={RING_BYTES}"),
    ]);
    let client = exchange.client();
    client.publish(letter(0)).await.unwrap();
    let mut child = interwire(&[
        "tail",
        "--url",
        &exchange.url,
        "--from",
        "earliest",
        "--json",
    ])
    .stdout(Stdio::piped())
    .stderr(Stdio::null())
    .spawn()
    .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // It has begun to read: now it stops.
    let first = lines.next().unwrap().unwrap();
    assert!(first.contains(&id(0)), "{first}");
    let process = Pid::from_raw(child.id().try_into().unwrap());
    kill(process, Signal::SIGSTOP).unwrap();

    let before = memory_bytes(&exchange);
    let consuming = tokio::spawn(consume(client.clone()));
    let socket = client.socket().await.unwrap();
    let mut under_way = VecDeque::new();
    for number in 1..LETTERS {
        under_way.push_back(socket.submit(letter(number)).await.unwrap());
        if under_way.len() == 32 {
            under_way.pop_front().unwrap().receipt().await.unwrap();
        }
    }
    for submitted in under_way {
        submitted.receipt().await.unwrap();
    }
    // Others have all of it while it stands still.
    consuming.await.unwrap();
    let mut live = client.subscribe(Filter::new(), From::Earliest);
    let mut seen = 0;
    while seen < LETTERS {
        if let Event::Envelope { envelope, .. } = live.next().await.unwrap() {
            assert_eq!(envelope, letter(seen).as_bytes());
            seen += 1;
        }
    }
    let grown = memory_bytes(&exchange).saturating_sub(before);
    println!("the exchange grew by {grown} bytes while {LETTERS} letters passed");
    assert!(grown < GROWTH_MAX);
    kill(process, Signal::SIGCONT).unwrap();
    for number in 1..LETTERS {
        let line = lines.next().unwrap().unwrap();
        assert!(line.contains(&id(number)), "{number}: {line:.200}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// What the process has in memory; nothing where the system does not tell.
fn memory_bytes(exchange: &Exchange) -> usize {
    let path = format!("/proc/{}/status", exchange.id());
    let status = std::fs::read_to_string(path).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.map_or("0", |line| line.trim().trim_end_matches(" kB"));
    kibibytes.parse::<usize>().unwrap() << 10
}

/// Acknowledges every letter.
async fn consume(client: client::Client) {
    let place = Place::Inbox("agent.b".into());
    let mut count = 0;
    while count < LETTERS {
        let found = client.pull(&place, 64, Duration::from_secs(20)).await;
        let found = found.unwrap();
        let names: Vec<&str> = found.iter().map(|one| one.delivery.as_str()).collect();
        if names.is_empty() {
            continue;
        }
        let settled = client.settle("ack", &names, serde_json::json!({})).await;
        assert!(settled.unwrap().iter().all(Result::is_ok));
        count += names.len();
    }
}
