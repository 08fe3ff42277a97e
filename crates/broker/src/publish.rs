//! The way of a publish into the loop: read, wait for room, queue, and be answered.

use crate::Receipt;
use crate::handle::Handle;
use crate::meter::PublishLabels;
use crate::request::{Publish, Published, Queued, Request, Room, Ticket};
use crate::turn::storage_failed;
use bytes::Bytes;
use protocol::task::SERVICE;
use protocol::{Code, Fault, Header, Party, Rejection};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// A slot in the queue of requests.
type Slot<'q> = mpsc::Permit<'q, Queued>;

/// One envelope, read and valid, on its way into the queue.
#[derive(Debug)]
pub struct Submission {
    /// The caller's number for its result.
    pub number: u64,
    /// The neutral facts.
    pub header: Header,
    /// The bytes as they arrived.
    pub envelope: Bytes,
    /// What the sender should know.
    pub warnings: Vec<Fault>,
}

impl Handle {
    /// Reads, checks and publishes one envelope; returns after it is durable.
    ///
    /// # Errors
    /// Every fault of the envelope, or why it cannot be taken.
    pub async fn accept(&self, envelope: Bytes) -> Published {
        let reading = protocol::decode(&envelope, &self.rules());
        let dialect = reading
            .dialect
            .map_or("none", protocol::DialectName::as_str);
        match reading.into_result() {
            Ok((header, warnings)) => self.publish(header, envelope, warnings).await,
            Err(rejection) => {
                self.count(dialect, rejection.code().as_str());
                Err(rejection)
            }
        }
    }

    /// Publishes one envelope that was already read; returns after it is durable.
    ///
    /// # Errors
    /// Why it cannot be taken, such as `id_conflict`, `overloaded`, `draining`, `storage_failed`.
    pub async fn publish(
        &self,
        header: Header,
        envelope: Bytes,
        mut warnings: Vec<Fault>,
    ) -> Published {
        let dialect = header.dialect.as_str();
        if let Err(rejection) = self.check_payload(&header, &envelope, &mut warnings) {
            self.count(dialect, rejection.code().as_str());
            return Err(rejection);
        }
        let (reply, answer) = oneshot::channel();
        let queued = self
            .queue(Arc::new(header), envelope, warnings, Ticket::One(reply))
            .await;
        let result = match queued {
            Ok(()) => answer.await.unwrap_or_else(|_| Err(storage_failed())),
            Err(rejection) => Err(rejection),
        };
        let result = result.and_then(|receipt| self.complete(receipt));
        self.count(dialect, label(&result));
        result
    }

    /// Queues envelopes that arrived together, so that one commit can take them all. Each gets its
    /// result in `results` under its number; pass its receipt through [`Self::complete`]. Waits only
    /// for room in the queue; what gets none in time is `overloaded`, and so is what came behind it,
    /// because it shall not overtake.
    pub async fn submit(
        &self,
        envelopes: Vec<Submission>,
        results: &mpsc::UnboundedSender<(u64, Published)>,
    ) {
        let envelopes = self.checked(envelopes, results);
        if envelopes.is_empty() {
            return;
        }
        let publish = |one: Submission, room| Publish {
            header: Arc::new(one.header),
            envelope: one.envelope,
            warnings: one.warnings,
            ticket: Ticket::Piped(one.number, results.clone()),
            origin: self.origin.clone(),
            room,
        };
        let refuse = |rest: &mut dyn Iterator<Item = Submission>, why: &Rejection| {
            for one in rest {
                // A caller who has gone away does not need it.
                let _ = results.send((one.number, Err(why.clone())));
            }
        };
        let bytes = envelopes.iter().map(|one| one.envelope.len()).sum();
        let room = self.room_now(envelopes.len(), bytes);
        let last = envelopes.len().saturating_sub(1);
        let mut envelopes = envelopes.into_iter();
        if room.is_some() {
            match self.slot().await {
                Ok(slot) => {
                    let mut room = room;
                    let publishes = envelopes.enumerate().map(|(at, one)| {
                        // Its turn comes after those of the others.
                        let room = if at == last { room.take() } else { None };
                        publish(one, room)
                    });
                    self.put(slot, Request::PublishMany(publishes.collect()));
                }
                Err(why) => refuse(&mut envelopes, &why),
            }
            return;
        }
        while let Some(one) = envelopes.next() {
            match self.enter(one.envelope.len()).await {
                Ok((room, slot)) => {
                    self.put(slot, Request::Publish(publish(one, Some(room))));
                }
                Err(why) => {
                    refuse(&mut std::iter::once(one).chain(&mut envelopes), &why);
                }
            }
        }
    }

    /// Those whose payloads may be; the others get their result.
    fn checked(
        &self,
        mut envelopes: Vec<Submission>,
        results: &mpsc::UnboundedSender<(u64, Published)>,
    ) -> Vec<Submission> {
        envelopes.retain_mut(|one| {
            let checked = self.check_payload(&one.header, &one.envelope, &mut one.warnings);
            // A caller who has gone away does not need it.
            checked
                .map_err(|rejection| results.send((one.number, Err(rejection))))
                .is_ok()
        });
        envelopes
    }

    async fn queue(
        &self,
        header: Arc<Header>,
        envelope: Bytes,
        warnings: Vec<Fault>,
        ticket: Ticket,
    ) -> Result<(), Rejection> {
        let (room, slot) = self.enter(envelope.len()).await?;
        let publish = Publish {
            header,
            envelope,
            warnings,
            ticket,
            origin: self.origin.clone(),
            room: Some(room),
        };
        self.put(slot, Request::Publish(publish));
        Ok(())
    }

    /// Waits until one publish of so many bytes may queue.
    async fn enter(&self, bytes: usize) -> Result<(Room, Slot<'_>), Rejection> {
        let room = self.room(bytes).await?;
        Ok((room, self.slot().await?))
    }

    /// Waits for room for one publish: first among those of this connection, then among all.
    async fn room(&self, bytes: usize) -> Result<Room, Rejection> {
        if self.is_draining() {
            return Err(crate::serve::draining());
        }
        let entered = timeout(self.patience(), async {
            Some(Room {
                _own: self.lane.gate.enter(1, bytes).await?,
                _of_all: self.shared.gate.enter(1, bytes).await?,
            })
        });
        match entered.await {
            Ok(Some(room)) => Ok(room),
            Ok(None) => Err(crate::serve::draining()),
            Err(_) => Err(overloaded()),
        }
    }

    /// Room for several, if there is no need to wait.
    fn room_now(&self, messages: usize, bytes: usize) -> Option<Room> {
        if self.is_draining() {
            return None;
        }
        Some(Room {
            _own: self.lane.gate.try_enter(messages, bytes)?,
            _of_all: self.shared.gate.try_enter(messages, bytes)?,
        })
    }

    async fn slot(&self) -> Result<Slot<'_>, Rejection> {
        match timeout(self.patience(), self.shared.requests.reserve()).await {
            Ok(Ok(slot)) => Ok(slot),
            Ok(Err(_)) => Err(crate::serve::draining()),
            Err(_) => Err(overloaded()),
        }
    }

    fn put(&self, slot: Slot<'_>, request: Request) {
        let lane = self.lane.number;
        slot.send(Queued { lane, request });
    }

    fn is_draining(&self) -> bool {
        self.shared.condition.draining.load(Ordering::Acquire)
    }

    fn patience(&self) -> Duration {
        Duration::from_millis(self.shared.settings.queue_wait_ms)
    }

    /// Fills a duplicate's receipt with the recipients of the first publish, and its id when that is
    /// another.
    ///
    /// # Errors
    /// `storage_failed` when the first cannot be read back.
    pub fn complete(&self, mut receipt: Receipt) -> Published {
        if receipt.duplicate
            && receipt.recipients.is_empty()
            && let Some(entry) = self.shared.entry(receipt.cursor.sequence)?
        {
            receipt.recipients.clone_from(&entry.recipients);
            let first = &entry.header.id;
            receipt.duplicate_of = (*first != receipt.header.id).then(|| first.clone());
        }
        Ok(receipt)
    }

    /// Counts one publish; doors that use [`Self::submit`] call it themselves.
    pub fn count(&self, dialect: &'static str, result: &'static str) {
        self.shared
            .meter
            .publishes
            .get_or_create(&PublishLabels { dialect, result })
            .inc();
    }
}

/// The metric label of a publish's result.
#[must_use]
pub fn label(result: &Published) -> &'static str {
    match result {
        Ok(receipt) if receipt.duplicate => "duplicate",
        Ok(_) => "accepted",
        Err(rejection) => rejection.code().as_str(),
    }
}

/// Only the exchange itself speaks under its own name: what it says ends tasks.
///
/// # Errors
/// `reserved_sender`.
pub(crate) fn refuse_own_name(sender: &Party) -> Result<(), Rejection> {
    if sender.as_str() != SERVICE {
        return Ok(());
    }
    let detail = format!("expected a sender other than {SERVICE}, which is the exchange itself");
    Err(Fault::new(Code::ReservedSender, "", "ARCHITECTURE tasks", detail).into())
}

fn overloaded() -> Rejection {
    Fault::new(
        Code::Overloaded,
        "",
        "ARCHITECTURE 4",
        "expected room in the publish queue within the wait, got none; slow down and try again",
    )
    .into()
}
