//! `interwire sub ls|show|create|pause|resume|rm`: durable subscriptions.

use crate::connection::{Connection, FilterArgs};
use crate::failure::{Answer, Failure};
use crate::output::{self, tame};
use crate::places::{self, DeliveryArgs};
use client::{Place, Pushing};

/// What to do.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Examples:
  interwire sub create audit --type 'task.*'
  interwire sub create work --target agent.team --max-attempts 5 --lease-ms 60000
  interwire sub create facts --type 'memory.*' --deliver-to agent.researcher
  interwire sub create audit --type 'task.*' --push https://example.org/hook
  interwire sub ls
  interwire sub pause audit
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
    /// Show one: what it holds and how it delivers
    Show(One),
    /// Create one, confirm one that says the same, or give it other delivery settings
    Create(Box<Creation>),
    /// Hand out nothing from it for now
    Pause(One),
    /// Hand out from it again
    Resume(One),
    /// Remove one and what waits in it
    Rm {
        /// Its name
        name: String,
        #[command(flatten)]
        connection: Connection,
    },
}

/// One subscription.
#[derive(Debug, clap::Args)]
pub struct One {
    /// Its name
    name: String,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connection: Connection,
}

/// What is created.
#[derive(Debug, clap::Args)]
pub struct Creation {
    /// Its name
    name: String,
    /// Put what passes into this party's inbox
    #[arg(long, value_name = "PARTY")]
    deliver_to: Option<String>,
    /// Push deliveries to this http or https address, signed; acknowledged when it answers 2xx
    #[arg(long, value_name = "URL", conflicts_with = "deliver_to")]
    push: Option<String>,
    /// The secret of signatures, `whsec_...` [default: the one it has, else a new one, printed once]
    #[arg(long, value_name = "SECRET", requires = "push")]
    push_secret: Option<String>,
    /// Push nowhere any more
    #[arg(long, conflicts_with = "push")]
    no_push: bool,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    delivery: DeliveryArgs,
    #[command(flatten)]
    connection: Connection,
}

/// Does it.
pub async fn run(action: Action) -> Result<Answer, Failure> {
    match action {
        Action::Ls { json, connection } => list(&connection, json).await,
        Action::Show(one) => {
            let place = Place::Subscription(one.name);
            let state = one.connection.client()?.place(&place).await?;
            places::print(&place, &state, one.json)?;
            Ok(Answer::Yes)
        }
        Action::Pause(one) => pause(one, true).await,
        Action::Resume(one) => pause(one, false).await,
        Action::Create(creation) => {
            let Creation {
                name,
                deliver_to,
                push,
                push_secret,
                no_push,
                filter,
                delivery,
                connection,
            } = *creation;
            let pushing = match push {
                Some(url) => Pushing::To {
                    url,
                    secret: push_secret,
                },
                None if no_push => Pushing::Nowhere,
                None => Pushing::AsItIs,
            };
            let (client, filter) = (connection.client()?, filter.filter());
            let delivery = delivery.settings();
            let delivery = Some(&delivery).filter(|delivery| !delivery.is_default());
            let view = client
                .put_subscription_pushing(&name, &filter, deliver_to.as_deref(), delivery, &pushing)
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

async fn pause(one: One, is_paused: bool) -> Result<Answer, Failure> {
    let place = Place::Subscription(one.name);
    let state = one.connection.client()?.pause(&place, is_paused).await?;
    places::print(&place, &state, one.json)?;
    Ok(Answer::Yes)
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
        let is_paused = one.get("paused").and_then(serde_json::Value::as_bool);
        output::line(&format!(
            "{:<20}  {:>8} waiting  {:>6} leased  {:>6} dead  {:<6}  {:<24}  {}",
            tame(text("name")),
            number("waiting"),
            number("leased"),
            number("dead"),
            if is_paused == Some(true) {
                "paused"
            } else {
                ""
            },
            tame(text("deliver_to")),
            filter
        ))?;
    }
    Ok(Answer::Yes)
}
