//! The Model Context Protocol, both ways, driven from outside by the official Python SDK.

use crate::process::{Exchange, interwire, run, run_with};
use crate::python::{interpreter, suite};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_interwire");

/// Runs a script to its end; what it printed.
fn script(path: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(interpreter());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("INTERWIRE_") {
            command.env_remove(name);
        }
    }
    let output = command
        .args(["-W", "ignore"])
        .arg(suite().join(path))
        .args(arguments)
        .output()
        .expect("the script starts");
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    );
    assert!(output.status.success(), "{path}:\n{out}\n{err}");
    out
}

#[test]
fn every_tool_answers_over_both_transports_and_both_lifecycles() {
    let exchange = Exchange::in_memory();
    let said = script("mcp/tools.py", &[&exchange.url, PROGRAM]);
    assert!(said.contains("all tools answered"), "{said}");
}

#[test]
fn two_hosts_work_together_through_mcp_alone_while_the_exchange_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().to_str().unwrap();
    let said = script("mcp/conversation.py", &[PROGRAM, folder]);
    assert!(said.contains("the report was written"), "{said}");
}

#[test]
fn tools_of_a_server_run_as_asynchronous_tools_and_survive_a_killed_exchange() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().to_str().unwrap();
    let said = script("mcp/bridge.py", &[PROGRAM, folder]);
    assert!(said.contains("the calls ran as they should"), "{said}");
    assert!(said.contains("nothing was lost"), "{said}");
    assert!(said.contains("an address does as well"), "{said}");
}

#[test]
fn a_host_over_http_must_say_who_it_is() {
    let exchange = Exchange::in_memory();
    let asked = Command::new("curl")
        .args([
            "-s",
            "-X",
            "POST",
            "-d",
            "{}",
            &format!("{}/mcp", exchange.url),
        ])
        .output()
        .unwrap();
    let problem: serde_json::Value = serde_json::from_slice(&asked.stdout).unwrap();
    assert_eq!(problem["code"], "bad_request", "{problem}");
    assert_eq!(problem["pointer"], "/as", "{problem}");
    let said = run(&["mcp"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("--as"), "{said:?}");
}

#[test]
fn what_is_no_message_costs_neither_the_session_nor_the_program() {
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let input = [
        hello,
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        "this is no JSON",
        r#"{"jsonrpc":"2.0","id":2,"method":"no/such/method"}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"no-such-tool"}}"#,
        r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"send","arguments":{"to":[]}}}"#,
        r#"{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"interwire://nothing/x"}}"#,
        r#"{"jsonrpc":"2.0","id":6,"method":"tools/list"}"#,
    ];
    let mut child = interwire(&["mcp", "--as", "agent:a", "--url", "http://127.0.0.1:9"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for line in input {
        writeln!(stdin, "{line}").unwrap();
    }
    let mut answers = std::collections::BTreeMap::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let answer: serde_json::Value = serde_json::from_str(&line.unwrap()).expect("only JSON");
        if let Some(id) = answer["id"].as_u64() {
            answers.insert(id, answer);
        }
        if answers.len() == 6 {
            break;
        }
    }
    assert_eq!(answers[&1]["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(answers[&2]["error"]["code"], -32601);
    assert_eq!(answers[&3]["error"]["code"], -32602);
    let refused = &answers[&4]["result"];
    assert_eq!(refused["isError"], true, "{refused}");
    assert_eq!(refused["structuredContent"]["pointer"], "/to", "{refused}");
    assert!(answers[&5]["error"]["message"].is_string());
    assert_eq!(answers[&6]["result"]["tools"].as_array().unwrap().len(), 7);
    // The end of its input is its end.
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_wrong_table_of_servers_is_told_with_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("interwire.toml");
    let text = "[[mcp.servers]]\nname = \"a\"\ncommand = \"x\"\ntimout_ms = 5\n\n[[mcp.servers]]\nname = \"b\"\nurl = \"ftp://x\"\n";
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let said = run_with(&["config", "check", "--config", file], "");
    assert_eq!(said.code, Some(2), "{said:?}");
    for part in [
        "interwire.toml:4: ",
        "timout_ms",
        "interwire.toml:6: ",
        "http://",
    ] {
        assert!(said.err.contains(part), "{part}: {said:?}");
    }
    std::fs::write(
        file,
        "[[mcp.servers]]\nname = \"a\"\ncommand = \"x\"\nargs = [\"-v\"]\n",
    )
    .unwrap();
    let said = run(&["config", "show", "--config", file]);
    assert!(said.out.contains("a as tool:a: x -v"), "{said:?}");
}

#[test]
fn a_host_that_waits_is_told_of_the_drain_and_does_not_delay_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().to_str().unwrap();
    let said = script("mcp/drain.py", &[PROGRAM, folder]);
    assert!(said.contains("nobody kept the exchange"), "{said}");
}
