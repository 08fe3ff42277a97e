//! An exchange in another process, as the MCP tools need it.

use crate::identity;
use bytes::Bytes;
use client::{
    AgentQuery, AskEvent, Client, Error, Event, Filter, From, Place, Subscription, TaskQuery,
    TraceFormat, TraceOptions,
};
use doors::mcp::{Delivered, Ended, Exchange, Pairs, Refusal, Settling, TraceForm};
use protocol::{Code, Timestamp};
use serde_json::Value;
use std::time::Duration;
use tokio::sync::mpsc;

/// How long a publish is tried again while the exchange is away. The bytes stay the same.
const PATIENCE: Duration = Duration::from_secs(10);

/// Pause after the exchange could not be reached by a reader that only watches.
const WATCH_PAUSE: Duration = Duration::from_secs(1);

/// The exchange behind a client.
#[derive(Clone, Debug)]
pub struct Remote {
    client: Client,
}

impl Remote {
    pub fn new(client: Client) -> Self {
        Self { client }
    }
}

impl Exchange for Remote {
    fn now(&self) -> Timestamp {
        identity::now()
    }

    async fn publish(&self, envelope: Bytes) -> Result<Value, Refusal> {
        let receipt = self.client.publish_within(envelope, PATIENCE).await;
        read(&receipt.map_err(refusal)?.raw)
    }

    async fn ask(
        &self,
        envelope: Bytes,
        timeout: Duration,
        progress: mpsc::Sender<Bytes>,
    ) -> Result<Ended, Refusal> {
        let mut asking = self.client.ask_and_watch(envelope, timeout);
        let mut asked = Value::Null;
        loop {
            match asking.next().await.map_err(refusal)? {
                AskEvent::Asked { receipt, .. } => asked = read(&receipt.raw)?,
                AskEvent::Progress { envelope, .. } => {
                    // Who has gone needs no progress.
                    let _ = progress.send(envelope).await;
                }
                AskEvent::Reconnecting(reason) => tracing::info!(reason, "asking again"),
                AskEvent::Reply(reply) => {
                    return Ok(Ended {
                        task: reply.task,
                        state: reply.state,
                        cursor: reply.cursor,
                        envelope: reply.envelope,
                        receipt: asked,
                    });
                }
            }
        }
    }

    async fn pull(
        &self,
        party: &str,
        max: usize,
        wait: Duration,
    ) -> Result<Vec<Delivered>, Refusal> {
        let place = Place::Inbox(party.to_owned());
        let pulled = self.client.pull(&place, max, wait).await.map_err(refusal)?;
        let delivered = |one: client::Delivery| Delivered {
            delivery: one.delivery.clone(),
            attempt: one.attempt,
            lease_until: one.lease_until.clone(),
            cursor: one.cursor.clone(),
            envelope: one.envelope.clone(),
        };
        Ok(pulled.into_iter().map(delivered).collect())
    }

    async fn settle(
        &self,
        deliveries: Vec<String>,
        how: Settling,
    ) -> Result<Vec<Result<(), Refusal>>, Refusal> {
        let (how, extra) = match how {
            Settling::Ack => ("ack", serde_json::json!({})),
            Settling::Nack {
                retry_after_ms: None,
                reason,
            } => ("nack", serde_json::json!({ "reason": reason })),
            Settling::Nack {
                retry_after_ms: Some(ms),
                reason,
            } => (
                "nack",
                serde_json::json!({ "reason": reason, "retry_after_ms": ms }),
            ),
            Settling::Reject { reason } => ("reject", serde_json::json!({ "reason": reason })),
        };
        let names: Vec<&str> = deliveries.iter().map(String::as_str).collect();
        let settled = self.client.settle(how, &names, extra).await;
        let one = |settled: client::Settled| settled.map_err(|problem| of_problem(&problem));
        Ok(settled.map_err(refusal)?.into_iter().map(one).collect())
    }

    async fn message(&self, id: &str, sender: Option<&str>) -> Result<Bytes, Refusal> {
        let message = self.client.message(id, sender).await.map_err(refusal)?;
        Ok(message.envelope)
    }

    async fn page(&self, filter: Pairs, limit: usize) -> Result<Vec<Bytes>, Refusal> {
        let filter = query(&filter);
        let page = self.client.page(&filter, &From::Earliest, limit).await;
        Ok(page.map_err(refusal)?.envelopes)
    }

    async fn trace(&self, id: &str, form: TraceForm) -> Result<String, Refusal> {
        let options = TraceOptions {
            format: match form {
                TraceForm::Text => TraceFormat::Text,
                TraceForm::Json => TraceFormat::Json,
                TraceForm::Mermaid => TraceFormat::Mermaid,
            },
            ..TraceOptions::default()
        };
        let trace = self.client.trace(id, &options).await.map_err(refusal)?;
        let whole = trace.whole().await.map_err(refusal)?;
        Ok(String::from_utf8_lossy(&whole).into_owned())
    }

    async fn task(&self, id: &str) -> Result<Value, Refusal> {
        read(&self.client.task(id).await.map_err(refusal)?)
    }

    async fn tasks(&self, limit: usize) -> Result<Value, Refusal> {
        let query = TaskQuery {
            limit: u64::try_from(limit).ok(),
            ..TaskQuery::default()
        };
        read(&self.client.tasks(&query).await.map_err(refusal)?)
    }

    async fn agents(&self, words: &str, limit: usize) -> Result<Value, Refusal> {
        let query = AgentQuery {
            limit: u64::try_from(limit).ok(),
            ..AgentQuery::default()
        };
        let mut query = query.with("presence", "any");
        if !words.trim().is_empty() {
            query = query.with("q", words);
        }
        read(&self.client.agents(&query).await.map_err(refusal)?)
    }

    async fn subscriptions(&self) -> Result<Value, Refusal> {
        read(&self.client.subscriptions().await.map_err(refusal)?)
    }

    async fn place(&self, party: &str) -> Result<Value, Refusal> {
        let place = Place::Inbox(party.to_owned());
        read(&self.client.place(&place).await.map_err(refusal)?.raw)
    }

    async fn watch(&self, filter: Pairs) -> Result<mpsc::Receiver<()>, Refusal> {
        let open = |client: &Client| client.subscribe(query(&filter), From::Latest);
        let mut reader = open(&self.client);
        // The first event says that the reader is there.
        let first = reader.next().await;
        let mut is_away = match first {
            Ok(_) => false,
            Err(error) if error.is_retryable() => true,
            Err(error) => return Err(refusal(error)),
        };
        let (tell, told) = mpsc::channel(1);
        let (client, filter) = (self.client.clone(), filter.clone());
        tokio::spawn(async move {
            loop {
                if is_away {
                    tokio::time::sleep(WATCH_PAUSE).await;
                    reader = client.subscribe(query(&filter), From::Latest);
                }
                let came = tokio::select! {
                    came = next(&mut reader, &mut is_away) => came,
                    () = tell.closed() => return,
                };
                if came {
                    // A full channel means that it is told already.
                    let _ = tell.try_send(());
                }
            }
        });
        Ok(told)
    }
}

/// Waits for the next event; whether it may mean that something came.
async fn next(reader: &mut Subscription, is_away: &mut bool) -> bool {
    match reader.next().await {
        Ok(Event::Envelope { .. } | Event::Gap(_)) => true,
        // After an absence something may have come.
        Ok(Event::CaughtUp) => std::mem::take(is_away),
        Ok(Event::Reconnecting(_)) => false,
        Err(error) => {
            tracing::info!(%error, "watching begins anew");
            *is_away = true;
            false
        }
    }
}

fn query(pairs: &Pairs) -> Filter {
    pairs.iter().fold(Filter::new(), |filter, (field, value)| {
        filter.with(field, value)
    })
}

fn read(text: &str) -> Result<Value, Refusal> {
    serde_json::from_str(text).map_err(|_| {
        let detail = format!("expected JSON from the exchange, got {text:?}");
        Refusal::new(Code::InternalError, "", detail)
    })
}

fn of_problem(problem: &client::Problem) -> Refusal {
    Refusal::read(&problem.raw)
        .unwrap_or_else(|| Refusal::new(Code::Unreachable, "", problem.to_string()))
}

fn refusal(error: Error) -> Refusal {
    match error {
        Error::Refused(problem) => of_problem(&problem),
        Error::Input(detail) => Refusal::of_arguments("", detail),
        Error::Unreachable { .. } | Error::Closed | Error::Answer { .. } => {
            Refusal::new(Code::Unreachable, "", error.to_string())
        }
    }
}
