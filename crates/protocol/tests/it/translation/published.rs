//! Every published example, read in place; what is not there is skipped, and said so.

use super::hold_everywhere;
use crate::shared;

/// Texts of all envelopes in a file: whole lines, or what stands in a line as `envelope`.
fn envelopes(name: &str) -> Vec<String> {
    let inner = |line: String| {
        let value: serde_json::Value = serde_json::from_str(&line).ok()?;
        Some(match value.get("envelope") {
            Some(envelope) => envelope.to_string(),
            None => line,
        })
    };
    shared::lines(name).into_iter().filter_map(inner).collect()
}

#[expect(clippy::print_stdout, reason = "how many there were is worth seeing")]
fn all_come_back(names: &[&str]) {
    let (mut read, mut done) = (0, 0);
    for name in names {
        for text in envelopes(name) {
            read += 1;
            done += hold_everywhere(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
    println!("{read} read, {done} renderings");
    assert!(read == 0 || done > 0);
}

#[test]
fn every_published_aee_envelope_comes_back() {
    all_come_back(&["aee/aee-examples.ndjson", "aee/aee-probes.ndjson"]);
}

#[test]
fn every_published_uai_envelope_comes_back() {
    all_come_back(&["uai/uai-examples.ndjson"]);
}

#[test]
fn every_published_aep_event_comes_back() {
    let Some(folder) = shared::path("aep/conformance/fixtures") else {
        return;
    };
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let names: Vec<_> = names
        .iter()
        .map(|name| format!("aep/conformance/fixtures/{name}"))
        .collect();
    all_come_back(&names.iter().map(String::as_str).collect::<Vec<_>>());
}
