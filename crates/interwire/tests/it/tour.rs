//! The tour in the README, run as it is written: in one shell, block after block.

use std::path::Path;
use std::process::Command;

/// One block of the tour and what its output must hold.
struct Step {
    script: String,
    expected: String,
}

/// The `sh` blocks between the two marks, each with the `text` block that follows it.
fn steps(readme: &str) -> Vec<Step> {
    let start = readme.find("<!-- tour").expect("the README has a tour");
    let end = readme
        .find("<!-- end of tour")
        .expect("the tour has an end");
    let mut steps: Vec<Step> = Vec::new();
    let mut rest = &readme[start..end];
    while let Some(at) = rest.find("```") {
        let (kind, body) = rest[at + 3..].split_once('\n').expect("a block has lines");
        let (block, after) = body.split_once("```").expect("a block has an end");
        match kind {
            "sh" => steps.push(Step {
                script: block.into(),
                expected: String::new(),
            }),
            "text" => {
                steps
                    .last_mut()
                    .expect("an answer follows a command")
                    .expected = block.into();
            }
            other => panic!("a block of kind {other:?} in the tour"),
        }
        rest = after;
    }
    steps
}

/// Each expected line must be in the output; `…` stands for anything within a line.
fn check(number: usize, expected: &str, output: &str) {
    for line in expected.lines() {
        let is_found = output.lines().any(|actual| {
            let mut rest = actual;
            line.split('…').all(|part| match rest.find(part) {
                Some(at) => {
                    rest = &rest[at + part.len()..];
                    true
                }
                None => false,
            })
        });
        assert!(
            is_found,
            "block {number} of the tour: expected\n{line}\nin\n{output}"
        );
    }
}

#[test]
fn the_tour_in_the_readme_does_what_it_says() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port().to_string();
    drop(free);
    let steps = steps(&readme);
    assert!(
        steps.len() > 5,
        "the tour has become {} blocks",
        steps.len()
    );
    let mut script = String::from("trap 'kill -9 $(jobs -p) 2>/dev/null' EXIT\n");
    for (number, step) in steps.iter().enumerate() {
        let block = step.script.replace("4747", &port);
        script.push_str(&format!("{{\n{block}\n}} > block-{number} 2>&1\n"));
    }
    let program = Path::new(env!("CARGO_BIN_EXE_interwire"));
    let path = format!(
        "{}:{}",
        program.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let ended = Command::new("timeout")
        .args(["120", "bash", "-c", &script])
        .current_dir(folder.path())
        .env("PATH", path)
        .env("INTERWIRE_URL", format!("http://127.0.0.1:{port}"))
        .status()
        .unwrap();
    for (number, step) in steps.iter().enumerate() {
        let output = std::fs::read_to_string(folder.path().join(format!("block-{number}")));
        check(number, &step.expected, &output.unwrap_or_default());
    }
    assert!(ended.success(), "the tour ended with {ended}");
}
