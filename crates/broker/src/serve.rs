//! What the loop does with each request. Nothing here speaks; effects wait for the commit.

use crate::channel::Channel;
use crate::parked::Waiting;
use crate::request::{Listening, Publish, Request};
use crate::turn::{Effect, Turn, storage_failed};
use crate::{Entry, Receipt};
use exchange::{ChannelId, DeliveryId, Lease, PlaceId, PlaceName, Settle};
use protocol::{Code, Fault, Filter, Party, Rejection};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::oneshot;

impl Turn {
    /// Handles one request; its effects join the batch.
    pub(crate) fn take(&mut self, request: Request) {
        match request {
            Request::Publish(publish) => self.publish(publish),
            Request::PublishMany(publishes) => {
                publishes
                    .into_iter()
                    .for_each(|publish| self.publish(publish));
            }
            Request::PutSubscription {
                name,
                filter,
                deliver_to,
                reply,
            } => {
                let result = self.put_subscription(&name, filter, deliver_to);
                self.batch.effects.push(Effect::Put(reply, result));
            }
            Request::RemoveSubscription { name, reply } => {
                let result = self.remove_subscription(&name);
                self.batch.effects.push(Effect::Removed(reply, result));
            }
            Request::Subscriptions { reply } => drop(reply.send(self.exchange.subscriptions())),
            Request::Listen { filter, reply } => self.listen(filter, reply),
            Request::Unlisten(id) => self.unlisten(id),
            Request::Pull {
                place,
                max,
                wait,
                reply,
            } => self.pull(place, max, wait, reply),
            Request::Settle {
                deliveries,
                how,
                reply,
            } => {
                let results = self.settle(&deliveries, how);
                self.batch.effects.push(Effect::Settled(reply, results));
            }
            Request::Counts { reply } => {
                // A caller who has gone away does not need it.
                let _ = reply.send((self.exchange.counts(), self.exchange.aep_stats()));
            }
            Request::Close { reply } => {
                self.batch.closing = true;
                self.batch.effects.push(Effect::Closed(reply));
            }
        }
    }

    fn publish(&mut self, publish: Publish) {
        let Publish {
            header,
            envelope,
            warnings,
            ticket,
            permit,
        } = publish;
        drop(permit);
        if self.has_failed() {
            ticket.answer(Err(storage_failed()));
            return;
        }
        if self.condition.draining.load(Ordering::Acquire) {
            ticket.answer(Err(draining()));
            return;
        }
        let now = self.clock.now();
        let sequence = self.journal.next_sequence();
        let outcome = self
            .exchange
            .publish(now, sequence, Arc::clone(&header), envelope.clone());
        self.batch.messages += 1;
        let result = match outcome {
            Ok(publication) => {
                if let Some(record) = &publication.record {
                    self.append(record);
                    self.batch.entries.push(Some(Arc::new(Entry::new(
                        sequence,
                        now,
                        Arc::clone(&header),
                        envelope,
                        publication.recipients.clone(),
                    ))));
                    let matched = publication.channels.iter().map(|id| (*id, sequence));
                    self.batch.matches.extend(matched);
                    self.batch.wake.extend_from_slice(&publication.wake);
                }
                Ok(Receipt {
                    header,
                    cursor: self.reader.cursor(publication.sequence),
                    durability: self.settings.durability,
                    duplicate: publication.duplicate,
                    recipients: publication.recipients,
                    warnings,
                })
            }
            Err(rejection) => Err(rejection),
        };
        self.batch.effects.push(Effect::Published(ticket, result));
    }

    fn put_subscription(
        &mut self,
        name: &str,
        filter: Filter,
        deliver_to: Option<Party>,
    ) -> Result<exchange::SubscriptionView, Rejection> {
        self.check_writable()?;
        let (view, record) = self.exchange.put_subscription(name, filter, deliver_to)?;
        if let Some(record) = record {
            self.append(&record);
            self.batch.entries.push(None);
        }
        Ok(view)
    }

    fn remove_subscription(&mut self, name: &str) -> Result<(), Rejection> {
        self.check_writable()?;
        let record = self.exchange.remove_subscription(name)?;
        self.append(&record);
        self.batch.entries.push(None);
        Ok(())
    }

    fn listen(&mut self, filter: Filter, reply: oneshot::Sender<Listening>) {
        let id = self.exchange.listen(filter.clone());
        let floor = self.journal.next_sequence() - 1;
        let matches_max = self.settings.channel_matches_max;
        let channel = self
            .channels
            .entry(id)
            .or_insert_with(|| Arc::new(Channel::new(id, filter, floor, matches_max)));
        channel.join();
        self.batch
            .effects
            .push(Effect::Listening(reply, (Arc::clone(channel), floor)));
    }

    /// One reader of the channel has left.
    pub(crate) fn unlisten(&mut self, id: ChannelId) {
        self.exchange.unlisten(id);
        if self
            .channels
            .get(&id)
            .is_some_and(|channel| channel.leave())
        {
            self.channels.remove(&id);
        }
    }

    fn pull(
        &mut self,
        place: PlaceName,
        max: usize,
        wait: bool,
        reply: oneshot::Sender<crate::request::Pulled>,
    ) {
        if self.has_failed() {
            drop(reply.send(Err(storage_failed())));
            return;
        }
        let found = match (self.exchange.place(&place), &place) {
            (Some(id), _) => self.lease(id, max),
            // An inbox exists for every party; a subscription must have been made.
            (None, PlaceName::Inbox(_)) => Vec::new(),
            (None, PlaceName::Subscription(name)) => {
                let fault = no_subscription(name);
                self.batch.effects.push(Effect::Pulled(reply, Err(fault)));
                return;
            }
        };
        if found.is_empty() && wait {
            self.parked.park(place, Waiting { max, reply });
        } else {
            self.batch.effects.push(Effect::Pulled(reply, Ok(found)));
        }
    }

    fn lease(&mut self, place: PlaceId, max: usize) -> Vec<Lease> {
        let leases = self.exchange.pull(self.clock.now(), place, max);
        self.meter.deliveries.inc_by(leases.len() as u64);
        let again = leases.iter().filter(|lease| lease.attempt > 1).count();
        self.meter.redeliveries.inc_by(again as u64);
        leases
    }

    fn settle(&mut self, deliveries: &[DeliveryId], how: Settle) -> Vec<Result<(), Rejection>> {
        if self.has_failed() {
            return deliveries.iter().map(|_| Err(storage_failed())).collect();
        }
        let (results, records, woken) = self.exchange.settle(self.clock.now(), deliveries, how);
        for record in &records {
            self.append(record);
            self.batch.entries.push(None);
        }
        if how == Settle::Ack {
            let settled = results.iter().filter(|result| result.is_ok()).count();
            self.meter.acknowledgements.inc_by(settled as u64);
        }
        self.batch.wake.extend(woken);
        results
    }

    /// Gives what has become deliverable to the pulls that wait for it.
    pub(crate) fn serve_parked(&mut self, place: PlaceId) {
        if self.parked.is_empty() {
            return;
        }
        let Some(name) = self.exchange.place_name(place).cloned() else {
            return;
        };
        while let Some(waiting) = self.parked.next(&name) {
            let leases = self.lease(place, waiting.max);
            if leases.is_empty() {
                self.parked.put_back(name, waiting);
                return;
            }
            if let Err(Ok(leases)) = waiting.reply.send(Ok(leases)) {
                self.give_back(&leases);
            }
        }
    }

    /// Leases whose receiver has gone are deliverable again soon.
    pub(crate) fn give_back(&mut self, leases: &[Lease]) {
        let ids: Vec<_> = leases.iter().map(Lease::id).collect();
        let nack = Settle::Nack {
            retry_after_ms: None,
        };
        let _ = self.exchange.settle(self.clock.now(), &ids, nack);
    }

    fn check_writable(&self) -> Result<(), Rejection> {
        if self.has_failed() {
            return Err(storage_failed());
        }
        if self.condition.draining.load(Ordering::Acquire) {
            return Err(draining());
        }
        Ok(())
    }
}

/// The refusal of new work while shutting down.
pub(crate) fn draining() -> Rejection {
    Fault::new(
        Code::Draining,
        "",
        "ARCHITECTURE 4",
        "expected an exchange that takes new work, got one that is shutting down; try again shortly",
    )
    .into()
}

fn no_subscription(name: &str) -> Rejection {
    Fault::new(
        Code::NotFound,
        "",
        "ARCHITECTURE subscriptions",
        format!("expected the name of a durable subscription, got {name:?}"),
    )
    .into()
}
