//! SIGKILL under load: a receipt is a promise (ARCHITECTURE 5.1, 5.2).
//!
//! `INTERWIRE_CRASH_ROUNDS` shortens or lengthens it.

use crate::process::{Exchange, task};
use client::{Client, Filter, From, Receipt};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Notify;

const CONNECTIONS: usize = 8;
const PUBLISHES: usize = 1_000;

fn rounds() -> usize {
    std::env::var("INTERWIRE_CRASH_ROUNDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(20)
}

/// Counts receipts and says when it is time to die.
#[derive(Default)]
struct Fuse {
    receipts: AtomicUsize,
    length: usize,
    burnt: Notify,
}

impl Fuse {
    fn count(&self) {
        if self.receipts.fetch_add(1, Ordering::Relaxed) + 1 == self.length {
            self.burnt.notify_one();
        }
    }
}

#[test]
fn every_receipt_survives_a_kill_at_any_moment() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let mut exchange = Exchange::on(folder.path());
    for round in 0..rounds() {
        let seed = client::chance::bits();
        let length = 1 + usize::try_from(seed % (PUBLISHES as u64 - 1)).unwrap();
        println!("round {round}: killed after {length} receipts");
        let receipts = runtime.block_on(publish_until_killed(exchange, round, length));
        exchange = Exchange::on(folder.path());
        runtime.block_on(check(&exchange.client(), round, &receipts));
    }
}

/// Publishes over 8 connections, alternating socket and HTTP; gives back what was promised.
async fn publish_until_killed(
    exchange: Exchange,
    round: usize,
    length: usize,
) -> HashMap<String, (String, Receipt)> {
    let fuse = Arc::new(Fuse {
        length,
        ..Fuse::default()
    });
    let mut tasks = Vec::new();
    for connection in 0..CONNECTIONS {
        let client = Client::connect(&exchange.url).unwrap();
        let fuse = Arc::clone(&fuse);
        tasks.push(tokio::spawn(async move {
            if connection % 2 == 0 {
                over_socket(&client, round, connection, &fuse).await
            } else {
                over_http(&client, round, connection, &fuse).await
            }
        }));
    }
    fuse.burnt.notified().await;
    exchange.kill();
    let mut promised = HashMap::new();
    for task in tasks {
        for (envelope, receipt) in task.await.unwrap() {
            promised.insert(receipt.id.clone(), (envelope, receipt));
        }
    }
    assert!(promised.len() >= length);
    promised
}

fn envelope(round: usize, connection: usize, n: usize) -> String {
    task(
        &format!("message-{round}-{connection}-{n}"),
        "agent.b",
        &format!("round-{round:04}"),
    )
}

async fn over_http(
    client: &Client,
    round: usize,
    connection: usize,
    fuse: &Fuse,
) -> Vec<(String, Receipt)> {
    let mut promised = Vec::new();
    for n in 0..PUBLISHES / CONNECTIONS {
        let envelope = envelope(round, connection, n);
        let Ok(receipt) = client.publish(envelope.clone()).await else {
            break;
        };
        promised.push((envelope, receipt));
        fuse.count();
    }
    promised
}

/// With 16 under way, so that the kill hits full batches, too.
async fn over_socket(
    client: &Client,
    round: usize,
    connection: usize,
    fuse: &Fuse,
) -> Vec<(String, Receipt)> {
    let socket = client.socket().await.unwrap();
    let mut promised = Vec::new();
    let mut under_way = std::collections::VecDeque::new();
    for n in 0..PUBLISHES / CONNECTIONS {
        let envelope = envelope(round, connection, n);
        let Ok(submitted) = socket.submit(&envelope).await else {
            break;
        };
        under_way.push_back((envelope, submitted));
        if under_way.len() == 16 {
            let (envelope, submitted) = under_way.pop_front().unwrap();
            let Ok(receipt) = submitted.receipt().await else {
                break;
            };
            promised.push((envelope, receipt));
            fuse.count();
        }
    }
    for (envelope, submitted) in under_way {
        let Ok(receipt) = submitted.receipt().await else {
            break;
        };
        promised.push((envelope, receipt));
        fuse.count();
    }
    promised
}

/// Everything promised is there once, as it was sent, and is recognised when it comes again.
async fn check(client: &Client, round: usize, promised: &HashMap<String, (String, Receipt)>) {
    let filter = Filter::new().with("conversation", &format!("round-{round:04}"));
    let mut stored: HashMap<bytes::Bytes, usize> = HashMap::new();
    let mut from = From::Earliest;
    loop {
        let page = client.page(&filter, &from, 1_000).await.unwrap();
        if page.envelopes.is_empty() {
            break;
        }
        for envelope in page.envelopes {
            *stored.entry(envelope).or_default() += 1;
        }
        from = From::At(page.next);
    }
    for (envelope, count) in &stored {
        assert_eq!(*count, 1, "{envelope:?}");
    }
    for (id, (envelope, _)) in promised {
        assert!(
            stored.contains_key(envelope.as_bytes()),
            "{id} was promised and is lost"
        );
    }
    let socket = client.socket().await.unwrap();
    for (envelope, first) in promised.values() {
        let again = socket.publish(envelope).await.unwrap();
        assert!(again.duplicate, "{}", again.id);
        assert_eq!((&again.id, &again.cursor), (&first.id, &first.cursor));
    }
}
