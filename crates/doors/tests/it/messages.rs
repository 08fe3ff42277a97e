//! Publishing one envelope, reading it back, pages.

use crate::world::{World, aee, aee_from};

#[tokio::test]
async fn a_first_publish_is_created_and_a_repeat_is_the_same_receipt() {
    let world = World::start().await;
    let envelope = aee("m-1", "agent.b", "{\"n\":1}");
    let first = world
        .post("/v1/messages", "application/json", envelope.clone())
        .await;
    assert_eq!(first.status, 201, "{}", first.text());
    let receipt = first.json();
    assert_eq!(
        (&receipt["id"], &receipt["duplicate"]),
        (&"m-1".into(), &false.into())
    );
    assert_eq!(receipt["recipients"][0]["party"], "agent:b");
    assert_eq!(receipt["recipients"][0]["state"], "stored");
    assert_eq!(
        first.header("location"),
        "/v1/messages/m-1?sender=human%3Aadam"
    );
    let again = world.post("/v1/messages", "", envelope.clone()).await;
    assert_eq!(again.status, 200);
    assert_eq!(
        (&again.json()["duplicate"], &again.json()["cursor"]),
        (&true.into(), &receipt["cursor"])
    );
    assert_eq!(world.get(first.header("location")).await.text(), envelope);
    world.stop().await;
}

#[tokio::test]
async fn other_bytes_under_a_used_id_are_a_conflict() {
    let world = World::start().await;
    world.publish(&aee("m-1", "agent.b", "{\"n\":1}")).await;
    let other = world
        .post(
            "/v1/messages",
            "application/json",
            aee("m-1", "agent.b", "{\"n\":2}"),
        )
        .await;
    other.refuses(409, "id_conflict");
    world
        .publish(&aee_from("agent.c", "m-1", "agent.b", "{}"))
        .await;
    let ambiguous = world
        .get("/v1/messages/m-1")
        .await
        .refuses(409, "ambiguous_id");
    let detail = ambiguous["detail"].as_str().unwrap();
    assert!(
        detail.contains("human:adam") && detail.contains("agent:c"),
        "{detail}"
    );
    let one = world.get("/v1/messages/m-1?sender=agent.c").await;
    assert_eq!(one.text(), aee_from("agent.c", "m-1", "agent.b", "{}"));
    assert_eq!(one.header("interwire-dialect"), "aee");
    world
        .get("/v1/messages/m-1?sender=agent.z")
        .await
        .refuses(404, "not_found");
    world
        .get("/v1/messages/m-9")
        .await
        .refuses(404, "not_found");
    world.stop().await;
}

#[tokio::test]
async fn the_full_view_wraps_the_same_bytes() {
    let world = World::start().await;
    let envelope = aee("m-1", "agent.b", "{ \"n\" : 1.10 }");
    world.publish(&envelope).await;
    let full = world.get("/v1/messages/m-1?view=full").await;
    assert!(
        full.text()
            .ends_with(&format!(",\"envelope\":{envelope}}}")),
        "{}",
        full.text()
    );
    let value = full.json();
    assert_eq!(value["header"]["sender"], "human:adam");
    assert_eq!(value["header"]["conversation"], "CONV_m-1");
    assert_eq!(value["receipts"][0]["party"], "agent:b");
    assert_eq!(value["cursor"], full.header("interwire-cursor"));
    world
        .get("/v1/messages/m-1?view=half")
        .await
        .refuses(400, "bad_request");
    world.stop().await;
}

#[tokio::test]
async fn pages_walk_the_journal_by_cursor() {
    let world = World::start().await;
    let cursors = world.publish_many(5).await;
    let ids = |answer: &crate::world::Answer| -> Vec<String> {
        answer
            .lines()
            .iter()
            .map(|line| line["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let first = world.get("/v1/messages?limit=2").await;
    assert_eq!(ids(&first), ["m-1", "m-2"]);
    assert_eq!(first.header("interwire-caught-up"), "false");
    assert_eq!(first.header("interwire-next-cursor"), cursors[1]);
    let rest = world
        .get(&format!("/v1/messages?from={}&limit=10", cursors[1]))
        .await;
    assert_eq!(ids(&rest), ["m-3", "m-4", "m-5"]);
    assert_eq!(rest.header("interwire-caught-up"), "true");
    let none = world.get("/v1/messages?type=event").await;
    assert!(none.body.is_empty() && none.status == 200);
    let filtered = world
        .get("/v1/messages?target=agent.b&type=task&type=event&from=earliest")
        .await;
    assert_eq!(ids(&filtered).len(), 5);
    world
        .get("/v1/messages?limit=0")
        .await
        .refuses(400, "bad_request");
    world
        .get("/v1/messages?limit=1001")
        .await
        .refuses(400, "bad_request");
    world
        .get("/v1/messages?typ=task")
        .await
        .refuses(422, "filter_malformed");
    world.stop().await;
}

#[tokio::test]
async fn a_page_puts_an_envelope_with_line_breaks_on_one_line() {
    let world = World::start().await;
    let envelope = aee("m-1", "agent.b", "{\r\n  \"s\": \"a\\nb\"\n}");
    world.publish(&envelope).await;
    let page = world.get("/v1/messages").await;
    assert_eq!(
        page.text(),
        format!("{}\n", envelope.replace(['\r', '\n'], " "))
    );
    assert_eq!(world.get("/v1/messages/m-1").await.text(), envelope);
    world.stop().await;
}

#[tokio::test]
async fn what_was_acknowledged_is_there_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let envelope = aee("m-1", "agent.b", "{\"n\":9007199254740993}");
    let world = World::in_folder(folder.path()).await;
    let receipt = world.publish(&envelope).await;
    assert_eq!(receipt["durability"], "fsync");
    world.stop().await;
    let world = World::in_folder(folder.path()).await;
    assert_eq!(world.get("/v1/messages/m-1").await.text(), envelope);
    let again = world.post("/v1/messages", "", envelope).await;
    assert_eq!(
        (again.status, &again.json()["cursor"]),
        (200, &receipt["cursor"])
    );
    world.stop().await;
}
