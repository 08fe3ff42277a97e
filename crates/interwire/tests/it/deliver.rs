//! Verbs about deliveries: groups, receipts, settings of places, dead letters.

use crate::process::{Exchange, interwire, run, run_with, task};
use std::process::Stdio;

fn message(n: usize) -> String {
    task(&format!("message-{n}"), "agent.b", "conversation-1")
}

#[test]
fn a_sender_waits_until_its_messages_have_arrived() {
    let exchange = Exchange::in_memory();
    let url = exchange.url.as_str();
    let mut worker = interwire(&[
        "inbox", "agent.b", "--url", url, "--follow", "--ack", "--max", "2",
    ])
    .stdout(Stdio::null())
    .spawn()
    .unwrap();
    let input = format!("{}\n{}\n", message(1), message(2));
    let sent = run_with(&["send", "--url", url, "--wait", "--json"], &input);
    assert_eq!(sent.code, Some(0), "{}", sent.err);
    assert!(worker.wait().unwrap().success());
    let lines = sent.json();
    assert_eq!(lines.len(), 4, "a receipt of each, then the end of each");
    for (line, id) in lines[2..].iter().zip(["message-1", "message-2"]) {
        assert_eq!((&line["id"], &line["final"]), (&id.into(), &true.into()));
        assert_eq!(line["recipients"][0]["state"], "acked");
    }
    let told = run(&["receipt", "message-1", "--url", url]);
    assert!(told.out.contains("agent:b  acked"), "{}", told.out);
    assert_eq!(told.code, Some(0));
}

#[test]
fn a_sender_learns_that_a_message_was_given_up() {
    let exchange = Exchange::in_memory();
    let url = exchange.url.as_str();
    let configured = run(&[
        "inbox",
        "agent.b",
        "--url",
        url,
        "--configure",
        "--max-attempts",
        "1",
        "--json",
    ]);
    assert_eq!(configured.code, Some(0), "{}", configured.err);
    assert_eq!(configured.json()[0]["delivery"]["max_attempts"], 1);
    let mut worker = interwire(&[
        "inbox", "agent.b", "--url", url, "--follow", "--max", "1", "--exec", "exit 7",
    ])
    .stdout(Stdio::null())
    .stderr(Stdio::null())
    .spawn()
    .unwrap();
    let sent = run_with(&["send", "--url", url, "--wait"], &message(1));
    assert_eq!(sent.code, Some(1), "{}\n{}", sent.out, sent.err);
    assert!(sent.out.contains("agent:b  dead"), "{}", sent.out);
    assert!(
        sent.out.contains("the command ended with exit status: 7"),
        "{}",
        sent.out
    );
    assert_eq!(worker.wait().unwrap().code(), Some(1));
    let patient = run_with(
        &["send", "--url", url, "--wait", "--timeout", "0"],
        &task("message-2", "agent.nobody", "conversation-2"),
    );
    assert_eq!(patient.code, Some(1));
    assert!(
        patient.err.contains("not all is settled"),
        "{}",
        patient.err
    );
}

#[test]
fn a_receipt_is_followed_to_its_end() {
    let exchange = Exchange::in_memory();
    let url = exchange.url.as_str();
    run_with(&["send", "--url", url], &message(1));
    let now = run(&[
        "receipt",
        "message-1",
        "--sender",
        "human:adam",
        "--url",
        url,
        "--json",
    ]);
    assert_eq!(now.json()[0]["recipients"][0]["state"], "stored");
    let follower = interwire(&["receipt", "message-1", "--wait", "--json", "--url", url])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    run(&["inbox", "agent.b", "--url", url, "--ack"]);
    let followed = follower.wait_with_output().unwrap();
    assert!(followed.status.success());
    let last = String::from_utf8(followed.stdout).unwrap();
    assert!(
        last.lines().last().unwrap().contains("\"state\":\"acked\""),
        "{last}"
    );
    let missing = run(&["receipt", "none", "--url", url]);
    assert_eq!(missing.code, Some(1));
}

#[test]
fn dead_letters_are_listed_shown_delivered_again_and_dropped() {
    let exchange = Exchange::in_memory();
    let url = exchange.url.as_str();
    run(&[
        "inbox",
        "agent.b",
        "--url",
        url,
        "--configure",
        "--max-attempts",
        "1",
    ]);
    for n in 1..=3 {
        run_with(&["send", "--url", url], &message(n));
    }
    let failed = run(&["inbox", "agent.b", "--url", url, "--exec", "exit 1"]);
    assert_eq!(failed.code, Some(1), "{}", failed.err);
    let listed = run(&["dlq", "ls", "--inbox", "agent.b", "--url", url, "--json"]).json();
    assert_eq!(listed.len(), 3);
    assert_eq!(
        listed[0]["failures"][0]["error"],
        "the command ended with exit status: 1"
    );
    let people = run(&["dlq", "ls", "--url", url]);
    assert!(
        people.out.contains("attempts_exhausted after 1 attempt"),
        "{}",
        people.out
    );
    let delivery = listed[0]["delivery"].as_str().unwrap();
    let shown = run(&["dlq", "show", delivery, "--url", url]);
    assert!(
        shown.out.ends_with(&format!("{}\n", message(1))),
        "{}",
        shown.out
    );
    let redriven = run(&["dlq", "redrive", delivery, "--url", url]);
    assert_eq!(redriven.out, format!("redriven {delivery}\n"));
    let again = run(&["dlq", "redrive", delivery, "--url", url]);
    assert_eq!(again.code, Some(1));
    let read = run(&["inbox", "agent.b", "--url", url, "--ack", "--json"]);
    assert_eq!(
        (&read.json()[0]["id"], &read.json()[0]["attempt"]),
        (&"message-1".into(), &2.into())
    );
    let all = run(&[
        "dlq", "redrive", "--all", "--inbox", "agent.b", "--url", url,
    ]);
    assert_eq!(all.out.lines().count(), 2, "{}", all.out);
    run(&["inbox", "agent.b", "--url", url, "--exec", "exit 1"]);
    let dropped = run(&["dlq", "drop", "--all", "--url", url]);
    assert_eq!(dropped.out.lines().count(), 2, "{}", dropped.out);
    assert_eq!(run(&["dlq", "ls", "--url", url]).out, "");
    assert_eq!(
        run(&["dlq", "drop", "--url", url]).code,
        Some(2),
        "which ones?"
    );
}

#[test]
fn places_are_shown_paused_and_resumed() {
    let exchange = Exchange::in_memory();
    let url = exchange.url.as_str();
    run_with(&["send", "--url", url], &message(1));
    let paused = run(&["inbox", "agent.b", "--pause", "--url", url, "--json"]);
    assert_eq!(paused.json()[0]["paused"], true);
    assert_eq!(run(&["inbox", "agent.b", "--url", url, "--json"]).out, "");
    let resumed = run(&["inbox", "agent.b", "--resume", "--url", url]);
    assert!(
        resumed.out.starts_with("inbox agent.b  1 waiting"),
        "{}",
        resumed.out
    );
    let shown = run(&["inbox", "agent.b", "--show", "--url", url]);
    assert!(shown.out.contains("  max_attempts = 10\n"), "{}", shown.out);
    let created = run(&[
        "sub",
        "create",
        "s",
        "--type",
        "task",
        "--lease-ms",
        "1500",
        "--order",
        "none",
        "--url",
        url,
    ]);
    assert_eq!(created.json()[0]["delivery"]["lease_ms"], 1_500);
    assert_eq!(
        run(&["sub", "pause", "s", "--url", url, "--json"]).json()[0]["paused"],
        true
    );
    let listed = run(&["sub", "ls", "--url", url]);
    assert!(listed.out.contains("paused"), "{}", listed.out);
    assert_eq!(
        run(&["sub", "resume", "s", "--url", url, "--json"]).json()[0]["paused"],
        false
    );
    let shown = run(&["sub", "show", "s", "--url", url]);
    assert!(shown.out.contains("  order = \"none\"\n"), "{}", shown.out);
    let wrong = run(&[
        "inbox",
        "agent.b",
        "--url",
        url,
        "--configure",
        "--lease-ms",
        "0",
    ]);
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.err.contains("from 1 to 86400000"), "{}", wrong.err);
    let aimless = run(&["inbox", "agent.b", "--url", url, "--lease-ms", "5"]);
    assert_eq!(aimless.code, Some(2), "{}", aimless.err);
}

#[test]
fn an_interrupted_consumer_hands_over_what_it_holds() {
    let exchange = Exchange::in_memory();
    let url = exchange.url.as_str();
    run_with(&["send", "--url", url], &message(1));
    let mut worker = interwire(&[
        "inbox",
        "agent.b",
        "--follow",
        "--consumer",
        "w1",
        "--json",
        "--url",
        url,
    ])
    .stdout(Stdio::piped())
    .spawn()
    .unwrap();
    let mut first = String::new();
    let mut lines = std::io::BufReader::new(worker.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut lines, &mut first).unwrap();
    assert!(first.contains("\"id\":\"message-1\""), "{first}");
    let held = run(&[
        "inbox",
        "agent.b",
        "--consumer",
        "w2",
        "--json",
        "--url",
        url,
    ]);
    assert_eq!(held.out, "");
    let id = nix::unistd::Pid::from_raw(worker.id().try_into().unwrap());
    nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGINT).unwrap();
    assert!(worker.wait().unwrap().success());
    let taken = run(&[
        "inbox",
        "agent.b",
        "--consumer",
        "w2",
        "--json",
        "--url",
        url,
    ]);
    assert_eq!(taken.json()[0]["redelivered"], true, "{}", taken.out);
}
