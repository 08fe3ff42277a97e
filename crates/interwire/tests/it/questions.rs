//! What is asked of the exchange itself, from outside: the seven intents of AEE, finding agents in UAI-1,
//! and payloads against their schemas.

use crate::process::Exchange;
use client::{Client, Error};
use protocol::dialect::aee::Aee;
use protocol::dialect::uai::build::{Agent, Envelope, Heading, Message};
use protocol::{Timestamp, digest};
use serde_json::{Value, json};
use std::time::Duration;

const NOW: Timestamp = Timestamp::from_millis(1_772_274_600_000);

fn question(id: &str, intent: &str, payload: &Value) -> String {
    Aee::task("agent.asker", "service.interwire", intent)
        .corr("conversation-q")
        .payload_json(&payload.to_string())
        .build(id, NOW)
}

/// The reply to a question.
async fn ask(client: &Client, envelope: String) -> Value {
    let reply = client.ask(envelope, Duration::from_secs(60)).await;
    serde_json::from_slice(&reply.unwrap().envelope).unwrap()
}

async fn aee(client: &Client, id: &str, intent: &str, payload: Value) -> Value {
    let reply = ask(client, question(id, intent, &payload)).await;
    assert_eq!(reply["from"], "service.interwire", "{reply}");
    assert_eq!(reply["reply_to"], id);
    assert_eq!(reply["corr"], "conversation-q");
    reply
}

#[tokio::test]
async fn the_exchange_answers_the_seven_intents_of_the_protocol() {
    let (_exchange, client) = Exchange::in_memory_with_client();
    let pong = aee(&client, "question-1", "aee.status.ping", json!({})).await;
    assert_eq!(
        (&pong["type"], &pong["payload"]["pong"]),
        (&json!("result"), &json!(true))
    );
    let closed = aee(&client, "question-2", "aee.status.ping", json!({ "x": 1 })).await;
    assert_eq!(
        (&closed["type"], &closed["payload"]["code"]),
        (&json!("error"), &json!("E_PAYLOAD"))
    );
    let health = aee(&client, "question-3", "aee.status.health", json!({})).await;
    assert_eq!(health["payload"]["status"], "healthy");
    let spec = aee(&client, "question-4", "aee.spec.query", json!({})).await;
    assert_eq!(spec["payload"]["aee_version"], "1");
    let card = r#"{"intents":["ops.backup.run","quox.security.scan"]}"#;
    client.put_agent("agent.worker", card).await.unwrap();
    let filter = json!({ "namespace_filter": "ops." });
    let listed = aee(&client, "question-5", "aee.capability.list", filter).await;
    assert_eq!(listed["payload"]["intents"], json!(["ops.backup.run"]));
    assert_eq!(
        listed["payload"]["agents"]["ops.backup.run"],
        json!(["agent.worker"])
    );
    let unknown = aee(&client, "question-6", "ops.backup.run", json!({})).await;
    assert_eq!(unknown["payload"]["code"], "E_UNKNOWN_INTENT");
    let refuted = aee(
        &client,
        "question-7",
        "aee.context.refute",
        json!({ "id": "question-1", "reason": "old" }),
    )
    .await;
    assert_eq!(refuted["payload"]["acknowledged"], true);
}

#[tokio::test]
async fn a_reference_is_fetched_by_id_corr_locator_and_hash() {
    let (_exchange, client) = Exchange::in_memory_with_client();
    let kept = crate::process::task("message-1", "agent.b", "conversation-1");
    client.publish(kept.clone()).await.unwrap();
    let fetch = async |number: u8, reference: Value| {
        let id = format!("question-{number}");
        aee(&client, &id, "aee.context.fetch", reference).await["payload"].clone()
    };
    let found = fetch(1, json!({ "id": "message-1" })).await;
    assert_eq!(found["found"], true);
    assert_eq!(
        found["envelope"],
        serde_json::from_str::<Value>(&kept).unwrap()
    );
    let hash = found["hash"].as_str().unwrap().to_owned();
    let document =
        protocol::json::read(kept.as_bytes(), protocol::json::Limits::default()).unwrap();
    let canonical = protocol::canonical::canonicalize(document.root(), &[]).unwrap();
    assert_eq!(
        hash,
        format!("sha256:{}", digest(canonical.as_bytes()).to_hex())
    );
    let whole = json!({ "id": "message-1", "corr": "conversation-1", "hash": hash, "locator": "store://envelopes/message-1" });
    assert_eq!(fetch(2, whole).await["found"], true);
    assert_eq!(
        fetch(3, json!({ "id": "message-1", "corr": "another-one" })).await,
        json!({ "found": false })
    );
    assert_eq!(
        fetch(4, json!({ "id": "message-nowhere" })).await,
        json!({ "found": false })
    );
    let wrong = fetch(5, json!({ "id": "message-1", "hash": "sha256:00" })).await;
    assert_eq!(wrong["code"], "E_HASH_MISMATCH");
}

#[tokio::test]
async fn a_payload_is_tried_without_being_published() {
    let (_exchange, client) = Exchange::in_memory_with_client();
    let tried = async |number: u8, payload: Value| {
        let id = format!("question-{number}");
        aee(&client, &id, "aee.validate.payload", payload).await["payload"].clone()
    };
    let probe = "ops.network.port.probe";
    let good = json!({ "intent": probe, "payload_to_validate": { "source": "a", "target": "b", "port": 1 } });
    assert_eq!(tried(1, good).await["valid"], true);
    let bad = json!({ "intent": probe, "type_hint": "result", "payload_to_validate": {} });
    let verdict = tried(2, bad).await;
    assert_eq!(verdict["valid"], false);
    assert!(
        verdict["errors"][0].as_str().unwrap().contains("reachable"),
        "{verdict}"
    );
    let unknown = json!({ "intent": "my.own", "payload_to_validate": {} });
    assert_eq!(tried(3, unknown).await["checked"], false);
}

#[tokio::test]
async fn a_question_is_answered_once_although_the_exchange_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let exchange = Exchange::on(folder.path());
    let client = exchange.client();
    client
        .publish(question("question-1", "aee.status.ping", &json!({})))
        .await
        .unwrap();
    exchange.kill();
    let exchange = Exchange::on(folder.path());
    let client = exchange.client();
    let mut inbox = client.inbox("agent.asker");
    let delivery = inbox.next().await.unwrap();
    let answer: Value = serde_json::from_slice(&delivery.envelope).unwrap();
    assert_eq!(answer["reply_to"], "question-1");
    let again = aee(&client, "question-2", "aee.status.ping", json!({})).await;
    assert_ne!(again["id"], answer["id"]);
    let filter = client::Filter::new().with("source", "service.interwire");
    let page = client
        .page(&filter, &client::From::Earliest, 100)
        .await
        .unwrap();
    assert_eq!(page.envelopes.len(), 2);
}

fn uai(id: &str, profile: &str, body: &Value) -> String {
    let heading = Heading {
        id: id.into(),
        issued_at: NOW,
        source: Agent::new("agent", "asker"),
        target: Agent::new("service", "interwire"),
        conversation: "conv_find".into(),
    };
    let envelope = Envelope::new(profile, body.to_string(), heading);
    envelope.write().unwrap()
}

#[tokio::test]
async fn agents_are_found_in_uai_1_by_skill_with_the_best_first() {
    let (_exchange, client) = Exchange::in_memory_with_client();
    let put = async |party: &str, card: &str| client.put_agent(party, card).await.unwrap();
    put("agent.a", r#"{"skills":[{"id":"cook"}]}"#).await;
    put(
        "agent.b",
        r#"{"name":"Bea","tags":["vegan"],"skills":[{"id":"cook"},{"id":"bake"}]}"#,
    )
    .await;
    put("agent.c", r#"{"skills":[{"id":"sing"}]}"#).await;
    let request = |id: &str, parameters: Value| {
        let body = json!({ "intent": "find_agents", "subject": "capability.query", "parameters": parameters });
        uai(id, "uai.intent.request.v1", &body)
    };
    let found = ask(
        &client,
        request("msg_1", json!({ "skill": ["cook", "bake"] })),
    )
    .await;
    assert_eq!(found["profile"], "uai.intent.response.v1", "{found}");
    assert_eq!(found["body"]["status"], "completed");
    let agents = &found["body"]["result"]["agents"];
    assert_eq!(agents[0]["agent_id"], "b");
    assert_eq!(agents[0]["label"], "Bea");
    assert_eq!(agents[0]["matched_skills"], json!(["bake", "cook"]));
    assert_eq!(agents[1]["agent_id"], "a");
    assert_eq!(agents.as_array().unwrap().len(), 2);
    let page = ask(&client, request("msg_2", json!({ "limit": 2 }))).await;
    assert_eq!(page["body"]["result"]["next_cursor"], "2");
    let rest = ask(
        &client,
        request("msg_3", json!({ "limit": 2, "cursor": "2" })),
    )
    .await;
    assert_eq!(
        rest["body"]["result"]["agents"].as_array().unwrap().len(),
        1
    );
    let tagged = ask(&client, request("msg_4", json!({ "diet": "vegan" }))).await;
    assert_eq!(tagged["body"]["result"]["agents"][0]["agent_id"], "b");
    let nobody = ask(&client, request("msg_5", json!({ "skill": "fly" }))).await;
    assert_eq!(nobody["body"]["result"]["agents"], json!([]));
    assert_eq!(nobody["body"]["status"], "completed");
}

#[tokio::test]
async fn discovery_packets_announce_answer_and_withdraw() {
    let (_exchange, client) = Exchange::in_memory_with_client();
    let announce = json!({ "operation": "announce", "agents": [{ "agent_id": "asker", "label": "Asker", "skills": ["ask"] }] });
    let packet = |id: &str, body: &Value| uai(id, "uai.agent.discovery.v1", body);
    client.publish(packet("msg_1", &announce)).await.unwrap();
    let query = json!({ "operation": "query", "query": { "skill": "ask" } });
    client.publish(packet("msg_2", &query)).await.unwrap();
    let mut inbox = client.inbox("agent.asker");
    let delivery = inbox.next().await.unwrap();
    let answer: Value = serde_json::from_slice(&delivery.envelope).unwrap();
    assert_eq!(answer["body"]["operation"], "result", "{answer}");
    assert_eq!(answer["body"]["agents"][0]["agent_id"], "asker");
    assert_eq!(answer["conversation"]["parent_message_id"], "msg_2");
    let withdraw = json!({ "operation": "withdraw" });
    client.publish(packet("msg_3", &withdraw)).await.unwrap();
    assert!(client.agent("agent.asker").await.is_err());
}

/// What an agreement leads to; and after a restart, what everybody reads.
#[tokio::test]
async fn an_offer_in_uai_1_is_answered_and_negotiated_again_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let exchange = Exchange::on(folder.path());
    let client = exchange.client();
    let packet = |id: &str, body: &Value| uai(id, "uai.capability.negotiation.v1", body);
    let offer = json!({
        "negotiation_id": "neg_1", "phase": "offer",
        "offered": { "uai_versions": ["1.0"], "features": ["ma.additional_targets"] },
    });
    client.publish(packet("msg_1", &offer)).await.unwrap();
    let mut inbox = client.inbox("agent.asker");
    let delivery = inbox.next().await.unwrap();
    let answer: Value = serde_json::from_slice(&delivery.envelope).unwrap();
    assert_eq!(answer["body"]["phase"], "answer", "{answer}");
    assert_eq!(answer["conversation"]["parent_message_id"], "msg_1");
    delivery.ack().await.unwrap();
    let confirm = json!({ "negotiation_id": "neg_1", "phase": "confirm" });
    client.publish(packet("msg_2", &confirm)).await.unwrap();
    // What is asked after the confirmation is answered after it was heard.
    let query = json!({ "operation": "query", "query": { "skill": "none" } });
    let query = uai("msg_3", "uai.agent.discovery.v1", &query);
    client.publish(query).await.unwrap();
    let delivery = inbox.next().await.unwrap();
    delivery.ack().await.unwrap();
    drop(inbox);
    let several = Heading {
        id: "msg_4".into(),
        issued_at: NOW,
        source: Agent::new("agent", "manager"),
        target: Agent::new("agent", "asker"),
        conversation: "conv_several".into(),
    };
    let several = Message::new("inform", "To both.").envelope(several);
    let several = several.also_to(Agent::new("agent", "other"));
    client.publish(several.write().unwrap()).await.unwrap();
    let path = "/v1/inbox/agent.asker?wait_ms=20000&carriage=negotiated";
    let agreed = crate::raw::get(&exchange.url, path).await.json()["deliveries"][0].clone();
    assert_eq!(agreed["id"], "msg_4");
    assert_eq!(
        agreed["envelope"]["additional_targets"][0]["id"], "other",
        "{agreed}"
    );
    exchange.signal(nix::sys::signal::Signal::SIGTERM);
    assert!(exchange.wait().success());
    let exchange = Exchange::on(folder.path());
    let again = crate::raw::get(&exchange.url, path).await.json()["deliveries"][0].clone();
    assert_eq!(again["id"], "msg_4");
    assert_eq!(again["carriage"], "split", "{again}");
    assert_eq!(again["envelope"]["target"]["id"], "asker");
}

fn probe(id: &str, port: u32) -> String {
    let payload = json!({ "source": "a", "target": "b", "port": port });
    Aee::task("agent.asker", "agent.worker", "ops.network.port.probe")
        .corr("conversation-p")
        .requires(r#"{"decision_evidence":"minimal"}"#)
        .payload_json(&payload.to_string())
        .build(id, NOW)
}

fn code(refused: &Error) -> &str {
    match refused {
        Error::Refused(problem) => &problem.code,
        other => panic!("expected a refusal, got {other}"),
    }
}

fn with_check(way: &str) -> Exchange {
    let set = format!("payload_check={way}");
    Exchange::start(&["--listen", "127.0.0.1:0", "--ephemeral", "--set", &set])
}

#[tokio::test]
async fn payloads_are_let_through_warned_of_or_refused_as_the_setting_says() {
    for way in ["off", "warn", "enforce"] {
        let exchange = with_check(way);
        let client = exchange.client();
        client.publish(probe("message-1", 22)).await.unwrap();
        match (way, client.publish(probe("message-2", 0)).await) {
            ("off" | "warn", Ok(receipt)) => {
                let mut warnings = receipt.warnings.iter();
                let is_warned = warnings.any(|warning| warning.code == "payload_invalid");
                assert_eq!(is_warned, way == "warn", "{receipt:?}");
            }
            ("enforce", Err(refused)) => assert_eq!(code(&refused), "payload_invalid"),
            (_, got) => panic!("{way}: {got:?}"),
        }
    }
}

#[tokio::test]
async fn a_result_has_the_decision_evidence_that_its_task_asked_for() {
    let exchange = with_check("enforce");
    let client = exchange.client();
    client.publish(probe("message-1", 22)).await.unwrap();
    let result = |id: &str, payload: &Value| {
        let rules = protocol::Rules::at(NOW);
        let header = protocol::decode(probe("message-1", 22).as_bytes(), &rules)
            .header
            .unwrap();
        let result = Aee::result_of(&header).payload_json(&payload.to_string());
        result.build(id, NOW)
    };
    let bare = client
        .publish(result("message-2", &json!({ "reachable": true })))
        .await;
    assert_eq!(code(&bare.unwrap_err()), "payload_invalid");
    let evidence = json!({ "reachable": true, "decision_evidence": { "decision": "open", "reason_summary": "It answered." } });
    client
        .publish(result("message-3", &evidence))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_folder_adds_schemas_and_a_wrong_one_is_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("my.own.task.schema.json");
    std::fs::write(&file, r#"{"required":["x"]}"#).unwrap();
    let set = format!("schemas={}", folder.path().display());
    let exchange = Exchange::start(&[
        "--listen",
        "127.0.0.1:0",
        "--ephemeral",
        "--set",
        "payload_check=enforce",
        "--set",
        &set,
    ]);
    let envelope = Aee::task("agent.asker", "agent.worker", "my.own")
        .corr("conversation-o")
        .build("message-1", NOW);
    let refused = exchange.client().publish(envelope).await.unwrap_err();
    assert_eq!(code(&refused), "payload_invalid");
    std::fs::write(&file, "{").unwrap();
    let said = crate::process::run(&["serve", "--ephemeral", "--set", &set]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("my.own.task.schema.json"), "{said:?}");
}
