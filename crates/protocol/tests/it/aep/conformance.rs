//! The published suite, judged as published and event by event.

use interwire_protocol::dialect::aep::conformance::{
    Engine, Level, Manifest, Outcome, Report, Selection, Subject, run, upstream_fixtures,
};
use interwire_protocol::dialect::aep::flow::Stats;
use interwire_protocol::{Code, Fault, Rejection};

use super::{data, strict};

fn manifest_of(fixtures: &str) -> Manifest {
    let text = format!(
        r#"{{"spec_version":"0.2","fixtures":[{fixtures}],"profiles":{{"extra":{{
            "required_core_level":"HARMOVELA-C1","fixtures":["extra.ndjson"]}}}}}}"#
    );
    Manifest::parse(text.as_bytes()).unwrap()
}

fn select(is_strict: bool) -> Selection {
    Selection {
        target: Level::C3,
        profiles: Vec::new(),
        is_strict,
    }
}

fn judged(manifest: &Manifest, selection: &Selection, bytes: &[u8]) -> Result<Report, String> {
    run(
        manifest,
        selection,
        &strict(),
        &|_| Ok(bytes.to_vec()),
        &mut || Box::new(Engine::new(strict())),
    )
}

#[test]
fn every_published_fixture_passes_and_every_event_is_judged_as_the_table_says() {
    let Some(folder) = data() else { return };
    let folder = folder.join("conformance");
    let bytes = std::fs::read(folder.join("manifest.json")).unwrap();
    let mut manifest = Manifest::parse(&bytes).unwrap();
    assert_eq!((manifest.fixtures.len(), manifest.profiles.len()), (32, 4));
    manifest.fixtures.extend(upstream_fixtures());
    let load = |path: &str| std::fs::read(folder.join(path)).map_err(|error| error.to_string());
    for is_strict in [false, true] {
        let report = run(&manifest, &select(is_strict), &strict(), &load, &mut || {
            Box::new(Engine::new(strict()))
        })
        .unwrap();
        let lines: Vec<_> = report.verdicts.iter().map(ToString::to_string).collect();
        assert!(report.is_pass(), "{}", lines.join("\n"));
        assert_eq!(
            lines
                .iter()
                .filter(|line| line.starts_with("PASS HARMOVELA-C"))
                .count(),
            34
        );
    }
}

struct Fixed(Result<(), Fault>);

impl Subject for Fixed {
    fn handle(&mut self, _: &[u8]) -> Result<(), Rejection> {
        Ok(self.0.clone()?)
    }
    fn stats(&self) -> Stats {
        Stats::default()
    }
}

#[test]
fn a_subject_that_always_says_the_same_passes_no_strict_run() {
    let Some(folder) = data() else { return };
    let folder = folder.join("conformance");
    let manifest = Manifest::parse(&std::fs::read(folder.join("manifest.json")).unwrap()).unwrap();
    let load = |path: &str| std::fs::read(folder.join(path)).map_err(|error| error.to_string());
    let refuse = Fault::new(Code::MissingField, "", "", "");
    for answer in [Ok(()), Err(refuse)] {
        let mut fresh = || Box::new(Fixed(answer.clone())) as Box<dyn Subject>;
        let report = run(&manifest, &select(true), &strict(), &load, &mut fresh).unwrap();
        assert!(!report.is_pass());
    }
}

const FLOW: &str = r#"{"path":"a.ndjson","level":"HARMOVELA-C1","expectation":"stateful_flow"}"#;
const HEARTBEAT: &[u8] = br#"{"spec_version":"0.2","id":"e","type":"session.heartbeat","source":"agent:a","created_at":"2026-07-14T10:00:00Z","payload":{}}"#;

#[test]
fn what_says_nothing_does_not_pass() {
    let manifest = manifest_of(FLOW);
    assert!(
        judged(&manifest, &select(false), HEARTBEAT)
            .unwrap()
            .is_pass()
    );
    let report = judged(&manifest, &select(false), b"\n \r\n").unwrap();
    assert!(!report.is_pass(), "an empty fixture passed");

    let unknown = manifest_of(&FLOW.replace("stateful_flow", "accept_most"));
    assert!(
        !judged(&unknown, &select(false), HEARTBEAT)
            .unwrap()
            .is_pass()
    );

    let unreadable = run(
        &manifest,
        &select(false),
        &strict(),
        &|_| Err("gone".into()),
        &mut || Box::new(Engine::new(strict())),
    );
    assert!(
        matches!(&unreadable.unwrap().verdicts[0].outcome, Outcome::Fail(why) if why.contains("gone"))
    );

    let low = Selection {
        target: Level::C0,
        ..select(false)
    };
    assert!(
        judged(&manifest, &low, HEARTBEAT).is_err(),
        "a run of skips passed"
    );
    assert!(judged(&manifest_of(""), &select(false), HEARTBEAT).is_err());
}

#[test]
fn a_fixture_that_the_strict_table_does_not_know_fails_a_strict_run() {
    let report = judged(&manifest_of(FLOW), &select(true), HEARTBEAT).unwrap();
    assert!(!report.is_pass());
}

#[test]
fn profiles_select_their_fixtures_and_must_exist() {
    let own = FLOW
        .replace("a.ndjson", "extra.ndjson")
        .replace('}', r#","profile":"extra"}"#);
    let other = FLOW
        .replace("a.ndjson", "other.ndjson")
        .replace('}', r#","profile":"other"}"#);
    let manifest = manifest_of(&[FLOW, &own, &other].join(","));
    let only = |name: &str| Selection {
        profiles: vec![name.into()],
        ..select(false)
    };
    let report = judged(&manifest, &only("extra"), HEARTBEAT).unwrap();
    let paths: Vec<_> = report
        .verdicts
        .iter()
        .map(|verdict| verdict.path.as_str())
        .collect();
    assert_eq!(paths, ["a.ndjson", "extra.ndjson"]);
    assert!(judged(&manifest, &only("nobody"), HEARTBEAT).is_err());
    assert!(judged(&manifest_of(FLOW), &only("extra"), HEARTBEAT).is_err());
}

#[test]
fn types_and_counters_must_come_out_as_the_fixture_says() {
    let typed =
        |kind: &str| manifest_of(&FLOW.replace('}', &format!(r#","expected_types":["{kind}"]}}"#)));
    assert!(
        judged(&typed("session.heartbeat"), &select(false), HEARTBEAT)
            .unwrap()
            .is_pass()
    );
    assert!(
        !judged(&typed("session.opened"), &select(false), HEARTBEAT)
            .unwrap()
            .is_pass()
    );

    let counted = |stats: &str| {
        let flow = FLOW.replace("stateful_flow", "delivery_e2e");
        manifest_of(&flow.replace('}', &format!(r#","expected_stats":{{{stats}}}}}"#)))
    };
    for (stats, passes) in [
        (r#""pending":0"#, true),
        (r#""pending":1"#, false),
        (r#""waiting":0"#, false),
        ("", false),
    ] {
        let report = judged(&counted(stats), &select(false), HEARTBEAT).unwrap();
        assert_eq!(report.is_pass(), passes, "{stats}");
    }
}

#[test]
fn a_manifest_with_an_unknown_level_is_refused() {
    for (from, to) in [("HARMOVELA-C1", "HARMOVELA-C9"), ("\"path\"", "\"file\"")] {
        let text = format!(
            r#"{{"spec_version":"0.2","fixtures":[{}]}}"#,
            FLOW.replace(from, to)
        );
        assert!(Manifest::parse(text.as_bytes()).is_err(), "{to}");
    }
    assert_eq!(Level::parse("AEP-C2"), Some(Level::C2));
    assert_eq!(Level::parse("HARMOVELA-"), None);
}
