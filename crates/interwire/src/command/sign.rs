//! `interwire sign`: envelopes with a signature, without any exchange.

use super::key::KeyFile;
use crate::failure::{Answer, Failure};
use crate::output::{self, tame};
use crate::texts;
use protocol::Rules;
use std::path::PathBuf;
use trust::Signer;

/// Options.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  interwire sign --key planner.key envelope.json
  interwire send --print --aee --from agent.planner --to agent.b --intent a.b \\
    | interwire sign --key planner.key | interwire send")]
pub struct Arguments {
    /// JSON or NDJSON files; - or none is standard input
    files: Vec<PathBuf>,
    /// The key, made by `interwire key new`
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
}

/// Prints one envelope a line; the answer is no when one cannot be signed, or there is none.
pub async fn run(arguments: Arguments) -> Result<Answer, Failure> {
    let file = KeyFile::read(&arguments.key)?;
    let signer = Signer {
        kid: &file.kid,
        key: &file.key,
    };
    let rules = Rules::at(crate::identity::now());
    let (mut count, mut refused) = (0_u64, 0_u64);
    let mut found = texts::read(arguments.files);
    while let Some(text) = found.recv().await {
        let text = text?;
        count += 1;
        let reading = protocol::decode(&text.bytes, &rules);
        let signed = match (reading.dialect, std::str::from_utf8(&text.bytes)) {
            (Some(dialect), Ok(envelope)) => {
                trust::sign(envelope, dialect, &signer).map_err(|fault| fault.to_string())
            }
            _ => Err("expected an envelope of AEE, AEP or UAI-1".into()),
        };
        match signed {
            // Line breaks in JSON can only be insignificant space.
            Ok(envelope) => output::line(&envelope.replace(['\n', '\r'], " "))?,
            Err(why) => {
                refused += 1;
                output::note(&tame(&format!("{}: {why}", text.origin)));
            }
        }
    }
    Ok(if count > 0 && refused == 0 {
        Answer::Yes
    } else {
        Answer::No
    })
}
