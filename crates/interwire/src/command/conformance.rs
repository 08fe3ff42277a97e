//! `interwire conformance run DIR`: suites judged against a real exchange, in memory.
//!
//! Every fixture gets a fresh broker and every event goes through the same door-side call as a
//! published envelope. Lines follow the form that runners of other languages read:
//! `PASS HARMOVELA-C1 fixtures/x.ndjson`.

mod subject;
mod vectors;

use crate::failure::{Answer, Failure};
use crate::output;
use protocol::dialect::aep::conformance::{
    Level, Manifest, Outcome, Report, Selection, run as judge, upstream_fixtures,
};
use protocol::{Mode, Rules};
use serde_json::json;
use std::path::{Path, PathBuf};

/// What to do.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Examples:
  interwire conformance run harmovela/conformance --level HARMOVELA-C2
  interwire conformance run ./vectors")]
pub enum Action {
    /// Run a folder: a Harmovela suite (manifest.json), or *.ndjson files of test vectors
    Run(Arguments),
}

/// Options.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A vector is one JSON object a line:
  {\"name\":\"...\",\"envelope\":{...} or \"text\":\"...\",\"valid\":true or false,
   \"codes\":[\"...\"],\"mode\":\"strict\",\"policy\":\"repo\"}
with codes, mode and policy where they matter.

Example:  interwire conformance run harmovela/conformance --strict --json")]
pub struct Arguments {
    /// The suite's folder, or its parent
    dir: PathBuf,
    /// Skip what is above this level, such as HARMOVELA-C2
    #[arg(long, value_parser = level)]
    level: Option<Level>,
    /// Only this profile, besides what belongs to none; again for more
    #[arg(long, value_name = "NAME")]
    profile: Vec<String>,
    /// Every single event must come out as the published texts say
    #[arg(long)]
    strict: bool,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

fn level(name: &str) -> Result<Level, String> {
    Level::parse(name).ok_or_else(|| "expected HARMOVELA-C0, -C1, -C2 or -C3".into())
}

/// Runs it; the answer is no when anything failed.
pub async fn run(action: Action) -> Result<Answer, Failure> {
    let Action::Run(arguments) = action;
    let nested = arguments.dir.join("conformance");
    let folder = if nested.join("manifest.json").is_file() {
        nested
    } else {
        arguments.dir.clone()
    };
    if folder.join("manifest.json").is_file() {
        harmovela(folder, arguments).await
    } else {
        vectors::run(&folder, arguments.json).await
    }
}

async fn harmovela(folder: PathBuf, arguments: Arguments) -> Result<Answer, Failure> {
    let is_json = arguments.json;
    let runtime = tokio::runtime::Handle::current();
    // The judge is synchronous and the broker is not: it gets a thread that may block.
    let judged =
        tokio::task::spawn_blocking(move || harmovela_report(&folder, &arguments, &runtime));
    let report = judged
        .await
        .map_err(|_| Failure::Refused("the judge ended badly".into()))?
        .map_err(Failure::Refused)?;
    let mut counts = [0_usize; 3];
    for verdict in &report.verdicts {
        let [pass, fail, skip] = &mut counts;
        let (word, reason) = match &verdict.outcome {
            Outcome::Pass => (("pass", pass), None),
            Outcome::Fail(reason) => (("fail", fail), Some(reason)),
            Outcome::Skip(reason) => (("skip", skip), Some(reason)),
        };
        let (word, count) = word;
        *count += 1;
        if is_json {
            let events: Vec<_> = verdict
                .events
                .iter()
                .map(|event| {
                    let refused = event.refused.as_ref();
                    json!({
                        "line": event.line,
                        "type": event.kind,
                        "refused": refused.map(|(word, _)| word),
                        "code": refused.map(|(_, code)| code.as_str()),
                    })
                })
                .collect();
            output::line(
                &json!({
                    "outcome": word,
                    "level": verdict.level.as_str(),
                    "path": verdict.path,
                    "reason": reason,
                    "events": events,
                })
                .to_string(),
            )?;
        } else {
            output::line(&verdict.to_string())?;
        }
    }
    let [pass, fail, skip] = counts;
    output::note(&format!("{pass} passed, {fail} failed, {skip} skipped"));
    Ok(if report.is_pass() {
        Answer::Yes
    } else {
        Answer::No
    })
}

fn harmovela_report(
    folder: &Path,
    arguments: &Arguments,
    runtime: &tokio::runtime::Handle,
) -> Result<Report, String> {
    let path = folder.join("manifest.json");
    let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut manifest =
        Manifest::parse(&bytes).map_err(|error| format!("{}: {error}", path.display()))?;
    if arguments.strict {
        // On disk in every copy of the suite, listed only in the newer ones.
        for fixture in upstream_fixtures() {
            let is_listed = manifest
                .fixtures
                .iter()
                .any(|listed| listed.path == fixture.path);
            if !is_listed && folder.join(&fixture.path).is_file() {
                manifest.fixtures.push(fixture);
            }
        }
    }
    let selection = Selection {
        target: arguments.level.unwrap_or(manifest.default_target_level),
        profiles: arguments.profile.clone(),
        is_strict: arguments.strict,
    };
    let rules = Rules::at(crate::identity::now()).mode(Mode::Strict);
    let load = |name: &str| std::fs::read(folder.join(name)).map_err(|error| error.to_string());
    let mut broken = None;
    let mut fresh = || subject::fresh(&rules, runtime, &mut broken);
    let report = judge(&manifest, &selection, &rules, &load, &mut fresh)?;
    broken.map_or(Ok(report), Err)
}
