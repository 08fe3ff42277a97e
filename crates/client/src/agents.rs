//! The directory: who there is, what they can do, whether they are there.

use crate::client::segment;
use crate::{Client, Error};
use reqwest::Method;
use reqwest::header::CONTENT_TYPE;

/// An agent or a page of agents as the exchange shows it, JSON text.
pub type AgentText = String;

/// Which agents are asked for. The default asks for all that are not offline.
///
/// The fields are those of the route: `skill`, `tag`, `intent`, `profile`, `feature`, `dialect`,
/// `location`, `kind`, `presence` (`online`, `stale`, `offline`, `any`) and `q`. One field again
/// means any of, different fields mean all of. They are checked there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentQuery {
    /// Fields and values.
    pub fields: Vec<(String, String)>,
    /// At most so many.
    pub limit: Option<u64>,
    /// After this one: `next` of the page before.
    pub after: Option<String>,
}

impl AgentQuery {
    /// One more value for a field.
    #[must_use]
    pub fn with(mut self, field: &str, value: &str) -> Self {
        self.fields.push((field.to_owned(), value.to_owned()));
        self
    }
}

impl Client {
    /// A page of agents in the order of their names: `{"agents":[...],"next":name or null}`.
    ///
    /// # Errors
    /// `Refused` with `bad_request`.
    pub async fn agents(&self, query: &AgentQuery) -> Result<AgentText, Error> {
        let mut pairs = query.fields.clone();
        pairs.extend(query.limit.map(|limit| ("limit".into(), limit.to_string())));
        pairs.extend(query.after.clone().map(|after| ("after".into(), after)));
        let request = self.request(Method::GET, "/v1/agents").query(&pairs);
        let response = self.send(request).await?;
        self.text(response).await
    }

    /// One agent with its cards.
    ///
    /// # Errors
    /// `Refused` with `not_found`.
    pub async fn agent(&self, party: &str) -> Result<AgentText, Error> {
        self.agent_text(self.request(Method::GET, &path(party)))
            .await
    }

    /// Registers a card, ours or one of A2A, as JSON text; the agent as it is listed now.
    ///
    /// # Errors
    /// `Refused` with every fault of the card.
    pub async fn put_agent(&self, party: &str, card: &str) -> Result<AgentText, Error> {
        let request = self
            .request(Method::PUT, &path(party))
            .header(CONTENT_TYPE, "application/json")
            .body(card.to_owned());
        self.agent_text(request).await
    }

    /// Takes an agent out of the directory.
    ///
    /// # Errors
    /// `Refused` with `not_found`.
    pub async fn remove_agent(&self, party: &str) -> Result<(), Error> {
        let request = self.request(Method::DELETE, &path(party));
        self.send(request).await.map(drop)
    }

    /// An agent's card as an A2A card of version 1.0; the exchange's own without a party.
    ///
    /// # Errors
    /// `Refused` with `not_found`.
    pub async fn agent_card(&self, party: Option<&str>) -> Result<AgentText, Error> {
        let path = match party {
            Some(party) => format!("{}/agent-card.json", path(party)),
            None => "/.well-known/agent-card.json".to_owned(),
        };
        self.agent_text(self.request(Method::GET, &path)).await
    }

    async fn agent_text(&self, request: reqwest::RequestBuilder) -> Result<AgentText, Error> {
        let response = self.send(request).await?;
        self.text(response).await
    }
}

fn path(party: &str) -> String {
    format!("/v1/agents/{}", segment(party))
}
