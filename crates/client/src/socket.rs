//! The duplex door: publish, subscribe and settle over one WebSocket, subprotocol `interwire.v1`.
//!
//! Calls are answered by reference, so any number may be under way at once. A [`SocketReader`] that
//! is not read holds back the whole connection once its queue is full: read it, or give it a socket
//! of its own.

mod exchange;
mod frame;

use crate::backoff::Backoff;
use crate::inbox::{Place, Settled, read_settled};
use crate::{Error, Filter, Follow, From, Gap, MessageReceipt, Receipt};
use bytes::Bytes;
use exchange::{Answer, Asked, Wire};
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio_tungstenite::Connector;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error as WsError, http::HeaderValue};

/// Events that may wait for a reader before it holds back the connection.
const READER_QUEUE: usize = 1_024;

/// An open duplex connection. Clones share it; it closes when the last one is dropped.
#[derive(Clone, Debug)]
pub struct Socket {
    wire: Arc<Wire>,
}

/// What a reader on a socket gets.
#[derive(Clone, Debug)]
pub enum SocketEvent {
    /// An envelope.
    Deliver(SocketDelivery),
    /// Everything that was there when the reader came has been given.
    CaughtUp,
    /// The watched task has ended, with the envelope that was delivered last; the frame as JSON text.
    /// Nothing follows.
    Ended(String),
    /// What became of the watched message now.
    Receipt(Box<MessageReceipt>),
    /// Something is missing before what comes next.
    Gap(Gap),
    /// The exchange is shutting down: come back and go on after this place.
    Draining(Parting),
    /// This connection did not take its data: come back and go on after this place.
    SlowConsumer(Parting),
}

/// The last words about a reader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parting {
    /// Everything up to here was sent.
    pub cursor: String,
    /// Milliseconds to stay away, if the exchange said so.
    pub retry_ms: Option<u64>,
}

/// One envelope on a socket.
#[derive(Clone, Debug)]
pub struct SocketDelivery {
    /// Where it stands in the journal.
    pub cursor: String,
    /// The bytes.
    pub envelope: Bytes,
    /// Names the delivery when it is settled; only on durable readers.
    pub delivery: Option<String>,
    /// How often it has been handed out, from 1; 0 on live readers.
    pub attempt: u32,
    /// Whether it may have been handed out before, also by an earlier run of the exchange.
    pub redelivered: bool,
    /// RFC 3339 moment after which somebody else may get it; empty on live readers.
    pub lease_until: String,
    /// The envelope's id; empty when the exchange did not say it.
    pub id: String,
}

/// A publish that is under way.
#[derive(Debug)]
pub struct Submitted {
    asked: Asked,
}

/// One subscription on a socket. Unsubscribes when dropped.
#[derive(Debug)]
pub struct SocketReader {
    wire: Arc<Wire>,
    reference: u64,
    /// The cursor that the exchange named when it accepted the subscription.
    pub cursor: String,
    /// The name under which a durable reader reads; empty for others.
    pub consumer: String,
    events: mpsc::Receiver<Result<SocketEvent, Error>>,
}

impl Socket {
    pub(crate) async fn open(
        base: &str,
        token: Option<&str>,
        tls: &Arc<rustls::ClientConfig>,
    ) -> Result<Self, Error> {
        let address = format!("ws{}/v1/socket", base.strip_prefix("http").unwrap_or(base));
        let broken = |error: WsError| match error {
            WsError::Http(response) => {
                let status = response.status().as_u16();
                let body = response.into_body().unwrap_or_default();
                Error::Refused(Box::new(crate::Problem::read(status, &body)))
            }
            other => Error::unreachable(base, &other),
        };
        let mut request = address.into_client_request().map_err(broken)?;
        let headers = request.headers_mut();
        headers.insert(
            "sec-websocket-protocol",
            HeaderValue::from_static("interwire.v1"),
        );
        if let Some(token) = token {
            let value = HeaderValue::from_str(&format!("Bearer {token}"))
                .map_err(|_| Error::Input("expected a token that fits into a header".into()))?;
            headers.insert("authorization", value);
        }
        let tls = Some(Connector::Rustls(Arc::clone(tls)));
        let connecting = tokio_tungstenite::connect_async_tls_with_config(request, None, true, tls);
        let (stream, _) = connecting.await.map_err(broken)?;
        Ok(Self {
            wire: Arc::new(Wire::start(base.to_owned(), stream)),
        })
    }

    /// Publishes one envelope; returns after the exchange made it durable.
    ///
    /// # Errors
    /// `Input` when the bytes are not JSON as an exchange reads it, which no frame can carry. An
    /// envelope beyond the exchange's size or depth ends the connection, because its frame cannot be
    /// told from others; publish what may be over a limit with HTTP. Else as
    /// [`Client::publish`](crate::Client::publish).
    pub async fn publish(&self, envelope: impl AsRef<[u8]>) -> Result<Receipt, Error> {
        self.submit(envelope).await?.receipt().await
    }

    /// As [`Self::publish`], and tries again for up to `patience` while the exchange is overloaded, not
    /// before it wants to be asked again. A connection that ended stays ended: open another.
    ///
    /// # Errors
    /// As [`Self::publish`]; the last refusal when the time is over.
    pub async fn publish_within(
        &self,
        envelope: impl AsRef<[u8]>,
        patience: Duration,
    ) -> Result<Receipt, Error> {
        let start = Instant::now();
        let mut backoff = Backoff::default();
        loop {
            let refused = match self.publish(envelope.as_ref()).await {
                Err(Error::Refused(problem)) if problem.retryable => problem,
                done => return done,
            };
            let wait = backoff.next(refused.retry_after_ms);
            if start.elapsed() + wait > patience {
                return Err(Error::Refused(refused));
            }
            tokio::time::sleep(wait).await;
        }
    }

    /// Sends one envelope and returns once it is queued; the receipt is awaited apart. Envelopes
    /// submitted one after the other are published in that order.
    ///
    /// # Errors
    /// As [`Self::publish`], for what is known before the answer.
    pub async fn submit(&self, envelope: impl AsRef<[u8]>) -> Result<Submitted, Error> {
        let member = frame::member("envelope", envelope.as_ref())?;
        let asked = self.wire.begin("publish", &member).await?;
        Ok(Submitted { asked })
    }

    /// A live reader of everything that passes `filter`, beginning at `from`.
    ///
    /// # Errors
    /// `Refused`, such as `filter_malformed` or `cursor_unknown`.
    pub async fn subscribe(&self, filter: &Filter, from: &From) -> Result<SocketReader, Error> {
        self.follow(filter, from, Follow::default()).await
    }

    /// As [`Self::subscribe`], with a say in what happens when it cannot have everything.
    ///
    /// # Errors
    /// As [`Self::subscribe`], and `cursor_expired` when it shall end at a gap.
    pub async fn follow(
        &self,
        filter: &Filter,
        from: &From,
        follow: Follow,
    ) -> Result<SocketReader, Error> {
        let mut members = json!({ "filter": filter.to_json(), "from": from.to_string() });
        if let Some(object) = members.as_object_mut() {
            let asked = follow.pairs().into_iter();
            object.extend(asked.map(|(name, word)| (name.to_owned(), word.into())));
        }
        self.reader("subscribe", &members).await
    }

    /// A reader of one task: its envelopes from the first on, or after `from`, then
    /// [`SocketEvent::Ended`].
    ///
    /// # Errors
    /// `Refused` with `not_found`, `cursor_unknown`.
    pub async fn watch(&self, task: &str, from: Option<&From>) -> Result<SocketReader, Error> {
        let members = match from {
            Some(from) => json!({ "task": task, "from": from.to_string() }),
            None => json!({ "task": task }),
        };
        self.reader("watch", &members).await
    }

    /// A durable reader; at most `max_in_flight` deliveries are leased to it at once.
    ///
    /// # Errors
    /// `Refused`, such as `not_found` for a subscription that does not exist.
    pub async fn read(&self, place: &Place, max_in_flight: usize) -> Result<SocketReader, Error> {
        self.read_as(place, None, max_in_flight).await
    }

    /// As [`Self::read`], under the name of a consumer. Without one the connection has a name of its
    /// own: each connection is a consumer.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub async fn read_as(
        &self,
        place: &Place,
        consumer: Option<&str>,
        max_in_flight: usize,
    ) -> Result<SocketReader, Error> {
        let mut members = match place {
            Place::Inbox(party) => json!({ "inbox": party, "max_in_flight": max_in_flight }),
            Place::Subscription(name) => {
                json!({ "subscription": name, "max_in_flight": max_in_flight })
            }
        };
        if let (Some(name), Some(object)) = (consumer, members.as_object_mut()) {
            object.insert("consumer".into(), name.into());
        }
        self.reader("subscribe", &members).await
    }

    /// What became of the message with this id.
    ///
    /// # Errors
    /// `Refused` with `not_found` or `ambiguous_id`.
    pub async fn receipt(&self, id: &str, sender: Option<&str>) -> Result<MessageReceipt, Error> {
        let members = frame::members(&json!({ "id": id, "sender": sender }));
        match self.wire.call("receipt", &members).await? {
            Answer::Receipt(text) => MessageReceipt::read(&text),
            other => Err(other.unexpected("a receipt")),
        }
    }

    /// What becomes of the message with this id.
    ///
    /// # Errors
    /// As [`Self::receipt`].
    pub async fn watch_receipt(
        &self,
        id: &str,
        sender: Option<&str>,
    ) -> Result<SocketWatch, Error> {
        let members = frame::members(&json!({ "id": id, "sender": sender }));
        let (events, receiver) = mpsc::channel(READER_QUEUE);
        let (reference, answer) = self.wire.subscribe("watch", &members, events).await?;
        match answer {
            Answer::Receipt(text) => Ok(SocketWatch {
                next: Some(Box::new(MessageReceipt::read(&text)?)),
                is_over: false,
                reader: SocketReader {
                    wire: Arc::clone(&self.wire),
                    reference,
                    cursor: String::new(),
                    consumer: String::new(),
                    events: receiver,
                },
            }),
            other => Err(other.unexpected("a receipt")),
        }
    }

    async fn reader(&self, op: &str, members: &serde_json::Value) -> Result<SocketReader, Error> {
        let (events, receiver) = mpsc::channel(READER_QUEUE);
        let (reference, answer) = self
            .wire
            .subscribe(op, &frame::members(members), events)
            .await?;
        match answer {
            Answer::Subscribed { cursor, consumer } => {
                let wire = Arc::clone(&self.wire);
                Ok(SocketReader {
                    wire,
                    reference,
                    cursor,
                    consumer,
                    events: receiver,
                })
            }
            other => Err(other.unexpected("a subscription")),
        }
    }

    /// Acknowledges; one result per delivery.
    ///
    /// # Errors
    /// As every call; a delivery that came too late is in the results.
    pub async fn ack(&self, deliveries: &[&str]) -> Result<Vec<Settled>, Error> {
        self.settle("ack", deliveries, json!({})).await
    }

    /// Gives back, to be handed out again after `retry_after_ms` if given; one result per delivery.
    ///
    /// # Errors
    /// As [`Self::ack`].
    pub async fn nack(
        &self,
        deliveries: &[&str],
        retry_after_ms: Option<u64>,
    ) -> Result<Vec<Settled>, Error> {
        let extra = retry_after_ms.map_or(json!({}), |wait| json!({ "retry_after_ms": wait }));
        self.settle("nack", deliveries, extra).await
    }

    /// Makes dead letters of deliveries; one result per delivery.
    ///
    /// # Errors
    /// As [`Self::ack`].
    pub async fn reject(&self, deliveries: &[&str], reason: &str) -> Result<Vec<Settled>, Error> {
        self.settle("reject", deliveries, json!({ "reason": reason }))
            .await
    }

    /// Starts leases again; one result per delivery.
    ///
    /// # Errors
    /// As [`Self::ack`].
    pub async fn extend(&self, deliveries: &[&str]) -> Result<Vec<Settled>, Error> {
        self.settle("extend", deliveries, json!({})).await
    }

    async fn settle(
        &self,
        op: &'static str,
        deliveries: &[&str],
        mut members: serde_json::Value,
    ) -> Result<Vec<Settled>, Error> {
        if let Some(object) = members.as_object_mut() {
            object.insert("deliveries".into(), deliveries.into());
        }
        match self.wire.call(op, &frame::members(&members)).await? {
            Answer::Settled(text) => read_settled(&text, deliveries.len()),
            other => Err(other.unexpected("one result per delivery")),
        }
    }

    /// Asks for a sign of life.
    ///
    /// # Errors
    /// `Closed` when there is none.
    pub async fn ping(&self) -> Result<(), Error> {
        match self.wire.call("ping", "").await? {
            Answer::Pong => Ok(()),
            other => Err(other.unexpected("a pong")),
        }
    }
}

impl Submitted {
    /// The receipt, after the exchange made the envelope durable.
    ///
    /// # Errors
    /// As [`Socket::publish`].
    pub async fn receipt(self) -> Result<Receipt, Error> {
        match self.asked.answer().await? {
            Answer::Receipt(text) => Receipt::read(&text).ok_or(Error::Answer {
                expected: "a receipt",
                got: text,
            }),
            other => Err(other.unexpected("a receipt")),
        }
    }
}

impl SocketReader {
    /// The next event; `None` after the connection or the watched task has ended and everything was
    /// read.
    ///
    /// # Errors
    /// `Refused` when the exchange ended this subscription.
    pub async fn next(&mut self) -> Result<Option<SocketEvent>, Error> {
        self.events.recv().await.transpose()
    }
}

/// A watched receipt on a socket.
#[derive(Debug)]
pub struct SocketWatch {
    reader: SocketReader,
    next: Option<Box<MessageReceipt>>,
    is_over: bool,
}

impl SocketWatch {
    /// The receipt as it is, and then each time that it is another; `None` after it was final, or
    /// after the connection has ended.
    ///
    /// # Errors
    /// `Refused` when the exchange ended the watch.
    pub async fn next(&mut self) -> Result<Option<MessageReceipt>, Error> {
        while !self.is_over {
            let receipt = match self.next.take() {
                Some(first) => first,
                None => match self.reader.next().await? {
                    Some(SocketEvent::Receipt(receipt)) => receipt,
                    // The connection is about to end.
                    Some(_) => continue,
                    None => break,
                },
            };
            self.is_over = receipt.is_final;
            return Ok(Some(*receipt));
        }
        Ok(None)
    }
}

impl Drop for SocketReader {
    fn drop(&mut self) {
        self.wire.unsubscribe(self.reference);
    }
}
