//! Tasks and asking, with real processes that are killed.

use crate::process::{Exchange, finish, interwire, run, run_with};
use bytes::Bytes;
use client::{AskEvent, Client, Place, Problem, SocketEvent, SocketReader, TaskQuery};
use protocol::dialect::aee::Aee;
use protocol::dialect::aep::Aep;
use protocol::dialect::uai::build::{Agent, Handoff, Heading};
use protocol::{Header, Rules, Timestamp, decode};
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread::JoinHandle;
use std::time::Duration;

const NOW: Timestamp = Timestamp::from_millis(1_796_054_400_000);
const LONG: Duration = Duration::from_secs(60);

fn event(id: &str, word: &str, task: &str, payload: &str) -> Bytes {
    let (from, to) = if word == "submitted" {
        ("agent:client", "agent:worker")
    } else {
        ("agent:worker", "agent:client")
    };
    let event = Aep::event(&format!("task.{word}"), from)
        .target(to)
        .task(task);
    event.payload_json(payload).build(id, NOW).into()
}

fn aee_task(id: &str, requires: &str) -> String {
    let task = Aee::task("human.adam", "agent.worker", "quox.security.scan");
    task.requires(requires).build(id, NOW)
}

fn header(envelope: &[u8]) -> Header {
    decode(envelope, &Rules::at(NOW)).header.unwrap()
}

async fn shown(client: &Client, task: &str) -> Value {
    serde_json::from_str(&client.task(task).await.unwrap()).unwrap()
}

async fn refused(client: &Client, envelope: Bytes) -> Problem {
    let error = client.publish(envelope).await.unwrap_err();
    error.problem().unwrap().clone()
}

/// Reads a task's server-sent events until the exchange ends the answer.
fn watch(url: &str, task: &str) -> JoinHandle<String> {
    let address = url.strip_prefix("http://").unwrap().to_owned();
    let request = format!(
        "GET /v1/tasks/{task} HTTP/1.0\r\nHost: {address}\r\nAccept: text/event-stream\r\n\r\n"
    );
    std::thread::spawn(move || {
        let mut connection = TcpStream::connect(address).unwrap();
        connection.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        connection.read_to_string(&mut text).unwrap();
        text
    })
}

/// The ids of the envelopes in an event stream, and its last event.
fn events_of(text: &str) -> (Vec<String>, Value) {
    let data = |line: &str| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok();
    let mut found: Vec<Value> = text.lines().filter_map(data).collect();
    let last = found.pop().unwrap();
    let id = |value: &Value| value["id"].as_str().unwrap().to_owned();
    (found.iter().map(id).collect(), last)
}

async fn read_to_end(mut reader: SocketReader) -> (Vec<String>, Value) {
    let (mut ids, mut end) = (Vec::new(), Value::Null);
    while let Some(event) = reader.next().await.unwrap() {
        match event {
            SocketEvent::Deliver(delivery) => ids.push(header(&delivery.envelope).id.into()),
            SocketEvent::Ended(text) => end = serde_json::from_str(&text).unwrap(),
            other => panic!("{other:?}"),
        }
    }
    (ids, end)
}

#[tokio::test(flavor = "multi_thread")]
async fn t17_task_truth() {
    let (exchange, watcher) = Exchange::in_memory_with_client();
    // The client submits and is gone.
    let client = exchange.client();
    client
        .publish(event("e1", "submitted", "t17", "{}"))
        .await
        .unwrap();
    drop(client);
    // Two watchers stay, one over HTTP and one over a socket.
    let events = watch(&exchange.url, "t17");
    let socket = watcher.socket().await.unwrap();
    let reader = socket.watch("t17", None).await.unwrap();
    let frames = tokio::spawn(read_to_end(reader));
    let worker = exchange.client();
    for (n, word) in ["accepted", "started", "progress", "completed"]
        .iter()
        .enumerate()
    {
        worker
            .publish(event(&format!("w{n}"), word, "t17", "{}"))
            .await
            .unwrap();
    }
    let expected = ["e1", "w0", "w1", "w2", "w3"].map(str::to_owned).to_vec();
    let text = tokio::task::spawn_blocking(|| events.join().unwrap())
        .await
        .unwrap();
    let (seen, end) = events_of(&text);
    assert_eq!(seen, expected);
    assert_eq!(
        (end["state"].as_str(), end["id"].as_str()),
        (Some("completed"), Some("w3"))
    );
    let (seen, end) = frames.await.unwrap();
    assert_eq!(
        (seen, end["state"].as_str()),
        (expected.clone(), Some("completed"))
    );
    // Whatever comes later is refused with the state, on every door.
    for (id, word) in [("x1", "completed"), ("x2", "failed"), ("x3", "progress")] {
        let problem = refused(&worker, event(id, word, "t17", "{}")).await;
        assert_eq!(
            (problem.status, problem.code.as_str()),
            (409, "illegal_transition")
        );
        assert!(
            problem.detail.contains("\"t17\", which is completed"),
            "{problem}"
        );
        let over_socket = socket
            .publish(event(id, word, "t17", "{}"))
            .await
            .unwrap_err();
        assert_eq!(over_socket.problem().unwrap().code, "illegal_transition");
    }
    let task = shown(&watcher, "t17").await;
    assert_eq!(task["state"], "completed");
    assert_eq!(task["history"].as_array().unwrap().len(), 5);
    // Who comes late gets the history and a clean end.
    let url = exchange.url.clone();
    let late = tokio::task::spawn_blocking(move || watch(&url, "t17").join().unwrap());
    assert_eq!(events_of(&late.await.unwrap()).0, expected);
    let late = read_to_end(socket.watch("t17", None).await.unwrap()).await;
    assert_eq!(late.0, expected);
    socket.ping().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn asking_survives_a_kill_of_the_exchange_in_between() {
    let folder = tempfile::tempdir().unwrap();
    let exchange = Exchange::on(folder.path());
    let address = exchange.url.strip_prefix("http://").unwrap().to_owned();
    let client = exchange.client();
    let request = aee_task("aee-task-0001", "null");
    let mut asking = client.ask_and_watch(request.clone(), LONG);
    let AskEvent::Asked { task, receipt } = asking.next().await.unwrap() else {
        panic!("expected the receipt");
    };
    assert_eq!((task.as_str(), receipt.duplicate), ("aee-task-0001", false));
    let cause = header(request.as_bytes());
    let stream = Aee::stream_of(&cause).build("aee-stream-0001", NOW);
    client.publish(stream.clone()).await.unwrap();
    let AskEvent::Progress { envelope, .. } = asking.next().await.unwrap() else {
        panic!("expected progress");
    };
    assert_eq!(envelope, stream);
    exchange.kill();
    let waiting = tokio::spawn(async move {
        let mut was_interrupted = false;
        loop {
            match asking.next().await.unwrap() {
                AskEvent::Reconnecting(_) => was_interrupted = true,
                AskEvent::Reply(reply) => return (reply, was_interrupted),
                other => panic!("told twice: {other:?}"),
            }
        }
    });
    let data = folder.path().to_str().unwrap().to_owned();
    let again = Exchange::start_again(&["--listen", &address, "--data", &data]);
    let mut inbox = client.inbox("agent.worker");
    let delivery = inbox.next().await.unwrap();
    assert_eq!(delivery.envelope, request);
    let result = Aee::result_of(&cause)
        .payload_json("{\"n\": 1.50}")
        .build("aee-result-0001", NOW);
    client.publish(result.clone()).await.unwrap();
    let (reply, was_interrupted) = waiting.await.unwrap();
    assert!(was_interrupted);
    assert_eq!(
        (reply.envelope, reply.state.as_str()),
        (Bytes::from(result.clone()), "completed")
    );
    // The same question again has the same answer, also after one more life.
    again.kill();
    let _third = Exchange::start_again(&["--listen", &address, "--data", &data]);
    let reply = client.ask(request, LONG).await.unwrap();
    assert_eq!(reply.envelope, result);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_that_passed_while_nobody_ran_fires_once_in_every_dialect() {
    let folder = tempfile::tempdir().unwrap();
    let exchange = Exchange::on(folder.path());
    let client = exchange.client();
    client
        .publish(aee_task("aee-task-0001", r#"{"timeout_ms":1500}"#))
        .await
        .unwrap();
    client
        .publish(event(
            "e1",
            "submitted",
            "aep-task",
            r#"{"timeout_ms":1500}"#,
        ))
        .await
        .unwrap();
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let now = Timestamp::from_millis(i64::try_from(now.as_millis()).unwrap());
    let heading = Heading {
        id: "msg_1".into(),
        issued_at: now,
        source: Agent::new("agent", "manager"),
        target: Agent::new("agent", "worker"),
        conversation: "conv_1".into(),
    };
    let handoff = Handoff::new("T1", "context", "reason", "do it").envelope(heading);
    let handoff = handoff.expires_at(now.plus_millis(1_500)).write().unwrap();
    client.publish(handoff).await.unwrap();
    exchange.kill();
    // Nothing runs while the time passes; that is what is tested.
    tokio::time::sleep(Duration::from_millis(1_800)).await;
    let exchange = Exchange::on(folder.path());
    let client = exchange.client();
    for (party, word) in [
        ("human.adam", "E_TIMEOUT"),
        ("agent.client", "task.timed_out"),
        ("agent.manager", "\"state\":\"expired\""),
    ] {
        let mut inbox = client.inbox(party);
        let delivery = inbox.next().await.unwrap();
        assert!(
            std::str::from_utf8(&delivery.envelope)
                .unwrap()
                .contains(word),
            "{word}"
        );
        delivery.ack().await.unwrap();
    }
    let query = TaskQuery {
        states: vec!["timed_out".into()],
        ..TaskQuery::default()
    };
    let list: Value = serde_json::from_str(&client.tasks(&query).await.unwrap()).unwrap();
    assert_eq!(list["tasks"].as_array().unwrap().len(), 3);
    for (task, state) in [("aee-task-0001", "aee-result-1"), ("aep-task", "w1")] {
        let late = if task == "aep-task" {
            event(state, "completed", task, "{}")
        } else {
            Aee::result_of(&header(aee_task(task, "null").as_bytes()))
                .build(state, NOW)
                .into()
        };
        let problem = refused(&client, late).await;
        assert!(problem.detail.contains("which is timed_out"), "{problem}");
    }
    exchange.kill();
    let exchange = Exchange::on(folder.path());
    let client = exchange.client();
    let spoken = client::Filter::new().with("source", "service.interwire");
    let page = client.page(&spoken, &client::From::Earliest, 99).await;
    assert_eq!(page.unwrap().envelopes.len(), 3, "nothing is said twice");
    let place = Place::Inbox("human.adam".into());
    assert!(
        client
            .pull(&place, 9, Duration::ZERO)
            .await
            .unwrap()
            .is_empty()
    );
}

#[test]
fn the_verbs_ask_list_show_and_call_off() {
    let exchange = Exchange::in_memory();
    let url = exchange.url.as_str();
    let submitted = event("e1", "submitted", "t1", "{}");
    let submitted = std::str::from_utf8(&submitted).unwrap();
    assert_eq!(run_with(&["send", "--url", url], submitted).code, Some(0));
    let listed = run(&["task", "ls", "--url", url, "--state", "open", "--json"]);
    assert_eq!(
        (listed.code, &listed.json()[0]["task"]),
        (Some(0), &"t1".into())
    );
    let cancelled = run(&[
        "task",
        "cancel",
        "t1",
        "--url",
        url,
        "--as",
        "agent.client",
        "--reason",
        "enough",
    ]);
    assert_eq!(cancelled.out, "asked agent:worker to end task t1\n");
    let ended = event("e2", "cancelled", "t1", "{}");
    run_with(
        &["send", "--url", url],
        std::str::from_utf8(&ended).unwrap(),
    );
    let shown = run(&["task", "show", "t1", "--url", url, "--json"]);
    assert_eq!(shown.json()[0]["state"], "cancelled");
    let people = run(&["task", "show", "t1", "--url", url]);
    assert!(
        people.out.contains("cancel        requested"),
        "{}",
        people.out
    );
    let again = run(&["task", "cancel", "t1", "--url", url]);
    assert_eq!(again.code, Some(1));
    assert!(again.err.contains("illegal_transition"), "{}", again.err);
    assert_eq!(run(&["task", "show", "t2", "--url", url]).code, Some(1));
    assert_eq!(
        run(&["task", "ls", "--url", "http://127.0.0.1:1"]).code,
        Some(3)
    );
}

#[test]
fn the_verb_ask_prints_the_reply_and_exits_by_its_state() {
    let exchange = Exchange::in_memory();
    let url = exchange.url.clone();
    let ask = |id: &str, timeout: &str| {
        let mut command = interwire(&["ask", "--url", &exchange.url, "--timeout", timeout]);
        command.args([
            "--aee",
            "--from",
            "human.adam",
            "--to",
            "agent.worker",
            "--intent",
            "a.b",
            "--id",
            id,
        ]);
        command
    };
    let worker = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let client = Client::connect(&url).unwrap();
            let mut inbox = client.inbox("agent.worker");
            let task = header(&inbox.next().await.unwrap().envelope);
            let failed = Aee::error_of(&task, "E_X", "it broke").build("aee-error-0001", NOW);
            client.publish(failed).await.unwrap();
        });
    });
    let asked = finish(ask("aee-task-0001", "60"), "");
    worker.join().unwrap();
    assert_eq!(asked.code, Some(1), "{}", asked.err);
    assert_eq!(asked.json()[0]["payload"]["code"], "E_X");
    assert!(asked.err.contains("asked: task aee-task-0001") && asked.err.contains("failed"));
    let late = finish(ask("aee-task-0002", "0.01"), "");
    assert_eq!(late.code, Some(1));
    assert!(late.err.contains("no_reply"), "{}", late.err);
}
