//! `interwire audit`: evidence that a reader can check without the exchange (VOLT 0.1).

mod export;
mod folder;
mod run;

use crate::command::key::ring;
use crate::failure::{Answer, Failure};
use crate::output::{self, tame};
use std::path::PathBuf;
use trust::volt::{Options, Outcome};

/// What to do with evidence.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Examples:
  interwire audit export CONV_1 --out evidence --sign auditor.key
  interwire audit verify evidence")]
pub enum Action {
    /// Write a conversation as an evidence bundle
    Export(export::Arguments),
    /// Verify a bundle, offline
    Verify(Verify),
}

/// Options of `verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  interwire audit verify evidence
  interwire audit verify evidence --keys ring.json --json

Exit codes: 0 it holds, 1 it does not, 2 there is nothing that could be verified")]
pub struct Verify {
    /// The bundle's folder
    folder: PathBuf,
    /// Keys that its signatures may be of, besides did:keys
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Let gaps between events be a warning
    #[arg(long)]
    permissive: bool,
    /// Do not check attachments
    #[arg(long)]
    no_attachments: bool,
    /// Do not check signatures
    #[arg(long)]
    no_signatures: bool,
    /// The report as VOLT's JSON
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub async fn run(action: Action) -> Result<Answer, Failure> {
    match action {
        Action::Export(arguments) => export::run(arguments).await,
        Action::Verify(arguments) => super::blocking(move || verify(&arguments)).await,
    }
}

fn verify(arguments: &Verify) -> Result<Answer, Failure> {
    let keys = arguments.keys.as_deref().map(ring).transpose()?;
    let bundle = folder::read(&arguments.folder)?;
    let options = Options {
        is_strict: !arguments.permissive,
        attachments: !arguments.no_attachments,
        signatures: !arguments.no_signatures,
        ring: keys.as_ref(),
    };
    let report = trust::volt::verify(&bundle, &options);
    if arguments.json {
        output::line(&report.to_json())?;
    } else {
        let word = report.outcome.as_str();
        match report.reason {
            None => output::line(&format!(
                "{word}  {} events of {}, from {} to {}",
                report.detail("event_count").unwrap_or("0"),
                tame(report.detail("run_id").unwrap_or("-")),
                report.detail("first_event_hash").unwrap_or("-"),
                report.detail("last_event_hash").unwrap_or("-"),
            ))?,
            Some(reason) => output::line(&format!("{word}  {}", reason.as_str()))?,
        }
        if report.outcome != Outcome::Pass {
            for (name, json) in &report.details {
                output::line(&format!("  {name}: {}", tame(json)))?;
            }
        }
    }
    for warning in &report.warnings {
        output::note(&tame(&format!("interwire: {warning}")));
    }
    match report.outcome {
        Outcome::Pass => Ok(Answer::Yes),
        Outcome::Fail => Ok(Answer::No),
        Outcome::Error => Err(Failure::Usage(format!(
            "{}: expected an evidence bundle that can be verified",
            arguments.folder.display()
        ))),
    }
}
