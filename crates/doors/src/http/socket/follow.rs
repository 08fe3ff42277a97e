//! Live readers of a socket: each follows the journal and takes its turn with the others.

use super::connection::{Connection, End};
use super::frame::{self, Reference};
use super::operate::overloaded;
use super::readers::{Kind, Reader};
use super::work::{self, Done};
use axum::body::Bytes;
use broker::{Batch, Entry, Tail};
use protocol::{Code, Fault, Rejection};
use std::sync::Arc;

/// Messages that a live reader puts on its way in one turn.
const BATCH_MAX: usize = 64;

impl Connection {
    pub(super) async fn opened(
        &mut self,
        reference: Reference,
        tail: Result<Tail, Rejection>,
    ) -> Result<(), End> {
        match tail {
            Ok(tail) => {
                let cursor = tail.cursor();
                let opened = frame::at_cursor("subscribed", &reference, cursor);
                self.writer.text(opened).await?;
                self.reached(&reference, cursor);
                let feed = tail.feed();
                if let Some(Reader {
                    kind: Kind::Live { owed, .. },
                    ..
                }) = self.readers.get_mut(&reference)
                {
                    *owed = Some(self.peer.owe(move || feed.bytes()));
                }
                self.follow_on(reference, tail);
                Ok(())
            }
            Err(refused) => {
                self.readers.remove(&reference);
                self.refuse(&reference, &refused, "").await
            }
        }
    }

    pub(super) async fn batch(
        &mut self,
        reference: Reference,
        tail: Tail,
        batch: Result<Batch, Rejection>,
    ) -> Result<(), End> {
        let Batch {
            gap,
            entries,
            caught_up,
        } = match batch {
            Ok(batch) => batch,
            // Told as part of the drain, with the cursor.
            Err(_) if self.door.stop.is_draining() => return Ok(()),
            Err(refused) => {
                self.readers.remove(&reference);
                return self.refuse(&reference, &refused, "").await;
            }
        };
        if let Some(gap) = gap {
            self.writer.text(frame::gap(&reference, &gap)).await?;
        }
        let wanted = match self.readers.get(&reference) {
            Some(Reader {
                kind: Kind::Live { wanted, .. },
                ..
            }) => *wanted,
            Some(_) | None => None,
        };
        for entry in &entries {
            let frame = match wanted {
                None => self.deliver_frame(&reference, entry),
                Some(_) => frame::deliver(&reference, &self.handle, entry, wanted),
            };
            self.writer.bytes(frame).await?;
            self.reached(&reference, self.handle.cursor(entry));
        }
        self.handle.meter().streamed.inc_by(entries.len() as u64);
        self.reached(&reference, tail.cursor());
        if caught_up {
            let caught_up = frame::at_cursor("caught_up", &reference, tail.cursor());
            self.writer.text(caught_up).await?;
        }
        self.follow_on(reference, tail);
        Ok(())
    }

    pub(super) fn deliver_frame(&self, reference: &str, entry: &Entry) -> Bytes {
        entry.socket_frame(reference, |entry| {
            frame::deliver(reference, &self.handle, entry, None)
        })
    }

    pub(super) fn reached(&mut self, reference: &str, at: broker::Cursor) {
        if let Some(Reader {
            kind: Kind::Live { cursor, .. },
            ..
        }) = self.readers.get_mut(reference)
        {
            *cursor = at;
        }
    }

    /// Waits for a live reader's next batch.
    pub(super) fn follow_on(&mut self, reference: Reference, mut tail: Tail) {
        let name = Arc::clone(&reference);
        let waits = work::add(&self.work, async move {
            let batch = tail.next(BATCH_MAX).await;
            Done::Batch {
                reference: name,
                tail,
                batch,
            }
        });
        if let Some(reader) = self.readers.get_mut(&reference) {
            reader.waits = waits;
        } else {
            waits.abort();
        }
    }

    pub(super) async fn unsubscribe(&mut self, reference: &Reference) -> Result<(), End> {
        if self.remove_reader(reference) {
            return Ok(self
                .writer
                .text(frame::plain("unsubscribed", reference))
                .await?);
        }
        let detail = "expected the `ref` of a reader on this socket";
        let fault = Fault::new(Code::NotFound, "/ref", "SOCKET", detail);
        self.refuse(reference, &fault.into(), "").await
    }

    pub(super) fn refuse_reader(&self, reference: &str) -> Option<Rejection> {
        if self.readers.contains_key(reference) {
            let detail = "expected a `ref` that no reader on this socket has";
            let fault = Fault::new(Code::SubscriptionConflict, "/ref", "SOCKET", detail);
            return Some(fault.into());
        }
        (self.readers.len() >= self.door.settings.socket_readers_max)
            .then(|| overloaded("readers on one socket"))
    }
}
