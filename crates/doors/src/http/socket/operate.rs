//! Operations of a socket other than publishing, and what comes of them.

use super::connection::{Connection, End};
use super::frame::{self, Operation, Reference};
use super::readers::{Durable, Kind, Reader};
use super::work::{self, Done};
use crate::http::inbox::Pull;
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
                wanted,
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
                    wanted,
                };
                self.readers.insert(reference, Reader { kind, waits });
                Ok(())
            }
            Operation::Watch { task, from } => {
                if let Some(refused) = self.refuse_reader(&reference) {
                    return self.refuse(&reference, &refused, "").await;
                }
                self.watch_task(reference, task, from);
                Ok(())
            }
            Operation::Consume {
                place,
                consumer,
                in_flight_max,
                wanted,
            } => {
                if let Some(refused) = self.refuse_reader(&reference) {
                    return self.refuse(&reference, &refused, "").await;
                }
                let durable = Durable {
                    place,
                    consumer: consumer.unwrap_or_else(|| Arc::clone(&self.own_name)),
                    in_flight_max,
                    wanted,
                };
                self.consume(reference, durable).await
            }
            Operation::Settle(_)
            | Operation::Pull(..)
            | Operation::Receipt {
                is_watched: false, ..
            } if self.operations >= self.door.settings.socket_operations_max => {
                self.refuse(&reference, &overloaded("operations that wait"), "")
                    .await
            }
            Operation::Settle(settlement) => {
                // It takes its place at once: what the peer asks later comes after it, also its leaving.
                let results = match settlement.begin(&self.handle).await {
                    Ok(results) => results,
                    Err(refused) => return self.refuse(&reference, &refused, "").await,
                };
                let door = Arc::clone(&self.door);
                self.operations += 1;
                work::add(&self.work, async move {
                    Done::Answer(match results.await {
                        Ok(outcomes) => frame::settled(&reference, &settlement, &outcomes).into(),
                        Err(refused) => frame::fault(&reference, &door.advise(refused), "").into(),
                    })
                });
                Ok(())
            }
            Operation::Pull(pull, wanted) => {
                let consumer = self.consumer(&pull.place, pull.consumer);
                let pull = Pull {
                    consumer: Some(consumer),
                    ..pull
                };
                let (door, handle) = (Arc::clone(&self.door), self.handle.clone());
                self.operations += 1;
                work::add(&self.work, async move {
                    Done::Answer(match pull.run(&door, &handle).await {
                        Ok(pulled) => frame::deliveries(&reference, &door.handle, &pulled, wanted),
                        Err(refused) => frame::fault(&reference, &door.advise(refused), "").into(),
                    })
                });
                Ok(())
            }
            Operation::Receipt {
                id,
                sender,
                is_watched: false,
            } => {
                self.tell_receipt(reference, id, sender);
                Ok(())
            }
            Operation::Receipt {
                id,
                sender,
                is_watched: true,
            } => {
                if let Some(refused) = self.refuse_reader(&reference) {
                    return self.refuse(&reference, &refused, "").await;
                }
                self.watch(reference, id, sender);
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
            Done::Told {
                reference,
                watcher,
                told,
            } => self.told(reference, watcher, told).await,
            Done::Abandoned => Ok(()),
        }
    }
}

pub(super) fn overloaded(what: &str) -> Rejection {
    let detail = format!("expected room for more {what}, got none");
    Fault::new(Code::Overloaded, "", "SOCKET", detail).into()
}
