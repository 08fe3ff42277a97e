//! CloudEvents in and out over HTTP.

use crate::world::{World, aee, within};
use serde_json::Value;

const EVENT: &str = "application/cloudevents+json";
const BATCH: &str = "application/cloudevents-batch+json";

/// An event in its JSON form.
fn event(id: &str, envelope: &str) -> String {
    format!(
        r#"{{"specversion":"1.0","id":"{id}","source":"human:adam","type":"aee.task","data":{envelope}}}"#
    )
}

async fn accepting(world: &World, path: &str, media: &str) -> reqwest::Response {
    let request = world.client.get(world.url(path)).header("accept", media);
    within(request.send()).await.unwrap()
}

#[tokio::test]
async fn an_envelope_comes_back_byte_for_byte_in_every_form() {
    let world = World::start().await;
    let envelope = aee("m-1", "agent.b", "{\"n\": 1.50,  \"text\":\"\\u00fc\"}");
    let posted = world
        .post("/v1/messages", EVENT, event("m-1", &envelope))
        .await;
    assert_eq!(posted.status, 201, "{}", posted.text());
    assert_eq!(world.get("/v1/messages/m-1").await.text(), envelope);
    let structured = accepting(&world, "/v1/messages/m-1", EVENT).await;
    assert_eq!(structured.headers()["content-type"], EVENT);
    let text = structured.text().await.unwrap();
    assert!(text.ends_with(&format!(",\"data\":{envelope}}}")), "{text}");
    // As it came out it goes in again: the same message.
    let again = world.post("/v1/messages", EVENT, text).await;
    assert_eq!(
        (again.status, &again.json()["duplicate"]),
        (200, &true.into())
    );
    let encoded = world
        .get("/v1/messages/m-1?as=cloudevents&data=base64")
        .await;
    let again = world.post("/v1/messages", EVENT, encoded.text()).await;
    assert_eq!(
        (again.status, &again.json()["duplicate"]),
        (200, &true.into())
    );
    let path = world.url("/v1/messages/m-1?as=cloudevents-binary");
    let binary = within(world.client.get(path).send()).await.unwrap();
    let headers = binary.headers().clone();
    assert_eq!(headers["ce-source"], "human:adam");
    assert_eq!(headers["content-type"], "application/json");
    assert_eq!(binary.text().await.unwrap(), envelope);
    let mut request = world.client.post(world.url("/v1/messages")).body(envelope);
    for (name, value) in &headers {
        if name.as_str().starts_with("ce-") || name == "content-type" {
            request = request.header(name, value);
        }
    }
    let again = within(request.send()).await.unwrap();
    assert_eq!(again.status(), 200);
    world.stop().await;
}

#[tokio::test]
async fn a_list_has_a_result_for_each_event() {
    let world = World::start().await;
    let good = event("m-1", &aee("m-1", "agent.b", "{}"));
    let bad = event("m-2", "{\"v\":\"1\",\"v\":\"1\"}").replace("\"v\":\"1\",\"v\"", "\"v\"");
    let list = format!("[{good},{bad},{good}]");
    let answer = world.post("/v1/messages", BATCH, list).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let results = answer.json();
    let statuses: Vec<&str> = results["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["status"].as_str().unwrap())
        .collect();
    assert_eq!(statuses, ["accepted", "refused", "duplicate"]);
    let pointer = results["results"][1]["fault"]["pointer"].as_str().unwrap();
    assert!(pointer.starts_with("/1/data"), "{pointer}");
    world.stop().await;
}

#[tokio::test]
async fn pages_inboxes_and_streams_give_events_to_who_asks_for_them() {
    let world = World::start().await;
    let envelope = aee("m-1", "agent.b", "{\"n\":1.50}");
    world.publish(&envelope).await;
    let page = accepting(&world, "/v1/messages", BATCH).await;
    assert_eq!(page.headers()["content-type"], BATCH);
    let page: Value = serde_json::from_slice(&page.bytes().await.unwrap()).unwrap();
    assert_eq!(page[0]["id"], "m-1");
    let empty = world
        .get("/v1/messages?as=cloudevents&type=none.such")
        .await;
    assert_eq!(empty.text(), "[]");
    let taken = world.get("/v1/inbox/agent.b?as=cloudevents").await.json();
    assert_eq!(taken[0]["interwireattempt"], 1);
    let delivery = taken[0]["interwiredelivery"].as_str().unwrap();
    let body = format!("{{\"deliveries\":[\"{delivery}\"]}}");
    let settled = world.post("/v1/deliveries/ack", "", body).await.json();
    assert_eq!(settled["results"][0]["ok"], true);
    let path = "/v1/stream?from=earliest&as=cloudevents";
    let mut stream = within(world.client.get(world.url(path)).send())
        .await
        .unwrap();
    let mut text = String::new();
    while !text.contains("data: {\"specversion\"") {
        let chunk = within(stream.chunk()).await.unwrap().expect("more");
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    assert!(
        text.contains(&format!(",\"data\":{envelope}}}\n\n")),
        "{text}"
    );
    drop(stream);
    world.stop().await;
}

#[tokio::test]
async fn every_refusal_points_into_the_event() {
    let world = World::start().await;
    let envelope = aee("m-1", "agent.b", "{}");
    let refused = |body: String| async {
        let answer = world.post("/v1/messages", EVENT, body).await;
        (
            answer.status,
            answer.json()["pointer"].as_str().unwrap().to_owned(),
        )
    };
    let good = event("m-1", &envelope);
    let cases = [
        (event("m-2", &envelope), 400, "/id"),
        (good.replace("human:adam", "human:eve"), 400, "/source"),
        (good.replace("aee.task", "aee.result"), 400, "/type"),
        (good.replace("1.0", "0.3"), 400, "/specversion"),
        (event("m-1", "{\"any\":1}"), 422, "/data"),
    ];
    for (body, _, pointer) in cases {
        let (status, found) = refused(body).await;
        assert!((400..500).contains(&status));
        assert_eq!(found, pointer);
    }
    let deep = envelope.replace(
        "\"payload\":{}",
        "\"payload\":{\"a\":{\"a\":[[]]},\"b\":1,\"b\":2}",
    );
    let (_, pointer) = refused(event("m-1", &deep)).await;
    assert_eq!(pointer, "/data/payload/b");
    world
        .get("/v1/messages?as=cloudevents-binary")
        .await
        .refuses(400, "bad_request");
    world.publish(&envelope).await;
    world.stop().await;
}
