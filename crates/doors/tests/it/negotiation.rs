//! Negotiating capabilities with the exchange in UAI-1, and the carriage that follows from it.

use crate::world::World;
use protocol::Timestamp;
use protocol::dialect::uai::build::{Agent, Envelope, Handoff, Heading};
use protocol::dialect::uai::keyless::to_keyless;
use protocol::json::{Limits, read};
use serde_json::{Value, json};

const NOW: Timestamp = Timestamp::from_millis(1_772_274_600_000);

fn heading(id: &str, source: &str, target: Agent) -> Heading {
    Heading {
        id: id.into(),
        issued_at: NOW,
        source: Agent::new("agent", source),
        target,
        conversation: "conv_1".into(),
    }
}

/// A world whose exchange answers questions, as `serve` runs it.
async fn world() -> World {
    let world = World::start().await;
    let (handle, stop) = (world.handle.connection(), world.stop.clone());
    tokio::spawn(async move {
        broker::answer_questions(handle, stop.draining()).await;
    });
    world
}

async fn packet(world: &World, id: &str, source: &str, profile: &str, body: &Value) {
    let service = Agent::new("service", "interwire");
    let envelope = Envelope::new(profile, body.to_string(), heading(id, source, service));
    world.publish(&envelope.write().unwrap()).await;
}

async fn negotiate(world: &World, id: &str, source: &str, body: &Value) {
    packet(world, id, source, "uai.capability.negotiation.v1", body).await;
}

/// The next delivery of an inbox, settled.
async fn pull(world: &World, party: &str, query: &str) -> Value {
    let path = format!("/v1/inbox/{party}?max=1&wait_ms=20000{query}");
    let answer = world.get(&path).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let delivery = answer.json()["deliveries"][0].clone();
    let body = json!({ "deliveries": [delivery["delivery"]] }).to_string();
    world.post("/v1/deliveries/ack", "", body).await;
    delivery
}

fn offer(id: &str, features: &[&str], required: &[&str]) -> Value {
    json!({
        "negotiation_id": id, "phase": "offer",
        "offered": { "uai_versions": ["1.0"], "forms": ["keyed"], "features": features },
        "required": { "features": required },
    })
}

/// Offers, confirms, and waits until the exchange has heard the confirmation.
async fn agree(world: &World, source: &str, id: &str, features: &[&str]) {
    let party = format!("agent.{source}");
    negotiate(
        world,
        &format!("{id}_offer"),
        source,
        &offer(id, features, &[]),
    )
    .await;
    let answer = pull(world, &party, "").await;
    assert_eq!(answer["envelope"]["body"]["phase"], "answer", "{answer}");
    assert_eq!(
        answer["envelope"]["body"]["selected"]["features"],
        json!(features)
    );
    let confirm = json!({ "negotiation_id": id, "phase": "confirm" });
    negotiate(world, &format!("{id}_confirm"), source, &confirm).await;
    // The inbox of the exchange is in order: what is answered after it has been heard after it.
    let query = json!({ "operation": "query", "query": { "skill": "none" } });
    let profile = "uai.agent.discovery.v1";
    packet(world, &format!("{id}_then"), source, profile, &query).await;
    let answer = pull(world, &party, "").await;
    assert_eq!(
        answer["envelope"]["body"]["operation"], "result",
        "{answer}"
    );
}

async fn handoff(world: &World, id: &str) {
    let target = Agent::new("agent", "b");
    let text = Handoff::new("task_1", "A summary.", "A reason.", "Begin.")
        .envelope(heading(id, "manager", target))
        .also_to(Agent::new("agent", "c"))
        .idempotency_key(&format!("key-of-{id}"))
        .write()
        .unwrap();
    world.publish(&text).await;
}

#[tokio::test]
async fn an_offer_is_answered_with_what_the_exchange_does() {
    let world = world().await;
    let offered = ["ma.additional_targets", "sig.jws_detached", "form.keyless"];
    negotiate(
        &world,
        "msg_1",
        "a",
        &offer("neg_1", &offered, &["discovery.v1"]),
    )
    .await;
    let answer = pull(&world, "agent.a", "").await["envelope"].clone();
    assert_eq!(answer["profile"], "uai.capability.negotiation.v1");
    assert_eq!(answer["source"]["id"], "interwire");
    assert_eq!(answer["conversation"]["parent_message_id"], "msg_1");
    let selected = json!({
        "uai_version": "1.0", "form": "keyed",
        "features": ["ma.additional_targets", "form.keyless", "discovery.v1"],
        "max_bytes": 1 << 20,
    });
    assert_eq!(
        answer["body"],
        json!({ "negotiation_id": "neg_1", "phase": "answer", "selected": selected })
    );
    world.stop().await;
}

#[tokio::test]
async fn a_required_feature_that_is_missing_refuses_and_ends_what_was_agreed() {
    let world = world().await;
    agree(&world, "b", "neg_1", &["ma.additional_targets"]).await;
    let demand = offer("neg_2", &["ma.pubsub"], &["sig.jws_detached"]);
    negotiate(&world, "msg_2", "b", &demand).await;
    let refused = pull(&world, "agent.b", "").await["envelope"]["body"].clone();
    assert_eq!(refused["phase"], "reject");
    let reason = refused["reason"].as_str().unwrap();
    assert!(
        reason.contains("\"sig.jws_detached\" of `features`"),
        "{reason}"
    );
    assert_eq!(refused["fallback"]["features"], json!([]));
    let confirm = json!({ "negotiation_id": "neg_2", "phase": "confirm" });
    negotiate(&world, "msg_3", "b", &confirm).await;
    let error = pull(&world, "agent.b", "").await["envelope"].clone();
    assert_eq!(error["profile"], "uai.error.v1", "{error}");
    assert_eq!(error["body"]["code"], "unknown_message");
    assert_eq!(error["body"]["status"], 404);
    assert_eq!(error["body"]["related_message_id"], "msg_3");
    handoff(&world, "msg_4").await;
    let delivery = pull(&world, "agent.b", "&carriage=negotiated").await;
    assert_eq!(delivery["carriage"], "split", "{delivery}");
    world.stop().await;
}

#[tokio::test]
async fn each_peer_gets_the_carriage_that_it_negotiated() {
    let world = world().await;
    agree(&world, "b", "neg_b", &["ma.extension_carriage"]).await;
    handoff(&world, "msg_1").await;
    let strict = pull(&world, "agent.b", "&carriage=negotiated").await;
    assert_eq!(strict["carriage"], "strict");
    assert_eq!(strict["id"], "msg_1");
    let message = &strict["envelope"];
    assert!(message["additional_targets"].is_null());
    assert_eq!(
        message["extensions"][0]["namespace"],
        "urn:uai:ext:multi-agent"
    );
    // Nothing is agreed with `c`: its own copy, which names it.
    let split = pull(&world, "agent.c", "&carriage=negotiated").await;
    let copy = &split["envelope"];
    assert_eq!(split["carriage"], "split");
    assert_eq!(copy["target"]["id"], "c");
    assert_eq!(copy["body"]["target_agent_id"], "c");
    let origin = &copy["extensions"][0]["payload"]["origin_message_id"];
    assert_eq!(origin, "msg_1");
    for envelope in [message, copy] {
        let path = "/uaix/v1/validate?strict=true";
        let verdict = world.post(path, "", envelope.to_string()).await.json();
        assert_eq!(verdict["valid"], true, "{verdict}");
    }
    agree(&world, "b", "neg_c", &["ma.additional_targets"]).await;
    handoff(&world, "msg_2").await;
    let native = pull(&world, "agent.b", "&carriage=negotiated").await;
    assert!(native["carriage"].is_null());
    assert_eq!(native["envelope"]["additional_targets"][0]["id"], "c");
    // Who does not ask gets what was sent, and a new card ends the agreement.
    assert_eq!(
        pull(&world, "agent.c", "").await["envelope"],
        native["envelope"]
    );
    let card = r#"{"name":"B","skills":[]}"#;
    assert_eq!(world.put("/v1/agents/agent.b", card).await.status, 201);
    handoff(&world, "msg_3").await;
    let after = pull(&world, "agent.b", "&carriage=negotiated").await;
    assert_eq!(after["carriage"], "split", "{after}");
    world.stop().await;
}

#[tokio::test]
async fn an_offer_in_the_keyless_form_is_read_and_its_form_is_used() {
    let world = world().await;
    let mut offer = offer("neg_1", &["form.keyless"], &[]);
    offer["offered"]["forms"] = json!(["keyless"]);
    let service = Agent::new("service", "interwire");
    let profile = "uai.capability.negotiation.v1";
    let text = Envelope::new(profile, offer.to_string(), heading("msg_1", "a", service));
    let text = text.write().unwrap();
    let document = read(text.as_bytes(), Limits::default()).unwrap();
    world.publish(&to_keyless(document.root()).unwrap()).await;
    let answer = pull(&world, "agent.a", "").await;
    assert_eq!(answer["envelope"]["body"]["selected"]["form"], "keyless");
    let confirm = json!({ "negotiation_id": "neg_1", "phase": "confirm" });
    negotiate(&world, "msg_2", "a", &confirm).await;
    let query = json!({ "operation": "query", "query": { "skill": "none" } });
    packet(&world, "msg_3", "a", "uai.agent.discovery.v1", &query).await;
    let answer = pull(&world, "agent.a", "").await;
    assert_eq!(answer["envelope"][1], "uai.agent.discovery.v1", "{answer}");
    world.stop().await;
}

#[tokio::test]
async fn an_answer_longer_than_was_agreed_is_an_error_instead() {
    let world = world().await;
    let mut offer = offer("neg_1", &["discovery.v1"], &[]);
    offer["offered"]["max_bytes"] = json!(400);
    negotiate(&world, "msg_1", "a", &offer).await;
    let answer = pull(&world, "agent.a", "").await;
    assert_eq!(answer["envelope"]["body"]["selected"]["max_bytes"], 400);
    let confirm = json!({ "negotiation_id": "neg_1", "phase": "confirm" });
    negotiate(&world, "msg_2", "a", &confirm).await;
    let query = json!({ "operation": "query", "query": { "skill": "none" } });
    packet(&world, "msg_3", "a", "uai.agent.discovery.v1", &query).await;
    let error = pull(&world, "agent.a", "").await["envelope"].clone();
    assert_eq!(error["profile"], "uai.error.v1", "{error}");
    assert_eq!(error["body"]["code"], "payload_too_large");
    assert_eq!(error["body"]["related_message_id"], "msg_3");
    world.stop().await;
}

#[tokio::test]
async fn a_carriage_that_cannot_be_had_is_said() {
    let world = world().await;
    for (query, media) in [
        ("carriage=short", ""),
        ("carriage=split", "application/cloudevents-batch+json"),
    ] {
        let request = world
            .client
            .get(world.url(&format!("/v1/inbox/agent.b?{query}")));
        let request = if media.is_empty() {
            request
        } else {
            request.header("accept", media)
        };
        let answer = crate::world::Answer::of(request.send().await.unwrap()).await;
        let problem = answer.refuses(400, "bad_request");
        assert_eq!(problem["pointer"], "/carriage");
    }
    let target = Agent::new("agent", "b");
    let signed = Handoff::new("task_1", "A summary.", "A reason.", "Begin.")
        .envelope(heading("msg_1", "manager", target))
        .also_to(Agent::new("agent", "c"))
        .extension("urn:uai:ext:signature", r#"{"jws":"a..b"}"#);
    world.publish(&signed.write().unwrap()).await;
    let delivery = pull(&world, "agent.b", "&carriage=split").await;
    assert_eq!(
        delivery["uncarried"]["code"], "split_requires_sender",
        "{delivery}"
    );
    assert!(delivery["envelope"]["additional_targets"].is_array());
    world.stop().await;
}
