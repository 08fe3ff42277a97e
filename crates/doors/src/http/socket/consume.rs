//! Durable readers of a socket: each holds leased deliveries, never more than it asked for.

use super::connection::{Connection, End};
use super::frame::{self, Reference};
use super::readers::{Durable, Kind, Reader, Step};
use super::work::{self, Done};
use broker::{Delivery, Portion};
use protocol::Rejection;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// Deliveries that a durable reader takes in one turn, at most.
const PULL_MAX: usize = 512;
/// And about so many bytes of envelopes, which can be large.
const PULL_BYTES_MAX: usize = 512 << 10;

/// How long one pull of a durable reader waits; then it asks again.
const PULL_WAIT: Duration = Duration::from_secs(30);

impl Connection {
    pub(super) async fn consume(
        &mut self,
        reference: Reference,
        durable: Durable,
    ) -> Result<(), End> {
        let opened = frame::at_cursor("subscribed", &reference, self.handle.head());
        self.writer.text(opened).await?;
        let (waits, _) = futures_util::future::AbortHandle::new_pair();
        let kind = Kind::Durable(durable);
        self.readers
            .insert(Arc::clone(&reference), Reader { kind, waits });
        self.consume_on(reference);
        Ok(())
    }

    pub(super) async fn pulled(
        &mut self,
        reference: Reference,
        pulled: Result<Vec<Delivery>, Rejection>,
    ) -> Result<(), End> {
        let pulled = match pulled {
            Ok(pulled) => pulled,
            Err(_) if self.door.stop.is_draining() => return Ok(()),
            Err(refused) => {
                self.readers.remove(&reference);
                return self.refuse(&reference, &refused, "").await;
            }
        };
        for delivery in &pulled {
            if let Some(Reader {
                kind: Kind::Durable(durable),
                ..
            }) = self.readers.get_mut(&reference)
            {
                durable.hold(delivery.id, delivery.lease_until);
            }
            let frame = frame::deliver_leased(&reference, &self.handle, delivery);
            self.writer.bytes(frame).await?;
        }
        self.consume_on(reference);
        Ok(())
    }

    /// Waits for a durable reader's next deliveries, or for room.
    pub(super) fn consume_on(&mut self, reference: Reference) {
        let Some(reader) = self.readers.get_mut(&reference) else {
            return;
        };
        let Kind::Durable(durable) = &mut reader.kind else {
            return;
        };
        // What it waited for before would come as well.
        reader.waits.abort();
        reader.waits = match durable.step(self.handle.now()) {
            Step::Pull(room) => {
                let (handle, place) = (self.handle.clone(), durable.place.clone());
                work::add(&self.work, async move {
                    let portion = Portion {
                        max: room.min(PULL_MAX),
                        held_max: usize::MAX,
                        bytes_max: PULL_BYTES_MAX,
                    };
                    let pulled = handle.pull_within(place, None, portion, PULL_WAIT).await;
                    Done::Pulled { reference, pulled }
                })
            }
            Step::Wait(wait) => work::add(&self.work, async move {
                sleep(wait).await;
                Done::Recheck { reference }
            }),
        };
    }
}
