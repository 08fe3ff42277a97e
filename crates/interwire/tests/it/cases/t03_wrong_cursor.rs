//! T3: a cursor of another life, of another exchange, or of nobody is named as such; never a full
//! replay, never a silent start at the newest.

use crate::process::{Exchange, task};
use crate::raw::{Answer, Events, Socket, ask, get};
use serde_json::Value;

async fn publish(exchange: &Exchange, id: &str) -> String {
    let envelope = task(id, "agent.b", "conversation-1");
    exchange.client().publish(envelope).await.unwrap().cursor
}

/// Asks every door to read from `cursor`; gives the refusals, which must all be the same.
async fn refusals(exchange: &Exchange, cursor: &str) -> (u16, Value) {
    let url = exchange.url.as_str();
    let by_address = Events::open(url, &format!("/v1/stream?from={cursor}"), &[]).await;
    let headers = [("last-event-id", cursor)];
    let by_header = Events::open(url, "/v1/stream?from=latest", &headers).await;
    let skipping = format!("/v1/stream?on_gap=skip&from={cursor}");
    let skipping = Events::open(url, &skipping, &[]).await;
    let page = get(url, &format!("/v1/messages?from={cursor}")).await;
    let answers = [
        by_address.err(),
        by_header.err(),
        skipping.err(),
        Some(page),
    ];
    let answers = answers.map(|answer: Option<Answer>| answer.expect("a refusal"));
    let mut socket = Socket::open(url).await;
    let subscribe = format!(r#"{{"op":"subscribe","ref":"s","from":"{cursor}"}}"#);
    let fault = socket.ask(subscribe).await["fault"].clone();
    // The reader is gone, the socket is not.
    assert_eq!(socket.ask(r#"{"op":"ping"}"#).await["op"], "pong");
    for answer in &answers {
        let mut problem = answer.json();
        problem.as_object_mut().unwrap().remove("instance");
        assert_eq!(problem, fault);
        assert_eq!(problem["status"], answer.status);
    }
    (answers[0].status, fault)
}

#[tokio::test]
async fn each_has_its_own_fault_on_every_door() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let arguments = ["--listen", "127.0.0.1:0", "--data", data];
    let unsynced = [&arguments[..], &["--set", "durability=os"]].concat();
    let exchange = Exchange::start(&unsynced);
    let of_old_life = publish(&exchange, "message-1").await;
    // A life that does not sync before it answers, and ends like this, may have lost what it promised.
    exchange.kill();
    let exchange = Exchange::start(&unsynced);
    let now = publish(&exchange, "message-2").await;
    let other = Exchange::in_memory();
    let of_another = publish(&other, "message-1").await;
    let (place, number) = now.rsplit_once('-').unwrap();
    let ahead = format!("{place}-{}", number.parse::<u64>().unwrap() + 1);
    let cases = [
        (of_old_life.as_str(), 410, "cursor_epoch_changed"),
        (of_another.as_str(), 404, "cursor_foreign"),
        ("nonsense", 400, "cursor_unknown"),
        (ahead.as_str(), 400, "cursor_unknown"),
    ];
    for (cursor, status, code) in cases {
        let (answered, problem) = refusals(&exchange, cursor).await;
        assert_eq!((answered, problem["code"].as_str()), (status, Some(code)));
        assert_eq!(problem["head"], now, "{problem}");
        // What it says can be read from.
        let earliest = problem["earliest"].as_str().unwrap();
        let mut events = Events::open(&exchange.url, &format!("/v1/stream?from={earliest}"), &[])
            .await
            .unwrap();
        assert!(events.event().await.data.unwrap().contains("message-1"));
    }
}

#[tokio::test]
async fn words_that_are_no_choice_are_refused() {
    let exchange = Exchange::in_memory();
    for query in ["on_gap=ignore", "mode=newest", "on_gap=skip&on_gap=fail"] {
        let refused = ask(&exchange.url, &format!("GET /v1/stream?{query}"), &[], "").await;
        refused.refuses(400, "bad_request");
    }
}
