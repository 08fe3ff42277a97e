//! Reading back: one message, a page of the journal, a verdict without publishing.

use crate::client::segment;
use crate::{Client, Error, Filter, From, Lines};
use bytes::Bytes;
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderMap};

/// One stored message.
#[derive(Clone, Debug)]
pub struct Message {
    /// The bytes as they were sent.
    pub envelope: Bytes,
    /// Where it stands in the journal.
    pub cursor: String,
    /// `aee`, `aep` or `uai`.
    pub dialect: String,
}

/// A page of the journal.
#[derive(Clone, Debug)]
pub struct Page {
    /// The envelopes in journal order.
    pub envelopes: Vec<Bytes>,
    /// Where the next page begins. Equal to the given place when nothing more is there.
    pub next: String,
}

/// One line of `POST /v1/validate`: a verdict as JSON text.
pub type Verdict = Bytes;

impl Client {
    /// The message with this id; `sender` narrows it down when several senders used the id.
    ///
    /// # Errors
    /// `Refused` with `not_found` or `ambiguous_id`.
    pub async fn message(&self, id: &str, sender: Option<&str>) -> Result<Message, Error> {
        let mut request = self.request(Method::GET, &format!("/v1/messages/{}", segment(id)));
        if let Some(sender) = sender {
            request = request.query(&[("sender", sender)]);
        }
        let response = self.send(request).await?;
        let cursor = header(response.headers(), "interwire-cursor");
        let dialect = header(response.headers(), "interwire-dialect");
        Ok(Message {
            envelope: self.body(response).await?,
            cursor,
            dialect,
        })
    }

    /// The message with this id with everything the exchange knows of it, as JSON around the bytes that
    /// were sent; `sender` as in [`Self::message`].
    ///
    /// # Errors
    /// `Refused` with `not_found` or `ambiguous_id`.
    pub async fn full_message(&self, id: &str, sender: Option<&str>) -> Result<Bytes, Error> {
        let path = format!("/v1/messages/{}", segment(id));
        let mut request = self.request(Method::GET, &path).query(&[("view", "full")]);
        if let Some(sender) = sender {
            request = request.query(&[("sender", sender)]);
        }
        let response = self.send(request).await?;
        self.body(response).await
    }

    /// At most `limit` messages that pass `filter`, beginning at `from`.
    ///
    /// # Errors
    /// `Refused` with a cursor fault or `filter_malformed`.
    pub async fn page(&self, filter: &Filter, from: &From, limit: usize) -> Result<Page, Error> {
        let request = self
            .request(Method::GET, "/v1/messages")
            .query(filter.pairs())
            .query(&[("from", from.to_string()), ("limit", limit.to_string())]);
        let response = self.send(request).await?;
        let next = header(response.headers(), "interwire-next-cursor");
        let envelopes = all_lines(&self.body(response).await?);
        Ok(Page { envelopes, next })
    }

    /// The verdict on one envelope, or on each line of NDJSON when `content_type` says so.
    ///
    /// # Errors
    /// `Refused` when the request itself cannot be read; invalid envelopes are verdicts.
    pub async fn validate(
        &self,
        text: impl Into<Bytes>,
        content_type: &str,
        query: &[(&str, &str)],
    ) -> Result<Vec<Verdict>, Error> {
        let request = self
            .request(Method::POST, "/v1/validate")
            .query(query)
            .header(CONTENT_TYPE, content_type)
            .body(text.into());
        let response = self.send(request).await?;
        Ok(all_lines(&self.body(response).await?))
    }
}

fn header(headers: &HeaderMap, name: &str) -> String {
    headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
        .to_owned()
}

fn all_lines(body: &Bytes) -> Vec<Bytes> {
    let mut lines = Lines::default();
    lines.push(body);
    let mut found = Vec::new();
    while let Some(line) = lines.next_line() {
        found.push(Bytes::from(line));
    }
    found.extend(lines.finish().map(Bytes::from));
    found.retain(|line| !line.iter().all(u8::is_ascii_whitespace));
    found
}
