//! Durable readers of a socket: each is a consumer that holds leased deliveries, never more than it
//! asked for.

use super::connection::{Connection, End};
use super::frame::{self, Reference};
use super::readers::{Durable, Kind, Reader};
use super::work::{self, Done};
use broker::{Delivery, Departure, PlaceName, Portion};
use protocol::Rejection;
use std::sync::Arc;
use std::time::Duration;

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
        let (head, consumer) = (self.handle.head(), &durable.consumer);
        let opened = frame::consuming(&reference, head, consumer);
        self.writer.text(opened).await?;
        self.seats
            .sit(&self.door.consumers, &durable.place, consumer);
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
                self.remove_reader(&reference);
                return self.refuse(&reference, &refused, "").await;
            }
        };
        let wanted = match self.readers.get(&reference) {
            Some(Reader {
                kind: Kind::Durable(durable),
                ..
            }) => durable.wanted,
            Some(_) | None => None,
        };
        for delivery in &pulled {
            let frame = frame::deliver_leased(&reference, &self.handle, delivery, wanted);
            self.writer.bytes(frame).await?;
        }
        self.consume_on(reference);
        Ok(())
    }

    /// Waits for a durable reader's next deliveries. The exchange gives none while the consumer holds
    /// as many as it asked for.
    pub(super) fn consume_on(&mut self, reference: Reference) {
        let Some(Reader {
            kind: Kind::Durable(durable),
            waits,
        }) = self.readers.get_mut(&reference)
        else {
            return;
        };
        let (handle, durable) = (self.handle.clone(), durable.clone());
        *waits = work::add(&self.work, async move {
            let Durable {
                place,
                consumer,
                in_flight_max,
                wanted: _,
            } = durable;
            let portion = Portion {
                max: PULL_MAX,
                held_max: in_flight_max,
                bytes_max: PULL_BYTES_MAX,
            };
            let pulled = handle
                .pull_within(place, Some(consumer), portion, PULL_WAIT)
                .await;
            Done::Pulled { reference, pulled }
        });
    }

    /// Ends a reader, of whatever kind; false when there is none.
    pub(super) fn remove_reader(&mut self, reference: &Reference) -> bool {
        let Some(reader) = self.readers.remove(reference) else {
            return false;
        };
        reader.waits.abort();
        if let Kind::Durable(Durable {
            place, consumer, ..
        }) = reader.kind
            && self.seats.rise(&self.door.consumers, &place, &consumer)
        {
            let handle = self.handle.clone();
            // On its own, because this socket may end before that is done.
            tokio::spawn(async move {
                let left = handle.leave(place, Some(consumer), Departure::Leaves);
                if let Err(refused) = left.await {
                    tracing::debug!(%refused, "leases run out instead");
                }
            });
        }
        true
    }

    /// What this socket's consumers hold goes to others, as it ends.
    pub(super) async fn leave_all(&mut self, end: End) {
        let how = match end {
            // A process that dies says nothing, and one that hangs answers no ping.
            End::Gone | End::Silent => Departure::IsGone,
            End::Closed | End::Slow | End::Unreadable(_) => Departure::Leaves,
            // Leases end with the exchange.
            End::Draining | End::Cut => return,
        };
        // Pulls under way are given up first, so that nothing is handed to them any more.
        self.work.clear();
        let leaving = self.seats.leave(&self.door.consumers).into_iter();
        let leaving =
            leaving.map(|(place, consumer)| self.handle.leave(place, Some(consumer), how));
        for left in futures_util::future::join_all(leaving).await {
            if let Err(refused) = left {
                tracing::debug!(%refused, "leases run out instead");
            }
        }
    }

    /// The name under which a pull reads.
    pub(super) fn consumer(&mut self, place: &PlaceName, name: Option<Arc<str>>) -> Arc<str> {
        let name = name.unwrap_or_else(|| Arc::clone(&self.own_name));
        self.seats.stay(&self.door.consumers, place, &name);
        name
    }
}
