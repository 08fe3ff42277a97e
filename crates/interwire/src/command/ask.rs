//! `interwire ask`: publish a request and wait for its reply.

use crate::command::tail::describe;
use crate::compose::Composition;
use crate::connection::Connection;
use crate::failure::{Answer, Failure};
use crate::output::{self, Colour, Paint, tame};
use crate::texts;
use bytes::Bytes;
use client::{AskEvent, Reply};
use std::path::PathBuf;
use std::time::Duration;

/// Options.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  interwire ask --aee --from human.adam --to agent.sentinel --intent quox.security.scan \\
      --payload '{\"target\":\"nw-web-01\"}' --timeout 60
  interwire ask request.json --json | jq .payload
Exit codes: 0 the task was completed, 1 it ended otherwise or not in time, 2 wrong use,
  3 cannot reach the exchange. After 1 or 3 ask again with the same envelope: it is not done twice.")]
pub struct Arguments {
    /// A JSON file with one envelope; - or none is standard input
    #[arg(conflicts_with = "written")]
    file: Option<PathBuf>,
    /// Seconds to wait for the reply
    #[arg(long, default_value_t = 30.0, value_name = "SECONDS")]
    timeout: f64,
    /// Print only the bytes of the reply, on one line where it is one line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    composition: Composition,
    #[command(flatten)]
    connection: Connection,
}

/// Asks; the answer is no when the task was not completed.
pub async fn run(arguments: Arguments) -> Result<Answer, Failure> {
    let timeout = Duration::try_from_secs_f64(arguments.timeout)
        .ok()
        .filter(|timeout| !timeout.is_zero());
    let Some(timeout) = timeout else {
        let got = arguments.timeout;
        let sentence = format!("expected --timeout to be more than 0 seconds, got {got}");
        return Err(Failure::Usage(sentence));
    };
    let envelope = if arguments.composition.is_wanted() {
        arguments.composition.compose(&arguments.connection).await?
    } else {
        only_one(arguments.file).await?
    };
    let paint = Paint::of_stdout();
    let mut asking = arguments
        .connection
        .client()?
        .ask_and_watch(envelope, timeout);
    loop {
        match asking.next().await {
            Ok(AskEvent::Asked { task, .. }) => {
                output::note(&format!("asked: task {}", tame(&task)));
            }
            Ok(AskEvent::Progress { envelope, .. }) => {
                output::note(&describe(&envelope, Paint::off()));
            }
            Ok(AskEvent::Reconnecting(reason)) => output::note(&format!("reconnecting: {reason}")),
            Ok(AskEvent::Reply(reply)) => return print(&reply, arguments.json, paint),
            Err(error) => return Err(error.into()),
        }
    }
}

async fn only_one(file: Option<PathBuf>) -> Result<Bytes, Failure> {
    let mut found = texts::read(file.into_iter().collect());
    let Some(first) = found.recv().await else {
        return Err(Failure::Usage("expected one envelope, got none".into()));
    };
    let first = first?;
    if let Some(second) = found.recv().await {
        let origin = second?.origin;
        let sentence = format!("expected one envelope, got another at {origin}");
        return Err(Failure::Usage(sentence));
    }
    Ok(first.bytes)
}

fn print(reply: &Reply, is_json: bool, paint: Paint) -> Result<Answer, Failure> {
    let is_done = reply.state == "completed";
    if !is_json {
        let colour = if is_done { Colour::Green } else { Colour::Red };
        output::note(&format!(
            "{} task {}",
            paint.paint(colour, &tame(&reply.state)),
            tame(&reply.task)
        ));
    }
    output::bytes(&reply.envelope)?;
    Ok(if is_done { Answer::Yes } else { Answer::No })
}
