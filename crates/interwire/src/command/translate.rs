//! `interwire translate`: envelopes in another dialect, without any exchange.

use super::validate::dialect;
use crate::failure::{Answer, Failure};
use crate::output::{self, tame};
use crate::texts;
use protocol::DialectName;
use std::path::PathBuf;

/// Options.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  interwire translate --to aep envelope.json
  interwire translate --to aee *.ndjson > aee.ndjson
  interwire translate --to uai envelope.json | interwire translate --to aee")]
pub struct Arguments {
    /// JSON or NDJSON files; - or none is standard input
    files: Vec<PathBuf>,
    /// The dialect: aee, aep or uai
    #[arg(long, value_name = "DIALECT", value_parser = dialect)]
    to: DialectName,
}

/// Prints one envelope a line; the answer is no when one cannot be translated, or there is none.
pub async fn run(arguments: Arguments) -> Result<Answer, Failure> {
    let (mut count, mut refused) = (0_u64, 0_u64);
    let mut found = texts::read(arguments.files);
    while let Some(text) = found.recv().await {
        let text = text?;
        count += 1;
        match protocol::translate::translate(&text.bytes, arguments.to) {
            // Line breaks in JSON can only be insignificant space.
            Ok(envelope) => output::line(&envelope.replace(['\n', '\r'], " "))?,
            Err(fault) => {
                refused += 1;
                output::note(&tame(&format!("{}: {fault}", text.origin)));
            }
        }
    }
    Ok(if count > 0 && refused == 0 {
        Answer::Yes
    } else {
        Answer::No
    })
}
