//! One envelope out of command line options, in the dialect that is asked for.

use crate::connection::Connection;
use crate::failure::Failure;
use crate::identity;
use bytes::Bytes;
use protocol::dialect::aee::Aee;
use protocol::dialect::aep::Aep;
use protocol::dialect::uai::build::{Agent, Envelope, Heading};
use protocol::{Header, Party, Priority, Rules, Timestamp};
use serde_json::value::RawValue;

/// What the envelope says. Which options fit depends on the dialect; one that does not is refused.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Build one envelope")]
pub struct Composition {
    /// Write AEE
    #[arg(long, group = "written")]
    aee: bool,
    /// Write AEP
    #[arg(long, group = "written")]
    aep: bool,
    /// Write UAI-1
    #[arg(long, group = "written")]
    uai: bool,
    /// AEE task, event, result, error or stream [default: task]; AEP event type
    #[arg(long = "type", value_name = "TYPE", requires = "written")]
    kind: Option<String>,
    /// UAI-1 profile, such as uai.agent.message.v1
    #[arg(long, value_name = "ID", requires = "uai")]
    profile: Option<String>,
    /// Sender [default: --as]
    #[arg(long, alias = "source", value_name = "PARTY", requires = "written")]
    from: Option<String>,
    /// Recipient; again for more, in UAI-1
    #[arg(long, alias = "target", value_name = "PARTY", requires = "written")]
    to: Vec<String>,
    /// AEE intent
    #[arg(long, value_name = "NAME", requires = "aee")]
    intent: Option<String>,
    /// The payload or body, as JSON [default: {}]
    #[arg(long, alias = "body", value_name = "JSON", requires = "written")]
    payload: Option<String>,
    /// Conversation id
    #[arg(long, alias = "corr", value_name = "ID", requires = "written")]
    conversation: Option<String>,
    /// The message this one answers or follows
    #[arg(long, alias = "cause", value_name = "ID", requires = "written")]
    reply_to: Option<String>,
    /// Correlation id, in AEP and UAI-1
    #[arg(long, value_name = "ID", requires = "written", conflicts_with = "aee")]
    correlation: Option<String>,
    /// Task id, in AEP and UAI-1
    #[arg(long, value_name = "ID", requires = "written", conflicts_with = "aee")]
    task: Option<String>,
    /// AEP session id
    #[arg(long, value_name = "ID", requires = "aep")]
    session: Option<String>,
    /// Topic; again for more, in UAI-1
    #[arg(
        long,
        value_name = "TOPIC",
        requires = "written",
        conflicts_with = "aee"
    )]
    topic: Vec<String>,
    /// UAI-1 delivery mode, such as async, broadcast or pubsub
    #[arg(long, value_name = "WORD", requires = "uai")]
    delivery_mode: Option<String>,
    /// low, normal, high or urgent, in AEE and UAI-1
    #[arg(
        long,
        value_name = "WORD",
        requires = "written",
        conflicts_with = "aep"
    )]
    priority: Option<String>,
    /// AEE execution contract, as JSON
    #[arg(long, value_name = "JSON", requires = "aee")]
    requires: Option<String>,
    /// Message id [default: a new one]
    #[arg(long, value_name = "ID", requires = "written")]
    id: Option<String>,
}

/// What an option error says.
fn wrong<T>(sentence: impl Into<String>) -> Result<T, Failure> {
    Err(Failure::Usage(sentence.into()))
}

impl Composition {
    /// Whether an envelope is to be built at all.
    pub fn is_wanted(&self) -> bool {
        self.aee || self.aep || self.uai
    }

    /// The envelope. Answers in AEE read the message they answer from the exchange.
    pub async fn compose(&self, connection: &Connection) -> Result<Bytes, Failure> {
        let now = identity::now();
        let from = match (&self.from, &connection.party) {
            (Some(from), _) | (None, Some(from)) => Party::parse(from),
            (None, None) => return wrong("expected --from PARTY, or --as"),
        };
        if let Some(payload) = &self.payload {
            check_json("--payload", payload)?;
        }
        let text = if self.aee {
            let cause = match self.kind.as_deref() {
                Some("result" | "error" | "stream") => Some(self.cause(connection).await?),
                Some(_) | None => None,
            };
            self.aee(&from, cause.as_ref(), now)?
        } else if self.aep {
            self.aep(&from, now)?
        } else {
            self.uai(&from, now)?
        };
        Ok(Bytes::from(text))
    }

    /// The header of the message that `--reply-to` names.
    async fn cause(&self, connection: &Connection) -> Result<Header, Failure> {
        let Some(id) = &self.reply_to else {
            return wrong("expected --reply-to ID with --type result, error or stream");
        };
        let message = connection.client()?.message(id, None).await?;
        let reading = protocol::decode(&message.envelope, &Rules::at(identity::now()));
        match reading.header {
            Some(header) => Ok(header),
            None => wrong(format!(
                "expected {id:?} to be readable here, got faults; see `interwire validate`"
            )),
        }
    }

    fn aee(&self, from: &Party, cause: Option<&Header>, now: Timestamp) -> Result<String, Failure> {
        let mut builder = match (self.kind.as_deref(), cause) {
            (Some("result"), Some(cause)) => Aee::result_of(cause),
            (Some("stream"), Some(cause)) => Aee::stream_of(cause),
            // The payload given below, if any, replaces this one.
            (Some("error"), Some(cause)) => Aee::error_of(cause, "E_FAILED", "the task failed"),
            (kind, _) => {
                let Some(intent) = &self.intent else {
                    return wrong("expected --intent NAME with --aee");
                };
                let to = self.only_recipient()?.to_aee();
                match kind {
                    None | Some("task") => Aee::task(&from.to_aee(), &to, intent),
                    Some("event") => Aee::event(&from.to_aee(), &to, intent),
                    Some(other) => {
                        return wrong(format!(
                            "expected --type task, event, result, error or stream, got {other:?}"
                        ));
                    }
                }
            }
        };
        builder = builder.from(&from.to_aee());
        if let Some(corr) = &self.conversation {
            builder = builder.corr(corr);
        }
        if let Some(id) = &self.reply_to {
            builder = builder.reply_to(id);
        }
        if let Some(priority) = self.priority()? {
            builder = builder.priority(priority);
        }
        if let Some(requires) = &self.requires {
            check_json("--requires", requires)?;
            builder = builder.requires(requires);
        }
        if let Some(payload) = &self.payload {
            builder = builder.payload_json(payload);
        }
        Ok(builder.build(&self.id.clone().unwrap_or_else(identity::ulid), now))
    }

    fn aep(&self, from: &Party, now: Timestamp) -> Result<String, Failure> {
        let Some(kind) = &self.kind else {
            return wrong("expected --type TYPE with --aep");
        };
        let mut event = Aep::event(kind, from.as_str());
        if !self.to.is_empty() {
            event = event.target(self.only_recipient()?.as_str());
        }
        event = match self.topic.as_slice() {
            [] => event,
            [topic] => event.topic(topic),
            _ => return wrong("expected --topic once with --aep"),
        };
        if let Some(id) = &self.session {
            event = event.session(id);
        }
        if let Some(id) = &self.conversation {
            event = event.conversation(id);
        }
        if let Some(id) = &self.task {
            event = event.task(id);
        }
        if let Some(id) = &self.correlation {
            event = event.correlation(id);
        }
        if let Some(id) = &self.reply_to {
            event = event.cause(id);
        }
        if let Some(payload) = &self.payload {
            event = event.payload_json(payload);
        }
        let id = self
            .id
            .clone()
            .unwrap_or_else(|| format!("evt_{}", identity::ulid()));
        Ok(event.build(&id, now))
    }

    fn uai(&self, from: &Party, now: Timestamp) -> Result<String, Failure> {
        let Some(profile) = &self.profile else {
            return wrong("expected --profile ID with --uai");
        };
        let Some((first, others)) = self.to.split_first() else {
            return wrong("expected --to PARTY with --uai");
        };
        let id = self
            .id
            .clone()
            .unwrap_or_else(|| format!("msg_{}", identity::ulid()));
        let conversation = self
            .conversation
            .clone()
            .unwrap_or_else(|| format!("conv_{}", identity::ulid()));
        let body = self.payload.clone().unwrap_or_else(|| "{}".into());
        let heading = Heading {
            id,
            issued_at: now,
            source: agent(from),
            target: agent(&Party::parse(first)),
            conversation,
        };
        let mut envelope = Envelope::new(profile, body, heading);
        for other in others {
            envelope = envelope.also_to(agent(&Party::parse(other)));
        }
        for topic in &self.topic {
            envelope = envelope.topic(topic);
        }
        if let Some(mode) = &self.delivery_mode {
            envelope = envelope.mode(mode);
        }
        if let Some(id) = &self.correlation {
            envelope = envelope.correlation(id);
        }
        if let Some(id) = &self.reply_to {
            envelope = envelope.reply_to(id);
        }
        if let Some(task) = &self.task {
            envelope = envelope.task_ref(task);
        }
        if let Some(priority) = self.priority()? {
            envelope = envelope.priority(priority);
        }
        envelope
            .write()
            .map_err(|fault| Failure::Usage(fault.to_string()))
    }

    fn only_recipient(&self) -> Result<Party, Failure> {
        match self.to.as_slice() {
            [to] => Ok(Party::parse(to)),
            [] => wrong("expected --to PARTY"),
            _ => wrong("expected --to once; only UAI-1 envelopes name several recipients"),
        }
    }

    fn priority(&self) -> Result<Option<Priority>, Failure> {
        match &self.priority {
            None => Ok(None),
            Some(word) => match Priority::parse(word) {
                Some(priority) => Ok(Some(priority)),
                None => wrong(format!(
                    "expected --priority low, normal, high or urgent, got {word:?}"
                )),
            },
        }
    }
}

/// A party as UAI-1 writes it; a party without a known kind is an agent.
pub fn agent(party: &Party) -> Agent {
    Agent::new(party.kind().unwrap_or("agent"), party.name())
}

fn check_json(option: &str, text: &str) -> Result<(), Failure> {
    serde_json::from_str::<&RawValue>(text)
        .map(drop)
        .map_err(|error| Failure::Usage(format!("expected {option} to be JSON: {error}")))
}
