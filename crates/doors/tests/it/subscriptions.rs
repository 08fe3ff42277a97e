//! Durable subscriptions over HTTP.

use crate::world::{World, aee};

#[tokio::test]
async fn a_subscription_is_created_confirmed_shown_and_removed() {
    let world = World::start().await;
    let body = r#"{"filter":{"type":"task"}}"#;
    let created = world.put("/v1/subscriptions/ops.tasks", body).await;
    assert_eq!(created.status, 201, "{}", created.text());
    let forward = r#"{"filter":{"type":"task"},"deliver_to":"agent.w"}"#;
    let forwarding = world.put("/v1/subscriptions/to-w", forward).await;
    assert_eq!(forwarding.json()["deliver_to"], "agent:w");
    assert_eq!(
        world.put("/v1/subscriptions/ops.tasks", body).await.status,
        200
    );
    let other = world.put("/v1/subscriptions/ops.tasks", "{}").await;
    other.refuses(409, "subscription_conflict");
    world.publish(&aee("m-1", "agent.b", "{}")).await;
    let shown = world.get("/v1/subscriptions/ops.tasks").await.json();
    assert_eq!(
        (&shown["waiting"], &shown["filter"]["type"][0]),
        (&1.into(), &"task".into())
    );
    let list = world.get("/v1/subscriptions").await.json();
    assert_eq!(list["subscriptions"][0]["name"], "ops.tasks");
    let pulled = world
        .get("/v1/subscriptions/ops.tasks/deliveries")
        .await
        .json();
    assert_eq!(pulled["deliveries"][0]["id"], "m-1");
    let inbox = world.get("/v1/inbox/agent.w").await.json();
    assert_eq!(inbox["deliveries"][0]["id"], "m-1");
    let removed = world.delete("/v1/subscriptions/ops.tasks").await;
    assert_eq!((removed.status, removed.body.len()), (204, 0));
    world
        .get("/v1/subscriptions/ops.tasks")
        .await
        .refuses(404, "not_found");
    world
        .delete("/v1/subscriptions/ops.tasks")
        .await
        .refuses(404, "not_found");
    world
        .get("/v1/subscriptions/ops.tasks/deliveries")
        .await
        .refuses(404, "not_found");
    world.stop().await;
}

#[tokio::test]
async fn bad_names_and_bodies_are_refused() {
    let world = World::start().await;
    world
        .put("/v1/subscriptions/a%20b", "{}")
        .await
        .refuses(422, "pattern_mismatch");
    world
        .put("/v1/subscriptions/s", "{\"filter\":")
        .await
        .refuses(400, "malformed_json");
    let refused = world
        .put("/v1/subscriptions/s", r#"{"filter":{"typ":1}}"#)
        .await;
    assert_eq!(
        refused.refuses(422, "filter_malformed")["pointer"],
        "/filter/typ"
    );
    let refused = world.put("/v1/subscriptions/s", r#"{"filters":{}}"#).await;
    assert_eq!(refused.refuses(400, "bad_request")["pointer"], "/filters");
    world.stop().await;
}
