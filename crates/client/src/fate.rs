//! What became of a message, for its sender: asked once, or watched until nothing more happens.

use crate::backoff::Backoff;
use crate::client::segment;
use crate::sse::{Frame, Parser};
use crate::{Client, Error, Problem};
use bytes::Bytes;
use futures_util::stream::{BoxStream, StreamExt};
use reqwest::Method;
use reqwest::header::ACCEPT;
use serde::Deserialize;
use std::time::Duration;

/// The exchange sends a comment every 15 s; silence for this long means the connection is dead.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// What became of one message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct MessageReceipt {
    /// The envelope's id.
    pub id: String,
    /// Its sender.
    pub sender: String,
    /// Where it stands in the journal.
    pub cursor: String,
    /// `aee`, `aep` or `uai`.
    pub dialect: String,
    /// RFC 3339 moment of acceptance.
    pub accepted_at: String,
    /// Whether nothing more happens by itself, for any recipient.
    #[serde(rename = "final")]
    pub is_final: bool,
    /// One for each recipient.
    pub recipients: Vec<RecipientReceipt>,
    /// The task that it opened or handed on.
    pub task: Option<TaskReceipt>,
    /// The receipt as it came.
    #[serde(skip)]
    pub raw: String,
}

/// A task as a receipt shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct TaskReceipt {
    /// Its id.
    pub id: String,
    /// Where the whole stands.
    pub state: String,
    /// Who works on it.
    pub workers: Vec<Worker>,
}

/// Where one party's share of a task stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Worker {
    /// Whose; none until somebody has taken it.
    pub party: Option<String>,
    /// Where it stands.
    pub state: String,
}

/// What became of a message for one recipient.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RecipientReceipt {
    /// The recipient.
    pub party: String,
    /// `stored`, `delivered`, `acked`, `expired`, `dead` or `refused`.
    pub state: String,
    /// How often it was handed out.
    pub attempts: u32,
    /// RFC 3339 moment since when it is so.
    pub at: Option<String>,
    /// Until when it is with a consumer.
    pub lease_until: Option<String>,
    /// When the next attempt may begin.
    pub again_at: Option<String>,
    /// Who holds it, or acknowledged it.
    pub consumer: Option<String>,
    /// The id of the message that acknowledged it.
    pub message: Option<String>,
    /// Why it is over.
    pub reason: Option<String>,
    /// How attempts failed.
    pub failures: Vec<FailedAttempt>,
}

/// One failed attempt to deliver.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct FailedAttempt {
    /// Which attempt.
    pub attempt: u32,
    /// RFC 3339 moment.
    pub at: String,
    /// `nacked`, `lease_expired`, `rejected` or `consumer_gone`.
    pub why: String,
    /// What the reader said.
    pub error: String,
}

impl MessageReceipt {
    pub(crate) fn read(text: &str) -> Result<Self, Error> {
        let mut receipt: Self = serde_json::from_str(text).map_err(|_| Error::Answer {
            expected: "what became of a message",
            got: text.to_owned(),
        })?;
        text.clone_into(&mut receipt.raw);
        Ok(receipt)
    }
}

/// A watched receipt. It comes back by itself after a broken connection.
pub struct Watch {
    client: Client,
    path: String,
    sender: Option<String>,
    last: Option<MessageReceipt>,
    open: Option<Open>,
    backoff: Backoff,
}

struct Open {
    chunks: BoxStream<'static, reqwest::Result<Bytes>>,
    parser: Parser,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// What became of the message with this id; `sender` narrows it down when several senders used
    /// the id.
    ///
    /// # Errors
    /// `Refused` with `not_found` or `ambiguous_id`.
    pub async fn receipt(&self, id: &str, sender: Option<&str>) -> Result<MessageReceipt, Error> {
        let mut request = self.request(Method::GET, &path(id));
        if let Some(sender) = sender {
            request = request.query(&[("sender", sender)]);
        }
        let response = self.send(request).await?;
        MessageReceipt::read(&self.text(response).await?)
    }

    /// What becomes of the message with this id. Connects at the first [`Watch::next`].
    #[must_use]
    pub fn watch_receipt(&self, id: &str, sender: Option<&str>) -> Watch {
        Watch {
            client: self.clone(),
            path: path(id),
            sender: sender.map(str::to_owned),
            last: None,
            open: None,
            backoff: Backoff::default(),
        }
    }
}

fn path(id: &str) -> String {
    format!("/v1/messages/{}/receipt", segment(id))
}

impl Watch {
    /// The receipt as it is, and then each time that it is another; `None` after it was final.
    ///
    /// # Errors
    /// `Refused` for a refusal that trying again cannot help. `Unreachable` only when the very first
    /// connection cannot be made.
    pub async fn next(&mut self) -> Result<Option<MessageReceipt>, Error> {
        loop {
            if self.last.as_ref().is_some_and(|last| last.is_final) {
                return Ok(None);
            }
            let Some(open) = &mut self.open else {
                match self.connect().await {
                    Ok(open) => self.open = Some(open),
                    Err(error) if error.is_retryable() && self.last.is_some() => {
                        let wait = self.backoff.next(error.retry_after_ms());
                        tokio::time::sleep(wait).await;
                    }
                    Err(error) => return Err(error),
                }
                continue;
            };
            if let Some(frame) = open.parser.next_frame() {
                self.backoff.reset();
                if let Some(receipt) = take(&frame)?
                    && self.last.as_ref() != Some(&receipt)
                {
                    self.last = Some(receipt.clone());
                    return Ok(Some(receipt));
                }
                continue;
            }
            let chunk = tokio::time::timeout(SILENCE_MAX, open.chunks.next()).await;
            let is_readable = match chunk {
                Ok(Some(Ok(chunk))) => open.parser.push(&chunk).is_ok(),
                Ok(Some(Err(_)) | None) | Err(_) => false,
            };
            if !is_readable {
                self.open = None;
                tokio::time::sleep(self.backoff.next(None)).await;
            }
        }
    }

    /// The receipt when it is final; waits for it.
    ///
    /// # Errors
    /// As [`Self::next`].
    pub async fn to_the_end(mut self) -> Result<MessageReceipt, Error> {
        while self.next().await?.is_some() {}
        self.last.ok_or(Error::Closed)
    }

    async fn connect(&self) -> Result<Open, Error> {
        let mut request = self.client.request(Method::GET, &self.path);
        if let Some(sender) = &self.sender {
            request = request.query(&[("sender", sender)]);
        }
        let response = self
            .client
            .send(request.header(ACCEPT, "text/event-stream"))
            .await?;
        Ok(Open {
            chunks: response.bytes_stream().boxed(),
            parser: Parser::default(),
        })
    }
}

/// What one frame means. After `draining` the end of the connection follows, and the watcher comes
/// back; a later exchange may say more than this client knows.
fn take(frame: &Frame) -> Result<Option<MessageReceipt>, Error> {
    match frame.event.as_str() {
        "receipt" => MessageReceipt::read(&String::from_utf8_lossy(&frame.data)).map(Some),
        "fault" => Err(Error::Refused(Box::new(Problem::read(0, &frame.data)))),
        _ => Ok(None),
    }
}
