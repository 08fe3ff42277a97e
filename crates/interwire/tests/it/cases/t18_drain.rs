//! T18: an exchange that is told to stop says so to whoever asks for readiness, then to every reader,
//! answers what is in flight, and ends well in time; told twice it ends at once.

use crate::process::{Exchange, task};
use crate::raw::{Events, Socket, get, publish, within};
use nix::sys::signal::Signal;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const READERS: usize = 50;
const PUBLISHERS: usize = 10;

/// The usual grace is ten seconds. Here nothing but a clean end can be in time: the net under every
/// wait tears long before the grace is over.
fn start(folder: &std::path::Path, notice_ms: u64) -> Exchange {
    let folder = folder.to_str().unwrap();
    let notice = format!("http.drain_notice_ms={notice_ms}");
    let arguments = [
        "--listen",
        "127.0.0.1:0",
        "--data",
        folder,
        "--set",
        &notice,
    ];
    let grace = ["--set", "http.drain_grace_ms=600000"];
    Exchange::start(&[&arguments[..], &grace].concat())
}

fn envelope(publisher: usize, n: usize) -> String {
    task(
        &format!("message-{publisher}-{n}"),
        "agent.b",
        "conversation-1",
    )
}

/// Publishes one after the other until it is told to stop; gives what was promised.
async fn publish_until_told(
    url: String,
    publisher: usize,
    promised: Arc<AtomicUsize>,
) -> Vec<String> {
    let mut receipts = Vec::new();
    for n in 0.. {
        let answer = publish(&url, &envelope(publisher, n)).await;
        if answer.status != 201 {
            let problem = answer.refuses(503, "draining");
            assert_eq!(problem["retry_after_ms"], 1_000);
            assert_eq!(answer.header("retry-after"), Some("1"));
            break;
        }
        receipts.push(answer.json()["cursor"].as_str().unwrap().to_owned());
        promised.fetch_add(1, Ordering::Relaxed);
    }
    receipts
}

fn sequence(cursor: &str) -> u64 {
    let (_, sequence) = cursor.rsplit_once('-').unwrap();
    sequence.parse().unwrap()
}

/// Reads to the end, which must be told; gives the cursor it is told with.
async fn told_over_sse(mut events: Events) -> (String, String) {
    let mut last = String::new();
    loop {
        let block = events.block().await.expect("an end that is told");
        if block.event.as_deref() == Some("draining") {
            let data = block.json();
            assert_eq!(data["retry_ms"], 1_000);
            assert_eq!(block.retry.as_deref(), Some("1000"));
            assert!(events.block().await.is_none(), "nothing after it");
            return (data["cursor"].as_str().unwrap().to_owned(), last);
        }
        last = block.id.unwrap_or(last);
    }
}

async fn told_over_socket(mut socket: Socket) -> (String, String) {
    let mut last = String::new();
    loop {
        let frame = socket.frame().await;
        let cursor = frame["cursor"].as_str().unwrap().to_owned();
        if frame["op"] == "draining" {
            assert_eq!(
                (&frame["ref"], &frame["retry_ms"]),
                (&"s".into(), &1_000.into())
            );
            assert!(socket.try_frame().await.is_none(), "nothing after it");
            return (cursor, last);
        }
        last = cursor;
    }
}

async fn follow(url: &str) -> Socket {
    let mut socket = Socket::open(url).await;
    socket.send(r#"{"op":"subscribe","ref":"s"}"#).await;
    socket.op("subscribed").await;
    socket
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everybody_is_told_and_it_ends_well() {
    let folder = tempfile::tempdir().unwrap();
    let exchange = start(folder.path(), 5_000);
    let url = exchange.url.clone();
    let (mut streams, mut sockets) = (Vec::new(), Vec::new());
    for _ in 0..READERS {
        streams.push(Events::open(&url, "/v1/stream", &[]).await.unwrap());
        sockets.push(follow(&url).await);
    }
    // It reads nothing and closes nothing.
    let never_closes = follow(&url).await;
    let idle = crate::raw::connect(&url).await.unwrap();
    let promised = Arc::new(AtomicUsize::new(0));
    let publishers: Vec<_> = (0..PUBLISHERS)
        .map(|publisher| {
            let promised = Arc::clone(&promised);
            tokio::spawn(publish_until_told(url.clone(), publisher, promised))
        })
        .collect();
    while promised.load(Ordering::Relaxed) < PUBLISHERS {
        tokio::task::yield_now().await;
    }
    exchange.signal(Signal::SIGTERM);
    within(async {
        while get(&url, "/readyz").await.status == 200 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    get(&url, "/readyz").await.refuses(503, "draining");
    assert_eq!(get(&url, "/healthz").await.status, 200);
    // Not ready, and still at work: nobody was told yet, because that comes after the last publish.
    let late = publish(&url, &envelope(99, 0)).await;
    assert_eq!(late.status, 201, "{}", late.text());
    let late = late.json()["cursor"].as_str().unwrap().to_owned();
    for reader in streams {
        let (cursor, last) = told_over_sse(reader).await;
        assert_eq!(cursor, last, "all it was sent, and no more");
        assert!(sequence(&cursor) >= sequence(&late));
    }
    for reader in sockets {
        let (cursor, last) = told_over_socket(reader).await;
        assert_eq!(cursor, last);
        assert!(sequence(&cursor) >= sequence(&late));
    }
    let mut receipts = vec![late];
    for publisher in publishers {
        receipts.extend(within(publisher).await.unwrap());
    }
    assert!(exchange.wait().success(), "the exit code is 0");
    drop((never_closes, idle));
    let exchange = Exchange::on(folder.path());
    let stored = get(&exchange.url, "/v1/messages?limit=1000").await;
    let head = stored.header("interwire-next-cursor").unwrap().to_owned();
    let mut count = stored.text().lines().count();
    let mut next = head;
    while count < receipts.len() {
        let page = get(
            &exchange.url,
            &format!("/v1/messages?limit=1000&from={next}"),
        )
        .await;
        let lines = page.text().lines().count();
        assert!(lines > 0, "{count} of {} are there", receipts.len());
        count += lines;
        next = page.header("interwire-next-cursor").unwrap().to_owned();
    }
    assert_eq!(count, receipts.len(), "what was refused is not there");
}

#[tokio::test]
async fn a_pipeline_is_answered_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let exchange = start(folder.path(), 0);
    let mut socket = Socket::open(&exchange.url).await;
    for n in 0..200 {
        let envelope = envelope(0, n);
        let frame = format!(r#"{{"op":"publish","ref":"{n}","envelope":{envelope}}}"#);
        socket.send(frame).await;
    }
    let mut accepted = vec![socket.op("receipt").await["receipt"]["id"].clone()];
    exchange.signal(Signal::SIGTERM);
    loop {
        let frame = socket.frame().await;
        match frame["op"].as_str().unwrap() {
            "receipt" => accepted.push(frame["receipt"]["id"].clone()),
            "fault" => {
                assert_eq!(frame["fault"]["code"], "draining");
                assert_eq!(frame["fault"]["retry_after_ms"], 1_000);
            }
            "draining" => break,
            other => panic!("unexpected {other}"),
        }
    }
    assert!(socket.try_frame().await.is_none());
    assert!(exchange.wait().success());
    let exchange = Exchange::on(folder.path());
    let stored = get(&exchange.url, "/v1/messages?limit=1000").await.text();
    let stored: Vec<Value> = stored
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].clone())
        .collect();
    assert_eq!(stored, accepted, "acknowledged and durable are the same");
}

#[tokio::test]
async fn who_comes_while_it_drains_is_told_when_to_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let exchange = start(folder.path(), 0);
    // Its data fills the connection, so that the drain waits for it.
    let stuck = Events::open(&exchange.url, "/v1/stream", &[])
        .await
        .unwrap();
    let payload = "x".repeat(500_000);
    for n in 0..40 {
        let large = envelope(0, n).replace("\"text\": \"", &format!("\"text\": \"{payload}"));
        assert_eq!(publish(&exchange.url, &large).await.status, 201);
    }
    exchange.signal(Signal::SIGTERM);
    let promised = Arc::new(AtomicUsize::new(0));
    publish_until_told(exchange.url.clone(), 1, promised).await;
    get(&exchange.url, "/readyz").await.refuses(503, "draining");
    let late = Events::open(&exchange.url, "/v1/stream", &[]).await;
    let late = late.expect_err("no new stream");
    assert_eq!(late.refuses(503, "draining")["retry_after_ms"], 1_000);
    assert_eq!(late.header("retry-after"), Some("1"));
    assert_eq!(get(&exchange.url, "/healthz").await.status, 200);
    // The second signal does not wait for anybody.
    exchange.signal(Signal::SIGTERM);
    assert_eq!(exchange.wait().code(), Some(1));
    drop(stuck);
}
