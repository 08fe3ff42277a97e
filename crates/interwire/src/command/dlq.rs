//! `interwire dlq ls|show|redrive|drop`: dead letters.

use crate::connection::Connection;
use crate::failure::{Answer, Failure};
use crate::output::{self, Colour, Paint, tame};
use crate::places::{self, PlaceArgs};
use client::{Client, DeadLetter, Error};
use futures_util::stream::{self, StreamExt as _};

/// Dead letters asked for at a time.
const PAGE: usize = 100;

/// Dead letters redriven or dropped at the same time; one commit can take them all.
const AT_ONCE: usize = 32;

/// What to do.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Examples:
  interwire dlq ls
  interwire dlq ls --inbox agent.sentinel --json
  interwire dlq show 3.17.0
  interwire dlq redrive 3.17.0
  interwire dlq redrive --all --inbox agent.sentinel
  interwire dlq drop --all --subscription audit")]
pub enum Action {
    /// List them
    Ls {
        #[command(flatten)]
        place: PlaceArgs,
        /// One JSON object a line, with the envelope
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        connection: Connection,
    },
    /// Show one: every error, and the envelope as it was sent
    Show {
        /// Its delivery, as the list names it
        delivery: String,
        /// One JSON object
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        connection: Connection,
    },
    /// Deliver them again
    Redrive(Chosen),
    /// Let go of them
    Drop(Chosen),
}

/// Which dead letters.
#[derive(Debug, clap::Args)]
pub struct Chosen {
    /// Their deliveries, as the list names them
    #[arg(value_name = "DELIVERY", required_unless_present = "all")]
    deliveries: Vec<String>,
    /// All of the named place, or of every place
    #[arg(long, conflicts_with = "deliveries")]
    all: bool,
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    connection: Connection,
}

#[derive(Clone, Copy, Debug)]
enum Fate {
    Redriven,
    Dropped,
}

/// Does it.
pub async fn run(action: Action) -> Result<Answer, Failure> {
    match action {
        Action::Ls {
            place,
            json,
            connection,
        } => list(&connection.client()?, &place, json).await,
        Action::Show {
            delivery,
            json,
            connection,
        } => {
            let letter = connection.client()?.dead_letter(&delivery).await?;
            if json {
                output::line(letter.raw.trim())?;
            } else {
                show(&letter)?;
            }
            Ok(Answer::Yes)
        }
        Action::Redrive(chosen) => each(chosen, Fate::Redriven).await,
        Action::Drop(chosen) => each(chosen, Fate::Dropped).await,
    }
}

async fn list(client: &Client, place: &PlaceArgs, is_json: bool) -> Result<Answer, Failure> {
    let (place, paint) = (place.place(), Paint::of_stdout());
    let mut after = None;
    loop {
        let page = client
            .dead_letters(place.as_ref(), after.as_deref(), PAGE)
            .await?;
        for letter in &page.letters {
            if is_json {
                output::line(letter.raw.trim())?;
                continue;
            }
            let last = letter.failures.last();
            output::line(&format!(
                "{:<14}  {}  {}  {} after {}  {}  {}",
                letter.delivery,
                letter.at,
                paint.paint(Colour::Cyan, &places::name(&letter.place)),
                paint.paint(Colour::Red, &tame(&letter.reason)),
                attempts(letter.attempts),
                tame(&letter.id),
                last.map(|last| tame(&last.error)).unwrap_or_default()
            ))?;
        }
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(Answer::Yes),
        }
    }
}

fn show(letter: &DeadLetter) -> Result<(), Failure> {
    let facts = [
        ("delivery", letter.delivery.clone()),
        ("place", places::name(&letter.place)),
        ("reason", tame(&letter.reason)),
        ("attempts", letter.attempts.to_string()),
        ("since", letter.at.clone()),
        ("id", tame(&letter.id)),
        ("sender", tame(&letter.sender)),
        ("cursor", letter.cursor.clone()),
    ];
    for (name, value) in facts {
        output::line(&format!("{name:<9} {value}"))?;
    }
    for failure in &letter.failures {
        let (why, error) = (tame(&failure.why), tame(&failure.error));
        output::line(&format!(
            "attempt {:<2} {}  {why}  {error}",
            failure.attempt, failure.at
        ))?;
    }
    output::bytes(&letter.envelope)
}

fn attempts(count: u32) -> String {
    match count {
        1 => "1 attempt".into(),
        count => format!("{count} attempts"),
    }
}

/// Does the same to all that were chosen; the answer is no when one was not there.
async fn each(chosen: Chosen, fate: Fate) -> Result<Answer, Failure> {
    let client = chosen.connection.client()?;
    let deliveries = if chosen.all {
        all(&client, &chosen.place).await?
    } else {
        chosen.deliveries
    };
    let done = stream::iter(deliveries).map(|delivery| {
        let client = client.clone();
        async move {
            let result = match fate {
                Fate::Redriven => client.redrive(&delivery).await,
                Fate::Dropped => client.drop_dead_letter(&delivery).await,
            };
            (delivery, result)
        }
    });
    let mut done = done.buffered(AT_ONCE);
    let mut answer = Answer::Yes;
    while let Some((delivery, result)) = done.next().await {
        let delivery = tame(&delivery);
        match (result, fate) {
            (Ok(()), Fate::Redriven) => output::line(&format!("redriven {delivery}"))?,
            (Ok(()), Fate::Dropped) => output::line(&format!("dropped {delivery}"))?,
            (Err(Error::Refused(problem)), _) => {
                output::note(&format!("{delivery}: {problem}"));
                answer = Answer::No;
            }
            (Err(error), _) => return Err(error.into()),
        }
    }
    Ok(answer)
}

/// Every dead letter that is there now.
async fn all(client: &Client, place: &PlaceArgs) -> Result<Vec<String>, Failure> {
    let place = place.place();
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = client
            .dead_letters(place.as_ref(), after.as_deref(), PAGE)
            .await?;
        found.extend(page.letters.into_iter().map(|letter| letter.delivery));
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(found),
        }
    }
}
