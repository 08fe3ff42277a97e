//! `docs/faults/` and the table of codes say the same: no code without its page, no page without its
//! code, no example that this library answers differently.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use interwire_protocol::dialect::aep::flow::Flow;
use interwire_protocol::fault::Class;
use interwire_protocol::json::push_string;
use interwire_protocol::{AeePolicy, Code, Fault, Mode, Reading, Rules, Tasks, Timestamp, decode};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/faults")
}

fn page(code: Code) -> String {
    let path = folder().join(format!("{code}.md"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The cell beside `name` in a page's table.
fn cell<'p>(page: &'p str, name: &str) -> &'p str {
    let start = format!("| {name} | ");
    page.lines()
        .find_map(|line| line.strip_prefix(&start)?.strip_suffix(" |"))
        .unwrap_or_default()
}

#[test]
fn every_code_has_a_page_that_names_its_class_status_and_retry() {
    for &code in Code::ALL {
        let (page, class) = (page(code), code.class());
        assert_eq!(page.lines().next(), Some(&*format!("# {code}")));
        assert_eq!(cell(&page, "class"), format!("{class:?}"), "{code}");
        let status = match class {
            Class::Advice => "none, nothing is refused".into(),
            refusing => refusing.http_status().to_string(),
        };
        assert_eq!(cell(&page, "HTTP status"), status, "{code}");
        let retry = if class.is_retryable() { "yes" } else { "no" };
        assert_eq!(cell(&page, "retryable"), retry, "{code}");
        for part in ["## What it means", "## What to do", "## Example"] {
            assert!(page.lines().any(|line| line == part), "{code}: {part}");
        }
    }
}

#[test]
fn every_page_is_a_code() {
    for file in fs::read_dir(folder()).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let stem = name.strip_suffix(".md").unwrap_or(&name);
        assert!(stem == "README" || Code::parse(stem).is_some(), "{name}");
    }
}

#[test]
fn the_index_lists_every_code_once_below_its_class() {
    let index = fs::read_to_string(folder().join("README.md")).unwrap();
    let mut listed = BTreeSet::new();
    let mut heading = "";
    for line in index.lines() {
        if let Some(text) = line.strip_prefix("## ") {
            heading = text;
        }
        let Some(row) = line.strip_prefix("| [") else {
            continue;
        };
        let name = row.split(']').next().unwrap();
        let code = Code::parse(name).unwrap_or_else(|| panic!("{name} is no code"));
        assert!(
            row.starts_with(&format!("{code}]({code}.md) | ")),
            "{code} links elsewhere"
        );
        let class = code.class();
        let status = match class {
            Class::Advice => "no status".into(),
            refusing => format!("status {}", refusing.http_status()),
        };
        let retry = if class.is_retryable() {
            "retry"
        } else {
            "no retry"
        };
        assert_eq!(heading, format!("{class:?}: {status}, {retry}"), "{code}");
        assert!(listed.insert(name), "{code} is listed twice");
    }
    for code in Code::ALL {
        assert!(listed.contains(code.as_str()), "{code} is not listed");
    }
}

/// An example that this library can answer by itself.
struct Example {
    rules: Rules,
    envelopes: Vec<Vec<u8>>,
    fault: String,
}

/// The example of a page; `None` when its input is a request or a frame.
fn example(page: &str) -> Option<Example> {
    let (_, text) = page.split_once("## Example\n")?;
    let mut parts = text.split("```");
    let lead = parts.next()?;
    let (kind, input) = parts.next()?.split_once('\n')?;
    let input = input.strip_suffix('\n')?;
    let (_, fault) = parts.nth(1)?.split_once('\n')?;
    let (_, told) = lead.split_once('(')?;
    let (told, _) = told.rsplit_once(')')?;
    let envelopes = match kind {
        "json" => vec![input.as_bytes().to_vec()],
        "ndjson" => input.lines().map(|line| line.as_bytes().to_vec()).collect(),
        "hex" => vec![
            input
                .split_whitespace()
                .map(|byte| u8::from_str_radix(byte, 16).unwrap())
                .collect(),
        ],
        _ => return None,
    };
    Some(Example {
        rules: rules(told),
        envelopes,
        fault: fault.trim_end().into(),
    })
}

/// Rules as a page words them: `strict mode, policy `repo`, at most 32 bytes`.
fn rules(told: &str) -> Rules {
    let (noon, _) = Timestamp::parse_rfc3339("2026-07-01T12:00:00Z").unwrap();
    let mut rules = Rules::at(noon);
    for part in told.split(", ") {
        match part.split(' ').collect::<Vec<_>>().as_slice() {
            [mode, "mode"] => rules.mode = Mode::parse(mode).unwrap(),
            ["policy", policy] => {
                rules.aee_policy = AeePolicy::parse(policy.trim_matches('`')).unwrap();
            }
            ["AEP", "0.1", "accepted"] => rules.aep_accept_0_1 = true,
            ["at", "most", max, "bytes"] => rules.envelope_bytes_max = max.parse().unwrap(),
            ["at", "most", max, "levels"] => rules.depth_max = max.parse().unwrap(),
            ["at", "most", max, "recipients"] => rules.recipients_max = max.parse().unwrap(),
            other => panic!("a page says {other:?}"),
        }
    }
    rules
}

/// Reads the envelopes one after the other, through one flow and one set of tasks; what the last of
/// them gets.
fn answer(example: &Example) -> Reading {
    let (mut flow, mut tasks) = (Flow::default(), Tasks::default());
    let mut last = Reading::default();
    for (sequence, envelope) in (1..).zip(&example.envelopes) {
        last = decode(envelope, &example.rules);
        if let Some(header) = &last.header
            && let Err(refused) = tasks.accept(example.rules.now, sequence, header)
        {
            last.faults.push(refused);
        }
        if let Some((id, facts)) = last
            .header
            .as_ref()
            .and_then(|header| Some((header.id.clone(), header.flow.clone()?)))
            && let Err(refused) = flow.accept(&id, &facts)
        {
            last.faults.push(refused);
        }
    }
    last
}

fn json(fault: &Fault) -> String {
    let mut out = String::new();
    for (name, text) in [
        ("{\"code\":", fault.code.as_str()),
        (",\"pointer\":", &fault.pointer),
        (",\"rule\":", fault.rule),
        (",\"detail\":", &fault.detail),
    ] {
        out.push_str(name);
        push_string(&mut out, text);
    }
    out.push('}');
    out
}

#[test]
fn every_example_is_answered_as_its_page_says() {
    let mut answered = 0;
    for &code in Code::ALL {
        let Some(example) = example(&page(code)) else {
            continue;
        };
        let reading = answer(&example);
        let is_advice = code.class() == Class::Advice;
        assert!(!is_advice || reading.is_valid(), "{code} refuses");
        let told: Vec<_> = if is_advice {
            reading.warnings.iter().map(json).collect()
        } else {
            let all = reading.faults.iter().chain(&reading.warnings);
            all.map(json).collect()
        };
        assert!(
            example.fault.contains(&format!("\"code\":\"{code}\"")),
            "{code}: the page shows another fault"
        );
        assert!(
            told.contains(&example.fault),
            "{code}: the page shows\n{}\nread was\n{told:#?}",
            example.fault
        );
        answered += 1;
    }
    assert!(answered > 90, "only {answered} examples were found");
}
