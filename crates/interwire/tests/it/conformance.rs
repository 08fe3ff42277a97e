//! Suites against the real engine.

use crate::process::run;
use std::path::PathBuf;

/// The published suite, which is not part of this repository.
fn suite() -> Option<PathBuf> {
    let shared = std::env::var_os("INTERWIRE_SHARED")
        .map(PathBuf::from)
        .unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    let suite = shared.join("data/aep");
    suite
        .join("conformance/manifest.json")
        .is_file()
        .then_some(suite)
}

#[test]
fn the_published_suite_passes_also_when_every_event_counts() {
    let Some(suite) = suite() else {
        println!("skipped: the published suite is not here");
        return;
    };
    let suite = suite.to_str().unwrap();
    for strict in [&[][..], &["--strict"]] {
        let ran = run(&[&["conformance", "run", suite], strict].concat());
        assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
        assert!(
            ran.out
                .contains("PASS HARMOVELA-C1 fixtures/task-lifecycle.ndjson\n"),
            "{}",
            ran.out
        );
        assert!(!ran.out.contains("FAIL"), "{}", ran.out);
        let parents = ran.out.matches("fixtures/parent-child-").count();
        assert_eq!(
            parents,
            if strict.is_empty() { 0 } else { 2 },
            "{}",
            ran.out
        );
    }
    let low = run(&[
        "conformance",
        "run",
        suite,
        "--level",
        "HARMOVELA-C0",
        "--json",
    ]);
    assert_eq!(low.code, Some(0), "{}", low.err);
    assert!(low.json().iter().any(|line| line["outcome"] == "skip"));
}

#[test]
fn our_own_vectors_pass() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors");
    let ran = run(&["conformance", "run", folder]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(ran.out.starts_with("PASS "), "{}", ran.out);
}

#[test]
fn a_vector_that_is_wrong_fails_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let lines = [
        r#"{"name":"wrong verdict","text":"[]","valid":true}"#,
        r#"{"name":"wrong code","text":"[]","valid":false,"codes":["too_large"]}"#,
        r#"{"name":"no envelope","valid":false}"#,
        r#"{"nam":"x"}"#,
    ];
    std::fs::write(folder.path().join("x.ndjson"), lines.join("\n")).unwrap();
    let ran = run(&[
        "conformance",
        "run",
        folder.path().to_str().unwrap(),
        "--json",
    ]);
    assert_eq!(ran.code, Some(1));
    let outcomes: Vec<_> = ran
        .json()
        .iter()
        .map(|line| line["outcome"].clone())
        .collect();
    assert_eq!(outcomes, ["fail", "fail", "fail", "fail"]);
}

#[test]
fn an_empty_folder_is_no_pass() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(
        run(&["conformance", "run", folder.path().to_str().unwrap()]).code,
        Some(1)
    );
}
