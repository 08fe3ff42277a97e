//! Every refusal is a problem document, whoever refused.

use crate::world::{Answer, World, aee, within};
use broker::Settings;
use interwire_doors::http::HttpSettings;
use reqwest::Method;

async fn send(world: &World, method: Method, path: &str) -> Answer {
    Answer::of(
        within(world.client.request(method, world.url(path)).send())
            .await
            .unwrap(),
    )
    .await
}

#[tokio::test]
async fn unknown_routes_and_wrong_methods_are_named() {
    let world = World::start().await;
    for path in [
        "/nothing",
        "/v1",
        "/v1/messages/",
        "/v1/messages/a/b",
        "/V1/messages",
    ] {
        world.get(path).await.refuses(404, "route_not_found");
    }
    let wrong = send(&world, Method::DELETE, "/v1/messages").await;
    wrong.refuses(405, "method_not_allowed");
    assert_eq!(wrong.header("allow"), "POST, GET, HEAD, OPTIONS");
    let wrong = send(&world, Method::PATCH, "/v1/subscriptions/s").await;
    wrong.refuses(405, "method_not_allowed");
    assert_eq!(wrong.header("allow"), "GET, HEAD, PUT, DELETE, OPTIONS");
    world.stop().await;
}

#[tokio::test]
async fn options_and_head_are_answered() {
    let world = World::start().await;
    let options = send(&world, Method::OPTIONS, "/v1/messages").await;
    assert_eq!(
        (options.status, options.header("allow")),
        (204, "POST, GET, HEAD, OPTIONS")
    );
    world.publish(&aee("m-1", "agent.b", "{}")).await;
    for path in ["/healthz", "/v1/messages/m-1", "/v1/stream", "/"] {
        let head = send(&world, Method::HEAD, path).await;
        assert_eq!((head.status, head.body.len()), (200, 0), "{path}");
    }
    assert_eq!(
        send(&world, Method::HEAD, "/v1/messages/m-2").await.status,
        404
    );
    world.stop().await;
}

#[tokio::test]
async fn content_types_and_broken_requests_are_refused() {
    let world = World::start().await;
    let envelope = aee("m-1", "agent.b", "{}");
    for media in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/json; charset=latin1",
    ] {
        let refused = world.post("/v1/messages", media, envelope.clone()).await;
        refused.refuses(415, "unsupported_media_type");
    }
    let lines = world
        .post("/v1/deliveries/ack", "application/x-ndjson", "{}")
        .await;
    lines.refuses(415, "unsupported_media_type");
    world
        .post("/v1/messages", "", "")
        .await
        .refuses(400, "malformed_json");
    world
        .post("/v1/messages", "", "[1,2")
        .await
        .refuses(400, "malformed_json");
    world
        .post("/v1/messages", "", "[1,2]")
        .await
        .refuses(400, "not_an_envelope");
    world
        .post("/v1/messages", "", b"\xff\xfe".to_vec())
        .await
        .refuses(400, "invalid_utf8");
    world
        .post("/v1/messages?dry_run=1", "", envelope)
        .await
        .refuses(400, "bad_request");
    world
        .get("/v1/messages/%ff")
        .await
        .refuses(400, "bad_request");
    world
        .get("/v1/messages?limit=%zz")
        .await
        .refuses(400, "bad_request");
    world
        .get("/v1/messages?limit=1&limit=2")
        .await
        .refuses(400, "bad_request");
    world.get("/healthz?x").await.refuses(400, "bad_request");
    world.get("/v1/socket").await.refuses(400, "bad_request");
    world.stop().await;
}

#[tokio::test]
async fn bodies_over_the_limit_are_refused_and_the_sender_sees_it() {
    let mut settings = Settings::default();
    settings.rules.envelope_bytes_max = 1_000;
    let world = World::with(settings, HttpSettings::default()).await;
    let large = aee("m-1", "agent.b", &format!("\"{}\"", "x".repeat(4 << 20)));
    world
        .post("/v1/messages", "", large.clone())
        .await
        .refuses(413, "too_large");
    world
        .post("/v1/validate", "", large.clone())
        .await
        .refuses(413, "too_large");
    world
        .post("/v1/deliveries/ack", "", large)
        .await
        .refuses(413, "too_large");
    world.stop().await;
}

#[tokio::test]
async fn all_faults_of_an_envelope_are_listed() {
    let world = World::start().await;
    let bad = aee("m-1", "agent.b", "{}")
        .replace("\"task\"", "\"wish\"")
        .replace("\"high\"", "7");
    let problem = world.post("/v1/messages", "", bad).await;
    assert_eq!(problem.status, 422, "{}", problem.text());
    let problem = problem.json();
    let errors = problem["errors"].as_array().unwrap();
    let pointers: Vec<_> = errors
        .iter()
        .map(|error| error["pointer"].as_str().unwrap())
        .collect();
    assert!(
        pointers.contains(&"/type") && pointers.contains(&"/priority"),
        "{pointers:?}"
    );
    assert_eq!(problem["pointer"], pointers[0]);
    world.stop().await;
}

#[tokio::test]
async fn a_sane_request_id_is_taken_over_and_another_is_not() {
    let world = World::start().await;
    let ask = async |id: &str| {
        let request = world
            .client
            .get(world.url("/nothing"))
            .header("x-request-id", id);
        Answer::of(within(request.send()).await.unwrap()).await
    };
    let taken = ask("trace-1:a/b").await;
    assert_eq!(
        taken.refuses(404, "route_not_found")["instance"],
        "trace-1:a/b"
    );
    let long = "x".repeat(200);
    let (one, two) = (ask("has space").await, ask(&long).await);
    let (one, two) = (
        one.header("interwire-request-id"),
        two.header("interwire-request-id"),
    );
    assert!(!one.is_empty() && one != two && !one.contains(' ') && two != long);
    assert!(
        !world
            .get("/healthz")
            .await
            .header("interwire-request-id")
            .is_empty()
    );
    world.stop().await;
}

#[tokio::test]
async fn a_page_of_another_site_gets_nothing() {
    let world = World::start().await;
    for path in ["/v1/messages", "/v1/stream", "/v1/socket", "/metrics"] {
        let foreign = world
            .client
            .get(world.url(path))
            .header("origin", "https://evil.example")
            .send()
            .await
            .unwrap();
        let foreign = Answer::of(foreign).await;
        foreign.refuses(403, "foreign_origin");
        let rebound = world
            .client
            .get(world.url(path))
            .header("host", "evil.example")
            .send()
            .await
            .unwrap();
        Answer::of(rebound).await.refuses(403, "foreign_origin");
    }
    world.stop().await;
}
