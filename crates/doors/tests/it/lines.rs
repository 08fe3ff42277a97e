//! Publishing many envelopes as lines.

use crate::world::{Answer, World, aee, within};
use broker::Settings;
use futures_util::{StreamExt as _, stream};
use interwire_doors::http::HttpSettings;
use tokio::sync::mpsc;

const LINES: &str = "application/x-ndjson";

#[tokio::test]
async fn one_bad_line_among_a_thousand_costs_only_itself() {
    let world = World::start().await;
    let mut body = String::new();
    for number in 0..1_000 {
        match number {
            500 => body.push_str("garbage\n\n"),
            _ => body.push_str(&format!(
                "{}\n",
                aee(&format!("m-{number}"), "agent.b", "{}")
            )),
        }
    }
    let results = world.post("/v1/messages", LINES, body).await.lines();
    assert_eq!(results.len(), 1_000);
    for (place, result) in results.iter().enumerate() {
        let line = if place > 500 { place + 2 } else { place + 1 };
        assert_eq!(result["line"], line);
        if place == 500 {
            assert_eq!(result["status"], "refused");
            assert_eq!(result["fault"]["code"], "malformed_json");
            assert_eq!(result["fault"]["pointer"], "/500");
        } else {
            assert_eq!(result["status"], "accepted", "{result}");
            assert_eq!(result["receipt"]["id"], format!("m-{place}"));
        }
    }
    world.stop().await;
}

#[tokio::test]
async fn duplicates_and_faults_are_told_line_by_line() {
    let world = World::start().await;
    let good = aee("m-1", "agent.b", "{}");
    let conflict = aee("m-1", "agent.c", "{}");
    let incomplete = r#"{"v":"1","id":"m-2","ts":"2026-02-28T10:30:00Z","type":"task"}"#;
    let body = format!("{good}\n{good}\n{conflict}\n{incomplete}\n{good}");
    let results = world.post("/v1/messages", LINES, body).await.lines();
    let words: Vec<_> = results
        .iter()
        .map(|result| result["status"].as_str().unwrap())
        .collect();
    assert_eq!(
        words,
        ["accepted", "duplicate", "refused", "refused", "duplicate"]
    );
    assert_eq!(
        results[1]["receipt"]["cursor"],
        results[0]["receipt"]["cursor"]
    );
    assert_eq!(results[2]["fault"]["code"], "id_conflict");
    let pointer = results[3]["fault"]["errors"][0]["pointer"]
        .as_str()
        .unwrap();
    assert!(pointer.starts_with("/3"), "{pointer}");
    world.stop().await;
}

#[tokio::test]
async fn a_line_over_the_limit_is_one_fault() {
    let mut settings = Settings::default();
    settings.rules.envelope_bytes_max = 600;
    let world = World::with(settings, HttpSettings::default()).await;
    let long = aee("m-2", "agent.b", &format!("\"{}\"", "x".repeat(300_000)));
    let body = format!(
        "{}\n{long}\n{}\n",
        aee("m-1", "agent.b", "{}"),
        aee("m-3", "agent.b", "{}")
    );
    let results = world.post("/v1/messages", LINES, body).await.lines();
    let words: Vec<_> = results
        .iter()
        .map(|result| result["status"].as_str().unwrap())
        .collect();
    assert_eq!(words, ["accepted", "refused", "accepted"]);
    assert_eq!(results[1]["fault"]["code"], "too_large");
    world.stop().await;
}

#[tokio::test]
async fn a_body_over_its_limit_keeps_the_lines_before_the_end() {
    let http = HttpSettings {
        ndjson_bytes_max: 1_000,
        ..HttpSettings::default()
    };
    let world = World::with(Settings::default(), http).await;
    let lines = (0..2_000).map(|number| aee(&format!("m-{number}"), "agent.b", "{}") + "\n");
    let lines = stream::iter(lines.map(Ok::<_, std::io::Error>));
    let request = world
        .client
        .post(world.url("/v1/messages"))
        .header("content-type", LINES);
    let response = within(request.body(reqwest::Body::wrap_stream(lines)).send())
        .await
        .unwrap();
    let results = Answer::of(response).await.lines();
    let (last, first) = results.split_last().unwrap();
    assert_eq!(last["fault"]["code"], "too_large");
    assert!(first.iter().all(|result| result["status"] == "accepted"));
    world.stop().await;
}

#[tokio::test]
async fn results_come_while_lines_are_still_sent() {
    let world = World::start().await;
    let (lines, body) = mpsc::unbounded_channel::<Result<String, std::io::Error>>();
    let body = stream::unfold(
        body,
        |mut body| async move { Some((body.recv().await?, body)) },
    );
    let request = world
        .client
        .post(world.url("/v1/messages"))
        .header("content-type", LINES);
    let response = within(request.body(reqwest::Body::wrap_stream(body)).send())
        .await
        .unwrap();
    let mut results = response.bytes_stream();
    for number in 0..3 {
        lines
            .send(Ok(aee(&format!("m-{number}"), "agent.b", "{}") + "\n"))
            .unwrap();
        let result = within(results.next()).await.unwrap().unwrap();
        let result: serde_json::Value = serde_json::from_slice(&result).unwrap();
        assert_eq!(result["receipt"]["id"], format!("m-{number}"));
    }
    drop(lines);
    assert!(within(results.next()).await.is_none());
    world.stop().await;
}

#[tokio::test]
async fn a_client_that_writes_all_before_it_reads_is_served() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let world = World::start().await;
    let body: String = (0..8_000)
        .map(|number| aee(&format!("m-{number}"), "agent.b", "{}") + "\n")
        .collect();
    let head = format!(
        "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: {LINES}\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    let mut connection = tokio::net::TcpStream::connect(world.address).await.unwrap();
    within(connection.write_all((head + &body).as_bytes()))
        .await
        .unwrap();
    let mut answer = String::new();
    within(connection.read_to_string(&mut answer))
        .await
        .unwrap();
    assert_eq!(answer.matches("\"status\":\"accepted\"").count(), 8_000);
    world.stop().await;
}

#[tokio::test]
async fn a_body_of_nothing_but_bad_lines_is_answered() {
    let world = World::start().await;
    for count in [1, 2, 2_000] {
        let body = "garbage\n".repeat(count);
        let results = world.post("/v1/messages", LINES, body).await.lines();
        assert_eq!(results.len(), count);
        assert!(results.iter().all(|result| result["status"] == "refused"));
    }
    world.stop().await;
}

#[tokio::test]
async fn an_empty_body_has_no_results() {
    let world = World::start().await;
    let answer = world.post("/v1/messages", LINES, " \n\r\n").await;
    assert_eq!((answer.status, answer.text()), (200, String::new()));
    world.stop().await;
}

#[tokio::test]
async fn a_client_that_leaves_keeps_what_it_was_told() {
    let world = World::start().await;
    let (lines, body) = mpsc::unbounded_channel::<Result<String, std::io::Error>>();
    let body = stream::unfold(
        body,
        |mut body| async move { Some((body.recv().await?, body)) },
    );
    let request = world
        .client
        .post(world.url("/v1/messages"))
        .header("content-type", LINES);
    let response = within(request.body(reqwest::Body::wrap_stream(body)).send())
        .await
        .unwrap();
    let mut results = response.bytes_stream();
    let whole = aee("m-1", "agent.b", "{}") + "\n";
    let half: String = aee("m-2", "agent.b", "{}").chars().take(40).collect();
    lines.send(Ok(whole + &half)).unwrap();
    within(results.next()).await.unwrap().unwrap();
    drop((results, lines));
    assert_eq!(world.get("/v1/messages/m-1").await.status, 200);
    assert_eq!(world.get("/v1/messages?from=latest").await.status, 200);
    world
        .get("/v1/messages/m-2")
        .await
        .refuses(404, "not_found");
    world.stop().await;
}
