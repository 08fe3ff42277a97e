//! Publishing many envelopes as lines: pipelined into the exchange, answered in order, one result a
//! line. One bad line never costs the others.

use super::door::{Door, RequestId};
use super::lines::{Line, Lines};
use super::output::{self, Output};
use super::peer::Peer;
use super::problem;
use axum::body::{Body, Bytes};
use broker::{Published, Submission, label};
use protocol::DialectName;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Starts publishing the lines of `body`; the returned body has a result for each.
///
/// A result is `{"status":"accepted|duplicate|refused","line":N,"receipt"|"fault":{...}}`. `line`
/// counts from 1 and counts blank lines; the fault's pointers begin with the result's place, from 0.
pub(crate) fn start(door: Arc<Door>, peer: Arc<Peer>, request_id: RequestId, body: Body) -> Body {
    let (output, answer) = output::channel(door.settings.unread_results_bytes_max);
    let lines = Lines::of(
        body,
        door.envelope_bytes_max(),
        door.settings.ndjson_bytes_max,
    );
    let tasks = door.tasks.clone();
    tasks.spawn(async move {
        let end = door.end.clone();
        let mut run = Run::new(door, peer);
        tokio::select! {
            () = run.publish(lines, &output) => {}
            () = output.closed() => {}
            () = end.cancelled() => {}
        }
        let Run {
            accepted,
            duplicate,
            refused,
            ..
        } = run;
        tracing::debug!(%request_id, accepted, duplicate, refused, "lines published");
    });
    answer
}

/// Lines handed over at once.
const TOGETHER_MAX: usize = 256;

/// A line between its reading and its result.
#[derive(Debug)]
struct Slot {
    line: u64,
    dialect: &'static str,
    result: Option<Published>,
}

struct Run {
    door: Arc<Door>,
    peer: Arc<Peer>,
    results: mpsc::UnboundedReceiver<(u64, Published)>,
    submit: mpsc::UnboundedSender<(u64, Published)>,
    /// Lines that are handed over together.
    together: Vec<Submission>,
    /// Lines whose result was not written yet; the first has place `done`.
    slots: VecDeque<Slot>,
    done: u64,
    accepted: u64,
    duplicate: u64,
    refused: u64,
}

impl Run {
    fn new(door: Arc<Door>, peer: Arc<Peer>) -> Self {
        let (submit, results) = mpsc::unbounded_channel();
        Self {
            door,
            peer,
            results,
            submit,
            together: Vec::new(),
            slots: VecDeque::new(),
            done: 0,
            accepted: 0,
            duplicate: 0,
            refused: 0,
        }
    }

    async fn publish(&mut self, mut lines: Lines, output: &Output) {
        loop {
            while let Ok((place, result)) = self.results.try_recv() {
                self.fill(place, result);
            }
            if !output.send(self.finished()).await {
                return;
            }
            let mut taken = 0;
            let mut has_room = self.has_room();
            while has_room
                && taken < TOGETHER_MAX
                && let Some(line) = lines.ready()
            {
                self.take(line);
                taken += 1;
                has_room = self.has_room();
            }
            if taken > 0 {
                self.hand_over().await;
                // Also when all were refused: their results are there and nothing else may come.
                continue;
            }
            if self.slots.is_empty() && lines.has_ended() {
                return;
            }
            tokio::select! {
                Some((place, result)) = self.results.recv(), if !self.slots.is_empty() => {
                    self.fill(place, result);
                }
                () = lines.more(), if has_room && !lines.has_ended() => {}
            }
        }
    }

    fn has_room(&self) -> bool {
        self.slots.len() < self.door.settings.in_flight_max.max(1)
    }

    /// Reads one line and puts it with those that are handed over next, or notes why not.
    fn take(&mut self, line: Line) {
        let number = self.done + self.slots.len() as u64;
        let (dialect, refused) = match line.content {
            Ok(envelope) => {
                let reading = protocol::decode(&envelope, &self.door.handle.rules());
                let dialect = reading.dialect.map_or("none", DialectName::as_str);
                match reading.into_result() {
                    Ok((header, warnings)) => {
                        self.together.push(Submission {
                            number,
                            header,
                            envelope,
                            warnings,
                        });
                        (dialect, None)
                    }
                    Err(rejection) => (dialect, Some(rejection)),
                }
            }
            Err(rejection) => ("none", Some(rejection)),
        };
        self.slots.push_back(Slot {
            line: line.number,
            dialect,
            result: refused.map(Err),
        });
    }

    /// Gives the exchange what is there, so that one commit can take it.
    async fn hand_over(&mut self) {
        if self.together.is_empty() {
            return;
        }
        let together = std::mem::take(&mut self.together);
        self.peer.handle.submit(together, &self.submit).await;
    }

    fn fill(&mut self, place: u64, result: Published) {
        let result = result.and_then(|receipt| self.door.handle.complete(receipt));
        let slot = place
            .checked_sub(self.done)
            .and_then(|at| usize::try_from(at).ok());
        if let Some(slot) = slot.and_then(|at| self.slots.get_mut(at)) {
            slot.result = Some(result);
        }
    }

    /// The results at the front that are complete, written.
    fn finished(&mut self) -> Bytes {
        let mut out = String::new();
        while let Some(Slot {
            result: Some(_), ..
        }) = self.slots.front()
        {
            let Some(Slot {
                line,
                dialect,
                result: Some(result),
            }) = self.slots.pop_front()
            else {
                break;
            };
            self.door.handle.count(dialect, label(&result));
            match &result {
                Ok(receipt) if receipt.duplicate => self.duplicate += 1,
                Ok(_) => self.accepted += 1,
                Err(_) => self.refused += 1,
            }
            let result = result.map_err(|rejection| self.door.advise(rejection));
            write_result(&mut out, self.done, line, &result);
            self.done += 1;
        }
        Bytes::from(out)
    }
}

fn write_result(out: &mut String, place: u64, line: u64, result: &Published) {
    match result {
        Ok(receipt) => {
            let status = if receipt.duplicate {
                "duplicate"
            } else {
                "accepted"
            };
            let _ = write!(
                out,
                "{{\"status\":\"{status}\",\"line\":{line},\"receipt\":"
            );
            receipt.write_json(out);
        }
        Err(rejection) => {
            let _ = write!(out, "{{\"status\":\"refused\",\"line\":{line},\"fault\":");
            problem::write(out, rejection, &format!("/{place}"), None);
        }
    }
    out.push_str("}\n");
}
