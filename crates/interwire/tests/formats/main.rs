//! Files that the agent frameworks' own packages wrote, without any model: wrapped by the program, put
//! together again, and read by the packages. `produce.py` has the files and the packages' judgement.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a helper that fails fails its test"
)]

#[path = "../it/process.rs"]
#[allow(dead_code, reason = "the other suite runs more than verbs")]
mod process;
mod venv;

use process::{run, run_with};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn suite() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats")
}

/// Runs `produce.py` and gives what it said.
fn produce(python: &Path, verb: &str, frameworks: &[&str], input: &str) -> String {
    let mut command = std::process::Command::new(python);
    command.arg("-P").arg(suite().join("produce.py")).arg(verb);
    command.args(frameworks);
    let ran = process::finish(command, input);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    ran.out
}

/// Wraps and puts together; the envelopes are valid and the document is the same.
fn there_and_back(document: &Value, format: &str, tier: &str) -> (Value, String) {
    let wrapped = run_with(
        &["wrap", "--from", format, "--tier", tier],
        &document.to_string(),
    );
    assert_eq!(wrapped.code, Some(0), "{}", wrapped.err);
    let valid = run_with(&["validate"], &wrapped.out);
    assert_eq!(valid.code, Some(0), "{}{}", valid.out, wrapped.out);
    let back = run_with(&["unwrap"], &wrapped.out);
    assert_eq!(back.code, Some(0), "{}", back.err);
    let mut back = back.json();
    assert_eq!(back.len(), 1);
    (back.remove(0), wrapped.out)
}

/// Takes the files of each framework there and back, and lets the packages read what came.
fn judge(python: &Path, frameworks: &[&str]) {
    let made = produce(python, "make", frameworks, "");
    let mut came = Vec::new();
    for line in made.lines() {
        let file: Value = serde_json::from_str(line).unwrap();
        let format = file["format"].as_str().unwrap();
        let document = &file["document"];
        for (format, tier) in [(format, "full"), ("auto", "full"), (format, "mve5")] {
            let (back, envelopes) = there_and_back(document, format, tier);
            assert_eq!(back, *document, "{} {}", file["format"], file["name"]);
            let marked = format!("\"format\":{}", file["format"]);
            assert!(
                envelopes.lines().all(|one| one.contains(&marked)),
                "{}",
                file["name"]
            );
        }
        let (back, _) = there_and_back(document, format, "full");
        came.push(json!({"name": file["name"], "format": format, "check": file["check"], "document": back}));
    }
    let count = came.len();
    assert!(count > 2 * frameworks.len(), "{count}");
    let came: Vec<_> = came.iter().map(Value::to_string).collect();
    let said = produce(python, "check", &[], &came.join("\n"));
    assert_eq!(
        said.trim(),
        format!("{count} documents are what the packages write")
    );
}

/// A call, its result, its failure and something said, that no framework wrote.
const FOREIGN: &str = r#"{"v":"1","id":"01JFX7K2M4N8P1Q3R5S7T9V0W2","ts":"2026-02-28T10:30:00Z","type":"task","from":"agent.a","to":"agent.b","intent":"ops.backup.check","corr":"conversation-1","reply_to":null,"trace":null,"priority":"normal","requires":null,"payload":{"cluster":"a","n":[1,2.5]},"sig":null}
{"v":"1","id":"result-01","ts":"2026-02-28T10:30:01Z","type":"result","from":"agent.b","to":"agent.a","intent":"ops.backup.check","corr":"conversation-1","reply_to":"01JFX7K2M4N8P1Q3R5S7T9V0W2","trace":null,"priority":"normal","requires":null,"payload":{"status":"OK"},"sig":null}"#;
const FOREIGN_CHAT: &str = r#"{"v":"1","id":"error-001","ts":"2026-02-28T10:30:01Z","type":"error","from":"agent.b","to":"agent.a","intent":"ops.disk.check","corr":"conversation-1","reply_to":"01JFX7K2M4N8P1Q3R5S7T9V0W3","trace":null,"priority":"normal","requires":null,"payload":{"code":"E_FAILED","message":"no such disk"},"sig":null}
{"v":"1","id":"event-001","ts":"2026-02-28T10:30:02Z","type":"event","from":"human.adam","to":"agent.a","intent":"chat.said","corr":"conversation-1","reply_to":null,"trace":null,"priority":"normal","requires":null,"payload":{"text":"And the disks?"},"sig":null}"#;

/// What agents that know no framework say, as each framework takes it.
fn judge_anew(python: &Path, frameworks: &[&str]) {
    let mut lines = Vec::new();
    for framework in frameworks {
        let input = match *framework {
            "crewai" => FOREIGN.to_owned(),
            _ => format!("{FOREIGN}\n{FOREIGN_CHAT}"),
        };
        let written = run_with(&["unwrap", "--to", framework], &input);
        assert_eq!(written.code, Some(0), "{}", written.err);
        let line = json!({"name": "written anew", "format": framework, "check": "anew", "document": written.json()[0]});
        lines.push(line.to_string());
    }
    let said = produce(python, "check", &[], &lines.join("\n"));
    assert_eq!(
        said.trim(),
        format!("{} documents are what the packages write", lines.len())
    );
}

const LIGHT: [&str; 6] = [
    "openai",
    "anthropic",
    "google",
    "langchain",
    "langgraph",
    "autogen",
];

#[test]
fn what_the_packages_write_comes_back_as_they_wrote_it() {
    let python = venv::interpreter("formats", &suite().join("requirements.txt"));
    judge(&python, &LIGHT);
    judge_anew(&python, &LIGHT);
}

/// Its package takes minutes to install: `./test --formats`.
#[test]
#[ignore = "installs crewai, which takes minutes: ./test --formats"]
fn what_crewai_writes_comes_back_as_it_wrote_it() {
    let python = venv::interpreter("formats-crewai", &suite().join("crewai.txt"));
    judge(&python, &["crewai"]);
    judge_anew(&python, &["crewai"]);
}

#[test]
fn declared_tools_of_a_package_are_a_card() {
    let python = venv::interpreter("formats", &suite().join("requirements.txt"));
    let made = produce(&python, "make", &["google"], "");
    let file = made
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let declared = file
        .into_iter()
        .find(|file| file["name"] == "declarations")
        .unwrap();
    let card = run_with(
        &["wrap", "--card", "weather"],
        &declared["document"].to_string(),
    );
    assert_eq!(card.code, Some(0), "{}", card.err);
    let card = &card.json()[0];
    assert_eq!(card["intents"][0]["intent"], "tool.get_weather");
    assert_eq!(
        card["intents"][0]["task"]["properties"]["days"],
        json!({"type": "integer"})
    );
    assert_eq!(run(&["wrap", "--card", "x", "--send"]).code, Some(2));
}
