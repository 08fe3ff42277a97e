//! `interwire run`: a real child that answers, dies, and says nonsense.

use crate::process::{Exchange, interwire, task};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

/// Answers every AEE task with a result, after what `before` does with it (`line` is the envelope).
fn agent(folder: &std::path::Path, before: &str) -> String {
    let path = folder.join("agent.py");
    let script = format!(
        r#"import json, os, sys
for line in sys.stdin:
    task = json.loads(line)
    {before}
    print(json.dumps({{"v": "1", "id": "answer-" + task["id"], "ts": task["ts"], "type": "result",
        "from": "agent.b", "to": task["from"], "intent": task["intent"], "corr": task["corr"],
        "reply_to": task["id"], "trace": None, "priority": "normal", "requires": None,
        "payload": {{"ok": True}}, "sig": None}}), flush=True)
"#
    );
    std::fs::write(&path, script).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A running `run`; killed when dropped.
struct Running {
    child: Child,
}

impl Running {
    fn start(exchange: &Exchange, options: &[&str], script: &str) -> Self {
        let mut command = interwire(&["run", "--as", "agent.b", "--url", &exchange.url]);
        command.args(options).args(["--", "python3", script]);
        let child = command.stderr(Stdio::piped()).spawn().unwrap();
        Self { child }
    }

    fn lines(&mut self) -> impl Iterator<Item = serde_json::Value> {
        let errors = BufReader::new(self.child.stderr.take().unwrap());
        let lines = errors.lines().map_while(Result::ok);
        lines.filter_map(|line| serde_json::from_str(&line).ok())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Waits until the message's only recipient is in that state.
async fn until(exchange: &Exchange, id: &str, state: &str) {
    crate::raw::within(async {
        loop {
            let path = format!("/v1/messages/{id}/receipt");
            let answer = crate::raw::get(&exchange.url, &path).await;
            if answer.status == 200 && answer.json()["recipients"][0]["state"] == state {
                return;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_child_gets_lines_and_its_answers_acknowledge() {
    let (exchange, folder) = (Exchange::in_memory(), tempfile::tempdir().unwrap());
    let _running = Running::start(&exchange, &[], &agent(folder.path(), "pass"));
    for n in 0..20 {
        let text = task(&format!("task-{n}"), "agent.b", "conversation-1");
        let sent = crate::raw::publish(&exchange.url, &text).await;
        assert_eq!(sent.status, 201, "{}", sent.text());
    }
    for n in 0..20 {
        until(&exchange, &format!("task-{n}"), "acked").await;
    }
}

#[tokio::test]
async fn a_child_that_dies_loses_nothing_and_is_started_again() {
    let (exchange, folder) = (Exchange::in_memory(), tempfile::tempdir().unwrap());
    // Dies once with every task in its hands, before it answers.
    let mark = folder.path().join("died-");
    let dies = format!(
        "mark = {:?} + task['id']\n    if not os.path.exists(mark): open(mark, 'w').close(); os.kill(os.getpid(), 9)",
        mark.to_str().unwrap()
    );
    let mut running = Running::start(&exchange, &[], &agent(folder.path(), &dies));
    for n in 0..3 {
        let text = task(
            &format!("task-{n}"),
            "agent.b",
            &format!("conversation-{n}"),
        );
        assert_eq!(crate::raw::publish(&exchange.url, &text).await.status, 201);
    }
    let ended = running.lines().next().unwrap();
    assert_eq!(ended["event"], "child_ended");
    for n in 0..3 {
        until(&exchange, &format!("task-{n}"), "acked").await;
    }
}

#[tokio::test]
async fn nonsense_is_reported_and_the_child_lives_on() {
    let (exchange, folder) = (Exchange::in_memory(), tempfile::tempdir().unwrap());
    let says = "print('{\"v\":', flush=True)";
    let mut running = Running::start(&exchange, &[], &agent(folder.path(), says));
    let text = task("task-1", "agent.b", "conversation-1");
    assert_eq!(crate::raw::publish(&exchange.url, &text).await.status, 201);
    let refused = running.lines().next().unwrap();
    assert_eq!(
        (&refused["event"], &refused["line"]),
        (&"refused".into(), &1.into())
    );
    assert_eq!(refused["code"], "malformed_json");
    until(&exchange, "task-1", "acked").await;
}

#[tokio::test]
async fn a_signal_lets_the_child_finish_and_hands_over_what_it_holds() {
    let (exchange, folder) = (Exchange::in_memory(), tempfile::tempdir().unwrap());
    // Takes a task and says nothing.
    let mut running = Running::start(&exchange, &[], &agent(folder.path(), "continue"));
    let text = task("task-1", "agent.b", "conversation-1");
    assert_eq!(crate::raw::publish(&exchange.url, &text).await.status, 201);
    until(&exchange, "task-1", "delivered").await;
    let id = nix::unistd::Pid::from_raw(running.child.id().try_into().unwrap());
    nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGTERM).unwrap();
    assert!(running.child.wait().unwrap().success());
    until(&exchange, "task-1", "stored").await;
    let receipt = crate::raw::get(&exchange.url, "/v1/messages/task-1/receipt").await;
    let failures = receipt.json()["recipients"][0]["failures"].clone();
    assert!(failures.as_array().is_none_or(Vec::is_empty), "{failures}");
}
