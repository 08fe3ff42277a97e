//! `interwire unwrap`: AEE envelopes as an agent framework writes what they say.

use super::wrap::{Wanted, format};
use crate::failure::{Answer, Failure};
use crate::output::{self, tame};
use crate::texts;
use std::path::PathBuf;

/// Options.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  interwire wrap request.json | interwire unwrap
  interwire unwrap --to anthropic envelopes.ndjson
  interwire inbox agent.planner --json | jq -c .envelope | interwire unwrap --to openai --anew")]
pub struct Arguments {
    /// JSON or NDJSON files of envelopes; - or none is standard input
    files: Vec<PathBuf>,
    /// openai, anthropic, google, langchain, langgraph, autogen, crewai; or auto, each document in the
    /// format that it was wrapped from
    #[arg(long, value_name = "FORMAT", default_value = "auto", value_parser = format)]
    to: Wanted,
    /// Write everything anew, also what was wrapped from this format: for envelopes that are not all of a
    /// document
    #[arg(long)]
    anew: bool,
}

/// Prints one document a line; the answer is no when there is none, or the envelopes cannot be read or
/// put together.
pub async fn run(arguments: Arguments) -> Result<Answer, Failure> {
    let mut envelopes = Vec::new();
    let mut found = texts::read(arguments.files);
    while let Some(text) = found.recv().await {
        envelopes.push(text?);
    }
    let texts: Vec<&[u8]> = envelopes.iter().map(|text| &*text.bytes).collect();
    if texts.is_empty() {
        return Ok(Answer::No);
    }
    let written = match (arguments.anew, arguments.to.0) {
        (true, Some(format)) => formats::write_anew(&texts, format).map(|one| vec![one]),
        (true, None) => {
            let sentence = "expected --to FORMAT with --anew, other than auto";
            return Err(Failure::Usage(sentence.into()));
        }
        (false, to) => formats::unwrap(&texts, to),
    };
    match written {
        Ok(documents) => {
            for document in documents {
                output::line(&document)?;
            }
            Ok(Answer::Yes)
        }
        Err(rejection) => {
            for fault in rejection.all() {
                // The first token of the pointer is the number of the envelope.
                let number = fault.pointer.split('/').nth(1);
                let number = number.and_then(|number| number.parse::<usize>().ok());
                let origin = number.and_then(|number| envelopes.get(number));
                let origin = origin.map_or("-", |text| &*text.origin);
                output::note(&tame(&format!("{origin}: {fault}")));
            }
            Ok(Answer::No)
        }
    }
}
