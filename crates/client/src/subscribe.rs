//! Live reading over server-sent events, with resumption.
//!
//! The reader keeps the cursor: after a broken connection it comes back with `Last-Event-ID` and
//! goes on exactly there. What it cannot get any more comes as an explicit [`Event::Gap`].

use crate::backoff::Backoff;
use crate::sse::{Frame, Parser};
use crate::{Client, Error, Filter, Follow, From, Gap, Mode, OnGap, Problem};
use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt};
use protocol::DialectName;
use reqwest::Method;
use reqwest::header::ACCEPT;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::time::Duration;

/// The exchange sends a comment every 15 s; silence for this long means the connection is dead.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// What a live reader gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// An envelope.
    Envelope {
        /// Resume after this to go on behind the envelope.
        cursor: String,
        /// The bytes.
        envelope: Bytes,
    },
    /// Everything that was there when the reader came has been given.
    CaughtUp,
    /// Something is missing before what comes next.
    Gap(Gap),
    /// The connection broke and is being made again from the last cursor.
    Reconnecting(String),
}

/// A live reader. It comes back by itself until it is dropped.
pub struct Subscription {
    client: Client,
    filter: Filter,
    from: From,
    follow: Follow,
    dialect: Option<DialectName>,
    cursor: Option<String>,
    open: Option<Open>,
    backoff: Backoff,
    /// Milliseconds that the exchange asked to stay away for.
    asked_ms: Option<u64>,
}

struct Open {
    chunks: BoxStream<'static, reqwest::Result<Bytes>>,
    parser: Parser,
}

impl std::fmt::Debug for Subscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subscription")
            .field("filter", &self.filter)
            .field("cursor", &self.cursor)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// A live reader of everything that passes `filter`, beginning at `from`. Connects at the first
    /// [`Subscription::next`].
    #[must_use]
    pub fn subscribe(&self, filter: Filter, from: From) -> Subscription {
        Subscription {
            client: self.clone(),
            filter,
            from,
            follow: Follow::default(),
            dialect: None,
            cursor: None,
            open: None,
            backoff: Backoff::default(),
            asked_ms: None,
        }
    }
}

/// A message that cannot be said in the dialect that was asked for.
#[derive(Deserialize)]
struct AsSent<'a> {
    #[serde(borrow)]
    envelope: &'a RawValue,
}

fn as_sent(data: &[u8], cursor: String) -> Result<Option<Event>, Error> {
    let read: AsSent<'_> = serde_json::from_slice(data).map_err(|_| Error::Answer {
        expected: "a message and why it was not translated",
        got: String::from_utf8_lossy(data).into_owned(),
    })?;
    let envelope = Bytes::copy_from_slice(read.envelope.get().as_bytes());
    Ok(Some(Event::Envelope { cursor, envelope }))
}

/// What the exchange says with its last words.
#[derive(Deserialize)]
struct Parting {
    #[serde(default)]
    retry_ms: Option<u64>,
}

impl Subscription {
    /// What happens when something is missing; without it the reader is told and goes on.
    #[must_use]
    pub fn on_gap(mut self, on_gap: OnGap) -> Self {
        self.follow.on_gap = on_gap;
        self
    }

    /// Only the newest: when this reader falls behind it is taken to the end and told what it missed.
    #[must_use]
    pub fn best_effort(mut self) -> Self {
        self.follow.mode = Mode::BestEffort;
        self
    }

    /// The dialect that envelopes come in, whatever they were sent in. One that cannot be said there comes
    /// as it was sent.
    #[must_use]
    pub fn in_dialect(mut self, dialect: DialectName) -> Self {
        self.dialect = Some(dialect);
        self
    }

    /// The place to resume from: everything up to here has been given out.
    #[must_use]
    pub fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }

    /// The next event; waits for it.
    ///
    /// # Errors
    /// `Refused` for a refusal that trying again cannot help. `Unreachable` only when the very first
    /// connection cannot be made.
    pub async fn next(&mut self) -> Result<Event, Error> {
        loop {
            let Some(open) = &mut self.open else {
                if let Some(asked) = self.asked_ms.take() {
                    let wait = self.backoff.next(Some(asked));
                    tokio::time::sleep(wait).await;
                }
                match self.connect().await {
                    Ok(open) => {
                        self.open = Some(open);
                        continue;
                    }
                    Err(error) if error.is_retryable() && self.cursor.is_some() => {
                        let wait = self.backoff.next(error.retry_after_ms());
                        tokio::time::sleep(wait).await;
                        continue;
                    }
                    Err(error) => return Err(error),
                }
            };
            if let Some(frame) = open.parser.next_frame() {
                self.backoff.reset();
                if let Some(event) = self.take(frame)? {
                    return Ok(event);
                }
                continue;
            }
            if !open.parser.last_id().is_empty() {
                self.cursor = Some(open.parser.last_id().to_owned());
            }
            let reason = match tokio::time::timeout(SILENCE_MAX, open.chunks.next()).await {
                Ok(Some(Ok(chunk))) => {
                    if open.parser.push(&chunk).is_ok() {
                        continue;
                    }
                    return Err(Error::Answer {
                        expected: "events of at most 64 MiB",
                        got: "a longer one".into(),
                    });
                }
                Ok(Some(Err(error))) => Error::unreachable(self.client.url(), &error).to_string(),
                Ok(None) => "the exchange ended the stream".to_owned(),
                Err(_) => "nothing came for 60 s".to_owned(),
            };
            self.open = None;
            let wait = self.backoff.next(self.asked_ms.take());
            tokio::time::sleep(wait).await;
            return Ok(Event::Reconnecting(reason));
        }
    }

    /// The envelopes alone, with their cursors, as a stream.
    pub fn envelopes(self) -> BoxStream<'static, Result<(String, Bytes), Error>> {
        stream::unfold(Some(self), |reader| async move {
            let mut reader = reader?;
            loop {
                match reader.next().await {
                    Ok(Event::Envelope { cursor, envelope }) => {
                        return Some((Ok((cursor, envelope)), Some(reader)));
                    }
                    Ok(Event::CaughtUp | Event::Gap(_) | Event::Reconnecting(_)) => {}
                    Err(error) => return Some((Err(error), None)),
                }
            }
        })
        .boxed()
    }

    async fn connect(&mut self) -> Result<Open, Error> {
        let mut request = self
            .client
            .request(Method::GET, "/v1/stream")
            .query(self.filter.pairs())
            .query(&self.follow.pairs())
            .header(ACCEPT, "text/event-stream");
        if let Some(dialect) = self.dialect {
            request = request.query(&[("as", dialect.as_str())]);
        }
        request = match &self.cursor {
            Some(cursor) => request.header("last-event-id", cursor),
            None => request.query(&[("from", self.from.to_string())]),
        };
        let response = self.client.send(request).await?;
        Ok(Open {
            chunks: response.bytes_stream().boxed(),
            parser: Parser::default(),
        })
    }

    /// What one frame means. Control frames have names; envelopes have none.
    fn take(&mut self, frame: Frame) -> Result<Option<Event>, Error> {
        let Frame { event, data, id } = frame;
        if !id.is_empty() {
            self.cursor = Some(id.clone());
        }
        let text = |data: &[u8]| String::from_utf8_lossy(data).into_owned();
        match event.as_str() {
            "" | "message" => Ok(Some(Event::Envelope {
                cursor: id,
                envelope: Bytes::from(data),
            })),
            "base64" => match decode_base64(&data) {
                Some(envelope) => Ok(Some(Event::Envelope {
                    cursor: id,
                    envelope: envelope.into(),
                })),
                None => Err(Error::Answer {
                    expected: "base64",
                    got: text(&data),
                }),
            },
            "untranslated" => as_sent(&data, id),
            "untranslated_base64" => match decode_base64(&data) {
                Some(data) => as_sent(&data, id),
                None => Err(Error::Answer {
                    expected: "base64",
                    got: text(&data),
                }),
            },
            "caught_up" => Ok(Some(Event::CaughtUp)),
            "gap" => Ok(Some(Event::Gap(Gap::read(&text(&data))))),
            "fault" | "auth_revoked" => {
                let problem = Problem::read(0, &data);
                if problem.retryable {
                    self.open = None;
                    // The next connection is made after the wait that was asked for.
                    self.asked_ms = problem.retry_after_ms;
                    return Ok(Some(Event::Reconnecting(problem.to_string())));
                }
                Err(Error::Refused(Box::new(problem)))
            }
            // The end of the connection follows; the reader comes back from its cursor.
            "draining" | "slow_consumer" => {
                let parting: Option<Parting> = serde_json::from_slice(&data).ok();
                self.asked_ms = parting.and_then(|parting| parting.retry_ms);
                Ok(None)
            }
            // A later exchange may say more than this client knows.
            _ => Ok(None),
        }
    }
}

/// RFC 4648 section 4, with padding.
pub(crate) fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    let digits = text
        .strip_suffix(b"==")
        .or(text.strip_suffix(b"="))
        .unwrap_or(text);
    if !text.len().is_multiple_of(4) || digits.len() % 4 == 1 {
        return None;
    }
    let mut out = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    let (mut bits, mut count) = (0_u32, 0);
    for digit in digits {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from((bits >> count) & 0xFF).ok()?);
            bits &= (1 << count) - 1;
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::decode_base64;

    #[test]
    fn base64_of_every_length_is_decoded() {
        // RFC 4648, section 10.
        for (text, bytes) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg==", "foob"),
            ("Zm9vYmE=", "fooba"),
            ("Zm9vYmFy", "foobar"),
        ] {
            assert_eq!(
                decode_base64(text.as_bytes()).as_deref(),
                Some(bytes.as_bytes())
            );
        }
        assert_eq!(decode_base64(b"Zg="), None);
        assert_eq!(decode_base64(b"Z!=="), None);
    }
}
