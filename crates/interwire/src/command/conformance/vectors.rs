//! Folders of test vectors: one envelope a line, with what a reader must say about it.

use super::subject;
use crate::failure::{Answer, Failure};
use crate::output;
use broker::Broker;
use bytes::Bytes;
use protocol::{AeePolicy, Mode, Rules};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// One line.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vector<'a> {
    name: String,
    #[serde(borrow, default)]
    envelope: Option<&'a RawValue>,
    #[serde(default)]
    text: Option<String>,
    valid: bool,
    #[serde(default)]
    codes: Option<Vec<String>>,
    #[serde(default)]
    mode: Option<String>,
    #[serde(default)]
    policy: Option<String>,
}

/// Runs every `*.ndjson` file of the folder, in the order of the names.
pub async fn run(folder: &Path, is_json: bool) -> Result<Answer, Failure> {
    let files = files(folder)?;
    let (mut passed, mut failed) = (0_usize, 0_usize);
    for file in &files {
        let text = std::fs::read_to_string(file)?;
        let shown = file
            .strip_prefix(folder)
            .unwrap_or(file)
            .display()
            .to_string();
        for (at, line) in text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty())
        {
            let (name, outcome) = judge(line).await;
            let place = format!("{shown}:{}", at + 1);
            match &outcome {
                Ok(()) => passed += 1,
                Err(_) => failed += 1,
            }
            let word = if outcome.is_ok() { "pass" } else { "fail" };
            let reason = outcome.err();
            if is_json {
                let line =
                    json!({ "outcome": word, "path": place, "name": name, "reason": reason });
                output::line(&line.to_string())?;
            } else {
                let reason = reason
                    .map(|reason| format!(" ({reason})"))
                    .unwrap_or_default();
                output::line(&format!("{} {place} {name}{reason}", word.to_uppercase()))?;
            }
        }
    }
    output::note(&format!("{passed} passed, {failed} failed"));
    if passed + failed == 0 {
        return Err(Failure::Refused(format!(
            "expected manifest.json or vectors in *.ndjson files, got neither in {}",
            folder.display()
        )));
    }
    Ok(if failed == 0 { Answer::Yes } else { Answer::No })
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let listed = std::fs::read_dir(folder)
        .map_err(|error| Failure::Refused(format!("{}: {error}", folder.display())))?;
    let mut files = Vec::new();
    for entry in listed {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "ndjson")
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The vector's name, and why it failed.
async fn judge(line: &str) -> (String, Result<(), String>) {
    let vector: Vector<'_> = match serde_json::from_str(line) {
        Ok(vector) => vector,
        Err(error) => return ("-".into(), Err(format!("expected a vector: {error}"))),
    };
    let judged = match rules(&vector) {
        Ok(rules) => compare(&vector, &rules).await,
        Err(reason) => Err(reason),
    };
    (vector.name, judged)
}

fn rules(vector: &Vector<'_>) -> Result<Rules, String> {
    let mut rules = Rules::at(crate::identity::now());
    if let Some(word) = &vector.mode {
        rules.mode = Mode::parse(word).ok_or("expected mode to be strict or lenient")?;
    }
    if let Some(word) = &vector.policy {
        rules.aee_policy = AeePolicy::parse(word)
            .ok_or("expected policy to be repo, seed, both, either or log")?;
    }
    Ok(rules)
}

/// What a fresh exchange says, against what it should say.
async fn compare(vector: &Vector<'_>, rules: &Rules) -> Result<(), String> {
    let bytes = match (vector.envelope, &vector.text) {
        (Some(envelope), None) => Bytes::copy_from_slice(envelope.get().as_bytes()),
        (None, Some(text)) => Bytes::copy_from_slice(text.as_bytes()),
        (Some(_), Some(_)) | (None, None) => return Err("expected envelope or text".into()),
    };
    let broker = Broker::open(subject::settings(rules), client::chance::bits())
        .map_err(|error| error.to_string())?;
    let accepted = broker.handle().accept(bytes).await;
    broker.close().await;
    let codes: BTreeSet<&str> = match &accepted {
        Ok(_) => BTreeSet::new(),
        Err(rejection) => rejection.all().map(|fault| fault.code.as_str()).collect(),
    };
    let shown = codes.iter().copied().collect::<Vec<_>>().join(", ");
    match (vector.valid, accepted.is_ok()) {
        (true, false) => return Err(format!("expected it to be accepted, got {shown}")),
        (false, true) => return Err("expected it to be refused, and it was accepted".into()),
        (true, true) | (false, false) => {}
    }
    match &vector.codes {
        Some(expected) if expected.iter().map(String::as_str).collect::<BTreeSet<_>>() != codes => {
            Err(format!("expected {}, got {shown}", expected.join(", ")))
        }
        Some(_) | None => Ok(()),
    }
}
