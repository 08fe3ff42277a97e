//! T15: bytes out are the bytes that came in, on every way in and every way out; what no reader could
//! agree on is refused where it stands, and the connection stays usable.

use crate::process::Exchange;
use crate::raw::{Socket, ask, get, publish};
use client::{Client, Event, Filter, From, Place, SocketEvent};
use std::time::Duration;

/// An envelope with a payload exactly as written.
fn with_payload(id: &str, payload: &str) -> String {
    format!(
        "{{\"v\":\"1\",\"id\":\"{id}\",\"ts\":\"2026-02-28T10:30:00Z\",\"type\":\"task\",\
         \"from\":\"human.adam\",\"to\":\"agent.b\",\"intent\":\"quox.security.scan\",\
         \"corr\":\"conversation-1\",\"reply_to\":null,\"trace\":null,\"priority\":\"high\",\
         \"requires\":null,\"payload\":{payload},\"sig\":null}}"
    )
}

/// Envelopes that a program with opinions would change.
fn odd_envelopes(way: &str) -> Vec<String> {
    let payloads = [
        // The case's own.
        "{\"n\":9007199254740993,\"b\":12345678901234567890,\"f\":1.10,\"s\":\"\\ud83c\\udf78\",\"sep\":\"\u{2028}\"}",
        r#"{"e":1E+2,"z":-0.0,"tiny":1e-400}"#,
        r#"{"z":1,"a":{"y":1,"b":2},"":"empty key","unknown":[null,[],{}]}"#,
        "{\"sep\":\"\u{2029}\",\"glass\":\"\u{1f378}\",\"esc\":\"\\ud83c\\udf78\\/\\u0041\"}",
        "{ \"spaced\" :\t[ 1 , 2 ] }",
        "{\n  \"pretty\": true\n}",
        "{\r\n  \"windows\": true\r\n}",
        "{\r\"mac\": \r true}",
        "{\n\n \t\n\"loose\":1}",
    ];
    let ids = (1..).map(|n| format!("{way}-message-{n}"));
    let odd = payloads.into_iter().zip(ids);
    odd.map(|(payload, id)| with_payload(&id, payload))
        .collect()
}

fn id_of(envelope: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(envelope).unwrap();
    value["id"].as_str().unwrap().to_owned()
}

/// Everything is read back, through every door, exactly as it was sent.
async fn expect_everywhere(exchange: &Exchange, sent: &[String]) {
    let client = exchange.client();
    for envelope in sent {
        let path = format!("/v1/messages/{}", id_of(envelope));
        assert_eq!(get(&exchange.url, &path).await.text(), *envelope, "look-up");
    }
    assert_eq!(by_stream(&client, sent.len()).await, sent, "SSE");
    assert_eq!(by_socket(&client, sent.len()).await, sent, "socket");
    let page = get(&exchange.url, "/v1/messages").await.text();
    let lines: Vec<_> = page.lines().collect();
    // A line cannot hold a line break; in JSON it can only be insignificant space.
    let one_line = |text: &String| text.replace(['\n', '\r'], " ");
    assert_eq!(lines, sent.iter().map(one_line).collect::<Vec<_>>(), "page");
    // The first half over a socket, the rest over HTTP: what is acknowledged comes once.
    let place = Place::Inbox("agent.b".into());
    let (first, rest) = sent.split_at(sent.len() / 2);
    assert_eq!(leased(&client, &place, first.len()).await, first, "durable");
    // The socket may have more in hand by now; that comes over when it has left, at once or in parts.
    let mut pulled = Vec::new();
    while pulled.len() < rest.len() {
        let more = client.pull(&place, rest.len(), Duration::from_secs(30));
        let more = more.await.unwrap();
        assert!(
            !more.is_empty(),
            "only {} of {} came",
            pulled.len(),
            rest.len()
        );
        pulled.extend(more.into_iter().map(|one| one.envelope));
    }
    assert_eq!(pulled, rest, "inbox");
}

async fn by_stream(client: &Client, count: usize) -> Vec<bytes::Bytes> {
    let mut live = client.subscribe(Filter::new(), From::Earliest);
    let mut read = Vec::new();
    while read.len() < count {
        if let Event::Envelope { envelope, .. } = live.next().await.unwrap() {
            read.push(envelope);
        }
    }
    read
}

async fn by_socket(client: &Client, count: usize) -> Vec<bytes::Bytes> {
    let socket = client.socket().await.unwrap();
    let everything = Filter::new();
    let mut reader = socket
        .subscribe(&everything, &From::Earliest)
        .await
        .unwrap();
    let mut read = Vec::new();
    while read.len() < count {
        if let Some(SocketEvent::Deliver(delivery)) = reader.next().await.unwrap() {
            read.push(delivery.envelope);
        }
    }
    read
}

async fn leased(client: &Client, place: &Place, count: usize) -> Vec<bytes::Bytes> {
    let socket = client.socket().await.unwrap();
    let mut reader = socket.read(place, count).await.unwrap();
    let (mut read, mut ids) = (Vec::new(), Vec::new());
    while read.len() < count {
        if let Some(SocketEvent::Deliver(delivery)) = reader.next().await.unwrap() {
            ids.push(delivery.delivery.expect("a lease"));
            read.push(delivery.envelope);
        }
    }
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let settled = socket.ack(&ids).await.unwrap();
    assert!(settled.iter().all(Result::is_ok), "{settled:?}");
    read
}

#[tokio::test]
async fn in_over_http_and_out_everywhere() {
    let exchange = Exchange::in_memory();
    let mut sent = odd_envelopes("http");
    for envelope in &sent {
        assert_eq!(publish(&exchange.url, envelope).await.status, 201);
    }
    expect_everywhere(&exchange, &sent).await;
    // Space around an envelope is part of what was sent; only frames cannot carry it.
    sent.push(format!(" {}\n", with_payload("padded-message", "{}")));
    let padded = sent.last().unwrap();
    assert_eq!(publish(&exchange.url, padded).await.status, 201);
    let stored = get(&exchange.url, "/v1/messages/padded-message").await;
    assert_eq!(stored.text(), *padded);
    assert_eq!(by_stream(&exchange.client(), sent.len()).await, sent);
}

#[tokio::test]
async fn in_over_a_socket_and_out_everywhere() {
    let exchange = Exchange::in_memory();
    let sent = odd_envelopes("socket");
    let mut socket = Socket::open(&exchange.url).await;
    for envelope in &sent {
        let frame = format!("{{\"op\":\"publish\",\"envelope\": {envelope} }}");
        assert_eq!(socket.ask(frame).await["op"], "receipt");
    }
    expect_everywhere(&exchange, &sent).await;
}

#[tokio::test]
async fn in_as_lines_and_out_everywhere() {
    let exchange = Exchange::in_memory();
    let mut sent = odd_envelopes("lines");
    sent.retain(|envelope| !envelope.contains('\n'));
    let media = [("content-type", "application/x-ndjson")];
    let body = sent.join("\r\n");
    let answer = ask(&exchange.url, "POST /v1/messages", &media, &body).await;
    assert_eq!(answer.text().matches("\"accepted\"").count(), sent.len());
    expect_everywhere(&exchange, &sent).await;
}

#[tokio::test]
async fn what_no_reader_could_agree_on_is_refused_where_it_stands() {
    let exchange = Exchange::in_memory();
    let media = [("content-type", "application/x-ndjson")];
    let mut socket = Socket::open(&exchange.url).await;
    for (payload, code, pointer) in [
        (r#"{"s":"\ud800"}"#, "invalid_unicode", "/payload/s"),
        (r#"{"a":1,"a":2}"#, "duplicate_key", "/payload/a"),
    ] {
        let envelope = with_payload("refused-message", payload);
        let refused = publish(&exchange.url, &envelope).await.refuses(400, code);
        assert_eq!(refused["pointer"], pointer);
        let good = with_payload(&format!("good-after-{code}"), "{}");
        let body = format!("{envelope}\n{good}");
        let answer = ask(&exchange.url, "POST /v1/messages", &media, &body).await;
        let lines = answer.text();
        let (first, second) = lines.split_once('\n').unwrap();
        assert!(first.contains(&format!("\"code\":\"{code}\"")), "{first}");
        assert!(second.contains("\"accepted\""), "{second}");
        let frame = format!("{{\"op\":\"publish\",\"ref\":\"r\",\"envelope\":{envelope}}}");
        let fault = socket.ask(frame).await["fault"].clone();
        assert_eq!(
            (&fault["code"], &fault["status"]),
            (&code.into(), &400.into())
        );
        assert_eq!(fault["pointer"], format!("/envelope{pointer}"));
        let frame = format!("{{\"op\":\"publish\",\"ref\":\"r\",\"envelope\":{good}}}");
        assert_eq!(socket.ask(frame).await["receipt"]["duplicate"], true);
    }
}
