//! Asking: a request goes out, its reply comes back, whatever breaks in between.
//!
//! The wait belongs to the task. After a broken connection or a restart of the exchange the same bytes
//! are sent again, are recognised, and the wait goes on after the last event that came.

use crate::backoff::Backoff;
use crate::sse::{Frame, Parser};
use crate::subscribe::decode_base64;
use crate::{Client, Error, Problem, Receipt};
use bytes::Bytes;
use futures_util::stream::{BoxStream, StreamExt};
use reqwest::Method;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::time::{Duration, Instant};

/// The exchange sends a comment every 15 s; silence for this long means the connection is dead.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// The end of a task that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The envelope that ended the task, as it was sent.
    pub envelope: Bytes,
    /// Where it stands in the journal.
    pub cursor: String,
    /// The task.
    pub task: String,
    /// How it ended: `completed`, `failed`, `cancelled` or `timed_out`.
    pub state: String,
}

/// What comes while a reply is waited for.
#[derive(Clone, Debug)]
pub enum AskEvent {
    /// The request is durable, and its task has this id.
    Asked {
        /// The task.
        task: String,
        /// The receipt of the request.
        receipt: Box<Receipt>,
    },
    /// An envelope of the task: progress, output, an acknowledgement.
    Progress {
        /// Where it stands in the journal.
        cursor: String,
        /// The bytes.
        envelope: Bytes,
    },
    /// The end; nothing follows.
    Reply(Reply),
    /// The connection broke; the same request is made again.
    Reconnecting(String),
}

/// A request on its way. It comes back by itself until the time is over.
pub struct Asking {
    client: Client,
    envelope: Bytes,
    until: Instant,
    cursor: Option<String>,
    was_told: bool,
    reply: Option<(String, Bytes)>,
    open: Option<Open>,
    backoff: Backoff,
}

struct Open {
    chunks: BoxStream<'static, reqwest::Result<Bytes>>,
    parser: Parser,
}

impl std::fmt::Debug for Asking {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Asking")
            .field("cursor", &self.cursor)
            .finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct Asked<'a> {
    task: String,
    #[serde(borrow)]
    receipt: &'a RawValue,
}

#[derive(Deserialize)]
struct End {
    task: String,
    state: String,
}

impl Client {
    /// Publishes a request and waits for the envelope that ends its task.
    ///
    /// # Errors
    /// `Refused` with every fault of the envelope, with `not_a_request`, or with `no_reply` when the
    /// time is over: the task goes on, ask again with the same bytes. `Unreachable` when the exchange
    /// could not be reached in that time.
    pub async fn ask(&self, envelope: impl Into<Bytes>, timeout: Duration) -> Result<Reply, Error> {
        let mut asking = self.ask_and_watch(envelope, timeout);
        loop {
            if let AskEvent::Reply(reply) = asking.next().await? {
                return Ok(reply);
            }
        }
    }

    /// As [`Self::ask`], and shows what comes before the reply. Connects at the first
    /// [`Asking::next`].
    #[must_use]
    pub fn ask_and_watch(&self, envelope: impl Into<Bytes>, timeout: Duration) -> Asking {
        Asking {
            client: self.clone(),
            envelope: envelope.into(),
            until: Instant::now() + timeout,
            cursor: None,
            was_told: false,
            reply: None,
            open: None,
            backoff: Backoff::default(),
        }
    }
}

impl Asking {
    /// What comes next; waits for it. Do not call again after the reply.
    ///
    /// # Errors
    /// As [`Client::ask`].
    pub async fn next(&mut self) -> Result<AskEvent, Error> {
        loop {
            let Some(open) = &mut self.open else {
                match self.connect().await {
                    Ok(open) => {
                        self.open = Some(open);
                        continue;
                    }
                    Err(error) => {
                        let reason = self.pause_or_give_up(error).await?;
                        return Ok(AskEvent::Reconnecting(reason));
                    }
                }
            };
            if let Some(frame) = open.parser.next_frame() {
                self.backoff.reset();
                if let Some(event) = self.take(frame)? {
                    return Ok(event);
                }
                continue;
            }
            let broken = match tokio::time::timeout(SILENCE_MAX, open.chunks.next()).await {
                Ok(Some(Ok(chunk))) => {
                    if open.parser.push(&chunk).is_ok() {
                        continue;
                    }
                    return Err(Error::Answer {
                        expected: "events of at most 64 MiB",
                        got: "a longer one".into(),
                    });
                }
                Ok(Some(Err(error))) => Error::unreachable(self.client.url(), &error),
                Ok(None) | Err(_) => Error::Closed,
            };
            self.open = None;
            let reason = self.pause_or_give_up(broken).await?;
            return Ok(AskEvent::Reconnecting(reason));
        }
    }

    /// Waits before the next attempt; the error, when no attempt can help or the time is over.
    async fn pause_or_give_up(&mut self, error: Error) -> Result<String, Error> {
        let is_over = matches!(&error, Error::Refused(problem) if problem.code == "no_reply");
        let left = self.until.saturating_duration_since(Instant::now());
        if is_over || !error.is_retryable() || left.is_zero() {
            return Err(error);
        }
        tokio::time::sleep(self.backoff.next(error.retry_after_ms()).min(left)).await;
        Ok(error.to_string())
    }

    async fn connect(&mut self) -> Result<Open, Error> {
        let left = self.until.saturating_duration_since(Instant::now());
        let timeout_ms = left.as_millis().clamp(1, 3_600_000);
        let mut request = self
            .client
            .request(Method::POST, "/v1/ask")
            .query(&[("timeout_ms", timeout_ms.to_string())])
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream")
            .body(self.envelope.clone());
        if let Some(cursor) = &self.cursor {
            request = request.header("last-event-id", cursor);
        }
        let response = self.client.send(request).await?;
        Ok(Open {
            chunks: response.bytes_stream().boxed(),
            parser: Parser::default(),
        })
    }

    fn take(&mut self, frame: Frame) -> Result<Option<AskEvent>, Error> {
        let Frame { event, data, id } = frame;
        let text = |data: &[u8]| String::from_utf8_lossy(data).into_owned();
        let answer = |expected, data: &[u8]| Error::Answer {
            expected,
            got: text(data),
        };
        match event.as_str() {
            "receipt" => {
                let (told, data) = (std::mem::replace(&mut self.was_told, true), text(&data));
                let asked: Option<Asked<'_>> = serde_json::from_str(&data).ok();
                let read = asked.and_then(|asked| {
                    let receipt = Receipt::read(asked.receipt.get())?;
                    Some((asked.task, Box::new(receipt)))
                });
                let Some((task, receipt)) = read else {
                    return Err(answer("a receipt", data.as_bytes()));
                };
                Ok((!told).then_some(AskEvent::Asked { task, receipt }))
            }
            "" | "message" | "base64" | "reply" | "reply_base64" => {
                let envelope = if event.ends_with("base64") {
                    let decoded = decode_base64(&data);
                    Bytes::from(decoded.ok_or_else(|| answer("base64", &data))?)
                } else {
                    Bytes::from(data)
                };
                if event.starts_with("reply") {
                    self.reply = Some((id, envelope));
                    return Ok(None);
                }
                self.cursor = Some(id.clone());
                Ok(Some(AskEvent::Progress {
                    cursor: id,
                    envelope,
                }))
            }
            "end" => {
                let end: Option<End> = serde_json::from_slice(&data).ok();
                match (end, self.reply.take()) {
                    (Some(End { task, state }), Some((cursor, envelope))) => {
                        Ok(Some(AskEvent::Reply(Reply {
                            envelope,
                            cursor,
                            task,
                            state,
                        })))
                    }
                    _ => Err(answer("the end of a task after its reply", &data)),
                }
            }
            "fault" => Err(Error::Refused(Box::new(Problem::read(0, &data)))),
            // The end of the connection follows; the same request is made again. A later exchange may
            // say more than this client knows.
            _ => Ok(None),
        }
    }
}
