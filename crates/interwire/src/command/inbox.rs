//! `interwire inbox`: what waits for a party, printed or handed to a command.

use super::tail::describe;
use crate::connection::{Connection, Translate};
use crate::failure::{Answer, Failure};
use crate::output::{self, Paint};
use crate::places::{self, DeliveryArgs};
use client::{Client, Delivery, Error, Place};
use protocol::Timestamp;
use serde_json::value::RawValue;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;

/// The longest time between two extensions of a lease while a command runs.
const EXTEND_EVERY_MAX: Duration = Duration::from_secs(5);

/// The shortest.
const EXTEND_EVERY_MIN: Duration = Duration::from_millis(100);

/// Options.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  interwire inbox agent.sentinel --ack
  interwire inbox agent.sentinel --follow --exec ./handle-envelope
  interwire inbox agent.sentinel --follow --consumer worker-1 --exec ./handle-envelope
  interwire inbox agent.sentinel --configure --max-attempts 5 --lease-ms 60000
  interwire inbox agent.sentinel --follow --translate aee --exec ./speaks-only-aee
  interwire inbox agent.sentinel --pause
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
    /// Read under this name, when several share the place: a conversation is with one of them at a time
    #[arg(long, value_name = "NAME")]
    consumer: Option<String>,
    /// At most this many deliveries
    #[arg(long, value_name = "N", default_value_t = u64::MAX, hide_default_value = true)]
    max: u64,
    /// Print each delivery as one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    translate: Translate,
    #[command(flatten)]
    instead: Instead,
    #[command(flatten)]
    delivery: DeliveryArgs,
    #[command(flatten)]
    connection: Connection,
}

/// What is done instead of reading.
#[derive(Debug, clap::Args)]
#[group(multiple = false, conflicts_with_all = ["ack", "follow", "exec", "consumer", "max"])]
struct Instead {
    /// Show what it holds and how it delivers, and read nothing
    #[arg(long)]
    show: bool,
    /// Give the inbox the delivery settings that follow; what is left out is as the exchange does it
    #[arg(long, conflicts_with = "subscription")]
    configure: bool,
    /// Hand out nothing from it for now
    #[arg(long)]
    pause: bool,
    /// Hand out from it again
    #[arg(long)]
    resume: bool,
}

/// Reads, or does what is asked for instead.
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
    let settings = arguments.delivery.settings();
    if !settings.is_default() && !arguments.instead.configure {
        return Err(Failure::Usage(
            "expected delivery settings only with --configure".into(),
        ));
    }
    let state = match (&arguments.instead, &place) {
        (Instead { show: true, .. }, _) => client.place(&place).await?,
        (
            Instead {
                configure: true, ..
            },
            Place::Inbox(party),
        ) => client.put_inbox(party, &settings).await?,
        (Instead { pause: true, .. }, _) => client.pause(&place, true).await?,
        (Instead { resume: true, .. }, _) => client.pause(&place, false).await?,
        _ => return read(&arguments, &client, &place).await,
    };
    places::print(&place, &state, arguments.json)?;
    Ok(Answer::Yes)
}

/// Reads until there is nothing more, or until it is interrupted; a consumer with a name then hands
/// over what it holds.
async fn read(arguments: &Arguments, client: &Client, place: &Place) -> Result<Answer, Failure> {
    tokio::select! {
        answer = read_all(arguments, client, place) => answer,
        interrupted = tokio::signal::ctrl_c() => {
            interrupted?;
            if let Some(consumer) = &arguments.consumer {
                client.leave(place, consumer).await?;
            }
            Ok(Answer::Yes)
        }
    }
}

async fn read_all(
    arguments: &Arguments,
    client: &Client,
    place: &Place,
) -> Result<Answer, Failure> {
    let paint = Paint::of_stdout();
    let mut left = arguments.max;
    let mut all_done = Answer::Yes;
    // Commands may take long: what waits behind one should not be leased meanwhile.
    let at_once = if arguments.exec.is_some() { 1 } else { 16 };
    while left > 0 {
        let max = usize::try_from(left.min(at_once)).unwrap_or(1);
        let deliveries = pull(arguments, client, place, max).await?;
        if deliveries.is_empty() && !arguments.follow {
            break;
        }
        for delivery in deliveries {
            left -= 1;
            if let Some(code) = &delivery.untranslated {
                output::note(&format!("{}: as it was sent: {code}", delivery.id));
            }
            if let Some(command) = &arguments.exec {
                if !execute(command, &delivery).await? {
                    all_done = Answer::No;
                }
                continue;
            }
            if arguments.json {
                output::line(&as_json(&delivery))?;
            } else {
                let again = match (delivery.attempt, delivery.redelivered) {
                    (0 | 1, false) => String::new(),
                    (0 | 1, true) => "  (perhaps again)".into(),
                    (attempt, _) => format!("  (attempt {attempt})"),
                };
                output::line(&format!("{}{again}", describe(&delivery.envelope, paint)))?;
            }
            if arguments.ack && !is_settled(&delivery, delivery.ack().await)? {
                all_done = Answer::No;
            }
        }
    }
    Ok(all_done)
}

/// One pull. While following, an exchange that is away is waited for.
async fn pull(
    arguments: &Arguments,
    client: &Client,
    place: &Place,
    max: usize,
) -> Result<Vec<Delivery>, Failure> {
    let wait = Duration::from_secs(if arguments.follow { 20 } else { 0 });
    let consumer = arguments.consumer.as_deref();
    let dialect = arguments.translate.dialect();
    loop {
        let pulled = client.pull_in(place, consumer, dialect, max, wait);
        match pulled.await {
            Err(error) if arguments.follow && error.is_retryable() => {
                output::note(&format!("waiting: {error}"));
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            pulled => return Ok(pulled?),
        }
    }
}

/// Runs the command; true when it took the envelope and the exchange knows.
async fn execute(command: &str, delivery: &Delivery) -> Result<bool, Failure> {
    let mut child = tokio::process::Command::new("sh")
        .args(["-c", command])
        .env("INTERWIRE_DELIVERY", &delivery.delivery)
        .env("INTERWIRE_ID", &delivery.id)
        .env("INTERWIRE_ATTEMPT", delivery.attempt.to_string())
        .env(
            "INTERWIRE_UNTRANSLATED",
            delivery.untranslated.as_deref().unwrap_or_default(),
        )
        .stdin(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // A command that does not read its input may still succeed.
        drop(input.write_all(&delivery.envelope).await);
    }
    let every = extend_every(delivery);
    let status = loop {
        tokio::select! {
            status = child.wait() => break status?,
            () = tokio::time::sleep(every) => match delivery.extend(None).await {
                Err(error) if error.is_retryable() => output::note(&format!("waiting: {error}")),
                extended => if !is_settled(delivery, extended)? {
                    // Somebody else has it by now: what the command still does counts for nothing.
                    return Ok(false);
                },
            },
        }
    };
    if status.success() {
        return is_settled(delivery, delivery.ack().await);
    }
    output::note(&format!(
        "{}: the command ended with {status}; given back",
        delivery.id
    ));
    let reason = format!("the command ended with {status}");
    is_settled(delivery, delivery.nack_because(None, &reason).await)?;
    Ok(false)
}

/// A third of what is left of the lease, by this machine's clock.
fn extend_every(delivery: &Delivery) -> Duration {
    let left = Timestamp::parse_rfc3339(&delivery.lease_until).map_or(0, |(until, _)| {
        until.as_millis() - crate::identity::now().as_millis()
    });
    let third = Duration::from_millis(u64::try_from(left / 3).unwrap_or(0));
    third.clamp(EXTEND_EVERY_MIN, EXTEND_EVERY_MAX)
}

/// Whether a delivery could be settled; one that came too late is told and costs nothing else.
fn is_settled(delivery: &Delivery, settled: Result<(), Error>) -> Result<bool, Failure> {
    match settled {
        Ok(()) => Ok(true),
        Err(Error::Refused(problem)) if problem.code == "lease_lost" => {
            output::note(&format!("{}: {problem}", delivery.id));
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}

/// `{"delivery","attempt","redelivered","lease_until","cursor","id","envelope"}` with the envelope's own
/// bytes.
fn as_json(delivery: &Delivery) -> String {
    let mut head = serde_json::json!({
        "delivery": delivery.delivery,
        "attempt": delivery.attempt,
        "redelivered": delivery.redelivered,
        "lease_until": delivery.lease_until,
        "cursor": delivery.cursor,
        "id": delivery.id,
        "untranslated": delivery.untranslated,
    });
    if let Some(members) = head.as_object_mut()
        && delivery.untranslated.is_none()
    {
        members.remove("untranslated");
    }
    let head = head.to_string();
    let envelope =
        serde_json::from_slice::<&RawValue>(&delivery.envelope).map_or("null", RawValue::get);
    format!("{},\"envelope\":{envelope}}}", head.trim_end_matches('}'))
}
