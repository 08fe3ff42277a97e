//! A hundred parties claim one resource at once, also through a crash: one has it, the others know.

use crate::process::Exchange;
use bytes::Bytes;
use client::{Client, Filter, From};
use protocol::Timestamp;
use protocol::dialect::uai::build::{Agent, Envelope, Heading, Message};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::task::JoinSet;

const NOW: Timestamp = Timestamp::from_millis(1_796_054_400_000);
const PARTIES: usize = 100;

fn heading(id: &str, from: (&str, &str), to: (&str, &str)) -> Heading {
    Heading {
        id: id.into(),
        issued_at: NOW,
        source: Agent::new(from.0, from.1),
        target: Agent::new(to.0, to.1),
        conversation: "team".into(),
    }
}

fn claim(party: usize, base: i64) -> Bytes {
    let name = format!("p{party}");
    let id = format!("claim_{base}_{party}");
    let payload = json!({ "resource": "plan.md", "base_version": base, "operation": "write" });
    Message::new("inform", "I write the plan")
        .envelope(heading(&id, ("agent", &name), ("agent", "worker")))
        .extension("urn:uai:ext:claim", &payload.to_string())
        .write()
        .unwrap()
        .into()
}

/// Everything that a party was told about its claim, by id: what arrives twice counts once.
async fn told(client: &Client, party: usize) -> BTreeMap<String, Value> {
    let mut inbox = client.inbox(&format!("agent.p{party}"));
    let mut told = BTreeMap::new();
    loop {
        let delivery = inbox.next().await.unwrap();
        let said: Value = serde_json::from_slice(&delivery.envelope).unwrap();
        delivery.ack().await.unwrap();
        let is_last =
            said["profile"] == "uai.agent.blocker.v1" || said["body"]["ack_status"] == "accepted";
        told.insert(said["message_id"].as_str().unwrap().to_owned(), said);
        if is_last {
            return told;
        }
    }
}

/// The party whose claim on that version was accepted; every other has a blocker that names it.
async fn winner(client: &Client, base: i64) -> usize {
    let mut readers = JoinSet::new();
    for party in 0..PARTIES {
        let client = client.clone();
        readers.spawn(async move { (party, told(&client, party).await) });
    }
    let told: BTreeMap<_, _> = readers.join_all().await.into_iter().collect();
    let has = |said: &BTreeMap<String, Value>, pointer: &str, word: &str| {
        said.values()
            .any(|said| said.pointer(pointer) == Some(&word.into()))
    };
    let won: Vec<_> = (0..PARTIES)
        .filter(|party| has(&told[party], "/body/ack_status", "accepted"))
        .collect();
    assert_eq!(won.len(), 1, "{won:?}");
    let winner = won[0];
    assert_eq!(told[&winner].len(), 1);
    for party in (0..PARTIES).filter(|party| *party != winner) {
        let said = &told[&party];
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(has(said, "/body/ack_status", "rejected"));
        let blocker = said
            .values()
            .find(|said| said["profile"] == "uai.agent.blocker.v1")
            .unwrap();
        assert_eq!(blocker["body"]["resource"], "plan.md");
        let related = &blocker["body"]["related_message_ids"];
        assert_eq!(
            *related,
            json!([
                format!("claim_{base}_{party}"),
                format!("claim_{base}_{winner}")
            ])
        );
    }
    winner
}

/// The senders of what the worker has to do.
async fn worked_for(client: &Client) -> Vec<String> {
    let mut inbox = client.inbox("agent.worker").wait(Duration::ZERO);
    let mut senders = Vec::new();
    while let Some(delivery) = inbox.next_now().await.unwrap() {
        let work: Value = serde_json::from_slice(&delivery.envelope).unwrap();
        senders.push(work["source"]["id"].as_str().unwrap().to_owned());
        delivery.ack().await.unwrap();
    }
    senders
}

async fn page(client: &Client, kind: &str) -> usize {
    let filter = Filter::new().with("type", kind);
    let page = client.page(&filter, &From::Earliest, 1_000).await.unwrap();
    page.envelopes.len()
}

#[tokio::test]
async fn of_a_hundred_who_claim_one_version_at_once_one_has_it_and_all_others_get_blockers() {
    let (_exchange, client) = Exchange::in_memory_with_client();
    for base in 0..3 {
        let mut senders = JoinSet::new();
        for party in 0..PARTIES {
            let client = client.clone();
            senders.spawn(async move { client.publish(claim(party, base)).await.unwrap() });
        }
        senders.join_all().await;
        let winner = winner(&client, base).await;
        assert_eq!(worked_for(&client).await, [format!("p{winner}")]);
    }
    assert_eq!(
        page(&client, "uai.agent.blocker.v1").await,
        3 * (PARTIES - 1)
    );
}

#[tokio::test]
async fn a_crash_among_a_hundred_claims_changes_neither_who_won_nor_who_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let exchange = Exchange::on(folder.path());
    let client = exchange.client();
    let mut senders = JoinSet::new();
    for party in 0..PARTIES {
        let client = client.clone();
        senders.spawn(async move { client.publish(claim(party, 0)).await.is_ok() });
    }
    let mut accepted = 0;
    while accepted < PARTIES / 4 {
        accepted += usize::from(senders.join_next().await.unwrap().unwrap());
    }
    exchange.kill();
    senders.abort_all();
    drop(senders);
    let exchange = Exchange::on(folder.path());
    let client = exchange.client();
    // Nobody knows what arrived, so everybody says it again.
    for party in 0..PARTIES {
        client.publish(claim(party, 0)).await.unwrap();
    }
    let first = winner(&client, 0).await;
    assert_eq!(worked_for(&client).await, [format!("p{first}")]);
    assert_eq!(page(&client, "uai.agent.blocker.v1").await, PARTIES - 1);
    exchange.kill();
    let exchange = Exchange::on(folder.path());
    let client = exchange.client();
    // The version that stands is known still: nobody has the old one, one has the new one.
    let old = claim(PARTIES, 0);
    client.publish(old).await.unwrap();
    let said = told(&client, PARTIES).await;
    assert_eq!(said.len(), 2);
    let anew = claim(PARTIES, 1);
    client.publish(anew).await.unwrap();
    let said = told(&client, PARTIES).await;
    assert_eq!(said.len(), 1);
    assert_eq!(worked_for(&client).await, [format!("p{PARTIES}")]);
}

#[tokio::test]
async fn a_human_resolves_a_blocker_and_is_answered() {
    let (_exchange, client) = Exchange::in_memory_with_client();
    client.publish(claim(0, 0)).await.unwrap();
    client.publish(claim(1, 0)).await.unwrap();
    let said = told(&client, 1).await;
    let blocker = said
        .values()
        .find(|said| said["profile"] == "uai.agent.blocker.v1")
        .unwrap();
    let blocker = blocker["body"]["blocker_id"].as_str().unwrap();
    let body = json!({
        "intent": "resolve_blocker", "subject": "plan.md",
        "parameters": { "blocker_id": blocker, "decision": "grant" },
    });
    let heading = heading("res_1", ("human", "eve"), ("service", "interwire"));
    let request = Envelope::new("uai.intent.request.v1", body.to_string(), heading);
    client.publish(request.write().unwrap()).await.unwrap();
    let answer = client.inbox("human.eve").next().await.unwrap();
    let answer: Value = serde_json::from_slice(&answer.envelope).unwrap();
    assert_eq!(answer["body"]["status"], "completed", "{answer}");
    assert_eq!(answer["body"]["result"]["version"], 2);
    let note = client.inbox("agent.p1").next().await.unwrap();
    let note: Value = serde_json::from_slice(&note.envelope).unwrap();
    let content = note["body"]["content"].as_str().unwrap();
    assert!(content.contains("human:eve granted"), "{content}");
}
