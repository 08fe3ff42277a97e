//! Who plays, and what each one answers.

mod aee;
mod aep;
pub mod uai;

use crate::failure::Failure;
use client::{Client, Filter, From};
use protocol::{DialectName, Header, Rules, Timestamp};
use serde_json::Value;

/// Every agent of the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, clap::ValueEnum)]
pub enum Role {
    /// AEE: asks for a scan.
    Adam,
    /// AEE: passes the task on.
    Router,
    /// AEE: scans, with look-ups.
    Scanner,
    /// AEE: knows vulnerabilities.
    CveDb,
    /// AEP: calls a tool, reacts to memory and context.
    Researcher,
    /// AEP: a slow tool.
    Crawler,
    /// AEP: remembers what tools find.
    Memory,
    /// AEP: says when context is stale.
    Context,
    /// UAI-1: hands over work.
    Manager,
    /// UAI-1: works.
    Worker1,
    /// UAI-1: works, and comes late.
    Worker2,
}

impl Role {
    /// Its address.
    pub fn party(self) -> &'static str {
        match self {
            Self::Adam => "human:adam",
            Self::Router => "agent:router",
            Self::Scanner => "agent:scanner",
            Self::CveDb => "service:cve_db",
            Self::Researcher => "agent:researcher",
            Self::Crawler => "tool:crawler",
            Self::Memory => "memory:main",
            Self::Context => "context:main",
            Self::Manager => "agent:agt_manager",
            Self::Worker1 => "agent:agt_worker1",
            Self::Worker2 => "agent:agt_worker2",
        }
    }

    /// The dialect it speaks.
    pub fn dialect(self) -> DialectName {
        match self {
            Self::Adam | Self::Router | Self::Scanner | Self::CveDb => DialectName::Aee,
            Self::Researcher | Self::Crawler | Self::Memory | Self::Context => DialectName::Aep,
            Self::Manager | Self::Worker1 | Self::Worker2 => DialectName::Uai,
        }
    }

    /// The event types it wants besides what is addressed to it.
    pub fn wants(self) -> Option<&'static str> {
        match self {
            Self::Researcher => Some("memory.*"),
            Self::Memory => Some("tool.call.output"),
            Self::Context => Some("memory.fact.added"),
            Self::Adam
            | Self::Router
            | Self::Scanner
            | Self::CveDb
            | Self::Crawler
            | Self::Manager
            | Self::Worker1
            | Self::Worker2 => None,
        }
    }

    /// The message with which it begins a conversation, if it begins one.
    pub fn opening(self, conversation: &str, now: Timestamp) -> Result<Option<String>, Failure> {
        match self {
            Self::Adam => Ok(Some(aee::opening(conversation, now))),
            Self::Researcher => Ok(Some(aep::opening(conversation, now))),
            Self::Manager => uai::opening(conversation, now).map(Some),
            Self::Router
            | Self::Scanner
            | Self::CveDb
            | Self::Crawler
            | Self::Memory
            | Self::Context
            | Self::Worker1
            | Self::Worker2 => Ok(None),
        }
    }

    /// How many different messages the one who began must get before it is content.
    pub fn awaits(self, header: &Header) -> Option<String> {
        match self {
            Self::Adam => (&*header.kind == "result").then(|| "result".into()),
            Self::Researcher => {
                let is_end = matches!(
                    &*header.kind,
                    "tool.call.completed" | "context.snapshot.ready"
                );
                is_end.then(|| header.kind.to_string())
            }
            Self::Manager => Some(format!("{} {}", header.kind, header.sender)),
            Self::Router
            | Self::Scanner
            | Self::CveDb
            | Self::Crawler
            | Self::Memory
            | Self::Context
            | Self::Worker1
            | Self::Worker2 => None,
        }
    }

    /// How many different of [`Self::awaits`] make it content; 0 for those that serve for ever.
    pub fn is_content_with(self) -> usize {
        match self {
            Self::Adam => 1,
            Self::Researcher => 2,
            Self::Manager => 4,
            Self::Router
            | Self::Scanner
            | Self::CveDb
            | Self::Crawler
            | Self::Memory
            | Self::Context
            | Self::Worker1
            | Self::Worker2 => 0,
        }
    }

    /// What it still has to do for messages that it acknowledged in an earlier life: they are not
    /// delivered again.
    pub async fn resume(self, client: &Client) -> Result<Vec<Step>, Failure> {
        match self {
            Self::Worker1 | Self::Worker2 => uai::resume(self, client).await,
            Self::Adam
            | Self::Router
            | Self::Scanner
            | Self::CveDb
            | Self::Researcher
            | Self::Crawler
            | Self::Memory
            | Self::Context
            | Self::Manager => Ok(Vec::new()),
        }
    }

    /// What it answers to a message. Empty when nothing is to be said.
    pub async fn answer(self, message: &Message, client: &Client) -> Result<Vec<Step>, Failure> {
        match self.dialect() {
            DialectName::Aee => aee::answer(self, message, client).await,
            DialectName::Aep => Ok(aep::answer(self, message)),
            DialectName::Uai => uai::answer(self, message),
        }
    }
}

/// A message as an agent sees it.
#[derive(Clone, Debug)]
pub struct Message {
    /// The facts.
    pub header: Header,
    /// The whole envelope, to look into.
    pub json: Value,
}

impl Message {
    /// Reads an envelope.
    pub fn read(envelope: &[u8]) -> Result<Self, Failure> {
        let reading = protocol::decode(envelope, &Rules::at(crate::identity::now()));
        let (header, _) = reading
            .into_result()
            .map_err(|rejection| Failure::Refused(rejection.to_string()))?;
        let json = serde_json::from_slice(envelope)
            .map_err(|error| Failure::Refused(error.to_string()))?;
        Ok(Self { header, json })
    }

    /// When it was written, by its own account.
    pub fn at(&self) -> Timestamp {
        ["/ts", "/created_at", "/provenance/issued_at"]
            .iter()
            .find_map(|pointer| self.json.pointer(pointer)?.as_str())
            .and_then(Timestamp::parse_rfc3339)
            .map(|(moment, _)| moment)
            .unwrap_or_default()
    }

    /// A text somewhere in the envelope; empty when there is none.
    pub fn text(&self, pointer: &str) -> &str {
        self.json
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }
}

/// One message to be sent.
#[derive(Clone, Debug)]
pub struct Step {
    /// How long the work before it takes.
    pub work_ms: u64,
    /// The envelope.
    pub envelope: String,
}

/// One conversation as the journal has it.
pub async fn conversation(client: &Client, id: &str) -> Result<Vec<Message>, Failure> {
    messages(client, &Filter::new().with("conversation", id)).await
}

/// Everything in the journal that passes a filter.
pub async fn messages(client: &Client, filter: &Filter) -> Result<Vec<Message>, Failure> {
    let mut from = From::Earliest;
    let mut messages = Vec::new();
    loop {
        let page = client.page(filter, &from, 500).await?;
        for envelope in &page.envelopes {
            messages.push(Message::read(envelope)?);
        }
        // An empty page ends it: the next would be empty, too.
        if page.envelopes.is_empty() || page.next.is_empty() {
            return Ok(messages);
        }
        from = From::At(page.next);
    }
}
