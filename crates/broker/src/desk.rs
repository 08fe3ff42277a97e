//! The exchange as an agent: answers what others ask of `service:interwire` itself.
//!
//! It reads its inbox and publishes, like any agent. The id of an answer follows from the question, so a
//! question that is answered again after a crash is answered once.

mod aee;
mod negotiation;
mod uai;

use crate::{Delivery, Entry, Handle, PlaceName, Settle};
use exchange::AgentQuery;
use protocol::task::SERVICE;
use protocol::{Act, Code, Coordination, DialectName, Party, Rejection, digest};
use std::time::Duration;

/// How long one pull waits for a question.
const PULL_WAIT: Duration = Duration::from_secs(20);

/// Questions in one pull.
const PULLED_MAX: usize = 32;

/// Pause after the inbox could not be read.
const PULL_PAUSE: Duration = Duration::from_secs(1);

/// What becomes of a question.
enum Fate {
    /// This is published, then it is done.
    Answer(String),
    /// There is nothing to say.
    Silence,
    /// Nobody here can do it.
    Never(String),
}

/// Answers questions until `stopped`, or until the exchange is gone.
pub async fn answer_questions(handle: Handle, stopped: impl Future<Output = ()>) {
    let place = PlaceName::Inbox(Party::parse(SERVICE));
    tokio::pin!(stopped);
    loop {
        let pulled = tokio::select! {
            pulled = handle.pull(place.clone(), None, PULLED_MAX, PULL_WAIT) => pulled,
            () = &mut stopped => return,
        };
        match pulled {
            Ok(deliveries) => {
                for delivery in deliveries {
                    take(&handle, delivery).await;
                }
            }
            Err(error) if error.code() == Code::Draining => return,
            Err(error) => {
                tracing::warn!(%error, "questions to the exchange cannot be read");
                tokio::select! {
                    () = tokio::time::sleep(PULL_PAUSE) => {}
                    () = &mut stopped => return,
                }
            }
        }
    }
}

async fn take(handle: &Handle, delivery: Delivery) {
    let how = match fate(handle, &delivery.entry).await {
        Fate::Silence => Settle::Ack,
        Fate::Never(reason) => Settle::Reject {
            reason: reason.into(),
        },
        Fate::Answer(text) => match publish(handle, &delivery.entry, text).await {
            Ok(()) => Settle::Ack,
            Err(refused) if refused.code().class().is_retryable() => Settle::Nack {
                retry_after_ms: None,
                reason: refused.code().as_str().into(),
            },
            Err(refused) => {
                tracing::info!(error = %refused.first(), "a question could not be answered");
                Settle::Reject {
                    reason: refused.code().as_str().into(),
                }
            }
        },
    };
    // When it cannot be settled it comes again, and its answer is a repeat.
    let _ = handle.settle(vec![delivery.id], how).await;
}

/// Publishes an answer; one that was given before, perhaps when things stood otherwise, stands.
async fn publish(handle: &Handle, asked: &Entry, text: String) -> Result<(), Rejection> {
    match handle.publish_own(text.into()).await {
        Ok(_) => Ok(()),
        Err(refused) if refused.code() == Code::IdConflict => Ok(()),
        // Ended in the meantime, as by its deadline.
        Err(refused) if refused.code() == Code::IllegalTransition => Ok(()),
        Err(refused) if refused.code() == Code::TooLarge => {
            let Some(text) = too_large(asked) else {
                return Err(refused);
            };
            handle.publish_own(text.into()).await.map(drop)
        }
        Err(refused) => Err(refused),
    }
}

async fn fate(handle: &Handle, entry: &Entry) -> Fate {
    let header = &entry.header;
    let is_answered = matches!(
        header.coordination.as_deref(),
        Some(Coordination::Resolve { .. })
    );
    // What ends a conflict was answered in the commit that ended it.
    if header.sender.as_str() == SERVICE || is_answered {
        return Fate::Silence;
    }
    match (header.dialect, header.act) {
        (DialectName::Aee, Act::Query | Act::Request) => {
            Fate::Answer(aee::answer(handle, entry).await)
        }
        (DialectName::Uai, _) => match uai::answer(handle, entry).await {
            Some(text) => Fate::Answer(text),
            None => Fate::Silence,
        },
        (DialectName::Aep, Act::Request) => {
            Fate::Never("expected an agent that works on tasks, got the exchange itself".into())
        }
        (DialectName::Aee | DialectName::Aep, _) => Fate::Silence,
    }
}

fn too_large(asked: &Entry) -> Option<String> {
    match asked.header.dialect {
        DialectName::Aee => Some(aee::too_large(asked)),
        DialectName::Uai => uai::too_large(asked),
        DialectName::Aep => None,
    }
}

/// The id of the answer to a question.
fn answer_id(entry: &Entry) -> String {
    let text = format!("{}\n{}", entry.header.sender, entry.header.id);
    let hash = digest(text.as_bytes()).to_hex();
    format!("interwire-answer-{}", hash.get(..32).unwrap_or_default())
}

/// Agents that are not offline, of all that pass; as many as one answer can name.
async fn present(
    handle: &Handle,
    query: AgentQuery,
) -> Result<Vec<exchange::AgentView>, Rejection> {
    let page = handle.agents(query, None, 1_000).await?;
    Ok(page.agents)
}
