//! Places: how an inbox or a durable subscription delivers, what it holds, whether it hands out.

use crate::client::segment;
use crate::inbox::Place;
use crate::{Client, Error};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, RequestBuilder};
use serde::{Deserialize, Serialize};

/// How a place delivers. What is `None` is as the exchange does it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeliverySettings {
    /// How long a pulled delivery is reserved, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
    /// After so many failed attempts a delivery is a dead letter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// The wait after the first failed attempt, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_ms: Option<u64>,
    /// By what the wait grows with every further failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_multiplier: Option<f64>,
    /// The longest wait, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_ms_max: Option<u64>,
    /// Most deliveries that consumers hold at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_in_flight: Option<u32>,
    /// `conversation` or `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
}

impl DeliverySettings {
    /// Whether nothing differs from what the exchange does.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A place as it stands.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct PlaceState {
    /// Deliveries that nobody holds.
    pub waiting: u64,
    /// Deliveries that a consumer holds.
    pub leased: u64,
    /// Dead letters.
    pub dead: u64,
    /// Whether it hands out nothing for now.
    pub paused: bool,
    /// How it delivers.
    pub delivery: DeliverySettings,
    /// All of it as it came.
    #[serde(skip)]
    pub raw: String,
}

impl Client {
    /// A place as it stands.
    ///
    /// # Errors
    /// `Refused` with `not_found` for a subscription that does not exist.
    pub async fn place(&self, place: &Place) -> Result<PlaceState, Error> {
        let path = match place {
            Place::Inbox(party) => format!("/v1/inbox/{}?view=place", segment(party)),
            Place::Subscription(name) => format!("/v1/subscriptions/{}", segment(name)),
        };
        self.place_state(self.request(Method::GET, &path)).await
    }

    /// Gives the inbox of a party delivery settings of its own.
    ///
    /// # Errors
    /// `Refused` with `bad_request` for a value out of its range.
    pub async fn put_inbox(
        &self,
        party: &str,
        delivery: &DeliverySettings,
    ) -> Result<PlaceState, Error> {
        let body = serde_json::json!({ "delivery": delivery }).to_string();
        let request = self
            .request(Method::PUT, &format!("/v1/inbox/{}", segment(party)))
            .header(CONTENT_TYPE, "application/json")
            .body(body);
        self.place_state(request).await
    }

    /// Hands out nothing from a place for now, or again.
    ///
    /// # Errors
    /// `Refused` with `not_found`.
    pub async fn pause(&self, place: &Place, is_paused: bool) -> Result<PlaceState, Error> {
        let what = if is_paused { "pause" } else { "resume" };
        let path = match place {
            Place::Inbox(party) => format!("/v1/inbox/{}/{what}", segment(party)),
            Place::Subscription(name) => format!("/v1/subscriptions/{}/{what}", segment(name)),
        };
        self.place_state(self.request(Method::POST, &path)).await
    }

    async fn place_state(&self, request: RequestBuilder) -> Result<PlaceState, Error> {
        let response = self.send(request).await?;
        let text = self.text(response).await?;
        let mut state: PlaceState = serde_json::from_str(&text).map_err(|_| Error::Answer {
            expected: "a place",
            got: text.clone(),
        })?;
        state.raw = text;
        Ok(state)
    }
}
