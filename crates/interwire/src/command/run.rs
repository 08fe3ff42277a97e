//! `interwire run`: an agent that only knows lines.
//!
//! The child's inbox is its standard input and what it says is its standard output, one envelope a
//! line. What it was given is acknowledged when it answers; when it dies, what it held is given back
//! as a failed attempt and the child is started again.

mod child;
mod held;

use crate::connection::Connection;
use crate::failure::{Answer, Failure};
use crate::output;
use child::{Life, Lives};
use client::Place;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::time::Instant;

/// The first pause before the child is started again, and the longest.
const BACKOFF: Duration = Duration::from_millis(200);
const BACKOFF_MAX: Duration = Duration::from_secs(30);

/// A child that lived for so long is healthy: the next pause is short again.
const HEALTHY: Duration = Duration::from_secs(10);

/// When a delivery is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Ack {
    /// When the child's own envelope settles it: a result, an error, an acknowledgement
    Reply,
    /// When its line was written to the child
    Line,
}

/// Options.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  interwire run --as agent.sentinel -- ./agent
  interwire run --as agent.logger --ack line -- tee -a log.ndjson
  interwire run --as agent.worker --in-flight 4 -- python3 worker.py")]
pub struct Arguments {
    /// When a delivery is acknowledged
    #[arg(long, value_enum, default_value_t = Ack::Reply)]
    ack: Ack,
    /// Deliveries that the child may hold at once
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1024))]
    in_flight: u16,
    /// Milliseconds from the end of its input to SIGTERM, and again to SIGKILL, when this is told to stop
    #[arg(long, value_name = "MS", default_value_t = 10_000)]
    grace_ms: u64,
    /// End with the child instead of starting it again
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    connection: Connection,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

/// Runs until it is told to stop; with `--once` until the child ends.
pub async fn run(arguments: Arguments) -> Result<Answer, Failure> {
    let Some(party) = arguments.connection.party.clone() else {
        return Err(Failure::Usage("expected --as PARTY".into()));
    };
    let lives = Lives {
        client: arguments.connection.client()?,
        place: Place::Inbox(party.clone()),
        party,
        url: arguments.connection.url.clone(),
        // Another run of the same party is another consumer.
        consumer: format!("run-{:016x}", client::chance::bits()),
        ack: arguments.ack,
        in_flight: usize::from(arguments.in_flight),
        grace: Duration::from_millis(arguments.grace_ms),
        command: arguments.command,
    };
    let stop = stop_sign()?;
    let mut pause = BACKOFF;
    let answer = loop {
        let start = Instant::now();
        let life = lives.live(stop.clone()).await;
        let ended = match life {
            Ok(Life::Stopped) => break Answer::Yes,
            Ok(Life::Ended(status)) => status,
            // A command that is not there will not be there later.
            Err(failure) => return Err(failure),
        };
        if arguments.once {
            break if ended.success() {
                Answer::Yes
            } else {
                Answer::No
            };
        }
        if start.elapsed() >= HEALTHY {
            pause = BACKOFF;
        }
        log(&serde_json::json!({
            "event": "child_ended",
            "status": ended.to_string(),
            "restart_ms": u64::try_from(pause.as_millis()).unwrap_or(u64::MAX),
        }));
        let mut told = stop.clone();
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = told.wait_for(|is_told| *is_told) => break Answer::Yes,
        }
        pause = (pause * 2).min(BACKOFF_MAX);
    };
    Ok(answer)
}

/// Turns true at the first SIGTERM or SIGINT; the second ends the process at once, and the child's
/// input with it.
fn stop_sign() -> Result<watch::Receiver<bool>, Failure> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let (tell, told) = watch::channel(false);
    tokio::spawn(async move {
        for is_second in [false, true] {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if is_second {
                std::process::exit(1);
            }
            tell.send_replace(true);
        }
    });
    Ok(told)
}

/// One line of JSON on standard error, beside whatever the child writes there.
pub(super) fn log(what: &serde_json::Value) {
    output::note(&what.to_string());
}
