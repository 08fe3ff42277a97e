//! Tasks: what was asked for, where it stands, calling it off.

use crate::client::segment;
use crate::{Client, Error, Receipt};
use reqwest::Method;
use reqwest::header::CONTENT_TYPE;

/// A task or a list of tasks as the exchange shows it, JSON text.
pub type TaskText = String;

/// Which tasks are asked for. The default asks for all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskQuery {
    /// In one of these states; `open` and `ended` stand for several. Empty is any.
    pub states: Vec<String>,
    /// Of this conversation.
    pub conversation: Option<String>,
    /// Asked for or worked on by this party.
    pub party: Option<String>,
    /// At most so many.
    pub limit: Option<u64>,
}

impl Client {
    /// Tasks that are open or ended lately, the newest first: `{"tasks":[...],"more":bool}`.
    ///
    /// # Errors
    /// `Refused` with `bad_request`.
    pub async fn tasks(&self, query: &TaskQuery) -> Result<TaskText, Error> {
        let mut pairs: Vec<(&str, String)> = Vec::new();
        pairs.extend(query.states.iter().map(|state| ("state", state.clone())));
        let texts = [
            ("conversation", &query.conversation),
            ("party", &query.party),
        ];
        for (name, text) in texts {
            pairs.extend(text.iter().map(|text| (name, text.clone())));
        }
        pairs.extend(query.limit.map(|limit| ("limit", limit.to_string())));
        let request = self.request(Method::GET, "/v1/tasks").query(&pairs);
        let response = self.send(request).await?;
        self.text(response).await
    }

    /// One task with its past.
    ///
    /// # Errors
    /// `Refused` with `not_found`.
    pub async fn task(&self, id: &str) -> Result<TaskText, Error> {
        let path = format!("/v1/tasks/{}", segment(id));
        let response = self.send(self.request(Method::GET, &path)).await?;
        self.text(response).await
    }

    /// Asks those who work on a task to end it; the receipt of that request. `party` is who asks,
    /// without it the exchange.
    ///
    /// # Errors
    /// `Refused` with `not_found`, `illegal_transition` (it has ended) or `unknown_recipient` (nobody
    /// works on it).
    pub async fn cancel_task(
        &self,
        id: &str,
        reason: Option<&str>,
        party: Option<&str>,
    ) -> Result<Receipt, Error> {
        let mut body = serde_json::Map::new();
        for (name, text) in [("reason", reason), ("as", party)] {
            if let Some(text) = text {
                body.insert(name.into(), text.into());
            }
        }
        let request = self
            .request(Method::POST, &format!("/v1/tasks/{}/cancel", segment(id)))
            .header(CONTENT_TYPE, "application/json")
            .body(serde_json::Value::Object(body).to_string());
        let response = self.send(request).await?;
        let text = self.text(response).await?;
        Receipt::read(&text).ok_or(Error::Answer {
            expected: "a receipt",
            got: text,
        })
    }
}
