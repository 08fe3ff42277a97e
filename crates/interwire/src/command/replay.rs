//! `interwire replay`: messages once more, as they came or into a chosen party.

mod source;
mod speed;

use crate::connection::Connection;
use crate::failure::{Answer, Failure};
use crate::output::{self, Colour, Paint, tame};
use crate::{command::tail::describe, identity};
use bytes::Bytes;
use client::{Client, Error, From};
use protocol::Party;
use protocol::replay::{Replay, compose};
use serde_json::json;
use serde_json::value::RawValue;
use source::{Original, Source};
use speed::{Pace, Speed};
use std::collections::HashMap;

/// Who plays when nobody is named.
const PLAYER: &str = "service:replay";

/// Options.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  interwire replay CONV_01JFX7K0A2B4C6D8E0F2G4H6J8
  interwire replay CONV_1 --into agent.test --speed 10x
  interwire replay --from 2026-02-28T10:00:00Z --to 2026-02-28T11:00:00Z --target agent.sentinel --json")]
pub struct Arguments {
    /// The id of a conversation, message, task or correlation: everything that a trace of it shows
    #[arg(required_unless_present = "from")]
    conversation: Option<String>,
    /// Instead: everything after this cursor, or from this RFC 3339 time on
    #[arg(long, value_name = "CURSOR", conflicts_with = "conversation")]
    from: Option<String>,
    /// Up to this cursor or time; without it up to the newest message
    #[arg(long, value_name = "CURSOR", requires = "from")]
    to: Option<String>,
    /// The party that gets it, as new, marked envelopes; without it the bytes go to standard output
    #[arg(long, value_name = "PARTY", default_value = "stdout")]
    into: String,
    /// How fast: max, or so many times as it came, such as 1x or 10x
    #[arg(long, value_name = "FACTOR", default_value = "max")]
    speed: Speed,
    /// Only what was sent to this party
    #[arg(long, value_name = "PARTY")]
    target: Option<String>,
    /// One JSON object a line: what it is the replay of, and the envelope or what became of it
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connection: Connection,
}

/// Plays; the answer is no when something was refused.
pub async fn run(arguments: Arguments) -> Result<Answer, Failure> {
    let client = arguments.connection.client()?;
    let target = arguments.target.as_deref().map(Party::parse);
    let mut source = match (&arguments.conversation, &arguments.from) {
        (Some(id), _) => Source::conversation(&client, id).await?,
        (None, Some(from)) => {
            let to = arguments.to.as_deref();
            Source::range(&client, From::from(from.as_str()), to).await?
        }
        (None, None) => return Err(Failure::Usage("expected a conversation, or --from".into())),
    };
    let mut pace = Pace::new(arguments.speed);
    let mut player = match arguments.into.as_str() {
        "stdout" => None,
        into => {
            let from = arguments.connection.party.as_deref().unwrap_or(PLAYER);
            Some(Player::new(&client, from, into, arguments.json))
        }
    };
    while let Some(original) = source.next().await? {
        let is_wanted = |target: &Party| original.header.recipients.contains(target);
        if !target.as_ref().is_none_or(is_wanted) {
            continue;
        }
        let offset_ms = pace.wait_for(original.at).await;
        match &mut player {
            Some(player) => player.play(&original).await?,
            None if arguments.json => output::line(&marked(&original, offset_ms))?,
            None => output::bytes(&original.envelope)?,
        }
    }
    match player {
        Some(player) => player.end(),
        None => Ok(Answer::Yes),
    }
}

/// The original's own bytes, with what it is.
fn marked(original: &Original, offset_ms: i64) -> String {
    let header = &original.header;
    let head = json!({
        "replay_of": original.cursor, "id": header.id, "from": header.sender.as_str(),
        "dialect": header.dialect.as_str(), "accepted_at": original.at.to_string(),
        "offset_ms": offset_ms,
    })
    .to_string();
    let envelope = serde_json::from_slice::<&RawValue>(&original.envelope);
    let envelope = envelope.map_or("null", RawValue::get);
    // Line breaks in JSON can only be insignificant space.
    let envelope = envelope.replace(['\n', '\r'], " ");
    format!("{},\"envelope\":{envelope}}}", head.trim_end_matches('}'))
}

/// Publishes replays.
struct Player<'c> {
    client: &'c Client,
    from: Party,
    to: Party,
    conversation: String,
    /// The ids of replays, by those of their originals.
    played: HashMap<Box<str>, String>,
    count: usize,
    skipped: usize,
    refused: usize,
    is_json: bool,
    paint: Paint,
}

impl<'c> Player<'c> {
    fn new(client: &'c Client, from: &str, to: &str, is_json: bool) -> Self {
        Self {
            client,
            from: Party::parse(from),
            to: Party::parse(to),
            conversation: format!("replay-{}", identity::ulid()),
            played: HashMap::new(),
            count: 0,
            skipped: 0,
            refused: 0,
            is_json,
            paint: Paint::of_stdout(),
        }
    }

    async fn play(&mut self, original: &Original) -> Result<(), Failure> {
        let header = &original.header;
        // Replays of replays, and what the exchange itself said, are no part of the work.
        if header.replay_of.is_some() || header.sender.as_str() == protocol::task::SERVICE {
            self.skipped += 1;
            return Ok(());
        }
        let id = format!("{}-{:06}", self.conversation, self.count + 1);
        let cause = header.cause.as_ref().and_then(|id| self.played.get(id));
        let replay = Replay {
            id: &id,
            from: &self.from,
            to: &self.to,
            conversation: &self.conversation,
            cause: cause.map(String::as_str),
            at: identity::now(),
            of: &original.cursor,
            accepted_at: original.at,
        };
        let envelope = match compose(&original.envelope, header, &replay) {
            Ok(envelope) => Bytes::from(envelope),
            Err(fault) => return self.refuse(original, &fault.to_string()),
        };
        match self.client.publish(envelope.clone()).await {
            Ok(receipt) => {
                self.played.insert(header.id.clone(), id);
                self.count += 1;
                if self.is_json {
                    let line = json!({ "replay_of": original.cursor, "status": "accepted",
                                       "id": receipt.id, "cursor": receipt.cursor });
                    return output::line(&line.to_string());
                }
                output::line(&describe(&envelope, self.paint))
            }
            Err(Error::Refused(problem)) => self.refuse(original, &problem.to_string()),
            Err(error) => Err(error.into()),
        }
    }

    fn refuse(&mut self, original: &Original, why: &str) -> Result<(), Failure> {
        self.refused += 1;
        if self.is_json {
            let line = json!({ "replay_of": original.cursor, "status": "refused", "detail": why });
            return output::line(&line.to_string());
        }
        let word = self.paint.paint(Colour::Red, "refused");
        output::line(&format!(
            "{word}  {}  {}",
            tame(&original.header.id),
            tame(why)
        ))
    }

    fn end(self) -> Result<Answer, Failure> {
        let Self {
            conversation,
            count,
            skipped,
            refused,
            ..
        } = self;
        output::note(&format!(
            "{count} played in conversation {conversation}, {refused} refused, {skipped} skipped"
        ));
        Ok(if refused == 0 {
            Answer::Yes
        } else {
            Answer::No
        })
    }
}
