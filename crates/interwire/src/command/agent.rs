//! `interwire agent ls|show|register|rm` and `interwire find`: the directory.

use crate::connection::Connection;
use crate::failure::{Answer, Failure};
use crate::output::{self, tame};
use client::{AgentQuery, Client};
use serde_json::Value;
use std::io::Read as _;
use std::path::PathBuf;

/// Agents asked for at a time.
const PAGE: u64 = 100;

/// What to do.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Examples:
  interwire agent ls
  interwire agent ls --presence any --json
  interwire agent register agent.sentinel card.json
  interwire agent show agent.sentinel
  interwire agent show agent.sentinel --a2a
  interwire agent rm agent.sentinel")]
pub enum Action {
    /// List those that are not offline
    Ls(Search),
    /// Show one: its cards, and whether it is there
    Show {
        /// Its address
        #[arg(id = "agent", value_name = "PARTY")]
        party: String,
        /// Its card as A2A clients read it
        #[arg(long)]
        a2a: bool,
        /// One JSON object
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        connection: Connection,
    },
    /// Register a card, ours or one of A2A, from a file or standard input
    Register {
        /// Its address
        #[arg(id = "agent", value_name = "PARTY")]
        party: String,
        /// The card as JSON; `-` or nothing for standard input
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        /// One JSON object
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        connection: Connection,
    },
    /// Take one out of the directory
    Rm {
        /// Its address
        #[arg(id = "agent", value_name = "PARTY")]
        party: String,
        #[command(flatten)]
        connection: Connection,
    },
}

/// Which agents.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  interwire find --skill port-scan
  interwire find --intent 'ops.*' --dialect aee
  interwire find ports --presence any")]
pub struct Search {
    /// Words that are all somewhere in its name or cards
    #[arg(value_name = "WORD")]
    words: Vec<String>,
    /// A skill by id, name or tag
    #[arg(long, value_name = "SKILL")]
    skill: Vec<String>,
    /// A tag of the card or of a skill
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// An intent that it takes; `ops.*` for all below
    #[arg(long, value_name = "INTENT")]
    intent: Vec<String>,
    /// A UAI-1 profile that it takes
    #[arg(long, value_name = "PROFILE")]
    profile: Vec<String>,
    /// A dialect that it speaks
    #[arg(long, value_name = "DIALECT", value_parser = ["aee", "aep", "uai"])]
    dialect: Vec<String>,
    /// Whether it is there [default: online and stale]
    #[arg(long, value_name = "STATE", value_parser = ["online", "stale", "offline", "any"])]
    presence: Vec<String>,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connection: Connection,
}

/// Does it.
pub async fn run(action: Action) -> Result<Answer, Failure> {
    match action {
        Action::Ls(search) => find(search).await,
        Action::Show {
            party,
            a2a,
            json,
            connection,
        } => {
            let client = connection.client()?;
            let text = if a2a {
                client.agent_card(Some(&party)).await?
            } else {
                client.agent(&party).await?
            };
            print(&text, json || a2a)?;
            Ok(Answer::Yes)
        }
        Action::Register {
            party,
            file,
            json,
            connection,
        } => {
            let card = match file.filter(|file| file.as_os_str() != "-") {
                Some(file) => std::fs::read_to_string(&file).map_err(|error| {
                    Failure::Usage(format!("cannot read {}: {error}", file.display()))
                })?,
                None => {
                    let mut text = String::new();
                    std::io::stdin().read_to_string(&mut text)?;
                    text
                }
            };
            let text = connection.client()?.put_agent(&party, &card).await?;
            print(&text, json)?;
            Ok(Answer::Yes)
        }
        Action::Rm { party, connection } => {
            connection.client()?.remove_agent(&party).await?;
            output::line(&format!("removed {}", tame(&party)))?;
            Ok(Answer::Yes)
        }
    }
}

/// `interwire find`: those that pass. Nobody is an answer of no.
pub async fn find(search: Search) -> Result<Answer, Failure> {
    let client = search.connection.client()?;
    let mut query = AgentQuery {
        limit: Some(PAGE),
        ..AgentQuery::default()
    };
    let fields = [
        ("skill", &search.skill),
        ("tag", &search.tag),
        ("intent", &search.intent),
        ("profile", &search.profile),
        ("dialect", &search.dialect),
        ("presence", &search.presence),
    ];
    for (name, values) in fields {
        for value in values {
            query = query.with(name, value);
        }
    }
    if !search.words.is_empty() {
        query = query.with("q", &search.words.join(" "));
    }
    let mut count = 0_usize;
    loop {
        let page = page(&client, &query).await?;
        let agents = page.get("agents").and_then(Value::as_array);
        for agent in agents.into_iter().flatten() {
            count += 1;
            if search.json {
                output::line(&agent.to_string())?;
            } else {
                output::line(&row(agent))?;
            }
        }
        query.after = page.get("next").and_then(Value::as_str).map(Into::into);
        if query.after.is_none() {
            break;
        }
    }
    Ok(if count > 0 { Answer::Yes } else { Answer::No })
}

async fn page(client: &Client, query: &AgentQuery) -> Result<Value, Failure> {
    let text = client.agents(query).await?;
    serde_json::from_str(&text)
        .map_err(|error| Failure::Refused(format!("expected a list of agents: {error}")))
}

fn print(text: &str, is_json: bool) -> Result<(), Failure> {
    if is_json {
        output::line(text.trim_end())?;
        return Ok(());
    }
    let agent: Value = serde_json::from_str(text)
        .map_err(|error| Failure::Refused(format!("expected an agent: {error}")))?;
    output::line(&row(&agent))?;
    let member = |name: &str| agent.get(name).and_then(Value::as_str);
    if let Some(seen) = member("last_seen") {
        output::line(&format!("  last seen {}", tame(seen)))?;
    }
    for name in ["intents", "dialects", "profiles"] {
        let words = words(&agent, name);
        if !words.is_empty() {
            output::line(&format!("  {name}: {}", tame(&words)))?;
        }
    }
    let cards = agent.get("cards").and_then(Value::as_object);
    for (source, card) in cards.into_iter().flatten() {
        let description = card.get("description").and_then(Value::as_str);
        let description = description.unwrap_or_default();
        output::line(&format!("  {source}: {}", tame(description)))?;
    }
    Ok(())
}

fn row(agent: &Value) -> String {
    let text = |name: &str| agent.get(name).and_then(Value::as_str).unwrap_or("-");
    format!(
        "{:<28}  {:<7}  {:<20}  {}",
        tame(text("party")),
        tame(text("presence")),
        tame(text("name")),
        tame(&words(agent, "skills"))
    )
}

fn words(agent: &Value, name: &str) -> String {
    let list = agent.get(name).and_then(Value::as_array);
    let words = list.into_iter().flatten().filter_map(Value::as_str);
    words.collect::<Vec<_>>().join(", ")
}
