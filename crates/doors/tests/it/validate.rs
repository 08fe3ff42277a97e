//! Verdicts over HTTP.

use crate::world::{World, aee};

#[tokio::test]
async fn one_envelope_has_one_verdict_and_is_not_published() {
    let world = World::start().await;
    let verdict = world
        .post(
            "/v1/validate",
            "application/json",
            aee("m-1", "agent.b", "{}"),
        )
        .await;
    assert_eq!(verdict.status, 200);
    let verdict = verdict.json();
    assert_eq!(
        (&verdict["dialect"], &verdict["valid"]),
        (&"aee".into(), &true.into())
    );
    assert_eq!(
        (&verdict["id"], &verdict["intent"]),
        (&"m-1".into(), &"quox.security.scan".into())
    );
    assert_eq!(verdict["tiers"]["seed10"], true);
    assert!(verdict["faults"].as_array().unwrap().is_empty());
    world
        .get("/v1/messages/m-1")
        .await
        .refuses(404, "not_found");
    let stranger = world.post("/v1/validate", "", "{}").await.json();
    assert!(stranger["dialect"].is_null() && stranger["valid"] == false);
    assert_eq!(stranger["faults"][0]["code"], "not_an_envelope");
    world.stop().await;
}

#[tokio::test]
async fn lines_have_verdicts_in_order() {
    let world = World::start().await;
    let body = format!("{}\n\nnonsense\n{{}}\n", aee("m-1", "agent.b", "{}"));
    let verdicts = world
        .post("/v1/validate", "application/x-ndjson", body)
        .await
        .lines();
    let words: Vec<_> = verdicts
        .iter()
        .map(|verdict| verdict["valid"].clone())
        .collect();
    assert_eq!(words, [true, false, false]);
    assert_eq!(verdicts[1]["faults"][0]["code"], "malformed_json");
    world.stop().await;
}

#[tokio::test]
async fn parameters_change_how_it_is_read() {
    let world = World::start().await;
    let five =
        r#"{"v":"1","id":"message-1","ts":"2026-02-28T10:30:00Z","type":"event","from":"agent.b"}"#;
    let valid = async |query: &str| {
        world
            .post(&format!("/v1/validate{query}"), "", five)
            .await
            .json()["valid"]
            .clone()
    };
    assert_eq!(valid("?policy=repo").await, false);
    assert_eq!(valid("?policy=log").await, true);
    let forced = world
        .post("/v1/validate?dialect=uai", "", five)
        .await
        .json();
    assert_eq!(forced["dialect"], "uai");
    for query in [
        "?mode=loose",
        "?policy=any",
        "?dialect=xml",
        "?now=yesterday",
        "?strict=1",
    ] {
        world
            .post(&format!("/v1/validate{query}"), "", five)
            .await
            .refuses(400, "bad_request");
    }
    world.stop().await;
}
