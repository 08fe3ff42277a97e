//! `interwire trace` against a running exchange.

use crate::process::{Exchange, finish, interwire, run, run_with, task};

/// A task and a result in reply to it, which acknowledges it.
fn played() -> Exchange {
    let exchange = Exchange::in_memory();
    let url = exchange.url.clone();
    let sent = run_with(
        &["send", "--url", &url],
        &task("message-1", "agent.b", "CONV_1"),
    );
    assert_eq!(sent.code, Some(0), "{}", sent.err);
    let replied = run(&[
        "send",
        "--url",
        &url,
        "--aee",
        "--type",
        "result",
        "--from",
        "agent.b",
        "--reply-to",
        "message-1",
    ]);
    assert_eq!(replied.code, Some(0), "{}", replied.err);
    exchange
}

#[test]
fn a_trace_is_printed_as_a_tree_without_colours_where_nobody_looks() {
    let exchange = played();
    let ran = run(&["trace", "message-1", "--url", &exchange.url]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert!(
        lines[0].starts_with("conversation CONV_1: 2 messages, "),
        "{}",
        ran.out
    );
    assert!(lines[1].contains("task quox.security.scan"), "{}", ran.out);
    assert!(lines[1].contains("human:adam → agent:b"), "{}", ran.out);
    assert!(lines[1].contains("acked"), "{}", ran.out);
    assert!(
        lines[2].contains("└─ result quox.security.scan"),
        "{}",
        ran.out
    );
    assert!(!ran.out.contains('\u{1b}'));
}

#[test]
fn a_trace_is_printed_as_json_mermaid_and_dot() {
    let exchange = played();
    let trace = |more: &[&str]| {
        let mut arguments = vec!["trace", "CONV_1", "--url", &exchange.url];
        arguments.extend(more);
        run(&arguments)
    };
    for json in [trace(&["--json"]), trace(&["--format", "json"])] {
        let [trace] = json.json().try_into().unwrap();
        assert_eq!(trace["messages"], 2);
        assert_eq!(trace["nodes"][0]["deliveries"][0]["state"], "acked");
    }
    assert!(trace(&["--format", "mermaid"]).out.contains("n0 --> n1"));
    assert!(trace(&["--format", "dot"]).out.contains("n0 -> n1;"));
    let page = trace(&["--limit", "1", "--json"]);
    let next = page.json()[0]["next"].as_str().unwrap().to_owned();
    assert_eq!(page.err.trim(), format!("there is more: --from {next}"));
    assert_eq!(trace(&["--from", &next, "--json"]).json()[0]["messages"], 1);
}

#[test]
fn what_is_not_there_is_the_answer_no() {
    let exchange = Exchange::in_memory();
    let ran = run(&["trace", "CONV_9", "--url", &exchange.url]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("not_found"), "{}", ran.err);
    let mut away = interwire(&["trace", "CONV_9"]);
    away.env("INTERWIRE_URL", "http://127.0.0.1:1");
    assert_eq!(finish(away, "").code, Some(3));
}
