//! `interwire inbox`: what waits for a party, printed or handed to a command.

use super::tail::describe;
use crate::connection::Connection;
use crate::failure::{Answer, Failure};
use crate::output::{self, Paint};
use client::{Client, Delivery, Place};
use serde_json::value::RawValue;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;

/// How often a lease is extended while a command runs; well within any sensible lease.
const EXTEND_EVERY: Duration = Duration::from_secs(5);

/// Options.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  interwire inbox agent.sentinel --ack
  interwire inbox agent.sentinel --follow --exec ./handle-envelope
  interwire inbox --subscription audit --json")]
pub struct Arguments {
    /// The party, in any dialect's spelling [default: --as]
    #[arg(value_name = "PARTY")]
    place: Option<String>,
    /// Read a durable subscription instead
    #[arg(long, value_name = "NAME", conflicts_with = "place")]
    subscription: Option<String>,
    /// Acknowledge what was printed
    #[arg(long)]
    ack: bool,
    /// Wait for more
    #[arg(long)]
    follow: bool,
    /// Run a command per envelope, with the bytes on its standard input: acknowledged when it exits
    /// with 0, given back otherwise
    #[arg(long, value_name = "CMD", conflicts_with = "ack")]
    exec: Option<String>,
    /// At most this many deliveries
    #[arg(long, value_name = "N", default_value_t = u64::MAX, hide_default_value = true)]
    max: u64,
    /// Print each delivery as one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connection: Connection,
}

/// Reads.
pub async fn run(arguments: Arguments) -> Result<Answer, Failure> {
    let client = arguments.connection.client()?;
    let place = match (
        &arguments.subscription,
        &arguments.place,
        &arguments.connection.party,
    ) {
        (Some(name), _, _) => Place::Subscription(name.clone()),
        (None, Some(party), _) | (None, None, Some(party)) => Place::Inbox(party.clone()),
        (None, None, None) => {
            return Err(Failure::Usage(
                "expected a PARTY, or --as, or --subscription".into(),
            ));
        }
    };
    let paint = Paint::of_stdout();
    let mut left = arguments.max;
    let mut all_done = Answer::Yes;
    while left > 0 {
        let wait = Duration::from_secs(if arguments.follow { 20 } else { 0 });
        let max = usize::try_from(left.min(16)).unwrap_or(16);
        let deliveries = pull(&client, &place, max, wait, arguments.follow).await?;
        if deliveries.is_empty() && !arguments.follow {
            break;
        }
        for delivery in deliveries {
            left -= 1;
            if let Some(command) = &arguments.exec {
                if !execute(command, &delivery).await? {
                    all_done = Answer::No;
                }
                continue;
            }
            if arguments.json {
                output::line(&as_json(&delivery))?;
            } else {
                let again = match delivery.attempt {
                    0 | 1 => String::new(),
                    attempt => format!("  (attempt {attempt})"),
                };
                output::line(&format!("{}{again}", describe(&delivery.envelope, paint)))?;
            }
            if arguments.ack {
                delivery.ack().await?;
            }
        }
    }
    Ok(all_done)
}

/// One pull. While following, an exchange that is away is waited for.
async fn pull(
    client: &Client,
    place: &Place,
    max: usize,
    wait: Duration,
    is_patient: bool,
) -> Result<Vec<Delivery>, Failure> {
    loop {
        match client.pull(place, max, wait).await {
            Err(error) if is_patient && error.is_retryable() => {
                output::note(&format!("waiting: {error}"));
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            pulled => return Ok(pulled?),
        }
    }
}

/// Runs the command; true when it took the envelope.
async fn execute(command: &str, delivery: &Delivery) -> Result<bool, Failure> {
    let mut child = tokio::process::Command::new("sh")
        .args(["-c", command])
        .env("INTERWIRE_DELIVERY", &delivery.delivery)
        .env("INTERWIRE_ID", &delivery.id)
        .env("INTERWIRE_ATTEMPT", delivery.attempt.to_string())
        .stdin(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // A command that does not read its input may still succeed.
        drop(input.write_all(&delivery.envelope).await);
    }
    let status = loop {
        tokio::select! {
            status = child.wait() => break status?,
            () = tokio::time::sleep(EXTEND_EVERY) => delivery.extend(None).await?,
        }
    };
    if status.success() {
        delivery.ack().await?;
    } else {
        output::note(&format!(
            "{}: the command ended with {status}; given back",
            delivery.id
        ));
        delivery.nack(None).await?;
    }
    Ok(status.success())
}

/// `{"delivery","attempt","lease_until","cursor","id","envelope"}` with the envelope's own bytes.
fn as_json(delivery: &Delivery) -> String {
    let head = serde_json::json!({
        "delivery": delivery.delivery,
        "attempt": delivery.attempt,
        "lease_until": delivery.lease_until,
        "cursor": delivery.cursor,
        "id": delivery.id,
    })
    .to_string();
    let envelope =
        serde_json::from_slice::<&RawValue>(&delivery.envelope).map_or("null", RawValue::get);
    format!("{},\"envelope\":{envelope}}}", head.trim_end_matches('}'))
}
