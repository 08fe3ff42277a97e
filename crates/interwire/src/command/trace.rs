//! `interwire trace ID`: what caused what, and what became of it.

use crate::connection::Connection;
use crate::failure::{Answer, Failure};
use crate::output::{self, Paint};
use client::{From, TraceFormat, TraceOptions};
use std::io::Write as _;

/// Options.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  interwire trace CONV_01JFX7K0A2B4C6D8E0F2G4H6J8
  interwire trace task_42 --by task
  interwire trace msg_7 --sender agent.planner --json | jq '.nodes[].id'
  interwire trace CONV_1 --format dot | dot -Tsvg > trace.svg")]
pub struct Arguments {
    /// The id of a conversation, message, task or correlation
    id: String,
    /// How to write it
    #[arg(long, value_enum, default_value = "tree")]
    format: Format,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// What the id is, when it stands for several things
    #[arg(long, value_enum)]
    by: Option<By>,
    /// Whose message it is, when several senders used the id
    #[arg(long, value_name = "PARTY")]
    sender: Option<String>,
    /// Only messages after this cursor or time: the next page of a long conversation
    #[arg(long, value_name = "CURSOR")]
    from: Option<String>,
    /// Most messages of the conversation
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    #[command(flatten)]
    connection: Connection,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    Tree,
    Json,
    Mermaid,
    Dot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum By {
    Conversation,
    Message,
    Task,
    Correlation,
}

impl By {
    fn as_str(self) -> &'static str {
        match self {
            Self::Conversation => "conversation",
            Self::Message => "message",
            Self::Task => "task",
            Self::Correlation => "correlation",
        }
    }
}

/// Prints it.
pub async fn run(arguments: Arguments) -> Result<Answer, Failure> {
    let client = arguments.connection.client()?;
    let format = match arguments.format {
        Format::Json => TraceFormat::Json,
        _ if arguments.json => TraceFormat::Json,
        Format::Tree if Paint::of_stdout().is_on() => TraceFormat::Coloured,
        Format::Tree => TraceFormat::Text,
        Format::Mermaid => TraceFormat::Mermaid,
        Format::Dot => TraceFormat::Dot,
    };
    let options = TraceOptions {
        format,
        by: arguments.by.map(|by| by.as_str().into()),
        sender: arguments.sender,
        from: arguments.from.as_deref().map(From::from),
        limit: arguments.limit,
    };
    let mut trace = client.trace(&arguments.id, &options).await?;
    let next = trace.next.take();
    while let Some(piece) = trace.piece().await? {
        std::io::stdout().lock().write_all(&piece)?;
    }
    std::io::stdout().lock().flush()?;
    if let Some(next) = next {
        output::note(&format!("there is more: --from {next}"));
    }
    Ok(Answer::Yes)
}
