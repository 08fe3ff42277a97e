//! Publishing many envelopes over one call: pipelined into the exchange, answered in order.

use super::generated::interwire_v1 as wire;
use super::problem::problem;
use super::read;
use crate::http::door::Door;
use broker::{Handle, Published, Submission, label};
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use protocol::DialectName;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::mpsc;
use tonic::{Status, Streaming};
use wire::publish_result::Result as Told;

/// Envelopes handed over at once.
const TOGETHER_MAX: usize = 256;

pub(super) fn start(
    door: Arc<Door>,
    handle: Handle,
    envelopes: Streaming<wire::PublishRequest>,
) -> BoxStream<'static, Result<wire::PublishResult, Status>> {
    let (submit, results) = mpsc::unbounded_channel();
    let run = Run {
        door,
        handle,
        envelopes: envelopes.ready_chunks(TOGETHER_MAX).boxed(),
        end: None,
        submit,
        results,
        slots: VecDeque::new(),
        done: 0,
    };
    let told = stream::unfold(run, |mut run| async move {
        let told = run.next().await?;
        Some((told, run))
    });
    told.boxed()
}

/// An envelope between its reading and its result.
struct Slot {
    dialect: &'static str,
    result: Option<Published>,
}

/// How the call ends once all results are told.
enum End {
    Done,
    With(Status),
    Told,
}

struct Run {
    door: Arc<Door>,
    handle: Handle,
    envelopes: BoxStream<'static, Vec<Result<wire::PublishRequest, Status>>>,
    /// Set when nothing more is read.
    end: Option<End>,
    submit: mpsc::UnboundedSender<(u64, Published)>,
    results: mpsc::UnboundedReceiver<(u64, Published)>,
    /// Envelopes whose result was not told yet; the first has the number `done`.
    slots: VecDeque<Slot>,
    done: u64,
}

impl Run {
    /// The next result. Called only when the connection has room for it: a client that does not read its
    /// results is not read from.
    async fn next(&mut self) -> Option<Result<wire::PublishResult, Status>> {
        loop {
            while let Ok((number, result)) = self.results.try_recv() {
                self.fill(number, result);
            }
            if let Some(told) = self.told() {
                return Some(Ok(told));
            }
            if self.slots.is_empty() && self.end.is_some() {
                return match self.end.replace(End::Told) {
                    Some(End::With(status)) => Some(Err(status)),
                    Some(End::Done | End::Told) | None => None,
                };
            }
            let has_room = self.slots.len() < self.door.settings.in_flight_max.max(1);
            tokio::select! {
                Some((number, result)) = self.results.recv(), if !self.slots.is_empty() => {
                    self.fill(number, result);
                }
                some = self.envelopes.next(), if has_room && self.end.is_none() => match some {
                    Some(some) => self.take(some).await,
                    None => self.end = Some(End::Done),
                },
                () = self.door.stop.draining(), if self.end.is_none() => {
                    self.end = Some(End::With(Status::unavailable("draining")));
                }
            }
        }
    }

    /// Reads what came together and hands it over, so that one commit can take it.
    async fn take(&mut self, some: Vec<Result<wire::PublishRequest, Status>>) {
        let mut together = Vec::with_capacity(some.len());
        for one in some {
            let envelope = match one {
                Ok(request) => request.envelope,
                Err(status) => {
                    self.end = Some(End::With(status));
                    break;
                }
            };
            let number = self.done + self.slots.len() as u64;
            let reading = protocol::decode(&envelope, &self.handle.rules());
            let dialect = reading.dialect.map_or("none", DialectName::as_str);
            let result = match reading.into_result() {
                Ok((header, warnings)) => {
                    together.push(Submission {
                        number,
                        header,
                        envelope,
                        warnings,
                    });
                    None
                }
                Err(refused) => Some(Err(refused)),
            };
            self.slots.push_back(Slot { dialect, result });
        }
        if !together.is_empty() {
            self.handle.submit(together, &self.submit).await;
        }
    }

    fn fill(&mut self, number: u64, result: Published) {
        let result = result.and_then(|receipt| self.handle.complete(receipt));
        let at = number
            .checked_sub(self.done)
            .and_then(|at| usize::try_from(at).ok());
        if let Some(slot) = at.and_then(|at| self.slots.get_mut(at)) {
            slot.result = Some(result);
        }
    }

    /// The first result, when it is there.
    fn told(&mut self) -> Option<wire::PublishResult> {
        let result = self.slots.front_mut()?.result.take()?;
        let dialect = self.slots.pop_front()?.dialect;
        self.done += 1;
        self.handle.count(dialect, label(&result));
        let told = match result {
            Ok(receipt) => Told::Receipt(read::receipt(&receipt)),
            Err(refused) => Told::Problem(problem(&self.door.advise(refused), "")),
        };
        Some(wire::PublishResult { result: Some(told) })
    }
}
