//! Operations of a socket other than publishing, and what comes of them.

use super::connection::{Connection, End};
use super::frame::{self, Operation, Reference};
use super::readers::{Durable, Kind, Reader};
use super::work::{self, Done};
use crate::http::inbox;
use protocol::{Code, Fault, Rejection};
use std::sync::Arc;

impl Connection {
    pub(super) async fn operate(
        &mut self,
        reference: Reference,
        operation: Operation,
    ) -> Result<(), End> {
        match operation {
            // Taken before; it is the one operation that waits for room.
            Operation::Publish { .. } => Ok(()),
            Operation::Ping => Ok(self.writer.text(frame::plain("pong", &reference)).await?),
            Operation::Unsubscribe => self.unsubscribe(&reference).await,
            Operation::Follow {
                filter,
                from,
                follow,
            } => {
                if let Some(refused) = self.refuse_reader(&reference) {
                    return self.refuse(&reference, &refused, "").await;
                }
                let (handle, name) = (self.handle.clone(), Arc::clone(&reference));
                let waits = work::add(&self.work, async move {
                    let tail = handle.follow(filter, &from, follow).await;
                    Done::Opened {
                        reference: name,
                        tail,
                    }
                });
                let kind = Kind::Live {
                    cursor: self.handle.head(),
                    owed: None,
                };
                self.readers.insert(reference, Reader { kind, waits });
                Ok(())
            }
            Operation::Watch { task, from } => {
                if let Some(refused) = self.refuse_reader(&reference) {
                    return self.refuse(&reference, &refused, "").await;
                }
                self.watch(reference, task, from);
                Ok(())
            }
            Operation::Consume {
                place,
                in_flight_max,
            } => {
                if let Some(refused) = self.refuse_reader(&reference) {
                    return self.refuse(&reference, &refused, "").await;
                }
                self.consume(reference, Durable::new(place, in_flight_max))
                    .await
            }
            Operation::Settle(_) | Operation::Pull { .. }
                if self.operations >= self.door.settings.socket_operations_max =>
            {
                self.refuse(&reference, &overloaded("operations that wait"), "")
                    .await
            }
            Operation::Settle(settlement) => {
                let (door, handle) = (Arc::clone(&self.door), self.handle.clone());
                self.operations += 1;
                work::add(&self.work, async move {
                    match settlement.run(&handle).await {
                        Ok(outcomes) => Done::Settled {
                            answer: frame::settled(&reference, &settlement, &outcomes).into(),
                            settled: settlement.over(&outcomes),
                            how: settlement.how.clone(),
                        },
                        Err(refused) => {
                            let refused = door.advise(refused);
                            Done::Answer(frame::fault(&reference, &refused, "").into())
                        }
                    }
                });
                Ok(())
            }
            Operation::Pull { place, max, wait } => {
                let (door, handle) = (Arc::clone(&self.door), self.handle.clone());
                self.operations += 1;
                work::add(&self.work, async move {
                    Done::Answer(match inbox::pull(&door, &handle, place, max, wait).await {
                        Ok(pulled) => frame::deliveries(&reference, &door.handle, &pulled),
                        Err(refused) => frame::fault(&reference, &door.advise(refused), "").into(),
                    })
                });
                Ok(())
            }
        }
    }

    pub(super) async fn done(&mut self, done: Done) -> Result<(), End> {
        match done {
            Done::Answer(answer) => {
                self.operations -= 1;
                Ok(self.writer.bytes(answer).await?)
            }
            Done::Settled {
                answer,
                settled,
                how,
            } => {
                self.operations -= 1;
                self.writer.bytes(answer).await?;
                let now = self.handle.now();
                let lease_ms = self.handle.settings().exchange.delivery.lease_ms;
                let mut again = Vec::new();
                for (reference, reader) in &mut self.readers {
                    if let Kind::Durable(durable) = &mut reader.kind {
                        let settle =
                            |id: &broker::DeliveryId| durable.settle(*id, &how, now, lease_ms);
                        if settled
                            .iter()
                            .map(settle)
                            .fold(false, |any, woken| any | woken)
                        {
                            again.push(Arc::clone(reference));
                        }
                    }
                }
                again
                    .into_iter()
                    .for_each(|reference| self.consume_on(reference));
                Ok(())
            }
            Done::Opened { reference, tail } => self.opened(reference, tail).await,
            Done::Batch {
                reference,
                tail,
                batch,
            } => self.batch(reference, tail, batch).await,
            Done::Watching { reference, tail } => self.watching(reference, tail).await,
            Done::News {
                reference,
                tail,
                news,
            } => self.news(reference, tail, news).await,
            Done::Pulled { reference, pulled } => self.pulled(reference, pulled).await,
            Done::Recheck { reference } => {
                self.consume_on(reference);
                Ok(())
            }
            Done::Abandoned => Ok(()),
        }
    }
}

pub(super) fn overloaded(what: &str) -> Rejection {
    let detail = format!("expected room for more {what}, got none");
    Fault::new(Code::Overloaded, "", "SOCKET", detail).into()
}
