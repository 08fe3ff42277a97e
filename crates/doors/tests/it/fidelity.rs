//! Bytes out are the bytes that came in, on every way through the door.

use crate::world::{World, aee};
use tokio_tungstenite::tungstenite::Message;

/// Payloads that a parser with opinions would change.
fn odd_envelopes() -> Vec<String> {
    let payloads = [
        r#"{"n":9007199254740993,"b":12345678901234567890,"f":1.10,"e":1E+2,"z":-0.0}"#,
        r#"{"z":1,"a":{"y":1,"b":2},"":"empty key","unknown":[null,[],{}]}"#,
        "{\"sep\":\"\u{2028}\u{2029}\",\"glass\":\"\u{1f378}\",\"esc\":\"\\ud83c\\udf78\\/\\u0041\"}",
        "{ \"spaced\" :\t[ 1 , 2 ] }",
        "{\n  \"pretty\": true\n}",
        "{\r\n  \"windows\": true\r\n}",
    ];
    let mut envelopes: Vec<String> = payloads
        .iter()
        .enumerate()
        .map(|(at, payload)| aee(&format!("odd-{at}"), "agent.b", payload))
        .collect();
    envelopes.push(format!(" {}\n", aee("padded", "agent.b", "{}")));
    envelopes
}

fn base64(text: &str) -> Vec<u8> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let bits: Vec<u8> = text.bytes().filter(|c| *c != b'=').map(value).collect();
    let mut out = Vec::new();
    for group in bits.chunks(4) {
        let word = group
            .iter()
            .fold(0_u32, |word, six| word << 6 | u32::from(*six))
            << (6 * (4 - group.len()));
        out.extend_from_slice(&word.to_be_bytes()[1..group.len()]);
    }
    out
}

#[tokio::test]
async fn over_http_and_streams() {
    let world = World::start().await;
    for envelope in odd_envelopes() {
        world.publish(&envelope).await;
    }
    let mut events = world.stream("/v1/stream?from=earliest", &[]).await;
    for envelope in odd_envelopes() {
        let id = serde_json::from_str::<serde_json::Value>(&envelope).unwrap()["id"].clone();
        let stored = world
            .get(&format!("/v1/messages/{}", id.as_str().unwrap()))
            .await;
        assert_eq!(stored.text(), envelope);
        let event = events.event().await;
        let data = event.data.unwrap();
        let bytes = if event.name.as_deref() == Some("base64") {
            base64(&data)
        } else {
            data.into()
        };
        assert_eq!(String::from_utf8(bytes).unwrap(), envelope);
    }
    drop(events);
    world.stop().await;
}

#[tokio::test]
async fn over_a_socket_and_an_inbox() {
    let world = World::start().await;
    let mut socket = world.socket().await;
    let envelopes: Vec<String> = odd_envelopes()
        .iter()
        .map(|text| text.trim().to_owned())
        .collect();
    for envelope in &envelopes {
        let receipt = socket
            .ask(format!("{{\"op\":\"publish\",\"envelope\": {envelope} }}"))
            .await;
        assert_eq!(receipt["op"], "receipt", "{receipt}");
    }
    socket
        .ask(r#"{"op":"subscribe","ref":"s","from":"earliest"}"#)
        .await;
    for envelope in &envelopes {
        let frame = socket.text().await;
        assert!(
            frame.ends_with(&format!(",\"envelope\":{envelope}}}")),
            "{frame}"
        );
    }
    let pulled = world.get("/v1/inbox/agent.b?max=10").await.text();
    for envelope in &envelopes {
        assert!(
            pulled.contains(&format!(",\"envelope\":{envelope}}}")),
            "{pulled}"
        );
    }
    socket.send_message(Message::Close(None)).await;
    world.stop().await;
}

#[tokio::test]
async fn through_lines() {
    let world = World::start().await;
    let one_line: Vec<String> = odd_envelopes()
        .into_iter()
        .filter(|text| !text.contains('\n'))
        .collect();
    let body = one_line.join("\r\n");
    let results = world
        .post("/v1/messages", "application/x-ndjson", body)
        .await
        .lines();
    assert_eq!(results.len(), one_line.len());
    for (envelope, result) in one_line.iter().zip(results) {
        assert_eq!(result["status"], "accepted", "{result}");
        let id = result["receipt"]["id"].as_str().unwrap();
        assert_eq!(
            world.get(&format!("/v1/messages/{id}")).await.text(),
            *envelope
        );
    }
    world.stop().await;
}

#[tokio::test]
async fn ill_formed_text_is_refused_where_it_stands() {
    let world = World::start().await;
    let cases = [
        (
            aee("m-1", "agent.b", r#"{"s":"\ud800"}"#),
            "invalid_unicode",
            "/payload/s",
        ),
        (
            aee("m-2", "agent.b", r#"{"a":1,"a":2}"#),
            "duplicate_key",
            "/payload/a",
        ),
    ];
    for (envelope, code, pointer) in cases {
        let refused = world
            .post("/v1/messages", "", envelope.clone())
            .await
            .refuses(400, code);
        assert_eq!(refused["pointer"], pointer);
        let mut socket = world.socket().await;
        let frame = format!("{{\"op\":\"publish\",\"ref\":\"r\",\"envelope\":{envelope}}}");
        let fault = socket.ask(frame).await;
        assert_eq!(fault["fault"]["code"], code);
        assert_eq!(fault["fault"]["pointer"], format!("/envelope{pointer}"));
        assert_eq!(socket.ask(r#"{"op":"ping"}"#).await["op"], "pong");
    }
    world.stop().await;
}
