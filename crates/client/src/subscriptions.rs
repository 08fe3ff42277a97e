//! Durable subscriptions by name.

use crate::client::segment;
use crate::{Client, DeliverySettings, Error, Filter};
use reqwest::Method;
use reqwest::header::CONTENT_TYPE;

/// A durable subscription as the exchange shows it, JSON text.
pub type DurableSubscription = String;

/// Where the deliveries of a subscription are pushed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Pushing {
    /// As it is; of a new one nowhere.
    #[default]
    AsItIs,
    /// Nowhere: somebody pulls them.
    Nowhere,
    /// To an address, signed.
    To {
        /// The address.
        url: String,
        /// `whsec_` and a key in base64; without one the one it has, else a new one.
        secret: Option<String>,
    },
}

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
        self.put_subscription_pushing(name, filter, deliver_to, delivery, &Pushing::AsItIs)
            .await
    }

    /// As [`Self::put_subscription_with`], and says where its deliveries are pushed. When the exchange
    /// makes the secret of signatures, it is in this answer and in no other.
    ///
    /// # Errors
    /// As [`Self::put_subscription_with`], and `bad_request` at `/push/url` for an address that may not
    /// be called.
    pub async fn put_subscription_pushing(
        &self,
        name: &str,
        filter: &Filter,
        deliver_to: Option<&str>,
        delivery: Option<&DeliverySettings>,
        pushing: &Pushing,
    ) -> Result<DurableSubscription, Error> {
        let mut body = serde_json::json!({ "filter": filter.to_json() });
        if let (Some(party), Some(object)) = (deliver_to, body.as_object_mut()) {
            object.insert("deliver_to".into(), party.into());
        }
        if let (Some(delivery), Some(object)) = (delivery, body.as_object_mut()) {
            object.insert("delivery".into(), serde_json::json!(delivery));
        }
        let push = match pushing {
            Pushing::AsItIs => None,
            Pushing::Nowhere => Some(serde_json::Value::Null),
            Pushing::To { url, secret } => Some(match secret {
                Some(secret) => serde_json::json!({ "url": url, "secret": secret }),
                None => serde_json::json!({ "url": url }),
            }),
        };
        if let (Some(push), Some(object)) = (push, body.as_object_mut()) {
            object.insert("push".into(), push);
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
