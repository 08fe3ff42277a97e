//! Messages both ways at a steady rate while something breaks, and the account afterwards.

use super::driver::Driver;
use crate::process::Exchange;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// Each way.
pub const PER_SECOND: u32 = 500;
/// Conversations that the messages take turns in.
const CONVERSATIONS: u32 = 8;
/// Foreign publishers; each has conversations of its own.
const PUBLISHERS: u32 = 4;
/// A net under every wait.
const PATIENCE: Duration = Duration::from_secs(120);

/// An AEP event as foreign agents write it, with spaces that nobody may take out.
pub fn event(source: &str, id: &str, conversation: &str) -> String {
    format!(
        "{{ \"spec_version\": \"0.2\", \"id\": \"{id}\", \"type\": \"environment.observed\", \"source\": \"{source}\",  \
         \"created_at\": \"2026-03-01T10:00:00Z\", \"conversation_id\": \"{conversation}\", \"payload\": {{\"n\": 1.50}} }}"
    )
}

fn numbered(source: &str, run: &str, n: u32) -> String {
    let conversation = format!("{run}-{}", n % CONVERSATIONS);
    event(source, &format!("{run}-{n}"), &conversation)
}

/// Seconds of load, and of the break in its middle: longer ones on request.
pub fn seconds() -> (u32, u32) {
    let asked = std::env::var("BUS_OUTAGE_SECONDS").ok();
    match asked.and_then(|text| text.parse().ok()) {
        Some(outage) => (outage + 10, outage),
        None => (4, 2),
    }
}

/// When a message is to be published.
fn due(start: Instant, n: u32) -> Instant {
    start + Duration::from_secs(1) * n / PER_SECOND
}

/// What came, against what was promised.
#[derive(Debug, Default)]
struct Account {
    seen: HashSet<u32>,
    last: HashMap<u32, u32>,
    duplicates: usize,
    out_of_order: Vec<(u32, u32)>,
}

impl Account {
    fn add(&mut self, n: u32) {
        if !self.seen.insert(n) {
            self.duplicates += 1;
            return;
        }
        let last = self.last.entry(n % CONVERSATIONS).or_insert(n);
        if *last > n {
            self.out_of_order.push((*last, n));
        }
        *last = n.max(*last);
    }

    fn missing(&self, total: u32) -> Vec<u32> {
        (0..total).filter(|n| !self.seen.contains(n)).collect()
    }

    fn check(&self, way: &str, total: u32) {
        eprintln!(
            "{way}: {total} promised, {} arrived, {} repeats, {} out of order",
            self.seen.len(),
            self.duplicates,
            self.out_of_order.len()
        );
        let missing = self.missing(total);
        assert!(
            missing.is_empty(),
            "{way}: the first that are missing: {missing:?}"
        );
        assert_eq!(self.out_of_order, [], "{way}: order in conversations");
    }
}

/// Load both ways while `break_it` runs in its own time; then everything promised has arrived, in order
/// within each conversation, and nothing is in the exchange twice.
pub async fn both_ways(
    exchange: Exchange,
    drivers: impl Fn() -> Driver,
    break_it: impl FnOnce(Exchange, Duration, Duration) -> Exchange,
) {
    let (load, outage) = seconds();
    let total = load * PER_SECOND;
    let mut reader = drivers();
    reader.follow(&json!({ "source": ["agent:near"] }));
    let publishers: Vec<_> = (0..PUBLISHERS).map(|_| drivers()).collect();
    let foreign: Vec<_> = (0..)
        .zip(publishers)
        .map(|(which, mut publisher)| {
            std::thread::spawn(move || {
                let start = Instant::now();
                for n in (which..total).step_by(PUBLISHERS as usize) {
                    let wait = due(start, n).saturating_duration_since(Instant::now());
                    std::thread::sleep(wait);
                    publisher.publish(&numbered("agent:far", "in", n));
                }
                start.elapsed()
            })
        })
        .collect();
    // A conversation has one writer, and the rate does not hang on how long one answer takes.
    let start = Instant::now();
    let own: Vec<_> = (0..CONVERSATIONS)
        .map(|which| {
            let client = client::Client::connect(&exchange.url).unwrap();
            tokio::spawn(async move {
                for n in (which..total).step_by(CONVERSATIONS as usize) {
                    tokio::time::sleep_until(due(start, n).into()).await;
                    let envelope = numbered("agent:near", "out", n);
                    while let Err(error) = client.publish(envelope.clone()).await {
                        assert!(error.problem().is_none(), "{error}");
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                }
                start.elapsed()
            })
        })
        .collect();
    let reading = std::thread::spawn(move || {
        let (mut account, end) = (Account::default(), Instant::now() + PATIENCE);
        while account.seen.len() < total as usize && Instant::now() < end {
            if let Some(message) = reader.next(1_000) {
                account.add(number(&message));
            }
        }
        // Repeats come late, if any do.
        while let Some(message) = reader.next(500) {
            account.add(number(&message));
        }
        account
    });
    let exchange = tokio::task::block_in_place(|| {
        let seconds = |n: u32| Duration::from_secs(n.into());
        let exchange = break_it(exchange, seconds((load - outage) / 2), seconds(outage));
        let took = foreign
            .into_iter()
            .map(|one| one.join().expect("a publisher ends"));
        say_rate("in", total, took.max());
        exchange
    });
    let mut took = None;
    for one in own {
        took = took.max(Some(one.await.unwrap()));
    }
    say_rate("out", total, took);
    let mut out = tokio::task::block_in_place(|| reading.join().expect("the reader ends"));
    let metrics = crate::raw::get(&exchange.url, "/metrics").await.text();
    let counted = metrics
        .lines()
        .filter(|line| line.starts_with("interwire_bus_"));
    counted.for_each(|line| eprintln!("{line}"));
    let missed = out.missing(total);
    if !missed.is_empty() {
        // What counts is what the bus has. The test broker of Kafka at times passes over a record for who
        // reads beside writers.
        let mut again = drivers();
        again.ask(&json!({ "op": "follow", "filter": { "source": ["agent:near"] }, "from": "0" }));
        while let Some(message) = again.next(3_000) {
            let n = number(&message);
            if missed.contains(&n) {
                out.seen.insert(n);
            }
        }
        eprintln!(
            "out: the live reader missed {missed:?}, a second reading {:?}",
            out.missing(total)
        );
    }
    out.check("out", total);
    taken_in(&exchange, total).await.check("in", total);
    // A bus that is away is nothing to write into the journal, however often it is tried.
    let own = client::Filter::new().with("source", "service.interwire");
    let own = exchange
        .client()
        .page(&own, &client::From::Earliest, 9)
        .await;
    assert_eq!(own.unwrap().envelopes.len(), 0, "told of every attempt");
}

fn say_rate(way: &str, total: u32, took: Option<Duration>) {
    let seconds = took.unwrap_or_default().as_secs_f64();
    eprintln!("{way}: {total} published in {seconds:.1} s, the outage among them");
}

fn number(message: &Value) -> u32 {
    let text = message["envelope"].as_str().unwrap();
    let envelope: Value = serde_json::from_str(text).unwrap();
    let (_, n) = envelope["id"].as_str().unwrap().split_once('-').unwrap();
    n.parse().unwrap()
}

/// What of the foreign messages is in the journal; waits until all are.
async fn taken_in(exchange: &Exchange, total: u32) -> Account {
    let client = exchange.client();
    let end = Instant::now() + PATIENCE;
    let filter = client::Filter::new().with("source", "agent.far");
    let mut account = Account::default();
    let mut from = client::From::Earliest;
    while account.seen.len() < total as usize && Instant::now() < end {
        let page = client.page(&filter, &from, 1_000).await.unwrap();
        for envelope in &page.envelopes {
            let envelope: Value = serde_json::from_slice(envelope).unwrap();
            let (_, n) = envelope["id"].as_str().unwrap().split_once('-').unwrap();
            account.add(n.parse().unwrap());
        }
        if page.envelopes.is_empty() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        from = client::From::At(page.next);
    }
    account
}
