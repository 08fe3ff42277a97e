//! T19: an agent is found by its skill while it lives; after a missed word it is stale, after its lease
//! it is offline and not found, and after a restart nobody is offline before one whole lease.
//!
//! The edges to the millisecond are in the exchange's own tests, with a clock that the test moves; here
//! the real processes go through the same states.

use crate::process::{Exchange, interwire};
use client::{AgentQuery, Client};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A short lease, so that a test need not wait long for its end.
const CARD: &str = r#"{"skills":[{"id":"port-scan"}],"lease_ms":3000}"#;

async fn presence(client: &Client, party: &str) -> String {
    let agent: Value = serde_json::from_str(&client.agent(party).await.unwrap()).unwrap();
    agent["presence"].as_str().unwrap().to_owned()
}

async fn found(client: &Client) -> usize {
    let query = AgentQuery::default().with("skill", "port-scan");
    let page: Value = serde_json::from_str(&client.agents(&query).await.unwrap()).unwrap();
    page["agents"].as_array().unwrap().len()
}

/// Asks until the state is reached; which states were seen on the way.
async fn until(client: &Client, party: &str, wanted: &str) -> Vec<String> {
    let start = Instant::now();
    let mut seen: Vec<String> = Vec::new();
    while seen.last().is_none_or(|last| last != wanted) {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "{wanted} after {seen:?}"
        );
        let now = presence(client, party).await;
        if seen.last() != Some(&now) {
            seen.push(now);
        }
    }
    seen
}

/// Whether states only got worse. A machine that is busy elsewhere may miss one.
fn is_in_order(seen: &[String]) -> bool {
    let order = ["online", "stale", "offline"];
    let rank = |state: &String| order.iter().position(|word| word == state);
    seen.is_sorted_by_key(rank)
}

#[tokio::test]
async fn an_agent_goes_stale_then_offline_and_a_restart_gives_it_one_lease() {
    let folder = tempfile::tempdir().unwrap();
    let exchange = Exchange::on(folder.path());
    let client = exchange.client();
    client.put_agent("agent.b", CARD).await.unwrap();
    assert_eq!(presence(&client, "agent.b").await, "online");
    assert_eq!(found(&client).await, 1);
    let seen = until(&client, "agent.b", "offline").await;
    assert!(is_in_order(&seen), "{seen:?}");
    assert_eq!(
        found(&client).await,
        0,
        "who is offline is not found by default"
    );
    exchange.kill();
    let exchange = Exchange::on(folder.path());
    let client = exchange.client();
    let seen = until(&client, "agent.b", "offline").await;
    assert_eq!(seen[0], "stale", "never offline at once");
    assert!(is_in_order(&seen), "{seen:?}");
}

#[tokio::test]
async fn who_waits_for_messages_stays_online_beyond_its_lease() {
    let exchange = Exchange::in_memory();
    let client = exchange.client();
    client.put_agent("agent.b", CARD).await.unwrap();
    client.put_agent("agent.c", CARD).await.unwrap();
    let mut inbox = client.inbox("agent.b");
    let pulling = tokio::spawn(async move { inbox.next().await });
    until(&client, "agent.c", "offline").await;
    assert_eq!(presence(&client, "agent.b").await, "online");
    assert_eq!(found(&client).await, 1);
    pulling.abort();
    let _ = pulling.await;
    until(&client, "agent.b", "offline").await;
}

#[tokio::test]
async fn an_agent_over_standard_input_and_output_expires_too() {
    let exchange = Exchange::in_memory();
    let client = exchange.client();
    let mut child = interwire(&["stdio", "--url", &exchange.url])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let declared = r#"{"spec_version":"0.2","id":"evt_d1","type":"capabilities.declared","created_at":"2026-02-28T10:30:00Z","source":"agent:s","payload":{"protocol":"aep","skills":[{"id":"port-scan"}]}}"#;
    writeln!(input, "{declared}").unwrap();
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    client
        .put_agent("agent:s", r#"{"lease_ms":3000}"#)
        .await
        .unwrap();
    assert_eq!(found(&client).await, 1, "{line}");
    child.kill().unwrap();
    child.wait().unwrap();
    until(&client, "agent:s", "offline").await;
    assert_eq!(found(&client).await, 0);
}
