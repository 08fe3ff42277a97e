//! A reader that is stopped in its tracks, as a debugger or a laptop that sleeps does it. It holds
//! nobody up, and when it goes on it has missed nothing.

use crate::process::{Exchange, interwire};
use client::{Event, Filter, From, Place};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use protocol::Timestamp;
use protocol::dialect::aee::Aee;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::Duration;

/// Together far more than all buffers between two processes take.
const LETTERS: usize = 1_500;
const PAYLOAD_BYTES: usize = 8 << 10;

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
    let exchange = Exchange::in_memory();
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

    let consuming = tokio::spawn(consume(client.clone()));
    let socket = client.socket().await.unwrap();
    for number in 1..LETTERS {
        socket.publish(letter(number)).await.unwrap();
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
    kill(process, Signal::SIGCONT).unwrap();
    for number in 1..LETTERS {
        let line = lines.next().unwrap().unwrap();
        assert!(line.contains(&id(number)), "{number}: {line:.200}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
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
