//! T2: a reader that asks for what is no longer kept is told exactly what it does not get, or is refused
//! with the range that it could have; what is kept follows without a seam.

use crate::process::{Exchange, run, task};
use crate::raw::{Events, Socket, get};
use journal::{Journal, Options, RealDisk};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

const SEGMENT_BYTES: u64 = 65_536;

fn start(folder: &Path) -> Exchange {
    let folder = folder.to_str().unwrap();
    let segment = format!("segment_bytes={SEGMENT_BYTES}");
    Exchange::start(&[
        "--listen",
        "127.0.0.1:0",
        "--data",
        folder,
        "--set",
        &segment,
    ])
}

/// To whoever listens, so that it waits in nobody's inbox; five fill a segment.
fn envelope(n: usize) -> String {
    let filling = format!("\"filling\":\"{}\",\"text\":", "x".repeat(12_900));
    task(&format!("message-{n:02}"), "bus.load", "conversation-1").replace("\"text\":", &filling)
}

/// Twenty messages, of which the last five are kept; their cursors, from that before the first on.
async fn keeps_five_of_twenty(folder: &Path) -> (Exchange, Vec<String>) {
    let exchange = start(folder);
    let client = exchange.client();
    let mut cursors = Vec::new();
    for n in 1..=20 {
        let receipt = client.publish(envelope(n)).await.unwrap();
        if cursors.is_empty() {
            let (place, _) = receipt.cursor.rsplit_once('-').unwrap();
            cursors.push(format!("{place}-0"));
        }
        cursors.push(receipt.cursor);
    }
    exchange.signal(nix::sys::signal::Signal::SIGTERM);
    assert!(exchange.wait().success());
    let options = Options {
        segment_bytes: SEGMENT_BYTES,
        ..Options::new(0)
    };
    let disk = Arc::new(RealDisk::open(folder).unwrap());
    let journal = Journal::open(disk, options).unwrap();
    assert_eq!(journal.drop_before(16).unwrap().records, 15);
    journal.close().unwrap();
    (start(folder), cursors)
}

fn gap(cursors: &[String], from: usize) -> Value {
    json!({
        "from": cursors[from], "to": cursors[15], "count": 16 - from, "exact": false,
        "reason": "retention"
    })
}

#[tokio::test]
async fn over_server_sent_events() {
    let folder = tempfile::tempdir().unwrap();
    let (exchange, cursors) = keeps_five_of_twenty(folder.path()).await;
    let url = exchange.url.as_str();
    let last_event_id = [("last-event-id", cursors[3].as_str())];
    let by_cursor = format!("/v1/stream?from={}", cursors[3]);
    let skipping = format!("{by_cursor}&on_gap=skip");
    // A time from which on something is gone is not known to be complete either.
    let by_time = "/v1/stream?from=2020-01-01T00:00:00Z";
    for (path, headers, from) in [
        (by_cursor.as_str(), &[][..], 4),
        (&skipping, &[], 4),
        ("/v1/stream", &last_event_id, 4),
        (by_time, &[], 1),
    ] {
        let mut events = Events::open(url, path, headers).await.unwrap();
        let told = events.control("gap").await;
        assert_eq!(told.json(), gap(&cursors, from), "{path}");
        assert_eq!(
            told.id.as_ref(),
            Some(&cursors[15]),
            "it is a place to resume"
        );
        for cursor in &cursors[16..] {
            let event = events.event().await;
            assert_eq!((event.event, event.id.as_ref()), (None, Some(cursor)));
        }
        events.control("caught_up").await;
    }
    // What is asked for is all there: no gap.
    for from in ["earliest", &cursors[15]] {
        let path = format!("/v1/stream?on_gap=fail&from={from}");
        let mut events = Events::open(url, &path, &[]).await.unwrap();
        assert_eq!(events.event().await.id.as_ref(), Some(&cursors[16]));
    }
    for path in [
        format!("{by_cursor}&on_gap=fail"),
        format!("{by_time}&on_gap=fail"),
    ] {
        let refused = Events::open(url, &path, &[]).await.expect_err("a refusal");
        let problem = refused.refuses(410, "cursor_expired");
        assert_eq!(problem["earliest"], cursors[15], "{problem}");
        assert_eq!(problem["head"], cursors[20]);
    }
}

#[tokio::test]
async fn over_a_socket() {
    let folder = tempfile::tempdir().unwrap();
    let (exchange, cursors) = keeps_five_of_twenty(folder.path()).await;
    let mut socket = Socket::open(&exchange.url).await;
    let from = &cursors[3];
    socket
        .send(format!(r#"{{"op":"subscribe","ref":"s","from":"{from}"}}"#))
        .await;
    assert_eq!(socket.op("subscribed").await["cursor"], *from);
    let mut told = socket.op("gap").await;
    for (name, value) in [("op", "gap"), ("ref", "s"), ("cursor", &cursors[15])] {
        let member = told.as_object_mut().unwrap().remove(name);
        assert_eq!(member, Some(value.into()), "{name}");
    }
    assert_eq!(told, gap(&cursors, 4));
    for cursor in &cursors[16..] {
        assert_eq!(socket.op("deliver").await["cursor"], *cursor);
    }
    socket.op("caught_up").await;
    let fail = format!(r#"{{"op":"subscribe","ref":"f","from":"{from}","on_gap":"fail"}}"#);
    let fault = socket.ask(fail).await["fault"].clone();
    assert_eq!(fault["code"], "cursor_expired");
    assert_eq!(
        (&fault["earliest"], &fault["head"]),
        (&json!(cursors[15]), &json!(cursors[20]))
    );
    // The reader has ended; its name is free and the socket lives on.
    let latest = socket.ask(r#"{"op":"subscribe","ref":"f"}"#).await;
    assert_eq!(latest["op"], "subscribed");
}

#[tokio::test]
async fn in_pages() {
    let folder = tempfile::tempdir().unwrap();
    let (exchange, cursors) = keeps_five_of_twenty(folder.path()).await;
    let url = exchange.url.as_str();
    let path = format!("/v1/messages?from={}", cursors[3]);
    let refused = get(url, &path).await.refuses(410, "cursor_expired");
    assert_eq!(refused["earliest"], cursors[15]);
    let page = get(url, &format!("{path}&on_gap=skip&limit=2")).await;
    let told: Value = serde_json::from_str(page.header("interwire-gap").unwrap()).unwrap();
    assert_eq!(told, gap(&cursors, 4));
    assert_eq!(
        page.header("interwire-next-cursor"),
        Some(cursors[17].as_str())
    );
    assert_eq!(page.text().lines().count(), 2);
    let rest = get(url, &format!("/v1/messages?from={}", cursors[17])).await;
    assert_eq!(
        (rest.text().lines().count(), rest.header("interwire-gap")),
        (3, None)
    );
    let all = get(url, "/v1/messages?from=earliest").await;
    assert_eq!(
        (all.text().lines().count(), all.header("interwire-gap")),
        (5, None)
    );
}

/// An exchange that keeps little, in files only, and a publisher.
fn keeps_little() -> Exchange {
    let segment = format!("segment_bytes={SEGMENT_BYTES}");
    let set = [
        segment.as_str(),
        "retention_records=20",
        "ring_bytes_max=0",
        "http.write_stall_ms=3600000",
    ];
    let mut arguments = vec!["--listen", "127.0.0.1:0", "--ephemeral"];
    for setting in set {
        arguments.extend(["--set", setting]);
    }
    Exchange::start(&arguments)
}

const PASSING: usize = 200;

/// Publishes past readers that do not read, until the messages after the first hundred are gone.
async fn overtake(exchange: &Exchange) {
    let client = exchange.client();
    let mut hundredth = String::new();
    for n in 1..=PASSING {
        let cursor = client.publish(envelope(n)).await.unwrap().cursor;
        if n == 100 {
            hundredth = cursor;
        }
    }
    let path = format!("/v1/messages?limit=1&from={hundredth}");
    crate::raw::within(async {
        while get(&exchange.url, &path).await.status != 410 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// What a reader saw: numbers of messages, and one gap among them, must be everything in order.
fn nothing_is_passed_over(before: usize, gap: &Value, after: &[usize]) {
    assert_eq!(
        (&gap["reason"], &gap["exact"]),
        (&json!("retention"), &json!(true))
    );
    let missing = usize::try_from(gap["count"].as_u64().unwrap()).unwrap();
    assert!(
        before > 0 && missing > 0,
        "{before} read, {missing} missing"
    );
    let expected: Vec<_> = (before + missing + 1..=PASSING).collect();
    assert_eq!(after, expected);
}

fn number(text: &str) -> usize {
    let (_, rest) = text.split_once("\"message-").unwrap();
    let digits = rest.split('"').next().unwrap();
    digits.parse().unwrap()
}

#[tokio::test]
async fn a_stream_that_is_overtaken_is_told_in_the_middle() {
    let exchange = keeps_little();
    let url = exchange.url.as_str();
    let mut stalled = Events::open(url, "/v1/stream", &[]).await.unwrap();
    stalled.control("caught_up").await;
    let strict = Events::open(url, "/v1/stream?on_gap=fail", &[]).await;
    let mut strict = strict.unwrap();
    strict.control("caught_up").await;
    overtake(&exchange).await;
    let (mut before, mut gap, mut after) = (0, Value::Null, Vec::new());
    while after.last() != Some(&PASSING) {
        let event = stalled.event().await;
        match event.event.as_deref() {
            Some("gap") => gap = event.json(),
            None if gap.is_null() => {
                before += 1;
                assert_eq!(number(&event.data.unwrap()), before);
            }
            None => after.push(number(&event.data.unwrap())),
            Some(other) => panic!("{other}"),
        }
    }
    nothing_is_passed_over(before, &gap, &after);
    let (mut seen, mut last) = (0, String::new());
    let fault = loop {
        let event = strict.event().await;
        if event.event.as_deref() == Some("fault") {
            break event;
        }
        seen += 1;
        assert_eq!(number(&event.data.unwrap()), seen);
        last = event.id.unwrap();
    };
    assert_eq!(fault.json()["code"], "cursor_expired");
    assert!(fault.json()["earliest"].is_string() && fault.json()["head"].is_string());
    assert_eq!(
        fault.id,
        Some(last),
        "it may go on from what it has, if it wants"
    );
    assert!(strict.block().await.is_none());
}

#[tokio::test]
async fn a_socket_that_is_overtaken_is_told_in_the_middle() {
    let exchange = keeps_little();
    let mut stalled = Socket::open(&exchange.url).await;
    stalled.send(r#"{"op":"subscribe","ref":"s"}"#).await;
    stalled.op("subscribed").await;
    stalled.op("caught_up").await;
    overtake(&exchange).await;
    let (mut before, mut gap, mut after) = (0, Value::Null, Vec::new());
    while after.last() != Some(&PASSING) {
        let frame = stalled.frame().await;
        match frame["op"].as_str().unwrap() {
            "gap" => gap = frame,
            "deliver" if gap.is_null() => {
                before += 1;
                assert_eq!(number(&frame.to_string()), before);
            }
            "deliver" => after.push(number(&frame.to_string())),
            other => panic!("{other}"),
        }
    }
    nothing_is_passed_over(before, &gap, &after);
}

#[tokio::test]
async fn the_verb_says_it_or_stops() {
    let folder = tempfile::tempdir().unwrap();
    let (exchange, cursors) = keeps_five_of_twenty(folder.path()).await;
    let tail = |more: &[&str]| {
        let arguments = [
            "tail",
            "--url",
            &exchange.url,
            "--json",
            "--until-caught-up",
        ];
        run(&[&arguments[..], &["--from", &cursors[3]], more].concat())
    };
    let skipped = tail(&[]);
    assert_eq!((skipped.code, skipped.out.lines().count()), (Some(0), 5));
    let told = format!(
        "gap: 12 records are missing, {} to {}",
        cursors[4], cursors[15]
    );
    assert!(skipped.err.contains(&told), "{}", skipped.err);
    let stopped = tail(&["--on-gap", "fail"]);
    assert_eq!((stopped.code, stopped.out.as_str()), (Some(1), ""));
    assert!(stopped.err.contains("cursor_expired"), "{}", stopped.err);
}
