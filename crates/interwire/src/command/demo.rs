//! `interwire demo`.

use crate::demo::play;
use crate::failure::{Answer, Failure};

/// Options.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  interwire demo
  interwire demo --kill")]
pub struct Arguments {
    /// Kill the exchange and a worker of each conversation with SIGKILL half way, start them again and
    /// carry on
    #[arg(long)]
    kill: bool,
    /// Keep the data folder
    #[arg(long)]
    keep: bool,
    /// Print what happens and the result as JSON, one object a line
    #[arg(long)]
    json: bool,
}

/// Plays; the answer is no when a message is missing or doubled.
pub async fn run(arguments: Arguments) -> Result<Answer, Failure> {
    play::run(play::Options {
        is_kill: arguments.kill,
        is_kept: arguments.keep,
        is_json: arguments.json,
    })
    .await
}
