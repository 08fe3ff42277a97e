//! What operators ask.

use crate::world::{Answer, World, aee, within};

#[tokio::test]
async fn health_readiness_and_the_index_answer() {
    let world = World::start().await;
    assert_eq!(world.get("/healthz").await.status, 200);
    assert_eq!(world.get("/readyz").await.status, 200);
    let receipt = world.publish(&aee("m-1", "agent.b", "{}")).await;
    let index = world.get("/").await;
    assert!(index.header("content-type").starts_with("text/html"));
    let page = index.text();
    assert!(page.contains(receipt["cursor"].as_str().unwrap()), "{page}");
    assert!(page.contains("<th>inboxes</th><td>1</td>"), "{page}");
    world.handle.drain();
    world.get("/readyz").await.refuses(503, "draining");
    assert_eq!(world.get("/healthz").await.status, 200);
    let late = world
        .post("/v1/messages", "", aee("m-2", "agent.b", "{}"))
        .await;
    late.refuses(503, "draining");
    world.stop().await;
}

#[tokio::test]
async fn metrics_count_by_route_and_never_by_id() {
    let world = World::start().await;
    world.publish(&aee("secret-id", "agent.b", "{}")).await;
    world.get("/v1/messages/secret-id").await;
    world.get("/v1/messages/other-id").await;
    let mut socket = world.socket().await;
    socket.ask(r#"{"op":"ping"}"#).await;
    let metrics = world.get("/metrics").await;
    assert!(
        metrics
            .header("content-type")
            .starts_with("application/openmetrics-text")
    );
    let text = metrics.text();
    for line in [
        r#"interwire_http_requests_total{route="/v1/messages/{id}",method="GET",status="200"} 1"#,
        r#"interwire_http_requests_total{route="/v1/messages/{id}",method="GET",status="404"} 1"#,
        r#"interwire_http_requests_total{route="/v1/messages",method="POST",status="201"} 1"#,
        r#"interwire_publish_total{dialect="aee",result="accepted"} 1"#,
        "interwire_http_sockets 1",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    assert!(!text.contains("secret-id") && text.ends_with("# EOF\n"));
    world.stop().await;
}

#[tokio::test]
async fn the_description_is_served() {
    let world = World::start().await;
    let document = world.get("/v1/openapi.json").await.json();
    assert_eq!(document["openapi"], "3.1.0");
    assert!(document["paths"]["/v1/stream"]["get"].is_object());
    world.stop().await;
}

#[tokio::test]
async fn cleartext_http_2_is_spoken_on_the_same_port() {
    let world = World::start().await;
    let client = crate::world::http_client()
        .http2_prior_knowledge()
        .build()
        .unwrap();
    let envelope = aee("m-1", "agent.b", "{}");
    let request = client
        .post(world.url("/v1/messages"))
        .body(envelope.clone());
    let response = within(request.send()).await.unwrap();
    assert_eq!(response.version(), reqwest::Version::HTTP_2);
    assert_eq!(response.status(), 201);
    let stored = within(client.get(world.url("/v1/messages/m-1")).send())
        .await
        .unwrap();
    assert_eq!(Answer::of(stored).await.text(), envelope);
    drop(client);
    world.stop().await;
}
