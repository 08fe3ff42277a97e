//! Traces: a conversation with its causes and what became of every message.

use crate::client::segment;
use crate::{Client, Error, From};
use bytes::Bytes;
use reqwest::{Method, Response};

/// How a trace is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TraceFormat {
    /// One JSON object; `docs/trace.md` describes it.
    #[default]
    Json,
    /// A tree for people.
    Text,
    /// A tree for people, with the colours of a terminal.
    Coloured,
    /// A Mermaid flowchart.
    Mermaid,
    /// A DOT graph.
    Dot,
}

/// Which trace, and how much of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceOptions {
    /// How it is written.
    pub format: TraceFormat,
    /// What the id is, when it stands for several things: `conversation`, `message`, `task` or
    /// `correlation`.
    pub by: Option<String>,
    /// Whose message it is, when several senders used the id.
    pub sender: Option<String>,
    /// Only messages after this place.
    pub from: Option<From>,
    /// Most messages of the conversation.
    pub limit: Option<u64>,
}

/// A trace as it comes.
#[derive(Debug)]
pub struct TraceText {
    client: Client,
    response: Response,
    /// Where the next page begins, when there is more.
    pub next: Option<String>,
}

impl Client {
    /// Everything that belongs to the conversation, message, task or correlation with this id.
    ///
    /// # Errors
    /// `Refused` with `not_found` or `ambiguous_id`.
    pub async fn trace(&self, id: &str, options: &TraceOptions) -> Result<TraceText, Error> {
        let path = format!("/v1/conversations/{}", segment(id));
        let (format, colour) = match options.format {
            TraceFormat::Json => ("json", None),
            TraceFormat::Text => ("text", None),
            TraceFormat::Coloured => ("text", Some("ansi")),
            TraceFormat::Mermaid => ("mermaid", None),
            TraceFormat::Dot => ("dot", None),
        };
        let from = options.from.as_ref().map(ToString::to_string);
        let limit = options.limit.map(|limit| limit.to_string());
        let pairs = [
            ("format", Some(format)),
            ("colour", colour),
            ("by", options.by.as_deref()),
            ("sender", options.sender.as_deref()),
            ("from", from.as_deref()),
            ("limit", limit.as_deref()),
        ];
        let pairs: Vec<_> = pairs
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect();
        let request = self.request(Method::GET, &path).query(&pairs);
        let response = self.send(request).await?;
        let next = response.headers().get("interwire-next-cursor");
        let next = next.and_then(|value| value.to_str().ok()).map(Into::into);
        Ok(TraceText {
            client: self.clone(),
            response,
            next,
        })
    }
}

impl TraceText {
    /// The next piece of it; none at the end.
    ///
    /// # Errors
    /// `Unreachable` when the connection breaks.
    pub async fn piece(&mut self) -> Result<Option<Bytes>, Error> {
        let piece = self.response.chunk().await;
        piece.map_err(|error| self.client.broken(&error))
    }

    /// All of it.
    ///
    /// # Errors
    /// `Unreachable` when the connection breaks.
    pub async fn whole(self) -> Result<Bytes, Error> {
        self.client.body(self.response).await
    }
}
