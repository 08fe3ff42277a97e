//! `interwire wrap`: what an agent framework wrote, as AEE envelopes.

use super::send;
use crate::connection::Connection;
use crate::failure::{Answer, Failure};
use crate::identity;
use crate::output::{self, tame};
use crate::texts::{self, Text};
use bytes::Bytes;
use formats::{Format, Options, Tier};
use protocol::{Party, Rejection, Timestamp};
use std::path::PathBuf;
use tokio::sync::mpsc;

/// Envelopes that may wait between who makes and who takes them.
const QUEUE: usize = 256;

/// Options.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  interwire wrap --from openai completion.json
  interwire wrap --as agent.planner --to agent.tools --send completion.json
  interwire wrap --tier mve5 --send gateway-log.ndjson
  interwire wrap --card weather declarations.json | interwire agent register agent.weather -")]
pub struct Arguments {
    /// JSON or NDJSON files, each value one document; - or none is standard input
    files: Vec<PathBuf>,
    /// openai, anthropic, google, langchain, langgraph, autogen, crewai, or auto for what it looks like
    #[arg(long, value_name = "FORMAT", default_value = "auto", value_parser = format)]
    from: Wanted,
    /// Who is spoken to, and who answers [default: by what is said]
    #[arg(long, value_name = "PARTY")]
    to: Option<String>,
    /// full, for work; or mve5, for logs
    #[arg(long, value_name = "TIER", default_value = "full", value_parser = tier)]
    tier: Tier,
    /// Conversation id [default: what the document says, or one that follows from it]
    #[arg(long, alias = "conversation", value_name = "ID")]
    corr: Option<String>,
    /// The time of everything: RFC 3339, or now [default: what the document says, or the zero of time]
    #[arg(long, value_name = "TIME", value_parser = time)]
    at: Option<Timestamp>,
    /// Publish the envelopes, in order, and print what the exchange promised for each
    #[arg(long)]
    send: bool,
    /// With --send: print each receipt or fault as one JSON object
    #[arg(long, requires = "send")]
    json: bool,
    /// Print a card of this name of the tools that the document declares, for `interwire agent register`
    #[arg(long, value_name = "NAME", conflicts_with_all = ["send", "to", "corr", "at"])]
    card: Option<String>,
    #[command(flatten)]
    connection: Connection,
}

/// A format, or whatever it looks like.
#[derive(Clone, Copy, Debug)]
pub struct Wanted(pub Option<Format>);

/// Reads the word of a format.
pub fn format(word: &str) -> Result<Wanted, String> {
    if word == "auto" {
        return Ok(Wanted(None));
    }
    let found = Format::parse(word).map(|format| Wanted(Some(format)));
    found.ok_or_else(|| {
        let words: Vec<_> = Format::ALL.iter().map(|format| format.as_str()).collect();
        format!("expected {} or auto", words.join(", "))
    })
}

fn tier(word: &str) -> Result<Tier, String> {
    Tier::parse(word).ok_or_else(|| "expected mve5 or full".into())
}

fn time(word: &str) -> Result<Timestamp, String> {
    if word == "now" {
        return Ok(identity::now());
    }
    let read = Timestamp::parse_rfc3339(word);
    read.map(|(time, _)| time)
        .ok_or_else(|| "expected a time as 2026-02-28T10:30:00Z, or now".into())
}

/// Prints one envelope a line, or publishes them; the answer is no when a document cannot be read, when
/// there is none, or when an envelope was refused.
pub async fn run(arguments: Arguments) -> Result<Answer, Failure> {
    let party = |text: &String| Party::parse(text).to_aee();
    if let Some(corr) = &arguments.corr
        && !protocol::id::is_plain(corr)
    {
        let sentence = "expected --corr of 8 to 128 printable ASCII characters without space";
        return Err(Failure::Usage(sentence.into()));
    }
    for (option, text) in [
        ("--as", &arguments.connection.party),
        ("--to", &arguments.to),
    ] {
        let is_good =
            |text: &String| (1..=255).contains(&text.len()) && !text.contains(char::is_control);
        if !text.as_ref().is_none_or(is_good) {
            let sentence =
                format!("expected {option} of 1 to 255 bytes without control characters");
            return Err(Failure::Usage(sentence));
        }
    }
    let options = Options {
        tier: arguments.tier,
        party: arguments.connection.party.as_ref().map(party),
        peer: arguments.to.as_ref().map(party),
        conversation: arguments.corr,
        document: None,
        time: arguments.at,
    };
    let (give, found) = mpsc::channel(QUEUE);
    let making = Making {
        format: arguments.from.0,
        card: arguments.card,
        options,
        give,
    };
    let made = making.run(arguments.files);
    let (made, told) = if arguments.send {
        tokio::join!(
            made,
            send::publish_all(&arguments.connection, found, arguments.json)
        )
    } else {
        tokio::join!(made, print(found))
    };
    Ok(match (told?, made) {
        (Answer::Yes, Answer::Yes) => Answer::Yes,
        (Answer::Yes | Answer::No, _) => Answer::No,
    })
}

type Found = mpsc::Receiver<Result<Text, Failure>>;

async fn print(mut found: Found) -> Result<Answer, Failure> {
    while let Some(text) = found.recv().await {
        output::bytes(&text?.bytes)?;
    }
    Ok(Answer::Yes)
}

/// Makes envelopes of documents, beside whoever takes them.
struct Making {
    format: Option<Format>,
    card: Option<String>,
    options: Options,
    give: mpsc::Sender<Result<Text, Failure>>,
}

impl Making {
    /// Ends early when nobody takes any more.
    async fn run(self, files: Vec<PathBuf>) -> Answer {
        let (mut count, mut answer) = (0_u64, Answer::Yes);
        let mut found = texts::read(files);
        while let Some(text) = found.recv().await {
            let text = match text {
                Ok(text) => text,
                Err(failure) => {
                    drop(self.give.send(Err(failure)).await);
                    return Answer::No;
                }
            };
            count += 1;
            match self.made(&text, count) {
                Ok(envelopes) => {
                    for envelope in envelopes {
                        let origin = text.origin.clone();
                        let bytes = Bytes::from(envelope);
                        if self.give.send(Ok(Text { origin, bytes })).await.is_err() {
                            return answer;
                        }
                    }
                }
                Err(rejection) => {
                    answer = Answer::No;
                    for fault in rejection.all() {
                        output::note(&tame(&format!("{}: {fault}", text.origin)));
                    }
                }
            }
        }
        if count == 0 { Answer::No } else { answer }
    }

    fn made(&self, text: &Text, number: u64) -> Result<Vec<String>, Rejection> {
        if let Some(name) = &self.card {
            return formats::card(&text.bytes, name).map(|card| vec![card]);
        }
        // Documents of one conversation that have no id of their own are told apart by their number.
        let corr = self.options.conversation.as_ref().filter(|_| number > 1);
        let options = Options {
            document: corr.map(|corr| format!("{corr}#{number}")),
            ..self.options.clone()
        };
        formats::wrap(&text.bytes, self.format, &options)
    }
}
