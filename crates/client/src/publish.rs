//! Publishing: one envelope, or many in one request.

use crate::backoff::Backoff;
use crate::{Client, Error, Lines, Problem, Receipt};
use bytes::{Bytes, BytesMut};
use futures_util::stream::{self, BoxStream, Stream, StreamExt};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Body, Method};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::time::{Duration, Instant};

/// What became of one envelope of many.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Durable.
    Accepted(Box<Receipt>),
    /// Was durable before.
    Duplicate(Box<Receipt>),
    /// Refused; the others are not affected.
    Refused(Box<Problem>),
}

#[derive(Deserialize)]
struct Line<'a> {
    status: &'a str,
    #[serde(borrow)]
    receipt: Option<&'a RawValue>,
    #[serde(borrow)]
    fault: Option<&'a RawValue>,
}

/// One line of the answer to many.
#[derive(Clone, Debug)]
pub struct BatchLine {
    /// What became of the envelope at this place.
    pub outcome: Outcome,
    /// The line as it came.
    pub raw: String,
}

impl BatchLine {
    fn read(line: Vec<u8>) -> Result<Self, Error> {
        let raw = String::from_utf8_lossy(&line).into_owned();
        let outcome = outcome(&raw).ok_or_else(|| Error::Answer {
            expected: "a result line with status, and receipt or fault",
            got: raw.clone(),
        })?;
        Ok(Self { outcome, raw })
    }
}

fn outcome(line: &str) -> Option<Outcome> {
    let read: Line<'_> = serde_json::from_str(line).ok()?;
    match (read.status, read.receipt, read.fault) {
        ("accepted", Some(receipt), _) => {
            Some(Outcome::Accepted(Box::new(Receipt::read(receipt.get())?)))
        }
        ("duplicate", Some(receipt), _) => {
            Some(Outcome::Duplicate(Box::new(Receipt::read(receipt.get())?)))
        }
        ("refused", _, Some(fault)) => Some(Outcome::Refused(Box::new(Problem::read(
            0,
            fault.get().as_bytes(),
        )))),
        _ => None,
    }
}

impl Client {
    /// Publishes one envelope; returns after the exchange made it durable.
    ///
    /// # Errors
    /// `Refused` with every fault; `Unreachable` when the outcome is unknown: publish the same bytes
    /// again, a repeat is recognised.
    pub async fn publish(&self, envelope: impl Into<Bytes>) -> Result<Receipt, Error> {
        let request = self
            .request(Method::POST, "/v1/messages")
            .header(CONTENT_TYPE, "application/json")
            .body(envelope.into());
        let response = self.send(request).await?;
        let text = self.text(response).await?;
        Receipt::read(&text).ok_or(Error::Answer {
            expected: "a receipt",
            got: text,
        })
    }

    /// As [`Self::publish`], and tries again for up to `patience` when the exchange is away, shutting
    /// down or overloaded, not before it wants to be asked again. The bytes stay the same, so a repeat
    /// of something that was stored after all is recognised, and its receipt says `duplicate`.
    ///
    /// # Errors
    /// As [`Self::publish`]; the last one when the time is over.
    pub async fn publish_within(
        &self,
        envelope: impl Into<Bytes>,
        patience: Duration,
    ) -> Result<Receipt, Error> {
        let (envelope, start) = (envelope.into(), Instant::now());
        let mut backoff = Backoff::default();
        loop {
            let error = match self.publish(envelope.clone()).await {
                Err(error) if error.is_retryable() => error,
                done => return done,
            };
            let wait = backoff.next(error.retry_after_ms());
            if start.elapsed() + wait > patience {
                return Err(error);
            }
            tokio::time::sleep(wait).await;
        }
    }

    /// Publishes many in one request; results come in order while the stream is still being sent.
    ///
    /// Every envelope must be one line: NDJSON has no other way to carry it, and this client does
    /// not rewrite bytes. Publish envelopes with line breaks one by one.
    ///
    /// # Errors
    /// As [`Self::publish`]. The stream ends with an error when the connection breaks; results seen
    /// until then hold. An envelope with a line break ends the request as `Unreachable`.
    pub async fn publish_many(
        &self,
        envelopes: impl Stream<Item = Bytes> + Send + 'static,
    ) -> Result<BoxStream<'static, Result<BatchLine, Error>>, Error> {
        let lines = envelopes.map(|envelope| {
            if envelope.contains(&b'\n') {
                return Err(std::io::Error::other(
                    "an envelope with a line break cannot be a line",
                ));
            }
            let mut line = BytesMut::with_capacity(envelope.len() + 1);
            line.extend_from_slice(&envelope);
            line.extend_from_slice(b"\n");
            Ok(line.freeze())
        });
        let request = self
            .request(Method::POST, "/v1/messages")
            .header(CONTENT_TYPE, "application/x-ndjson")
            .body(Body::wrap_stream(lines));
        let response = self.send(request).await?;
        let chunks = Box::pin(response.bytes_stream());
        let url = self.url().to_owned();
        let state = (chunks, Lines::default(), url, false);
        Ok(stream::unfold(
            state,
            |(mut chunks, mut lines, url, mut ended)| async move {
                loop {
                    if let Some(line) = lines.next_line() {
                        return Some((BatchLine::read(line), (chunks, lines, url, ended)));
                    }
                    if ended {
                        return None;
                    }
                    match chunks.next().await {
                        Some(Ok(chunk)) => lines.push(&chunk),
                        Some(Err(error)) => {
                            let broken = Error::unreachable(&url, &error);
                            return Some((Err(broken), (chunks, Lines::default(), url, true)));
                        }
                        None => {
                            ended = true;
                            if let Some(line) = std::mem::take(&mut lines).finish() {
                                return Some((BatchLine::read(line), (chunks, lines, url, ended)));
                            }
                        }
                    }
                }
            },
        )
        .boxed())
    }
}

#[cfg(test)]
mod tests {
    use super::{BatchLine, Outcome};

    #[test]
    fn result_lines_are_read_by_their_status() {
        let read = |line: &str| BatchLine::read(line.as_bytes().to_vec()).map(|line| line.outcome);
        assert!(matches!(
            read(r#"{"status":"accepted","receipt":{"id":"a","cursor":"1"}}"#),
            Ok(Outcome::Accepted(receipt)) if receipt.id == "a"
        ));
        assert!(matches!(
            read(r#"{"status":"refused","fault":{"code":"malformed_json"}}"#),
            Ok(Outcome::Refused(problem)) if problem.code == "malformed_json"
        ));
        assert!(read(r#"{"status":"accepted"}"#).is_err());
    }
}
