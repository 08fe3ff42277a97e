//! The way of a publish into the loop: read, wait for room, queue, and be answered.

use crate::Receipt;
use crate::handle::Handle;
use crate::meter::PublishLabels;
use crate::request::{Publish, Published, Request, Ticket};
use crate::turn::storage_failed;
use bytes::Bytes;
use protocol::task::SERVICE;
use protocol::{Code, Fault, Header, Party, Rejection};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::time::timeout;

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
        warnings: Vec<Fault>,
    ) -> Published {
        let dialect = header.dialect.as_str();
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

    /// Queues envelopes that arrived together, so that one commit can take them all. Each result
    /// comes into `results` under its number; pass its receipt through [`Self::complete`]. Waits only
    /// for room in the queue.
    ///
    /// # Errors
    /// `overloaded` or `draining`; nothing of these envelopes comes into `results` then.
    pub async fn submit(
        &self,
        envelopes: Vec<Submission>,
        results: &mpsc::UnboundedSender<(u64, Published)>,
    ) -> Result<(), Rejection> {
        let bytes = envelopes.iter().map(|one| one.envelope.len()).sum();
        let permit = self.room(bytes).await?;
        // The first takes the share of all; the loop takes them at once.
        let mut permit = Some(permit);
        let publishes = envelopes
            .into_iter()
            .map(|one| Publish {
                header: Arc::new(one.header),
                envelope: one.envelope,
                warnings: one.warnings,
                ticket: Ticket::Piped(one.number, results.clone()),
                permit: permit.take(),
            })
            .collect();
        self.enqueue(Request::PublishMany(publishes)).await
    }

    async fn queue(
        &self,
        header: Arc<Header>,
        envelope: Bytes,
        warnings: Vec<Fault>,
        ticket: Ticket,
    ) -> Result<(), Rejection> {
        let permit = Some(self.room(envelope.len()).await?);
        let publish = Publish {
            header,
            envelope,
            warnings,
            ticket,
            permit,
        };
        self.enqueue(Request::Publish(publish)).await
    }

    /// Waits for room for so many bytes in the queue.
    async fn room(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Rejection> {
        let shared = &self.shared;
        if shared.condition.draining.load(Ordering::Acquire) {
            return Err(crate::serve::draining());
        }
        let share = bytes.min(shared.settings.queue_bytes_max);
        let share = u32::try_from(share).unwrap_or(u32::MAX);
        let permit = Arc::clone(&shared.queue_bytes).acquire_many_owned(share);
        match timeout(self.patience(), permit).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) => Err(crate::serve::draining()),
            Err(_) => Err(overloaded()),
        }
    }

    async fn enqueue(&self, request: Request) -> Result<(), Rejection> {
        match timeout(self.patience(), self.shared.requests.send(request)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(crate::serve::draining()),
            Err(_) => Err(overloaded()),
        }
    }

    fn patience(&self) -> Duration {
        Duration::from_millis(self.shared.settings.queue_wait_ms)
    }

    /// Fills a duplicate's receipt with the recipients of the first publish.
    ///
    /// # Errors
    /// `storage_failed` when the first cannot be read back.
    pub fn complete(&self, mut receipt: Receipt) -> Published {
        if receipt.duplicate
            && receipt.recipients.is_empty()
            && let Some(entry) = self.shared.entry(receipt.cursor.sequence)?
        {
            receipt.recipients.clone_from(&entry.recipients);
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
