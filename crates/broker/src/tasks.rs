//! The part of the handle that is about tasks: how they stand, what became of them, calling one off.

use crate::handle::Handle;
use crate::publish::refuse_own_name;
use crate::request::{Published, Request};
use crate::task_rows::{self, Row};
use crate::turn::{Effect, Turn, storage_failed};
use crate::{Entry, Receipt};
use protocol::task::{
    History, Opening, SERVICE, Step, TaskFilter, TaskView, cancel_request, history,
};
use protocol::{Code, Fault, Header, Party, Rejection};
use std::sync::Arc;
use tokio::sync::oneshot;

impl Handle {
    /// A task with its past: from memory, or from the journal alone when it has left memory.
    ///
    /// # Errors
    /// `not_found`; `storage_failed` when the journal cannot be read.
    pub async fn task(&self, id: &str) -> Result<History, Rejection> {
        let asked: Box<str> = id.into();
        let mut id = asked.clone();
        let known = self.task_now(&id).await?;
        if let Some(view) = &known {
            id = view.id.clone();
        }
        let mut rows = self.task_rows(&id).await?;
        if known.is_none()
            && let Some(other) = named_by(&rows, &id)
        {
            id = other;
            rows = self.task_rows(&id).await?;
        }
        let past = history(&id, task_rows::borrowed(&rows));
        match (known, past) {
            (Some(view), past) => Ok(History {
                view,
                lines: past.map(|past| past.lines).unwrap_or_default(),
            }),
            (None, Some(past)) => Ok(past),
            (None, None) => Err(no_task(&asked)),
        }
    }

    /// The tasks in memory that pass `filter`, the newest first, at most `limit`.
    ///
    /// # Errors
    /// `draining` when the exchange is gone.
    pub async fn tasks(
        &self,
        filter: TaskFilter,
        limit: usize,
    ) -> Result<Vec<TaskView>, Rejection> {
        self.look(move |exchange| exchange.tasks(&filter, limit))
            .await
    }

    /// Publishes an envelope that opens a task, or finds that it was published before; gives the
    /// receipt and the task's id. Follow the task for its end.
    ///
    /// # Errors
    /// `not_a_request` for an envelope that opens no task, and those of a publish.
    pub async fn open_task(
        &self,
        envelope: bytes::Bytes,
    ) -> Result<(Receipt, Box<str>), Rejection> {
        let reading = protocol::decode(&envelope, &self.rules());
        if let Some(header) = &reading.header
            && !asks(header)
        {
            return Err(not_a_request(header));
        }
        let receipt = self.accept(envelope).await?;
        let entry = self.entry_at(receipt.cursor.sequence).await?;
        let header = entry.map_or_else(
            || Arc::clone(&receipt.header),
            |entry| Arc::clone(&entry.header),
        );
        Ok((receipt, task_of(&header)))
    }

    /// The cursor of a sequence.
    #[must_use]
    pub fn cursor_at(&self, sequence: u64) -> journal::Cursor {
        self.shared.reader.cursor(sequence)
    }

    /// Asks those who work on a task to end it: publishes a request to cancel, in the dialect of the
    /// task's request, from `from` or else from the exchange itself.
    ///
    /// # Errors
    /// `not_found`, `illegal_transition` (it has ended), `unknown_recipient` (nobody works on it yet),
    /// and those of a publish.
    pub async fn cancel_task(
        &self,
        id: &str,
        from: Option<Party>,
        reason: Option<String>,
    ) -> Published {
        if let Some(from) = &from {
            refuse_own_name(from)?;
        }
        let view = self.task(id).await?.view;
        if view.ended.is_some() {
            let detail = format!(
                "expected nothing more about task {:?}, which is {}, got a request to cancel it",
                view.id,
                view.state.as_str()
            );
            let rule = "ARCHITECTURE tasks";
            return Err(Fault::new(Code::IllegalTransition, "", rule, detail).into());
        }
        let request = self.shared.entry(view.opened)?;
        let request = request.ok_or_else(|| no_task(id))?;
        let workers: Vec<Party> = view
            .parts
            .iter()
            .filter_map(|part| part.party.clone())
            .collect();
        let from = from.unwrap_or_else(|| default_sender(&view, &request.header));
        let now = self.now();
        let reason = reason.as_deref();
        let text = cancel_request(&view.id, &request.header, &workers, &from, reason, now);
        let text = text.ok_or_else(|| no_worker(&view))?;
        self.publish_own(text.into()).await
    }

    /// How a task stands now, for what is durable.
    pub(crate) async fn task_now(&self, id: &str) -> Result<Option<TaskView>, Rejection> {
        let id: Box<str> = id.into();
        self.look(move |exchange| exchange.task(&id)).await
    }

    pub(crate) async fn task_rows(&self, id: &str) -> Result<Vec<Row>, Rejection> {
        let (shared, id) = (Arc::clone(&self.shared), id.to_owned());
        let rows = move || {
            let index = shared.index.lock();
            task_rows::rows(&index, &shared.reader, &shared.ring, &id, u64::MAX)
        };
        self.shared.aside(rows).await
    }

    /// Publishes an envelope that was written here; by whoever it says.
    pub(crate) async fn publish_own(&self, envelope: bytes::Bytes) -> Published {
        let (header, warnings) = protocol::decode(&envelope, &self.rules()).into_result()?;
        let (reply, answer) = oneshot::channel();
        self.ask(Request::Act(Box::new(move |turn: &mut Turn| {
            let (now, header) = (turn.clock.now(), Arc::new(header));
            let result = turn
                .check_writable()
                .and_then(|()| turn.accept(now, &header, &envelope, None));
            let result = result.map(|accepted| turn.receipt(header, accepted, warnings));
            let done = move |failed: bool| {
                drop(reply.send(if failed {
                    Err(storage_failed())
                } else {
                    result
                }));
            };
            turn.batch.effects.push(Effect::Done(Box::new(done)));
        })))
        .await?;
        let receipt: Receipt = answer.await.map_err(|_| crate::serve::draining())??;
        self.complete(receipt)
    }

    /// The message at a place.
    pub(crate) async fn entry_at(&self, sequence: u64) -> Result<Option<Arc<Entry>>, Rejection> {
        let shared = Arc::clone(&self.shared);
        self.shared.aside(move || shared.entry(sequence)).await
    }
}

/// Whether an envelope opens a task: a submission or handoff must name it.
fn asks(header: &Header) -> bool {
    match &header.step {
        Some(Step::Open(terms)) => terms.opening == Opening::Question || header.task.is_some(),
        Some(Step::Report(_) | Step::Reply(_) | Step::Answer | Step::RequestCancel) | None => false,
    }
}

/// The id of the task that an envelope opened, from its header as it is stored. A question about
/// another task names that one.
fn task_of(header: &Header) -> Box<str> {
    let is_question = match &header.step {
        Some(Step::Open(terms)) => terms.opening == Opening::Question,
        Some(_) | None => false,
    };
    match &header.task {
        Some(task) if !is_question || task.starts_with(&*header.id) => task.clone(),
        Some(_) | None => header.id.clone(),
    }
}

fn not_a_request(header: &Header) -> Rejection {
    let detail = format!(
        "expected an envelope that asks for work or for an answer, got one that does {}",
        header.act.as_str()
    );
    Fault::new(Code::NotARequest, "", "ARCHITECTURE tasks", detail).into()
}

/// The task that the message `id` belongs to, when no task has that id itself.
fn named_by(rows: &[Row], id: &str) -> Option<Box<str>> {
    let task = |(_, _, header): &Row| header.task.clone();
    if rows.iter().any(|row| task(row).as_deref() == Some(id)) {
        return None;
    }
    let moves = |(_, _, header): &&Row| header.step.is_some();
    rows.iter().filter(moves).find_map(task)
}

/// Where the id of a task is its message's and another's too, only its requester can be told apart.
fn default_sender(view: &TaskView, request: &Header) -> Party {
    if request.task.as_deref() == Some(&*view.id)
        && view.id.ends_with(&format!("@{}", view.requester))
    {
        view.requester.clone()
    } else {
        Party::parse(SERVICE)
    }
}

pub(crate) fn no_task(id: &str) -> Rejection {
    let detail = format!("expected the id of a task, got {id:?}");
    Fault::new(Code::NotFound, "", "ARCHITECTURE tasks", detail).into()
}

fn no_worker(view: &TaskView) -> Rejection {
    let detail = format!(
        "expected somebody who works on task {:?} to be asked, got nobody",
        view.id
    );
    Fault::new(Code::UnknownRecipient, "", "ARCHITECTURE tasks", detail).into()
}
