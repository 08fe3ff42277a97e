//! Durable subscriptions by name.

use crate::client::segment;
use crate::{Client, DeliverySettings, Error, Filter};
use reqwest::Method;
use reqwest::header::CONTENT_TYPE;

/// A durable subscription as the exchange shows it, JSON text.
pub type DurableSubscription = String;

impl Client {
    /// Creates or confirms a durable subscription; `deliver_to` also puts its messages into that
    /// party's inbox.
    ///
    /// # Errors
    /// `Refused` with `subscription_conflict` when the name stands for another filter.
    pub async fn put_subscription(
        &self,
        name: &str,
        filter: &Filter,
        deliver_to: Option<&str>,
    ) -> Result<DurableSubscription, Error> {
        self.put_subscription_with(name, filter, deliver_to, None)
            .await
    }

    /// As [`Self::put_subscription`], with delivery settings of its own; without them those it has
    /// stay.
    ///
    /// # Errors
    /// As [`Self::put_subscription`], and `bad_request` for a value out of its range.
    pub async fn put_subscription_with(
        &self,
        name: &str,
        filter: &Filter,
        deliver_to: Option<&str>,
        delivery: Option<&DeliverySettings>,
    ) -> Result<DurableSubscription, Error> {
        let mut body = serde_json::json!({ "filter": filter.to_json() });
        if let (Some(party), Some(object)) = (deliver_to, body.as_object_mut()) {
            object.insert("deliver_to".into(), party.into());
        }
        if let (Some(delivery), Some(object)) = (delivery, body.as_object_mut()) {
            object.insert("delivery".into(), serde_json::json!(delivery));
        }
        let request = self
            .request(Method::PUT, &format!("/v1/subscriptions/{}", segment(name)))
            .header(CONTENT_TYPE, "application/json")
            .body(body.to_string());
        let response = self.send(request).await?;
        self.text(response).await
    }

    /// All durable subscriptions, one JSON document.
    ///
    /// # Errors
    /// As every request.
    pub async fn subscriptions(&self) -> Result<String, Error> {
        let response = self
            .send(self.request(Method::GET, "/v1/subscriptions"))
            .await?;
        self.text(response).await
    }

    /// Removes a durable subscription and what waits in it.
    ///
    /// # Errors
    /// `Refused` with `not_found`.
    pub async fn remove_subscription(&self, name: &str) -> Result<(), Error> {
        let path = format!("/v1/subscriptions/{}", segment(name));
        self.send(self.request(Method::DELETE, &path))
            .await
            .map(drop)
    }
}
