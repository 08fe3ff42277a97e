//! T4: SIGKILL under load. A receipt is a promise, and so is the answer to an acknowledgement
//! (ARCHITECTURE 6.1, 6.2). The same with a disk that drops unsynced writes is in `testkit`.
//! More goes on, for as long as is asked, in `proof::kills`.

use crate::process::{Exchange, task};
use client::{Client, Filter, From, Place, Receipt};
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

const CONNECTIONS: usize = 8;
const PUBLISHES: usize = 1_000;

const ROUNDS: usize = 20;

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

/// What was promised in all rounds so far.
#[derive(Default)]
struct Promised {
    receipts: HashSet<String>,
    acked: HashSet<String>,
    /// Acknowledgements that were sent and not answered: done or not.
    in_doubt: HashSet<String>,
}

#[test]
fn every_receipt_and_every_acknowledgement_survives_a_kill_at_any_moment() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let mut exchange = Exchange::on(folder.path());
    let mut all = Promised::default();
    for round in 0..ROUNDS {
        let seed = client::chance::bits();
        let length = 1 + usize::try_from(seed % (PUBLISHES as u64 - 1)).unwrap();
        println!("round {round}: killed after {length} receipts");
        let (receipts, (acked, in_doubt)) =
            runtime.block_on(work_until_killed(exchange, round, length));
        exchange = Exchange::on(folder.path());
        let client = exchange.client();
        runtime.block_on(check(&client, round, &receipts));
        runtime.block_on(check_acked(&client, &acked));
        all.receipts.extend(receipts.into_keys());
        all.acked.extend(acked);
        all.in_doubt.extend(in_doubt);
    }
    runtime.block_on(drain(&exchange.client(), &all));
}

/// Publishes over 8 connections, alternating socket and HTTP, while a consumer acknowledges; gives back
/// what was promised.
async fn work_until_killed(
    exchange: Exchange,
    round: usize,
    length: usize,
) -> (
    HashMap<String, (String, Receipt)>,
    (Vec<String>, Option<String>),
) {
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
    let consumer = tokio::spawn(consume(exchange.client()));
    fuse.burnt.notified().await;
    exchange.kill();
    let mut promised = HashMap::new();
    for task in tasks {
        for (envelope, receipt) in task.await.unwrap() {
            promised.insert(receipt.id.clone(), (envelope, receipt));
        }
    }
    assert!(promised.len() >= length);
    (promised, consumer.await.unwrap())
}

fn inbox() -> Place {
    Place::Inbox("agent.b".into())
}

/// Acknowledges what comes until the exchange is gone; the ids whose acknowledgement was answered, and
/// the one whose was not.
async fn consume(client: Client) -> (Vec<String>, Option<String>) {
    let mut acked = Vec::new();
    while let Ok(pulled) = client.pull(&inbox(), 4, Duration::from_secs(20)).await {
        for delivery in pulled {
            if delivery.ack().await.is_err() {
                return (acked, Some(delivery.id));
            }
            acked.push(delivery.id);
        }
    }
    (acked, None)
}

async fn check_acked(client: &Client, acked: &[String]) {
    eprintln!("{} were acknowledged", acked.len());
    for id in acked {
        let receipt = client.receipt(id, None).await.unwrap();
        assert_eq!(receipt.recipients[0].state, "acked", "{id}");
    }
}

/// Everything that was promised comes, but nothing that was acknowledged.
async fn drain(client: &Client, promised: &Promised) {
    let mut delivered = HashSet::new();
    loop {
        let pulled = client.pull(&inbox(), 1_000, Duration::ZERO).await.unwrap();
        if pulled.is_empty() {
            break;
        }
        let names: Vec<&str> = pulled.iter().map(|one| one.delivery.as_str()).collect();
        let settled = client.settle("ack", &names, json!({})).await.unwrap();
        assert!(settled.iter().all(Result::is_ok));
        for delivery in pulled {
            assert!(!promised.acked.contains(&delivery.id), "{}", delivery.id);
            assert!(delivered.insert(delivery.id.clone()), "{}", delivery.id);
        }
    }
    for id in promised.receipts.difference(&promised.acked) {
        assert!(
            delivered.contains(id) || promised.in_doubt.contains(id),
            "{id} was promised and never came"
        );
    }
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
    let mut promised = Vec::new();
    // The kill may come before the handshake.
    let Ok(socket) = client.socket().await else {
        return promised;
    };
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
