//! Verbs against a running exchange, and those that need none.

use crate::process::{Exchange, finish, interwire, run, run_with, task};
use std::io::Read as _;
use std::process::Stdio;

#[test]
fn a_built_envelope_reaches_the_inbox_and_is_gone_once_acknowledged() {
    let exchange = Exchange::in_memory();
    let url = exchange.url.as_str();
    let sent = run(&[
        "send",
        "--url",
        url,
        "--aee",
        "--from",
        "human.adam",
        "--to",
        "agent.sentinel",
        "--intent",
        "quox.security.scan",
        "--payload",
        "{\"target\":\"nw-web-01\"}",
        "--json",
    ]);
    assert_eq!(sent.code, Some(0), "{}", sent.err);
    assert_eq!(
        sent.json()[0]["receipt"]["recipients"][0]["party"],
        "agent:sentinel"
    );
    let read = run(&["inbox", "agent:sentinel", "--url", url, "--ack", "--json"]);
    assert_eq!(read.json()[0]["envelope"]["payload"]["target"], "nw-web-01");
    let again = run(&["inbox", "agent.sentinel", "--url", url, "--json"]);
    assert_eq!((again.code, again.out.as_str()), (Some(0), ""));
}

#[test]
fn every_dialect_can_be_built_and_is_valid() {
    let built = [
        run(&[
            "send",
            "--print",
            "--aee",
            "--from",
            "human.adam",
            "--to",
            "agent.b",
            "--intent",
            "a.b",
        ]),
        run(&[
            "send",
            "--print",
            "--aep",
            "--type",
            "task.submitted",
            "--from",
            "agent.a",
            "--to",
            "tool.b",
            "--task",
            "t1",
            "--payload",
            "{\"description\":\"x\"}",
        ]),
        run(&[
            "send",
            "--print",
            "--uai",
            "--profile",
            "uai.agent.message.v1",
            "--from",
            "agent.a",
            "--to",
            "agent.b",
            "--to",
            "agent.c",
            "--payload",
            "{\"message_type\":\"inform\",\"content\":\"x\",\"context_refs\":[],\"requires_acknowledgement\":false}",
        ]),
    ];
    for built in built {
        assert_eq!(built.code, Some(0), "{}", built.err);
        let verdict = run_with(&["validate", "--json"], &built.out);
        assert_eq!(verdict.code, Some(0), "{}\n{}", built.out, verdict.out);
    }
}

#[test]
fn an_answer_takes_its_place_in_the_conversation_from_the_message_it_answers() {
    let exchange = Exchange::in_memory();
    let url = exchange.url.as_str();
    run_with(
        &["send", "--url", url],
        &task("message-1", "agent.b", "conversation-1"),
    );
    let built = run(&[
        "send",
        "--url",
        url,
        "--print",
        "--aee",
        "--type",
        "result",
        "--from",
        "agent.b",
        "--reply-to",
        "message-1",
    ]);
    let result = &built.json()[0];
    assert_eq!(
        (&result["to"], &result["corr"], &result["reply_to"]),
        (
            &"human.adam".into(),
            &"conversation-1".into(),
            &"message-1".into()
        )
    );
}

#[test]
fn many_envelopes_keep_their_order_and_a_bad_one_costs_only_itself() {
    let exchange = Exchange::in_memory();
    let url = exchange.url.as_str();
    let mut lines: Vec<String> = (0..300)
        .map(|n| task(&format!("message-{n:04}"), "agent.b", "conversation-1"))
        .collect();
    lines.insert(7, "{\"v\":\"1\",\"v\":\"1\"}".into());
    lines.insert(9, "not json".into());
    lines.push(lines[0].clone());
    let sent = run_with(&["send", "--url", url, "--json"], &lines.join("\n"));
    assert_eq!(sent.code, Some(1), "{}", sent.err);
    let results = sent.json();
    assert_eq!(results.len(), 303);
    assert_eq!(results[7]["fault"]["code"], "duplicate_key");
    assert_eq!(results[9]["fault"]["code"], "malformed_json");
    assert_eq!(results[302]["status"], "duplicate");
    let tail = run(&[
        "tail",
        "--url",
        url,
        "--from",
        "earliest",
        "--until-caught-up",
        "--json",
    ]);
    let read: Vec<&str> = tail.out.lines().collect();
    lines.truncate(302);
    lines.remove(9);
    lines.remove(7);
    assert_eq!(read, lines, "the bytes come out as they went in, in order");
}

#[test]
fn written_out_json_is_published_with_its_line_breaks() {
    let exchange = Exchange::in_memory();
    let url = exchange.url.as_str();
    let pretty = task("message-1", "agent.b", "conversation-1").replace(",\"", ",\n  \"");
    assert_eq!(run_with(&["send", "--url", url], &pretty).code, Some(0));
    let read = run(&["inbox", "agent.b", "--url", url, "--exec", "cat"]);
    assert_eq!((read.code, read.out.as_str()), (Some(0), pretty.as_str()));
}

#[test]
fn a_command_that_fails_gives_the_envelope_back() {
    let exchange = Exchange::in_memory();
    let url = exchange.url.as_str();
    run_with(
        &["send", "--url", url],
        &task("message-1", "agent.b", "conversation-1"),
    );
    let failed = run(&[
        "inbox", "agent.b", "--url", url, "--exec", "exit 3", "--max", "1",
    ]);
    assert_eq!(failed.code, Some(1));
    assert!(failed.err.contains("given back"), "{}", failed.err);
    // Handed out again after the least delay; --follow waits for it.
    let again = run(&[
        "inbox",
        "agent.b",
        "--url",
        url,
        "--follow",
        "--max",
        "1",
        "--exec",
        "echo $INTERWIRE_ID $INTERWIRE_ATTEMPT",
    ]);
    assert_eq!((again.code, again.out.trim()), (Some(0), "message-1 2"));
}

#[test]
fn durable_subscriptions_are_created_listed_read_and_removed() {
    let exchange = Exchange::in_memory();
    let url = exchange.url.as_str();
    let create = |kind: &str| run(&["sub", "create", "tasks", "--type", kind, "--url", url]);
    assert_eq!(create("task").code, Some(0));
    assert_eq!(create("task").code, Some(0), "the same again confirms it");
    let other = create("event");
    assert_eq!(other.code, Some(1));
    assert!(other.err.contains("subscription_conflict"), "{}", other.err);
    run_with(
        &["send", "--url", url],
        &task("message-1", "agent.b", "conversation-1"),
    );
    let listed = run(&["sub", "ls", "--url", url, "--json"]).json();
    assert_eq!(
        (&listed[0]["name"], &listed[0]["waiting"]),
        (&"tasks".into(), &1.into())
    );
    let read = run(&[
        "inbox",
        "--subscription",
        "tasks",
        "--url",
        url,
        "--ack",
        "--json",
    ]);
    assert_eq!(read.json()[0]["id"], "message-1");
    assert_eq!(run(&["sub", "rm", "tasks", "--url", url]).code, Some(0));
    assert_eq!(run(&["sub", "rm", "tasks", "--url", url]).code, Some(1));
}

#[test]
fn tail_filters_and_follows() {
    let exchange = Exchange::in_memory();
    let url = exchange.url.as_str();
    let lines = [
        task("message-1", "agent.b", "conversation-1"),
        task("message-2", "agent.c", "conversation-1"),
    ];
    run_with(&["send", "--url", url], &lines.join("\n"));
    let tail = run(&[
        "tail", "--url", url, "--from", "earliest", "--target", "agent.c", "--count", "1", "--json",
    ]);
    assert_eq!(tail.out.trim(), lines[1]);
    let wrong = run(&["tail", "--url", url, "--from", "nonsense", "--count", "1"]);
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.err.contains("cursor_unknown"), "{}", wrong.err);
}

#[test]
fn a_closed_pipe_ends_a_verb_quietly() {
    let mut child = interwire(&["config", "init"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut errors = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut errors)
        .unwrap();
    assert_eq!(
        (child.wait().unwrap().code(), errors.as_str()),
        (Some(0), "")
    );
}

#[test]
fn exit_codes_tell_no_from_wrong_use_from_unreachable() {
    // Bound, so that nobody else gets it, and not listening.
    let held = tokio::net::TcpSocket::new_v4().unwrap();
    held.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = held.local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}");
    assert_eq!(run(&["inbox", "agent.b", "--url", &url]).code, Some(3));
    assert_eq!(run(&["tail", "--url", &url]).code, Some(3));
    assert_eq!(run_with(&["send", "--url", &url], "{}").code, Some(3));
    assert_eq!(run(&["inbox", "agent.b", "--url", "ftp://x"]).code, Some(2));
    assert_eq!(run(&["inbox"]).code, Some(2));
    assert_eq!(run(&["no-such-verb"]).code, Some(2));
    assert_eq!(
        run(&["send", "--aee", "--from", "human.adam"]).code,
        Some(2)
    );
    assert_eq!(
        run(&[
            "send",
            "--aee",
            "--from",
            "a",
            "--to",
            "b",
            "--intent",
            "c.d",
            "--payload",
            "{"
        ])
        .code,
        Some(2)
    );
    assert_eq!(run_with(&["validate"], "{}").code, Some(1));
    assert_eq!(run_with(&["validate"], "").code, Some(1));
}

#[test]
fn the_environment_names_exchange_and_party() {
    let exchange = Exchange::in_memory();
    let mut command = interwire(&["send", "--aee", "--to", "agent.b", "--intent", "a.b"]);
    command
        .env("INTERWIRE_URL", &exchange.url)
        .env("INTERWIRE_AS", "human.eve");
    assert_eq!(finish(command, "").code, Some(0));
    let mut command = interwire(&["inbox", "--json"]);
    command
        .env("INTERWIRE_URL", &exchange.url)
        .env("INTERWIRE_AS", "agent:b");
    assert_eq!(
        finish(command, "").json()[0]["envelope"]["from"],
        "human.eve"
    );
}

#[test]
fn a_verdict_names_every_fault_with_its_place() {
    let verdict = run_with(
        &["validate", "--json", "--policy", "repo"],
        "{\"v\":\"1\",\"id\":\"short\",\"type\":\"task\",\"from\":\"human.adam\"}",
    );
    assert_eq!(verdict.code, Some(1));
    let line = &verdict.json()[0];
    assert_eq!(
        (&line["dialect"], &line["valid"]),
        (&"aee".into(), &false.into())
    );
    assert!(line["faults"].as_array().unwrap().len() > 3, "{line}");
    assert!(
        line["faults"]
            .as_array()
            .unwrap()
            .iter()
            .all(|fault| fault["rule"] != "")
    );
}

#[test]
fn an_offline_verdict_and_the_exchange_agree_byte_for_byte() {
    let exchange = Exchange::in_memory();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    for text in [
        task("message-1", "agent.b", "conversation-1").as_str(),
        "{\"v\":\"1\"}",
        "[1",
    ] {
        let offline = run_with(&["validate", "--json"], text);
        let client = exchange.client();
        let online = runtime
            .block_on(client.validate(text.to_owned(), "application/json", &[]))
            .unwrap();
        assert_eq!(offline.out.trim().as_bytes(), online[0], "{text}");
    }
}

#[test]
fn doctor_checks_and_leaves_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let set = format!("data={}", data.display());
    let checked = run(&[
        "doctor",
        "--json",
        "--set",
        &set,
        "--set",
        "listen=127.0.0.1:0",
    ]);
    assert_eq!(checked.code, Some(0), "{}{}", checked.out, checked.err);
    let names: Vec<_> = checked
        .json()
        .iter()
        .map(|line| line["check"].clone())
        .collect();
    assert_eq!(
        names,
        ["clock", "open files", "port", "data folder", "disk"]
    );
    assert!(!data.exists());
}

#[test]
fn doctor_says_when_the_folder_or_the_port_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let exchange = Exchange::on(folder.path());
    let data = format!("data={}", folder.path().display());
    let listen = format!("listen={}", exchange.url.trim_start_matches("http://"));
    let checked = run(&["doctor", "--set", &data, "--set", &listen]);
    assert_eq!(checked.code, Some(1));
    assert!(
        checked.out.contains("is in use by process"),
        "{}",
        checked.out
    );
    assert!(
        checked.out.contains("stop what listens there"),
        "{}",
        checked.out
    );
}

#[test]
fn completions_and_version_are_printed() {
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&["completions", shell]);
        assert_eq!(script.code, Some(0));
        assert!(script.out.contains("interwire"), "{shell}");
    }
    let version = run(&["version", "--json"]);
    assert_eq!(version.json()[0]["interwire"], env!("CARGO_PKG_VERSION"));
}
