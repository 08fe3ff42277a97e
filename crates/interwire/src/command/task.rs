//! `interwire task ls|show|cancel`: what was asked for, where it stands, calling it off.

use crate::connection::Connection;
use crate::failure::{Answer, Failure};
use crate::output::{self, Colour, Paint, tame};
use client::TaskQuery;
use serde_json::Value;

/// What to do.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Examples:
  interwire task ls --state open --party agent.sentinel
  interwire task show task_01
  interwire task cancel task_01 --reason 'no longer needed' --as human.adam")]
pub enum Action {
    /// List open tasks and those that ended lately, the newest first
    Ls(Box<Listing>),
    /// Show one task and how it came to stand there
    Show {
        /// Its id
        id: String,
        /// One JSON object
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        connection: Connection,
    },
    /// Ask those who work on a task to end it
    Cancel {
        /// Its id
        id: String,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// Print the receipt of the request as one JSON object
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        connection: Connection,
    },
}

/// Which tasks.
#[derive(Debug, clap::Args)]
pub struct Listing {
    /// open, ended, or a state such as started; again for any of several
    #[arg(long, value_name = "WORD")]
    state: Vec<String>,
    /// Conversation id
    #[arg(long, value_name = "ID")]
    conversation: Option<String>,
    /// Asked for or worked on by this party
    #[arg(id = "of_party", long = "party", value_name = "PARTY")]
    of_party: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connection: Connection,
}

/// Does it.
pub async fn run(action: Action) -> Result<Answer, Failure> {
    match action {
        Action::Ls(listing) => list(*listing).await,
        Action::Show {
            id,
            json,
            connection,
        } => {
            let text = connection.client()?.task(&id).await?;
            if json {
                output::line(text.trim_end())?;
            } else {
                show(&read(&text)?, Paint::of_stdout())?;
            }
            Ok(Answer::Yes)
        }
        Action::Cancel {
            id,
            reason,
            json,
            connection,
        } => {
            let party = connection.party.clone();
            let receipt = connection
                .client()?
                .cancel_task(&id, reason.as_deref(), party.as_deref())
                .await?;
            if json {
                output::line(receipt.raw.trim())?;
            } else {
                let told: Vec<_> = receipt
                    .recipients
                    .iter()
                    .map(|recipient| tame(&recipient.party))
                    .collect();
                output::line(&format!(
                    "asked {} to end task {}",
                    told.join(", "),
                    tame(&id)
                ))?;
            }
            Ok(Answer::Yes)
        }
    }
}

async fn list(listing: Listing) -> Result<Answer, Failure> {
    let query = TaskQuery {
        states: listing.state,
        conversation: listing.conversation,
        party: listing.of_party,
        limit: listing.limit,
    };
    let text = listing.connection.client()?.tasks(&query).await?;
    let document = read(&text)?;
    let paint = Paint::of_stdout();
    for task in document
        .get("tasks")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        if listing.json {
            output::line(&task.to_string())?;
        } else {
            output::line(&line(task, paint))?;
        }
    }
    if document.get("more").and_then(Value::as_bool) == Some(true) && !listing.json {
        output::note("there are more; see --limit");
    }
    Ok(Answer::Yes)
}

fn read(text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text)
        .map_err(|error| Failure::Refused(format!("expected tasks as JSON: {error}")))
}

fn text<'t>(value: &'t Value, name: &str) -> &'t str {
    value.get(name).and_then(Value::as_str).unwrap_or("-")
}

fn line(task: &Value, paint: Paint) -> String {
    let state = text(task, "state");
    format!(
        "{}  {}  {} {} {}  {}  {}",
        paint.paint(colour(state), &format!("{:<9}", tame(state))),
        text(task, "dialect"),
        paint.paint(Colour::Cyan, &tame(text(task, "requester"))),
        paint.paint(Colour::Dim, "->"),
        paint.paint(Colour::Cyan, &workers(task, false)),
        paint.paint(Colour::Bold, &tame(text(task, "task"))),
        paint.paint(Colour::Dim, &tame(text(task, "opened_at"))),
    )
}

fn workers(task: &Value, has_states: bool) -> String {
    let workers = task.get("workers").and_then(Value::as_array);
    let words = workers.into_iter().flatten().map(|worker| {
        let party = tame(text(worker, "party"));
        if has_states {
            format!("{party} {}", tame(text(worker, "state")))
        } else {
            party
        }
    });
    words.collect::<Vec<_>>().join(", ")
}

fn show(task: &Value, paint: Paint) -> Result<(), Failure> {
    output::line(&line(task, paint))?;
    let workers = workers(task, true);
    let children = task.get("children").and_then(Value::as_array);
    let children: Vec<_> = children
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(tame)
        .collect();
    let is_asked = task.get("cancel_requested").and_then(Value::as_bool) == Some(true);
    let facts = [
        ("workers", workers),
        ("conversation", tame(text(task, "conversation"))),
        ("deadline", tame(text(task, "deadline"))),
        ("parent", tame(text(task, "parent"))),
        ("children", children.join(", ")),
        (
            "cancel",
            if is_asked {
                "requested".into()
            } else {
                String::new()
            },
        ),
    ];
    for (name, value) in facts {
        if !value.is_empty() && value != "-" {
            output::line(&format!("  {name:<12}  {value}"))?;
        }
    }
    let history = task.get("history").and_then(Value::as_array);
    for change in history.into_iter().flatten() {
        let state = text(change, "state");
        output::line(&format!(
            "  {}  {}  {}  {}",
            paint.paint(Colour::Dim, &tame(text(change, "at"))),
            paint.paint(colour(state), &format!("{:<9}", tame(state))),
            paint.paint(Colour::Cyan, &tame(text(change, "by"))),
            paint.paint(Colour::Dim, &tame(text(change, "id"))),
        ))?;
    }
    Ok(())
}

fn colour(state: &str) -> Colour {
    match state {
        "completed" => Colour::Green,
        "failed" | "timed_out" => Colour::Red,
        "cancelled" | "blocked" => Colour::Yellow,
        _ => Colour::Bold,
    }
}
