//! `interwire version`.

use crate::failure::{Answer, Failure};
use crate::output;
use serde_json::json;

/// Options.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:  interwire version --json")]
pub struct Arguments {
    /// One JSON object
    #[arg(long)]
    json: bool,
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What is spoken, with the published name and version of each.
const SPEAKS: [(&str, &str); 3] = [("aee", "1"), ("aep", "0.2"), ("uai", "1.0")];

/// Prints it.
pub fn run(arguments: &Arguments) -> Result<Answer, Failure> {
    if arguments.json {
        let speaks: serde_json::Map<_, _> = SPEAKS
            .iter()
            .map(|(name, version)| ((*name).to_owned(), json!(version)))
            .collect();
        output::line(&json!({ "interwire": VERSION, "speaks": speaks }).to_string())?;
    } else {
        output::line(&format!("interwire {VERSION}"))?;
        let speaks: Vec<_> = SPEAKS
            .iter()
            .map(|(name, version)| format!("{name} {version}"))
            .collect();
        output::line(&format!("speaks {}", speaks.join(", ")))?;
    }
    Ok(Answer::Yes)
}
