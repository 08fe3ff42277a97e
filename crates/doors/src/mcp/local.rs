//! The exchange of this process.

use super::{Delivered, Ended, Exchange, Pairs, Refusal, Settling, TraceForm};
use crate::http::deliveries::Settlement;
use crate::http::door::Door;
use crate::http::inbox::Pull;
use crate::http::{agents, ask, places, subscriptions, task_json};
use broker::{
    AgentQuery, From, Handle, PlaceName, Presence, Settle, TaskNews, TraceQuery, TraceStyle,
};
use bytes::Bytes;
use protocol::task::TaskFilter;
use protocol::{Code, Filter, Party, Timestamp};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

/// Messages that one reader takes at a time only to say that something came.
const BATCH_MAX: usize = 256;

/// The exchange behind the door, through the handle of one connection.
#[derive(Clone)]
pub(crate) struct Local {
    door: Arc<Door>,
    handle: Handle,
}

impl Local {
    pub(crate) fn new(door: Arc<Door>, handle: Handle) -> Self {
        Self { door, handle }
    }
}

impl Exchange for Local {
    fn now(&self) -> Timestamp {
        self.handle.now()
    }

    async fn publish(&self, envelope: Bytes) -> Result<Value, Refusal> {
        let receipt = self.handle.accept(envelope).await?;
        Ok(read(&receipt.to_json()))
    }

    async fn ask(
        &self,
        envelope: Bytes,
        timeout: Duration,
        progress: mpsc::Sender<Bytes>,
    ) -> Result<Ended, Refusal> {
        let until = Instant::now() + timeout;
        let (receipt, task) = self.handle.open_task(envelope).await?;
        let from = From::Cursor(receipt.cursor.to_string());
        let mut tail = self.handle.follow_task(&task, Some(&from)).await?;
        loop {
            let news = tokio::select! {
                biased;
                news = timeout_at(until, tail.next()) => news,
                () = self.door.stop.draining() => {
                    let detail = "expected an exchange that waits for the reply, got one that is \
                                  shutting down; ask again with the same envelope";
                    return Err(Refusal::new(Code::Draining, "", detail));
                }
            };
            match news {
                Err(_) => {
                    let wait_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
                    return Err(ask::no_reply(&self.door, tail.id(), wait_ms).await.into());
                }
                Ok(Err(rejection)) => return Err(rejection.into()),
                Ok(Ok(TaskNews::Envelope(entry))) => {
                    // Who has gone needs no progress.
                    let _ = progress.send(entry.envelope.clone()).await;
                }
                Ok(Ok(TaskNews::Gap(_))) => {}
                Ok(Ok(TaskNews::Ended { state, entry, .. })) => {
                    return Ok(Ended {
                        task: tail.id().to_owned(),
                        state: state.as_str().to_owned(),
                        cursor: self.handle.cursor(&entry).to_string(),
                        envelope: entry.envelope.clone(),
                        receipt: read(&receipt.to_json()),
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
        let pull = Pull {
            place: PlaceName::Inbox(Party::parse(party)),
            consumer: None,
            max: max.min(self.door.settings.page_max),
            wait,
        };
        let pulled = pull.run(&self.door, &self.handle).await?;
        if pulled.is_empty() && !wait.is_zero() && self.door.stop.is_draining() {
            let detail = "expected an exchange that waits, got one that is shutting down";
            return Err(Refusal::new(Code::Draining, "", detail));
        }
        let delivered = |one: broker::Delivery| Delivered {
            delivery: one.id.to_string(),
            attempt: one.attempt,
            lease_until: one.lease_until.to_string(),
            cursor: self.handle.cursor(&one.entry).to_string(),
            envelope: one.entry.envelope.clone(),
        };
        Ok(pulled.into_iter().map(delivered).collect())
    }

    async fn settle(
        &self,
        deliveries: Vec<String>,
        how: Settling,
    ) -> Result<Vec<Result<(), Refusal>>, Refusal> {
        let how = match how {
            Settling::Ack => Settle::Ack,
            Settling::Nack {
                retry_after_ms,
                reason,
            } => Settle::Nack {
                retry_after_ms: retry_after_ms.and_then(|ms| i64::try_from(ms).ok()),
                reason: reason.into(),
            },
            Settling::Reject { reason } => Settle::Reject {
                reason: reason.into(),
            },
        };
        let settlement = Settlement { deliveries, how };
        let outcomes = settlement.run(&self.handle).await?;
        let one = |outcome: broker::Outcome| outcome.map(drop).map_err(Refusal::from);
        Ok(outcomes.into_iter().map(one).collect())
    }

    async fn message(&self, id: &str, sender: Option<&str>) -> Result<Bytes, Refusal> {
        let entry = self.handle.find(id, sender.map(Party::parse)).await?;
        Ok(entry.envelope.clone())
    }

    async fn page(&self, filter: Pairs, limit: usize) -> Result<Vec<Bytes>, Refusal> {
        let limit = limit.min(self.door.settings.page_max);
        let page = self
            .handle
            .page(read_filter(&filter)?, From::Earliest, limit)
            .await?;
        Ok(page
            .entries
            .iter()
            .map(|entry| entry.envelope.clone())
            .collect())
    }

    async fn trace(&self, id: &str, form: TraceForm) -> Result<String, Refusal> {
        let query = TraceQuery {
            text: id.into(),
            by: None,
            sender: None,
            after: 0,
            limit: self.door.settings.trace_max,
        };
        let trace = self.handle.trace(query).await?;
        let handle = self.handle.clone();
        let write = move || {
            let mut out = String::new();
            let cursor = |sequence| handle.cursor_at(sequence).to_string();
            let written = match form {
                TraceForm::Text => trace.write_text(&mut out, TraceStyle { is_coloured: false }),
                TraceForm::Json => trace.write_json(&mut out, &cursor),
                TraceForm::Mermaid => trace.write_mermaid(&mut out),
            };
            written.map(|()| out)
        };
        match tokio::task::spawn_blocking(write).await {
            Ok(Ok(text)) => Ok(text),
            Ok(Err(_)) | Err(_) => {
                let detail = "expected the trace to be written, got an error";
                Err(Refusal::new(Code::InternalError, "", detail))
            }
        }
    }

    async fn task(&self, id: &str) -> Result<Value, Refusal> {
        let history = self.handle.task(id).await?;
        Ok(read(&task_json::history(&self.handle, &history)))
    }

    async fn tasks(&self, limit: usize) -> Result<Value, Refusal> {
        let tasks = self.handle.tasks(TaskFilter::default(), limit).await?;
        Ok(read(&task_json::list(&self.handle, &tasks, false)))
    }

    async fn agents(&self, words: &str, limit: usize) -> Result<Value, Refusal> {
        let query = AgentQuery {
            words: words.into(),
            presence: Presence::ALL.to_vec(),
            ..AgentQuery::default()
        };
        let page = self.handle.agents(query, None, limit).await?;
        Ok(read(&agents::page_text(&page)))
    }

    async fn subscriptions(&self) -> Result<Value, Refusal> {
        Ok(read(&subscriptions::list_text(&self.handle).await?))
    }

    async fn place(&self, party: &str) -> Result<Value, Refusal> {
        let place = PlaceName::Inbox(Party::parse(party));
        Ok(read(&places::text(&self.handle, place).await?))
    }

    async fn watch(&self, filter: Pairs) -> Result<mpsc::Receiver<()>, Refusal> {
        let mut tail = self
            .handle
            .tail(read_filter(&filter)?, &From::Latest)
            .await?;
        let (tell, told) = mpsc::channel(1);
        let stop = self.door.stop.clone();
        tokio::spawn(async move {
            loop {
                let batch = tokio::select! {
                    batch = tail.next(BATCH_MAX) => batch,
                    () = tell.closed() => return,
                    () = stop.draining() => return,
                };
                match batch {
                    Ok(batch) if batch.entries.is_empty() && batch.gap.is_none() => {}
                    // A full channel means that it is told already.
                    Ok(_) => drop(tell.try_send(())),
                    Err(_) => return,
                }
            }
        });
        Ok(told)
    }
}

fn read_filter(pairs: &Pairs) -> Result<Filter, Refusal> {
    let pairs = pairs
        .iter()
        .map(|(field, value)| (field.as_str(), value.as_str()));
    Ok(Filter::from_pairs(pairs)?)
}

/// A document that this process wrote.
fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or(Value::Null)
}
