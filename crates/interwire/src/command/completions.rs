//! `interwire completions SHELL`.

use crate::failure::{Answer, Failure};
use clap_complete::Shell;
use std::io::Write as _;

/// Options.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:  interwire completions bash > ~/.local/share/bash-completion/completions/interwire"
)]
pub struct Arguments {
    /// The shell
    shell: Shell,
}

/// Prints the script.
pub fn run(arguments: &Arguments, command: &mut clap::Command) -> Result<Answer, Failure> {
    // Into memory first: the generator cannot report a closed output.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, command, "interwire", &mut script);
    let mut out = std::io::stdout().lock();
    out.write_all(&script)?;
    out.flush()?;
    Ok(Answer::Yes)
}
