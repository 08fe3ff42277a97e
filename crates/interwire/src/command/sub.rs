//! `interwire sub ls|create|rm`: durable subscriptions.

use crate::connection::{Connection, FilterArgs};
use crate::failure::{Answer, Failure};
use crate::output::{self, tame};

/// What to do.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Examples:
  interwire sub create audit --type 'task.*'
  interwire sub create facts --type 'memory.*' --deliver-to agent.researcher
  interwire sub ls
  interwire sub rm audit")]
pub enum Action {
    /// List them
    Ls {
        /// One JSON object a line
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        connection: Connection,
    },
    /// Create one, or confirm one that says the same
    Create(Box<Creation>),
    /// Remove one and what waits in it
    Rm {
        /// Its name
        name: String,
        #[command(flatten)]
        connection: Connection,
    },
}

/// What is created.
#[derive(Debug, clap::Args)]
pub struct Creation {
    /// Its name
    name: String,
    /// Put what passes into this party's inbox
    #[arg(long, value_name = "PARTY")]
    deliver_to: Option<String>,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    connection: Connection,
}

/// Does it.
pub async fn run(action: Action) -> Result<Answer, Failure> {
    match action {
        Action::Ls { json, connection } => list(&connection, json).await,
        Action::Create(creation) => {
            let Creation {
                name,
                deliver_to,
                filter,
                connection,
            } = *creation;
            let (client, filter) = (connection.client()?, filter.filter());
            let view = client
                .put_subscription(&name, &filter, deliver_to.as_deref())
                .await?;
            output::line(view.trim_end())?;
            Ok(Answer::Yes)
        }
        Action::Rm { name, connection } => {
            connection.client()?.remove_subscription(&name).await?;
            output::line(&format!("removed {}", tame(&name)))?;
            Ok(Answer::Yes)
        }
    }
}

async fn list(connection: &Connection, is_json: bool) -> Result<Answer, Failure> {
    let text = connection.client()?.subscriptions().await?;
    let document: serde_json::Value = serde_json::from_str(&text)
        .map_err(|error| Failure::Refused(format!("expected a list of subscriptions: {error}")))?;
    let list = document.get("subscriptions").unwrap_or(&document);
    for one in list.as_array().into_iter().flatten() {
        if is_json {
            output::line(&one.to_string())?;
            continue;
        }
        let text = |name: &str| {
            one.get(name)
                .and_then(serde_json::Value::as_str)
                .unwrap_or("-")
        };
        let number = |name: &str| {
            one.get(name)
                .and_then(serde_json::Value::as_u64)
                .unwrap_or_default()
        };
        let filter = one
            .get("filter")
            .map_or_else(|| "{}".to_owned(), ToString::to_string);
        output::line(&format!(
            "{:<20}  {:>8} waiting  {:>6} leased  {:<24}  {}",
            tame(text("name")),
            number("waiting"),
            number("leased"),
            tame(text("deliver_to")),
            filter
        ))?;
    }
    Ok(Answer::Yes)
}
