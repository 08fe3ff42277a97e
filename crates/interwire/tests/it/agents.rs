//! The directory from outside: registered over HTTP and from the command line, found by what agents can
//! do, and still there after the process was killed.

use crate::process::{Exchange, run, run_with};
use crate::raw::{ask, get};
use client::AgentQuery;
use serde_json::{Value, json};

const CARD: &str = r#"{"name":"Sentinel","version":"2","skills":[{"id":"port-scan","tags":["network"]}],
"intents":["ops.network.port.probe"],"dialects":["aee"]}"#;

const JSON: &[(&str, &str)] = &[("content-type", "application/json")];

fn parties(page: &str) -> Vec<String> {
    let page: Value = serde_json::from_str(page).unwrap();
    let agents = page["agents"].as_array().unwrap();
    agents
        .iter()
        .map(|agent| agent["party"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn a_registered_agent_is_found_by_what_it_can_do_and_no_other_way() {
    let (_exchange, client) = Exchange::in_memory_with_client();
    client.put_agent("agent.sentinel", CARD).await.unwrap();
    client
        .put_agent("agent:cook", r#"{"skills":[{"id":"cook"}]}"#)
        .await
        .unwrap();
    for (field, value, expected) in [
        ("skill", "PORT-SCAN", "agent:sentinel"),
        ("tag", "network", "agent:sentinel"),
        ("intent", "ops.*", "agent:sentinel"),
        ("dialect", "aee", "agent:sentinel"),
        ("q", "sentinel", "agent:sentinel"),
        ("skill", "cook", "agent:cook"),
    ] {
        let query = AgentQuery::default().with(field, value);
        let page = client.agents(&query).await.unwrap();
        assert_eq!(parties(&page), [expected], "{field}={value}");
    }
    let both = AgentQuery::default()
        .with("skill", "cook")
        .with("dialect", "aee");
    assert!(parties(&client.agents(&both).await.unwrap()).is_empty());
    let first = AgentQuery {
        limit: Some(1),
        ..AgentQuery::default()
    };
    let page = client.agents(&first).await.unwrap();
    let next: Value = serde_json::from_str(&page).unwrap();
    let second = AgentQuery {
        after: next["next"].as_str().map(Into::into),
        ..first
    };
    assert_eq!(parties(&page), ["agent:cook"]);
    assert_eq!(
        parties(&client.agents(&second).await.unwrap()),
        ["agent:sentinel"]
    );
}

#[tokio::test]
async fn cards_survive_a_killed_exchange_and_so_does_what_was_announced() {
    let folder = tempfile::tempdir().unwrap();
    let exchange = Exchange::on(folder.path());
    let client = exchange.client();
    client.put_agent("agent.sentinel", CARD).await.unwrap();
    client.put_agent("agent.gone", "{}").await.unwrap();
    client.remove_agent("agent.gone").await.unwrap();
    let declared = json!({
        "spec_version": "0.2", "id": "evt_d1", "type": "capabilities.declared",
        "created_at": "2026-02-28T10:30:00Z", "source": "agent:files",
        "payload": { "protocol": "aep", "skills": [{ "id": "read_file" }] },
    });
    client.publish(declared.to_string()).await.unwrap();
    let before = client.agent("agent.sentinel").await.unwrap();
    exchange.kill();
    let exchange = Exchange::on(folder.path());
    let client = exchange.client();
    let after: Value =
        serde_json::from_str(&client.agent("agent.sentinel").await.unwrap()).unwrap();
    let before: Value = serde_json::from_str(&before).unwrap();
    assert_eq!(after["cards"], before["cards"]);
    assert_eq!(
        after["presence"], "stale",
        "nobody is offline before one lease is over"
    );
    assert_eq!(after["last_seen"], Value::Null);
    let all = client.agents(&AgentQuery::default()).await.unwrap();
    assert_eq!(parties(&all), ["agent:files", "agent:sentinel"]);
    let query = AgentQuery::default().with("skill", "read_file");
    assert_eq!(
        parties(&client.agents(&query).await.unwrap()),
        ["agent:files"]
    );
}

#[tokio::test]
async fn a_card_that_cannot_be_taken_is_refused_with_every_fault() {
    let exchange = Exchange::in_memory();
    let put = async |party: &str, body: &str| {
        ask(
            &exchange.url,
            &format!("PUT /v1/agents/{party}"),
            JSON,
            body,
        )
        .await
    };
    let problem = put("agent.x", r#"{"nam":1,"skills":[{}]}"#)
        .await
        .refuses(422, "undeclared_field");
    assert_eq!(problem["errors"][1]["pointer"], "/skills/0/id", "{problem}");
    put("agent.x", "{").await.refuses(400, "malformed_json");
    put("bus.x", "{}").await.refuses(422, "identity_malformed");
    put("service.interwire", "{}")
        .await
        .refuses(403, "reserved_sender");
    let long = format!(r#"{{"description":"{}"}}"#, "x".repeat(300_000));
    put("agent.x", &long).await.refuses(413, "too_large");
    let query = "/v1/agents?presence=here";
    get(&exchange.url, query).await.refuses(400, "bad_request");
    get(&exchange.url, "/v1/agents/agent.nobody")
        .await
        .refuses(404, "not_found");
    assert_eq!(put("agent.x", "{}").await.status, 201);
    assert_eq!(put("agent.x", "{}").await.status, 200);
}

#[tokio::test]
async fn a2a_clients_read_the_cards_of_the_exchange_and_of_every_agent() {
    let exchange = Exchange::in_memory();
    let own = get(&exchange.url, "/.well-known/agent-card.json")
        .await
        .json();
    assert_eq!(own["name"], "Interwire");
    let first = own["supportedInterfaces"][0]["url"].as_str().unwrap();
    assert_eq!(first, format!("{}/v1/messages", exchange.url));
    for member in [
        "description",
        "version",
        "capabilities",
        "defaultInputModes",
        "skills",
    ] {
        assert!(!own[member].is_null(), "{member}");
    }
    let given = json!({
        "name": "Cook", "description": "Cooks", "version": "1",
        "supportedInterfaces": [{ "url": "https://example.org/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0" }],
        "capabilities": {}, "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{ "id": "cook", "name": "Cook", "description": "d", "tags": ["food"] }],
        "signatures": [{ "protected": "e30", "signature": "AA" }],
    });
    let client = exchange.client();
    client
        .put_agent("agent.cook", &given.to_string())
        .await
        .unwrap();
    let card = get(&exchange.url, "/v1/agents/agent.cook/agent-card.json")
        .await
        .json();
    assert_eq!(card, given);
    client.put_agent("agent.sentinel", CARD).await.unwrap();
    let card = client.agent_card(Some("agent.sentinel")).await.unwrap();
    let card: Value = serde_json::from_str(&card).unwrap();
    assert_eq!(card["skills"][0]["id"], "port-scan");
    assert_eq!(card["skills"][1]["id"], "ops.network.port.probe");
}

#[test]
fn the_verbs_register_find_show_and_remove() {
    let exchange = Exchange::in_memory();
    let url = ["--url", &exchange.url];
    let with = |arguments: &[&'static str]| [arguments, &[url[0], url[1]]].concat();
    let registered = run_with(&with(&["agent", "register", "agent.sentinel"]), CARD);
    assert_eq!(registered.code, Some(0), "{registered:?}");
    let found = run(&with(&["find", "--skill", "port-scan", "--json"]));
    assert_eq!(found.json()[0]["party"], "agent:sentinel", "{found:?}");
    assert_eq!(run(&with(&["find", "--skill", "nothing"])).code, Some(1));
    let listed = run(&with(&["agent", "ls"]));
    assert!(listed.out.contains("online"), "{listed:?}");
    let shown = run(&with(&["agent", "show", "agent.sentinel", "--a2a"]));
    assert_eq!(shown.json()[0]["name"], "Sentinel", "{shown:?}");
    assert_eq!(run(&with(&["agent", "rm", "agent.sentinel"])).code, Some(0));
    assert_eq!(
        run(&with(&["agent", "show", "agent.sentinel"])).code,
        Some(1)
    );
}
