//! Where replays come from: the messages of a trace, or a range of the journal; one at a time.

use crate::failure::Failure;
use bytes::Bytes;
use client::{Client, Filter, From, TraceOptions};
use protocol::{AeePolicy, Header, Mode, Rules, Timestamp};
use serde_json::Value;
use std::collections::VecDeque;

/// Messages in one page of a range.
const PAGE: usize = 200;

/// One message as it came.
#[derive(Debug)]
pub struct Original {
    /// Where it stands in the journal.
    pub cursor: String,
    /// When it was accepted.
    pub at: Timestamp,
    /// Its facts.
    pub header: Header,
    /// Its bytes.
    pub envelope: Bytes,
}

/// A message that is not read yet.
#[derive(Debug)]
struct Place {
    id: String,
    sender: String,
}

/// Gives one message after the other, in journal order.
#[derive(Debug)]
pub struct Source<'c> {
    client: &'c Client,
    places: VecDeque<Place>,
    more: More,
    to: To,
}

/// Where the next places come from.
#[derive(Debug)]
enum More {
    Nothing,
    Trace { id: String, from: String },
    Range(From),
}

/// Where a range ends.
#[derive(Debug)]
enum To {
    Newest,
    Time(Timestamp),
    Sequence(u64),
}

impl<'c> Source<'c> {
    /// Everything that a trace of this id shows.
    pub async fn conversation(client: &'c Client, id: &str) -> Result<Self, Failure> {
        let mut source = Self {
            client,
            places: VecDeque::new(),
            more: More::Nothing,
            to: To::Newest,
        };
        source.read_trace(id, None).await?;
        Ok(source)
    }

    /// Everything from a place on, up to a time or a cursor, or else what is the newest message now.
    pub async fn range(client: &'c Client, from: From, to: Option<&str>) -> Result<Self, Failure> {
        let to = match to {
            // What is played itself comes after it.
            None => {
                let end = client.page(&Filter::new(), &From::Latest, 1).await?;
                sequence(&end.next).map_or(To::Newest, To::Sequence)
            }
            Some(text) => match Timestamp::parse_rfc3339(text) {
                Some((moment, _)) => To::Time(moment),
                None => To::Sequence(sequence(text).ok_or_else(|| {
                    Failure::Usage(format!(
                        "expected --to to be a cursor or an RFC 3339 time, got {text:?}"
                    ))
                })?),
            },
        };
        Ok(Self {
            client,
            places: VecDeque::new(),
            more: More::Range(from),
            to,
        })
    }

    /// The next message; none at the end.
    pub async fn next(&mut self) -> Result<Option<Original>, Failure> {
        loop {
            if let Some(place) = self.places.pop_front() {
                let original = read(self.client, &place).await?;
                if self.is_within(&original) {
                    return Ok(Some(original));
                }
                self.places.clear();
                self.more = More::Nothing;
                return Ok(None);
            }
            match std::mem::replace(&mut self.more, More::Nothing) {
                More::Nothing => return Ok(None),
                More::Trace { id, from } => self.read_trace(&id, Some(from)).await?,
                More::Range(from) => self.read_page(from).await?,
            }
        }
    }

    fn is_within(&self, original: &Original) -> bool {
        match self.to {
            To::Newest => true,
            To::Time(moment) => original.at <= moment,
            To::Sequence(last) => sequence(&original.cursor).is_none_or(|at| at <= last),
        }
    }

    async fn read_trace(&mut self, id: &str, from: Option<String>) -> Result<(), Failure> {
        let options = TraceOptions {
            from: from.map(From::At),
            ..TraceOptions::default()
        };
        let mut trace = self.client.trace(id, &options).await?;
        let next = trace.next.take();
        let trace: Value = serde_json::from_slice(&trace.whole().await?)
            .map_err(|error| Failure::Refused(error.to_string()))?;
        let nodes = trace.pointer("/nodes").and_then(Value::as_array);
        let text = |node: &Value, name: &str| {
            let value = node.get(name).and_then(Value::as_str);
            value.unwrap_or_default().to_owned()
        };
        self.places
            .extend(nodes.into_iter().flatten().map(|node| Place {
                id: text(node, "id"),
                sender: text(node, "from"),
            }));
        if let Some(from) = next {
            let id = id.to_owned();
            self.more = More::Trace { id, from };
        }
        Ok(())
    }

    async fn read_page(&mut self, from: From) -> Result<(), Failure> {
        let page = self.client.page(&Filter::new(), &from, PAGE).await?;
        for envelope in &page.envelopes {
            let header = header(envelope)?;
            self.places.push_back(Place {
                id: header.id.to_string(),
                sender: header.sender.to_string(),
            });
        }
        // An empty page is the end: what is published from now on is not played.
        if !page.envelopes.is_empty() && !page.next.is_empty() {
            self.more = More::Range(From::At(page.next));
        }
        Ok(())
    }
}

/// One message with where and when it came, and its exact bytes.
async fn read(client: &Client, place: &Place) -> Result<Original, Failure> {
    let message = client.message(&place.id, Some(&place.sender)).await?;
    let full = client.full_message(&place.id, Some(&place.sender)).await?;
    let full: Value =
        serde_json::from_slice(&full).map_err(|error| Failure::Refused(error.to_string()))?;
    let at = full.pointer("/accepted_at").and_then(Value::as_str);
    let (at, _) = at
        .and_then(Timestamp::parse_rfc3339)
        .ok_or_else(|| Failure::Refused("expected to be told when a message came".into()))?;
    Ok(Original {
        cursor: message.cursor,
        at,
        header: header(&message.envelope)?,
        envelope: message.envelope,
    })
}

/// The facts of an envelope that an exchange has accepted, under whatever settings.
fn header(envelope: &[u8]) -> Result<Header, Failure> {
    let read = |aee_policy| {
        let rules = Rules {
            mode: Mode::Lenient,
            aee_policy,
            aep_accept_0_1: true,
            envelope_bytes_max: usize::MAX,
            // Whatever is too old now was not when it came.
            ..Rules::at(Timestamp::default())
        };
        protocol::decode(envelope, &rules).into_result()
    };
    // A record of the log intake is one only by a policy that keeps such records.
    let read = read(AeePolicy::Either).or_else(|_| read(AeePolicy::Log));
    let (header, _) = read.map_err(|rejection| Failure::Refused(rejection.to_string()))?;
    Ok(header)
}

/// The sequence in a cursor.
fn sequence(cursor: &str) -> Option<u64> {
    cursor.rsplit_once('-')?.1.parse().ok()
}
