//! T16: times are taken as they are written or refused by their form; order never comes from them, nor
//! from ids; and our own ids grow whatever the clock does.

use crate::process::Exchange;
use crate::raw::{Socket, get, publish};
use client::Ids;
use protocol::Timestamp;
use protocol::id::Ulid;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// The seed's own sample, but for its id and `ts`.
fn sample(id: &str, ts: &str) -> String {
    format!(
        "{{\"v\":\"1\",\"id\":\"{id}\",\"ts\":\"{ts}\",\"type\":\"task\",\"from\":\"human.adam\",\
         \"to\":\"agent.sentinel\",\"intent\":\"quox.security.scan\",\
         \"corr\":\"CONV_01JFX7K0A2B4C6D8E0F2G4H6J8\",\"reply_to\":null,\"trace\":null,\
         \"priority\":\"high\",\"payload\":{{\"target\":\"nw-web-01\"}}}}"
    )
}

const ZONED: [&str; 3] = [
    "2026-02-28T10:30:00Z",
    "2026-02-28T10:30:00.123456789Z",
    "2026-02-28T10:30:00+02:00",
];

const UNZONED: [&str; 2] = ["2026-02-28 10:30:00", "2026-02-28T10:30:00"];

/// Publishes over HTTP or a socket; the receipt, or the fault.
async fn over(is_socket: bool, url: &str, envelope: &str) -> Result<Value, Value> {
    if is_socket {
        let mut socket = Socket::open(url).await;
        let frame = format!(r#"{{"op":"publish","ref":"p","envelope":{envelope}}}"#);
        let answer = socket.ask(frame).await;
        match answer["op"].as_str() {
            Some("receipt") => Ok(answer["receipt"].clone()),
            _ => Err(answer["fault"].clone()),
        }
    } else {
        let answer = publish(url, envelope).await;
        match answer.status {
            201 => Ok(answer.json()),
            _ => Err(answer.json()),
        }
    }
}

/// The warnings of a receipt about `pointer`, by code.
fn warnings<'r>(receipt: &'r Value, pointer: &str) -> Vec<&'r str> {
    let all = receipt["warnings"].as_array().unwrap().iter();
    all.filter(|warning| warning["pointer"] == pointer)
        .map(|warning| warning["code"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn times_with_a_zone_are_forwarded_as_written_and_others_depend_on_the_mode() {
    for (mode, is_socket) in [
        ("strict", false),
        ("strict", true),
        ("lenient", false),
        ("lenient", true),
    ] {
        let exchange = Exchange::start(&[
            "--listen",
            "127.0.0.1:0",
            "--ephemeral",
            "--set",
            &format!("mode={mode}"),
        ]);
        let ids = Ids::new();
        let mut sent = Vec::new();
        for ts in ZONED {
            let envelope = sample(&ids.next().to_string(), ts);
            let receipt = over(is_socket, &exchange.url, &envelope).await.unwrap();
            assert!(warnings(&receipt, "/ts").is_empty(), "{mode} {receipt}");
            sent.push(envelope);
        }
        for ts in UNZONED {
            let envelope = sample(&ids.next().to_string(), ts);
            let answer = over(is_socket, &exchange.url, &envelope).await;
            if mode == "lenient" {
                assert_eq!(warnings(&answer.unwrap(), "/ts"), ["timestamp_malformed"]);
                sent.push(envelope);
            } else {
                let fault = answer.unwrap_err();
                assert_eq!(fault["code"], "timestamp_malformed", "{fault}");
                assert!(fault["pointer"].as_str().unwrap().ends_with("/ts"));
            }
        }
        // In the order in which they came, each as it was written.
        let page = get(&exchange.url, "/v1/messages").await.text();
        assert_eq!(page.lines().collect::<Vec<_>>(), sent);
    }
}

#[tokio::test]
async fn the_seeds_sample_is_taken_although_its_id_is_much_older() {
    let exchange = Exchange::in_memory();
    let envelope = sample("01JFX7K2M4N8P1Q3R5S7T9V0W2", ZONED[0]);
    let receipt = over(false, &exchange.url, &envelope).await.unwrap();
    assert_eq!(warnings(&receipt, "/id"), ["id_time_skew"]);
    // An older id and an older time come after it all the same.
    let older = sample("01HFX7K2M4N8P1Q3R5S7T9V0W2", "2023-11-16T10:30:00Z");
    over(true, &exchange.url, &older).await.unwrap();
    let page = get(&exchange.url, "/v1/messages").await.text();
    assert_eq!(page.lines().collect::<Vec<_>>(), [envelope, older]);
}

#[test]
fn ids_of_eight_threads_grow_while_the_clock_steps_back() {
    // Every look at the clock is a millisecond later, and every thousandth five seconds earlier.
    let looks = AtomicI64::new(0);
    let ids = Arc::new(Ids::with_clock(move || {
        let look = looks.fetch_add(1, Ordering::Relaxed);
        Timestamp::from_millis(1_772_274_600_000 + look - look / 1_000 * 5_000)
    }));
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let ids = Arc::clone(&ids);
            std::thread::spawn(move || (0..10_000).map(|_| ids.next()).collect::<Vec<Ulid>>())
        })
        .collect();
    let drawn: Vec<Vec<Ulid>> = threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect();
    for own in &drawn {
        assert!(own.is_sorted_by(|one, next| one < next), "in each thread");
        let texts: Vec<_> = own.iter().map(Ulid::to_string).collect();
        assert!(texts.is_sorted(), "as text, too");
    }
    let mut all = drawn.concat();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 80_000, "no two are the same");
    // The next one is greater than whatever any thread has.
    assert!(ids.next() > *all.last().unwrap());
}
