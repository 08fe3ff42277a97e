//! One agent process: read the inbox, answer, acknowledge, for ever.
//!
//! It says what it does on standard output, one JSON object a line, and ends when standard input
//! ends, so that it never outlives the demo.

use super::roles::{Message, Role, Step};
use crate::failure::{Answer, Failure};
use crate::{identity, output};
use client::{Client, Error, Filter, Receipt};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::time::Duration;

/// Options.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Who to be
    role: Role,
    /// Address of the exchange
    #[arg(long)]
    url: String,
    /// Begin this conversation
    #[arg(long)]
    conversation: Option<String>,
    /// Stop working after this many publishes, so that it can be killed in the middle for certain
    #[arg(long)]
    stall_after: Option<usize>,
}

/// What an agent says about itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Said {
    /// What happened.
    pub did: Did,
    /// The message's id, where it is about one.
    #[serde(default)]
    pub id: String,
    /// The message's type, profile or AEE type.
    #[serde(default)]
    pub label: String,
    /// To whom it went.
    #[serde(default)]
    pub to: String,
}

/// What can happen to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Did {
    /// It reads its inbox from now on.
    Ready,
    /// It published something new.
    Sent,
    /// It published something that the exchange had already.
    Repeated,
    /// It got a message that it had handled before.
    Skipped,
    /// It got everything it waited for.
    Done,
}

/// Plays the role.
pub async fn run(arguments: Arguments) -> Result<Answer, Failure> {
    let client = Client::connect(&arguments.url)?;
    let (mut input, mut nowhere) = (tokio::io::stdin(), tokio::io::sink());
    tokio::select! {
        played = play(&arguments, &client) => played,
        _ = tokio::io::copy(&mut input, &mut nowhere) => Ok(Answer::Yes),
    }
}

async fn play(arguments: &Arguments, client: &Client) -> Result<Answer, Failure> {
    let role = arguments.role;
    if let Some(kinds) = role.wants() {
        let filter = Filter::new().with("type", kinds);
        let name = format!("demo-{}", role.party().replace(':', "-"));
        patiently(async || {
            client
                .put_subscription(&name, &filter, Some(role.party()))
                .await
        })
        .await?;
    }
    say(Did::Ready, "", "", "")?;
    if let Some(conversation) = &arguments.conversation
        && let Some(envelope) = role.opening(conversation, identity::now())?
    {
        publish(client, &envelope).await?;
    }
    // What an earlier life had promised and not done.
    for step in patiently_resume(role, client).await? {
        tokio::time::sleep(Duration::from_millis(step.work_ms)).await;
        publish(client, &step.envelope).await?;
    }
    let mut published = 0;
    let mut handled = HashSet::new();
    let mut received = HashSet::new();
    let mut inbox = client.inbox(role.party()).wait(Duration::from_secs(5));
    loop {
        let Some(delivery) = inbox.next_now().await? else {
            continue;
        };
        let message = Message::read(&delivery.envelope)?;
        let header = &message.header;
        let key = (header.sender.clone(), header.dedupe_key().to_owned());
        if handled.contains(&key) {
            say(Did::Skipped, &header.id, &header.kind, "")?;
        } else {
            let steps = patiently_answer(role, &message, client).await?;
            for Step { work_ms, envelope } in steps {
                tokio::time::sleep(Duration::from_millis(work_ms)).await;
                publish(client, &envelope).await?;
                published += 1;
                if arguments.stall_after == Some(published) {
                    std::future::pending::<()>().await;
                }
            }
            handled.insert(key);
        }
        // When this fails the message comes again, and is then known.
        drop(delivery.ack().await);
        received.extend(role.awaits(header));
        if role.is_content_with() > 0 && received.len() == role.is_content_with() {
            say(Did::Done, "", "", "")?;
            // Later repetitions are acknowledged until the demo ends.
            received.insert(String::new());
        }
    }
}

/// An exchange that is away comes back; nothing else is tried again.
async fn patiently<T>(mut call: impl AsyncFnMut() -> Result<T, Error>) -> Result<T, Failure> {
    loop {
        match call().await {
            Err(error) if error.is_retryable() => {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            result => return Ok(result?),
        }
    }
}

async fn patiently_answer(
    role: Role,
    message: &Message,
    client: &Client,
) -> Result<Vec<Step>, Failure> {
    loop {
        match role.answer(message, client).await {
            Err(Failure::Unreachable(_)) => tokio::time::sleep(Duration::from_millis(100)).await,
            answered => return answered,
        }
    }
}

async fn patiently_resume(role: Role, client: &Client) -> Result<Vec<Step>, Failure> {
    loop {
        match role.resume(client).await {
            Err(Failure::Unreachable(_)) => tokio::time::sleep(Duration::from_millis(100)).await,
            resumed => return resumed,
        }
    }
}

/// Publishes until the exchange has it. The bytes never change, so trying again is safe.
async fn publish(client: &Client, envelope: &str) -> Result<(), Failure> {
    let bytes = bytes::Bytes::copy_from_slice(envelope.as_bytes());
    let receipt: Receipt = patiently(async || client.publish(bytes.clone()).await).await?;
    let message = Message::read(envelope.as_bytes())?;
    let recipients: Vec<_> = message
        .header
        .recipients
        .iter()
        .map(protocol::Party::as_str)
        .collect();
    let did = if receipt.duplicate {
        Did::Repeated
    } else {
        Did::Sent
    };
    say(
        did,
        &receipt.id,
        &message.header.kind,
        &recipients.join(", "),
    )
}

fn say(did: Did, id: &str, label: &str, to: &str) -> Result<(), Failure> {
    let said = Said {
        did,
        id: id.into(),
        label: label.into(),
        to: to.into(),
    };
    let line = serde_json::to_string(&said).map_err(|error| Failure::Refused(error.to_string()))?;
    output::line(&line)
}
