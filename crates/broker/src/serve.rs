//! What the loop does with each request. Nothing here speaks; effects wait for the commit.

use crate::channel::Channel;
use crate::meter::LoopLabels;
use crate::parked::Waiting;
use crate::publish::refuse_own_name;
use crate::request::{Listening, Publish, Request, Settled};
use crate::turn::{Effect, Turn, storage_failed};
use crate::{Entry, Receipt};
use bytes::Bytes;
use exchange::{
    ChannelId, DeliveryId, Lease, PlaceId, PlaceName, RecipientState, Record, Settle, Stop,
};
use protocol::{Code, Fault, Filter, Header, Party, Rejection, Timestamp};
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
            Request::Listen { filter, reply } => self.listen(filter, reply),
            Request::Unlisten(id) => self.unlisten(id),
            Request::Pull {
                place,
                consumer,
                max,
                held_max,
                wait,
                reply,
            } => {
                let waiting = Waiting {
                    max,
                    held_max,
                    consumer,
                    reply,
                };
                self.pull(place, waiting, wait);
            }
            Request::Settle {
                deliveries,
                how,
                reply,
            } => {
                let results = self.settle(&deliveries, &how);
                self.batch.effects.push(Effect::Settled(reply, results));
            }
            Request::Act(act) => act(self),
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
            origin,
            room,
        } = publish;
        drop(room);
        if self.has_failed() {
            ticket.answer(Err(storage_failed()));
            return;
        }
        if self.condition.draining.load(Ordering::Acquire) {
            ticket.answer(Err(draining()));
            return;
        }
        if let Err(rejection) = refuse_own_name(&header.sender) {
            ticket.answer(Err(rejection));
            return;
        }
        if self.has_too_many_keys() {
            ticket.answer(Err(too_many_keys()));
            return;
        }
        let now = self.clock.now();
        self.batch.messages += 1;
        let result = self
            .accept(now, &header, &envelope, origin.as_deref())
            .map(|accepted| self.receipt(header, accepted, warnings));
        self.batch.effects.push(Effect::Published(ticket, result));
    }

    pub(crate) fn receipt(
        &self,
        header: Arc<Header>,
        accepted: Accepted,
        mut warnings: Vec<Fault>,
    ) -> Receipt {
        if let Some(stop) = &accepted.stop {
            // First: everything else is of no use when nobody gets it.
            warnings.insert(0, stop.warning());
        }
        Receipt {
            header,
            cursor: self.reader.cursor(accepted.sequence),
            durability: self.settings.durability,
            duplicate: accepted.duplicate,
            duplicate_of: None,
            recipients: accepted.recipients,
            warnings,
        }
    }

    /// Accepts one envelope; its record and what follows from it join the batch.
    pub(crate) fn accept(
        &mut self,
        now: Timestamp,
        header: &Arc<Header>,
        envelope: &Bytes,
        origin: Option<&str>,
    ) -> Result<Accepted, Rejection> {
        self.recall_tasks(header)?;
        let sequence = self.journal.next_sequence();
        let publication = self.exchange.publish_from(
            now,
            sequence,
            Arc::clone(header),
            envelope.clone(),
            origin,
        )?;
        if let Some(record) = &publication.record {
            self.append(record);
            // The record's facts: the exchange knows the task that the message only meant.
            let (header, places) = match record {
                Record::Published { header, places, .. } => (header, places.as_slice()),
                Record::SubscriptionPut { .. }
                | Record::SubscriptionRemoved { .. }
                | Record::Acked { .. }
                | Record::Failed { .. }
                | Record::Ended { .. }
                | Record::Redriven { .. }
                | Record::PlaceConfigured { .. }
                | Record::PlacePaused { .. }
                | Record::CardPut { .. }
                | Record::CardRemoved { .. } => (header, &[][..]),
            };
            self.batch.entries.push(Some(Arc::new(Entry::new(
                sequence,
                now,
                Arc::clone(header),
                envelope.clone(),
                publication.recipients.clone(),
                places.to_vec(),
            ))));
            let bytes = envelope.len() as u64;
            let matched = publication.channels.iter();
            let matched = matched.map(|id| (*id, sequence, bytes));
            self.batch.matches.extend(matched);
            self.batch.wake.extend_from_slice(&publication.wake);
            if let Some(stop) = &publication.stop {
                let reason = stop.limit.as_str();
                tracing::warn!(reason, sequence, "a loop was stopped");
                let stopped = &self.meter.loops_stopped;
                stopped.get_or_create(&LoopLabels { reason }).inc();
            }
            self.follow(publication.then);
        }
        Ok(Accepted {
            sequence: publication.sequence,
            duplicate: publication.duplicate,
            recipients: publication.recipients,
            stop: publication.stop,
        })
    }

    fn listen(&mut self, filter: Filter, reply: oneshot::Sender<Listening>) {
        let id = self.exchange.listen(filter.clone());
        let floor = self.last_sequence();
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

    fn pull(&mut self, place: PlaceName, pull: Waiting, wait: bool) {
        if self.has_failed() {
            drop(pull.reply.send(Err(storage_failed())));
            return;
        }
        if let PlaceName::Inbox(party) = &place {
            self.exchange.saw(self.clock.now(), party);
        }
        let found = match (self.exchange.place(&place), &place) {
            (Some(id), _) => self.lease(id, &pull, pull.max),
            // An inbox exists for every party; a subscription must have been made.
            (None, PlaceName::Inbox(_)) => Vec::new(),
            (None, PlaceName::Subscription(name)) => {
                let fault = no_subscription(name);
                let effect = Effect::Pulled(pull.reply, Err(fault));
                self.batch.effects.push(effect);
                return;
            }
        };
        if found.is_empty() && wait {
            self.parked.park(self.clock.now(), place, pull);
            return;
        }
        // A lease is not stored, so nobody need wait for the commit unless the message itself does.
        let (_, durable) = self.reader.range();
        if found.iter().all(|lease| lease.sequence <= durable) {
            if let Err(Ok(leases)) = pull.reply.send(Ok(found)) {
                self.give_back(&leases);
            }
        } else {
            let effect = Effect::Pulled(pull.reply, Ok(found));
            self.batch.effects.push(effect);
        }
    }

    fn lease(&mut self, place: PlaceId, pull: &Waiting, max: usize) -> Vec<Lease> {
        let now = self.clock.now();
        // Nobody is given what is too old, or what is just coming back in front of it.
        self.expire_at(now);
        let (consumer, held_max) = (&pull.consumer, pull.held_max);
        let (leases, outcome) = self.exchange.pull(now, place, consumer, max, held_max);
        self.meter.deliveries.inc_by(leases.len() as u64);
        let again = leases.iter().filter(|lease| lease.redelivered).count();
        self.meter.redeliveries.inc_by(again as u64);
        self.follow(outcome);
        leases
    }

    fn settle(&mut self, deliveries: &[DeliveryId], how: &Settle) -> Settled {
        if self.has_failed() {
            return deliveries.iter().map(|_| Err(storage_failed())).collect();
        }
        let (now, next) = (self.clock.now(), self.journal.next_sequence());
        let (results, outcome) = self.exchange.settle(now, next, deliveries, how);
        if *how == Settle::Ack {
            let settled = results.iter().filter(|result| result.is_ok()).count();
            self.meter.acknowledgements.inc_by(settled as u64);
        }
        self.follow(outcome);
        results
    }

    /// Gives what has become deliverable to the pulls that wait for it. Each gets its share, so that
    /// one greedy reader does not leave the others without.
    pub(crate) fn serve_parked(&mut self, place: PlaceId) {
        if self.parked.is_empty() || self.has_failed() {
            return;
        }
        let Some(name) = self.exchange.place_name(place).cloned() else {
            return;
        };
        let mut unserved = Vec::new();
        let mut waiting_count = self.parked.count(&name);
        while let Some(waiting) = self.parked.next(&name) {
            // Alone it gets all it asked for, also what waits behind its conversation.
            let share = match waiting_count {
                0 | 1 => usize::MAX,
                count => self.exchange.ready_count(place).div_ceil(count),
            };
            waiting_count = waiting_count.saturating_sub(1);
            if let Some(waiting) = self.serve_one(place, waiting, share.max(1)) {
                // Nothing for this consumer; what is ready may be for another.
                unserved.push(waiting);
                if self.exchange.ready_count(place) == 0 {
                    break;
                }
            }
        }
        for waiting in unserved.into_iter().rev() {
            self.parked.put_back(name.clone(), waiting);
        }
        for consumer in self.exchange.summoned(place) {
            if let Some(waiting) = self.parked.next_of(&name, &consumer)
                && let Some(waiting) = self.serve_one(place, waiting, usize::MAX)
            {
                self.parked.put_back(name.clone(), waiting);
            }
        }
    }

    /// Gives a waiting pull up to `share` deliveries; gives it back when there is nothing for it.
    fn serve_one(&mut self, place: PlaceId, waiting: Waiting, share: usize) -> Option<Waiting> {
        let leases = self.lease(place, &waiting, waiting.max.min(share));
        if leases.is_empty() {
            return Some(waiting);
        }
        if let Some(PlaceName::Inbox(party)) = self.exchange.place_name(place) {
            let party = party.clone();
            self.exchange.saw(self.clock.now(), &party);
        }
        if let Err(Ok(leases)) = waiting.reply.send(Ok(leases)) {
            self.give_back(&leases);
        }
        None
    }

    /// Leases whose receiver has gone are deliverable again at once: nobody has seen them.
    pub(crate) fn give_back(&mut self, leases: &[Lease]) {
        self.exchange.give_back(leases);
        let mut places: Vec<PlaceId> = leases.iter().map(|lease| lease.place).collect();
        places.dedup();
        self.batch.wake.extend(places);
    }

    pub(crate) fn check_writable(&self) -> Result<(), Rejection> {
        if self.has_failed() {
            return Err(storage_failed());
        }
        if self.condition.draining.load(Ordering::Acquire) {
            return Err(draining());
        }
        Ok(())
    }
}

/// What a publish did, as its receipt says.
pub(crate) struct Accepted {
    sequence: u64,
    duplicate: bool,
    recipients: Vec<(Party, RecipientState)>,
    stop: Option<Stop>,
}

/// The refusal of new messages while the disk does not take the keys of older ones.
fn too_many_keys() -> Rejection {
    Fault::new(
        Code::Overloaded,
        "",
        "ARCHITECTURE limits",
        "expected the keys of older messages to be stored by now, got too many that are not; try again shortly",
    )
    .into()
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

pub(crate) fn no_subscription(name: &str) -> Rejection {
    Fault::new(
        Code::NotFound,
        "",
        "ARCHITECTURE subscriptions",
        format!("expected the name of a durable subscription, got {name:?}"),
    )
    .into()
}
