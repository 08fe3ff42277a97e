//! Durable reading: deliveries with a lease, settled one by one.

use crate::backoff::Backoff;
use crate::client::segment;
use crate::{Client, Error, Problem};
use bytes::Bytes;
use protocol::DialectName;
use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::VecDeque;
use std::time::Duration;

/// A durable place to read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The inbox of a party, in any dialect's spelling.
    Inbox(String),
    /// A durable subscription, by name.
    Subscription(String),
}

impl Place {
    fn path(&self) -> String {
        match self {
            Self::Inbox(party) => format!("/v1/inbox/{}", segment(party)),
            Self::Subscription(name) => format!("/v1/subscriptions/{}/deliveries", segment(name)),
        }
    }
}

/// A reader of one durable place. Keeps pulling; a broken connection is tried again.
#[derive(Debug)]
pub struct Inbox {
    client: Client,
    place: Place,
    consumer: Option<String>,
    dialect: Option<DialectName>,
    waiting: VecDeque<Delivery>,
    max: usize,
    wait: Duration,
    backoff: Backoff,
    patience: Option<u32>,
}

/// One envelope handed to this consumer. Settle it before `lease_until`.
#[derive(Clone, Debug)]
pub struct Delivery {
    client: Client,
    /// Names this delivery when it is settled.
    pub delivery: String,
    /// The envelope's id.
    pub id: String,
    /// How often it has been handed out, from 1.
    pub attempt: u32,
    /// Whether it may have been handed out before, also by an earlier run of the exchange.
    pub redelivered: bool,
    /// RFC 3339 moment after which somebody else may get it.
    pub lease_until: String,
    /// Where it stands in the journal.
    pub cursor: String,
    /// The bytes.
    pub envelope: Bytes,
    /// The code of why it is not in the dialect that was asked for.
    pub untranslated: Option<String>,
}

/// What became of one delivery that was settled: nothing, or why it could not be.
pub type Settled = Result<(), Box<Problem>>;

#[derive(Deserialize)]
struct Pulled<'a> {
    #[serde(borrow)]
    deliveries: Vec<Handed<'a>>,
}

#[derive(Deserialize)]
struct Handed<'a> {
    delivery: String,
    #[serde(default)]
    id: String,
    attempt: u32,
    #[serde(default)]
    redelivered: bool,
    #[serde(default)]
    lease_until: String,
    #[serde(default)]
    cursor: String,
    #[serde(borrow)]
    envelope: &'a RawValue,
    untranslated: Option<Untranslated>,
}

#[derive(Deserialize)]
struct Untranslated {
    code: String,
}

impl Client {
    /// A reader of the inbox of a party.
    #[must_use]
    pub fn inbox(&self, party: &str) -> Inbox {
        self.read(Place::Inbox(party.to_owned()))
    }

    /// A reader of any durable place.
    #[must_use]
    pub fn read(&self, place: Place) -> Inbox {
        Inbox {
            client: self.clone(),
            place,
            consumer: None,
            dialect: None,
            waiting: VecDeque::new(),
            max: 16,
            wait: Duration::from_secs(20),
            backoff: Backoff::default(),
            patience: None,
        }
    }

    /// Pulls once: up to `max` deliveries, waiting up to `wait` for the first.
    ///
    /// # Errors
    /// As every request.
    pub async fn pull(
        &self,
        place: &Place,
        max: usize,
        wait: Duration,
    ) -> Result<Vec<Delivery>, Error> {
        self.pull_as(place, None, max, wait).await
    }

    /// As [`Self::pull`], under the name of a consumer: a conversation is with one consumer of a place
    /// at a time. All who give no name are one consumer.
    ///
    /// # Errors
    /// As every request.
    pub async fn pull_as(
        &self,
        place: &Place,
        consumer: Option<&str>,
        max: usize,
        wait: Duration,
    ) -> Result<Vec<Delivery>, Error> {
        self.pull_in(place, consumer, None, max, wait).await
    }

    /// As [`Self::pull_as`], with envelopes in `dialect`, whatever they were sent in.
    ///
    /// # Errors
    /// As every request.
    pub async fn pull_in(
        &self,
        place: &Place,
        consumer: Option<&str>,
        dialect: Option<DialectName>,
        max: usize,
        wait: Duration,
    ) -> Result<Vec<Delivery>, Error> {
        let mut query = vec![
            ("max", max.to_string()),
            ("wait_ms", wait.as_millis().to_string()),
        ];
        query.extend(consumer.map(|name| ("consumer", name.to_owned())));
        query.extend(dialect.map(|dialect| ("as", dialect.as_str().to_owned())));
        let request = self.request(Method::GET, &place.path()).query(&query);
        let response = self.send(request).await?;
        let text = self.text(response).await?;
        let pulled: Pulled<'_> = serde_json::from_str(&text).map_err(|_| Error::Answer {
            expected: "a list of deliveries",
            got: text.clone(),
        })?;
        let deliveries = pulled.deliveries.into_iter().map(|handed| Delivery {
            client: self.clone(),
            delivery: handed.delivery,
            id: handed.id,
            attempt: handed.attempt,
            redelivered: handed.redelivered,
            lease_until: handed.lease_until,
            cursor: handed.cursor,
            envelope: Bytes::copy_from_slice(handed.envelope.get().as_bytes()),
            untranslated: handed.untranslated.map(|fault| fault.code),
        });
        Ok(deliveries.collect())
    }

    /// Hands over what a consumer holds of a place, because it leaves.
    ///
    /// # Errors
    /// As every request.
    pub async fn leave(&self, place: &Place, consumer: &str) -> Result<(), Error> {
        let mut body = match place {
            Place::Inbox(party) => serde_json::json!({ "inbox": party }),
            Place::Subscription(name) => serde_json::json!({ "subscription": name }),
        };
        if let Some(object) = body.as_object_mut() {
            object.insert("consumer".into(), consumer.into());
        }
        let request = self
            .request(Method::POST, "/v1/deliveries/leave")
            .header(CONTENT_TYPE, "application/json")
            .body(body.to_string());
        self.send(request).await.map(drop)
    }

    /// Settles deliveries; one result for each, in order.
    ///
    /// # Errors
    /// As every request; a delivery that came too late is in the results.
    pub async fn settle(
        &self,
        how: &'static str,
        deliveries: &[&str],
        extra: serde_json::Value,
    ) -> Result<Vec<Settled>, Error> {
        let mut body = extra;
        if !body.is_object() {
            body = serde_json::json!({});
        }
        if let Some(object) = body.as_object_mut() {
            object.insert("deliveries".into(), deliveries.into());
        }
        let request = self
            .request(Method::POST, &format!("/v1/deliveries/{how}"))
            .header(CONTENT_TYPE, "application/json")
            .body(body.to_string());
        let response = self.send(request).await?;
        let text = self.text(response).await?;
        read_settled(&text, deliveries.len())
    }
}

#[derive(Deserialize)]
struct Results<'a> {
    #[serde(borrow)]
    results: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct OneResult<'a> {
    #[serde(borrow)]
    fault: Option<&'a RawValue>,
}

/// Reads `{"results":[{"delivery","status"|"ok"} | {"delivery","fault"}]}`.
pub(crate) fn read_settled(text: &str, count: usize) -> Result<Vec<Settled>, Error> {
    let unexpected = || Error::Answer {
        expected: "one result per delivery",
        got: text.to_owned(),
    };
    let read: Results<'_> = serde_json::from_str(text).map_err(|_| unexpected())?;
    if read.results.len() != count {
        return Err(unexpected());
    }
    let one = |raw: &RawValue| -> Result<Settled, Error> {
        let result: OneResult<'_> = serde_json::from_str(raw.get()).map_err(|_| unexpected())?;
        Ok(match result.fault {
            Some(fault) => Err(Box::new(Problem::read(0, fault.get().as_bytes()))),
            None => Ok(()),
        })
    };
    read.results.into_iter().map(one).collect()
}

impl Inbox {
    /// How many deliveries one pull may bring. They are leased from then on: take no more than can
    /// be worked through within a lease.
    #[must_use]
    pub fn max_in_flight(mut self, max: usize) -> Self {
        self.max = max.max(1);
        self
    }

    /// The name under which it reads, when several share the place.
    #[must_use]
    pub fn consumer(mut self, name: &str) -> Self {
        self.consumer = Some(name.to_owned());
        self
    }

    /// The dialect that envelopes come in, whatever they were sent in. One that cannot be said there comes
    /// as it was sent, and [`Delivery::untranslated`] says why.
    #[must_use]
    pub fn in_dialect(mut self, dialect: DialectName) -> Self {
        self.dialect = Some(dialect);
        self
    }

    /// How long one pull waits for something to come.
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// Give up after this many broken connections in a row; without it, tries for ever.
    #[must_use]
    pub fn patience(mut self, failures: u32) -> Self {
        self.patience = Some(failures);
        self
    }

    /// The next delivery; waits for it, for ever if need be.
    ///
    /// # Errors
    /// `Refused`, unless the refusal says that trying again may help.
    pub async fn next(&mut self) -> Result<Delivery, Error> {
        loop {
            if let Some(delivery) = self.next_now().await? {
                return Ok(delivery);
            }
        }
    }

    /// The next delivery, or `None` when nothing came within one wait.
    ///
    /// # Errors
    /// As [`Self::next`].
    pub async fn next_now(&mut self) -> Result<Option<Delivery>, Error> {
        let mut failures = 0;
        loop {
            if let Some(delivery) = self.waiting.pop_front() {
                return Ok(Some(delivery));
            }
            let consumer = self.consumer.as_deref();
            let pulled =
                self.client
                    .pull_in(&self.place, consumer, self.dialect, self.max, self.wait);
            match pulled.await {
                Ok(deliveries) => {
                    self.backoff.reset();
                    self.waiting.extend(deliveries);
                    if self.waiting.is_empty() {
                        return Ok(None);
                    }
                }
                Err(error) if error.is_retryable() => {
                    failures += 1;
                    if self.patience.is_some_and(|patience| failures > patience) {
                        return Err(error);
                    }
                    tokio::time::sleep(self.backoff.next(error.retry_after_ms())).await;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

impl Delivery {
    /// Done: it is not handed out again. Durable when this returns.
    ///
    /// # Errors
    /// `Refused` with `lease_lost` when somebody else has it by now.
    pub async fn ack(&self) -> Result<(), Error> {
        self.settle("ack", serde_json::json!({})).await
    }

    /// Not done: hand it out again, after `delay` if given.
    ///
    /// # Errors
    /// As [`Self::ack`].
    pub async fn nack(&self, delay: Option<Duration>) -> Result<(), Error> {
        self.nack_because(delay, "").await
    }

    /// As [`Self::nack`], with a reason for whoever looks at it later.
    ///
    /// # Errors
    /// As [`Self::ack`].
    pub async fn nack_because(&self, delay: Option<Duration>, reason: &str) -> Result<(), Error> {
        let mut extra = serde_json::json!({ "reason": reason });
        if let (Some(delay), Some(object)) = (delay, extra.as_object_mut()) {
            object.insert("retry_after_ms".into(), millis(delay).into());
        }
        self.settle("nack", extra).await
    }

    /// Never: it is a dead letter at once.
    ///
    /// # Errors
    /// As [`Self::ack`].
    pub async fn reject(&self, reason: &str) -> Result<(), Error> {
        self.settle("reject", serde_json::json!({ "reason": reason }))
            .await
    }

    /// Still at it: the lease starts again.
    ///
    /// # Errors
    /// As [`Self::ack`].
    pub async fn extend(&self, lease: Option<Duration>) -> Result<(), Error> {
        let extra = match lease {
            Some(lease) => serde_json::json!({ "lease_ms": millis(lease) }),
            None => serde_json::json!({}),
        };
        self.settle("extend", extra).await
    }

    async fn settle(&self, how: &'static str, extra: serde_json::Value) -> Result<(), Error> {
        let results = self
            .client
            .settle(how, &[self.delivery.as_str()], extra)
            .await?;
        match results.into_iter().next() {
            Some(Err(problem)) => Err(Error::Refused(problem)),
            Some(Ok(())) | None => Ok(()),
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::read_settled;

    #[test]
    fn a_late_settlement_carries_its_fault() {
        let text = r#"{"results":[{"delivery":"1.2.3","status":"acked"},
            {"delivery":"1.2.4","fault":{"code":"lease_lost","status":409}}]}"#;
        let results = read_settled(text, 2).unwrap();
        assert!(results[0].is_ok());
        assert_eq!(results[1].as_ref().unwrap_err().code, "lease_lost");
        assert!(read_settled(text, 3).is_err());
    }
}
