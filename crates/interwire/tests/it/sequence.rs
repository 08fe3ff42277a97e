//! The sequence of the multi-agent report, by processes that share no code with the exchange: a manager
//! hands one task to two workers, both acknowledge, both report, and only then is it complete.

use crate::process::{Exchange, run};
use protocol::Timestamp;
use protocol::dialect::uai::build::{Agent, Handoff, Heading};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Child, Command, Stdio};

fn agent(url: &str, role: &str, name: &str) -> Child {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/sequence/agent.py");
    Command::new("python3")
        .arg(script)
        .args([url, role, name])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn said(agent: Child) -> Value {
    let output = agent.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Runs the three; gives what the manager sent.
fn sequence(exchange: &Exchange, carriage: &str) -> Vec<String> {
    let url = exchange.url.as_str();
    let workers = ["worker1", "worker2"].map(|name| agent(url, "worker", name));
    let manager = said(agent(url, "manager", carriage));
    let workers = workers.map(said);
    assert_eq!(
        workers,
        [
            json!({ "carriage": carriage, "action": "write part 1" }),
            json!({ "carriage": carriage, "action": "write part 2" }),
        ]
    );
    let mut seen: Vec<_> = manager["seen"].as_array().unwrap().clone();
    for name in ["worker1", "worker2"] {
        let own: Vec<_> = seen.iter().filter(|line| line[1] == name).collect();
        assert_eq!(
            own,
            [
                &json!(["uai.agent.ack.v1", name, "accepted", "corr_report"]),
                &json!([
                    "uai.agent.final-report.v1",
                    name,
                    "completed",
                    "corr_report"
                ]),
            ]
        );
    }
    seen.retain(|line| line[1] != "worker1" && line[1] != "worker2");
    assert_eq!(seen, Vec::<Value>::new());
    let sent = manager["sent"].as_array().unwrap();
    sent.iter()
        .map(|id| id.as_str().unwrap().to_owned())
        .collect()
}

fn receipt(url: &str, id: &str) -> Value {
    let ran = run(&["receipt", id, "--url", url, "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ran.json().remove(0)
}

/// Every receipt shows the recipients' own acknowledgements and the whole task, also after a crash.
fn check(carriage: &str) {
    let folder = tempfile::tempdir().unwrap();
    let exchange = Exchange::on(folder.path());
    let sent = sequence(&exchange, carriage);
    assert_eq!(sent.len(), if carriage == "split" { 2 } else { 1 });
    let receipts: Vec<_> = sent.iter().map(|id| receipt(&exchange.url, id)).collect();
    let mut acked = Vec::new();
    for receipt in &receipts {
        assert_eq!(
            receipt["task"],
            json!({ "id": "task_report", "state": "completed", "workers": [
                { "party": "agent:worker1", "state": "completed" },
                { "party": "agent:worker2", "state": "completed" },
            ]})
        );
        assert_eq!(receipt["final"], true);
        for recipient in receipt["recipients"].as_array().unwrap() {
            assert_eq!(recipient["state"], "acked");
            acked.push((recipient["party"].clone(), recipient["message"].clone()));
        }
    }
    assert_eq!(
        acked,
        [
            (json!("agent:worker1"), json!("ack_worker1")),
            (json!("agent:worker2"), json!("ack_worker2")),
        ]
    );
    let trace = run(&["trace", "grp_report", "--url", &exchange.url]);
    for id in [
        "ack_worker1",
        "ack_worker2",
        "report_worker1",
        "report_worker2",
    ] {
        assert!(trace.out.contains(id), "{}", trace.out);
    }
    exchange.kill();
    let exchange = Exchange::on(folder.path());
    let again: Vec<_> = sent.iter().map(|id| receipt(&exchange.url, id)).collect();
    let told = |receipts: &[Value]| -> Vec<Value> {
        receipts.iter().map(|one| one["task"].clone()).collect()
    };
    assert_eq!(told(&again), told(&receipts));
}

#[test]
fn a_manager_and_two_workers_finish_a_handoff_that_travels_natively() {
    check("native");
}

#[test]
fn a_manager_and_two_workers_finish_a_handoff_that_travels_in_a_record() {
    check("strict");
}

#[test]
fn a_manager_and_two_workers_finish_a_handoff_that_travels_as_copies() {
    check("split");
}

/// A handoff that its worker will never take, and what its sender is told.
#[tokio::test]
async fn who_hands_work_to_somebody_that_never_takes_it_gets_a_blocker() {
    let (_exchange, client) = Exchange::in_memory_with_client();
    let handoff = |id: &str, directive: &str| {
        let heading = Heading {
            id: id.into(),
            issued_at: Timestamp::from_millis(1_796_054_400_000),
            source: Agent::new("agent", "manager"),
            target: Agent::new("agent", "worker"),
            conversation: id.into(),
        };
        let handoff = Handoff::new(id, "context", "reason", "act").envelope(heading);
        handoff.fallback(directive).write().unwrap()
    };
    for (id, directive) in [
        ("silent_1", "no_op"),
        ("loud_1", "raise_blocker"),
        ("loud_2", "human_review"),
    ] {
        client.publish(handoff(id, directive)).await.unwrap();
        let delivery = client.inbox("agent.worker").next().await.unwrap();
        delivery.reject("no such tool here").await.unwrap();
        if directive == "no_op" {
            continue;
        }
        let told = client.inbox("agent.manager").next().await.unwrap();
        told.ack().await.unwrap();
        let blocker: Value = serde_json::from_slice(&told.envelope).unwrap();
        assert_eq!(blocker["profile"], "uai.agent.blocker.v1");
        assert_eq!(blocker["body"]["blocker_type"], "dependency");
        assert_eq!(blocker["body"]["related_message_ids"], json!([id]));
        let needs_human = directive == "human_review";
        assert_eq!(blocker["body"]["human_review_required"], needs_human);
    }
}
