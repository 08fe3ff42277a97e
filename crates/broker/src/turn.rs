//! The loop: handle the batch, commit once, then speak.
//!
//! One thread owns the exchange and the journal. While a sync runs, the next batch collects in the
//! queue; there is no timer. What the outside may learn is held back as data until the commit has
//! returned. A failed commit ends all writing: what was asked is refused, nothing is retried.

use crate::channel::Channel;
use crate::keys;
use crate::parked::Parked;
use crate::request::{Listening, Published, Pulled, Queued, Request, Settled, Ticket};
use crate::ring::Ring;
use crate::turns::Turns;
use crate::watch::Watchers;
use crate::{Clock, Entry, Meter, Settings};
use exchange::{ChannelId, Exchange, FrozenKeys, PlaceId, PlaceName, Record};
use journal::{Index, Journal, KeyReader, Reader};
use protocol::{Code, Fault, Rejection, Timestamp};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use tokio::sync::{mpsc, oneshot};

/// What may be told once the batch is durable.
pub(crate) enum Effect {
    Published(Ticket, Published),
    /// Answers by itself; told whether the commit failed.
    Done(Box<dyn FnOnce(bool) + Send>),
    Listening(oneshot::Sender<Listening>, Listening),
    Pulled(oneshot::Sender<Pulled>, Pulled),
    Settled(oneshot::Sender<Settled>, Settled),
    Closed(oneshot::Sender<()>),
}

/// Facts about the loop that its handles may read at any time.
#[derive(Debug, Default)]
pub(crate) struct Condition {
    pub storage_failed: AtomicBool,
    pub draining: AtomicBool,
}

/// The loop and everything it owns.
pub(crate) struct Turn {
    pub settings: Settings,
    pub clock: Clock,
    pub exchange: Exchange,
    pub journal: Journal,
    pub reader: Reader,
    /// For tasks that have left memory.
    pub index: Index,
    pub ring: Arc<Ring>,
    pub meter: Meter,
    pub condition: Arc<Condition>,
    pub requests: mpsc::Receiver<Queued>,
    /// What came and waits for its turn.
    pub turns: Turns<Request>,
    /// The wish to end, which waits for everything that came before it.
    pub close: Option<Request>,
    pub channels: HashMap<ChannelId, Arc<Channel>>,
    pub parked: Parked,
    pub watchers: Watchers,
    /// Says which keys the files answer for.
    pub keys: KeyReader,
    /// Takes keys to the thread that stores them.
    pub sealing: std::sync::mpsc::Sender<Arc<FrozenKeys>>,
    /// Dropped with the loop; ends the threads that live as long as it does.
    pub alive: Vec<std::sync::mpsc::Sender<()>>,
    pub batch: Batch,
    /// Set when the loop starts on its thread.
    pub unpark: Waker,
}

/// Everything one turn collects before its commit.
#[derive(Default)]
pub(crate) struct Batch {
    /// Reused for the bytes of one record's head.
    pub head: Vec<u8>,
    /// One slot per appended record; a hole for records that are not messages.
    pub entries: Vec<Option<Arc<Entry>>>,
    /// Channel, sequence and bytes of each match.
    pub matches: Vec<(ChannelId, u64, u64)>,
    pub wake: Vec<PlaceId>,
    pub effects: Vec<Effect>,
    pub bytes: usize,
    pub messages: usize,
    pub closing: bool,
}

impl Turn {
    /// Disconnected when the loop is gone.
    pub(crate) fn tell_end(&mut self) -> std::sync::mpsc::Receiver<()> {
        let (alive, ended) = std::sync::mpsc::channel();
        self.alive.push(alive);
        ended
    }

    /// Runs until closed or until every handle is gone.
    pub(crate) fn run(mut self) {
        self.unpark = Waker::from(Arc::new(Unpark(std::thread::current())));
        loop {
            if self.turns.is_empty() && self.close.is_none() {
                match self.wait() {
                    Waited::Request(queued) => self.queue(*queued),
                    Waited::Timer => {}
                    Waited::Abandoned => break,
                }
            }
            self.step();
            if self.batch.closing {
                break;
            }
        }
        self.end();
    }

    /// Takes what waits as far as there is room, does what is due, commits, speaks.
    pub(crate) fn step(&mut self) {
        while self.has_room() {
            self.collect();
            match self.turns.next().or_else(|| self.close.take()) {
                Some(request) => self.take(request),
                None => break,
            }
        }
        self.expire();
        self.finish();
        self.bound_keys();
        let now = self.clock.now();
        self.parked.sweep(now, |place| {
            // It was there until now, and may be about to come again.
            if let PlaceName::Inbox(party) = place {
                self.exchange.saw(now, party);
            }
        });
    }

    /// Closes the journal.
    pub(crate) fn end(self) {
        if let Err(error) = self.journal.close() {
            tracing::error!(%error, "the journal could not be closed cleanly");
        }
    }

    /// Parks this thread until a request comes or the next deadline is due.
    fn wait(&mut self) -> Waited {
        let deadline = self.deadline();
        let mut context = Context::from_waker(&self.unpark);
        loop {
            match self.requests.poll_recv(&mut context) {
                Poll::Ready(Some(queued)) => return Waited::Request(Box::new(queued)),
                Poll::Ready(None) => return Waited::Abandoned,
                Poll::Pending => {}
            }
            match deadline.map(|at| self.clock.until(at)) {
                None => std::thread::park(),
                Some(rest) if rest.is_zero() => return Waited::Timer,
                Some(rest) => std::thread::park_timeout(rest),
            }
        }
    }

    /// Lets everything that has come take its place among those that wait.
    fn collect(&mut self) {
        while self.turns.len() < self.settings.queue_max {
            match self.requests.try_recv() {
                Ok(queued) => self.queue(queued),
                Err(_) => break,
            }
        }
    }

    fn queue(&mut self, Queued { lane, request }: Queued) {
        match request {
            Request::PublishMany(publishes) => {
                let publishes = publishes.into_iter().map(Request::Publish);
                self.turns.push(lane, publishes);
            }
            Request::Close { .. } => self.close = Some(request),
            request => self.turns.push(lane, [request]),
        }
    }

    pub(crate) fn deadline(&self) -> Option<Timestamp> {
        // After a failure nothing is due any more: nothing could be written down.
        let leases = self.exchange.next_deadline().filter(|_| !self.has_failed());
        let parked = self.parked.next_sweep();
        [leases, parked].into_iter().flatten().min()
    }

    fn has_room(&self) -> bool {
        !self.batch.closing
            && self.batch.messages < self.settings.batch_max
            && self.batch.bytes < self.settings.batch_bytes_max
    }

    /// Appends one record to the batch; returns its sequence.
    pub(crate) fn append(&mut self, record: &Record) -> u64 {
        self.batch.head.clear();
        record.encode_head(&mut self.batch.head);
        let envelope: &[u8] = match record {
            Record::Published { envelope, .. } => envelope,
            Record::SubscriptionPut { .. }
            | Record::SubscriptionRemoved { .. }
            | Record::Acked { .. }
            | Record::Failed { .. }
            | Record::Ended { .. }
            | Record::Redriven { .. }
            | Record::PlaceConfigured { .. }
            | Record::PlacePaused { .. }
            | Record::CardPut { .. }
            | Record::CardRemoved { .. } => &[],
        };
        self.batch.bytes += self.batch.head.len() + envelope.len();
        self.journal
            .append(record.kind(), &[&self.batch.head, envelope])
    }

    /// Commits and speaks until nothing is left: serving a pull that waited can itself have news.
    fn finish(&mut self) {
        loop {
            self.commit();
            self.speak();
            let is_done = self.batch.entries.is_empty()
                && self.batch.wake.is_empty()
                && self.batch.effects.is_empty();
            if is_done || self.has_failed() {
                break;
            }
        }
    }

    fn commit(&mut self) {
        if self.batch.entries.is_empty() || self.has_failed() {
            return;
        }
        let start = std::time::Instant::now();
        self.journal.set_now(self.clock.now().as_millis());
        if let Err(error) = self.journal.commit() {
            tracing::error!(%error, "the journal cannot be written; no more writes until a restart");
            self.condition.storage_failed.store(true, Ordering::Release);
            let (_, durable) = self.reader.range();
            for channel in self.channels.values() {
                channel.end_at(durable);
            }
            return;
        }
        self.meter
            .commit_seconds
            .observe(start.elapsed().as_secs_f64());
        self.meter
            .commit_messages
            .observe(self.batch.messages as f64);
    }

    /// Keeps few keys in memory: forgets those that files answer for, and freezes the newest ones when
    /// there are many. Between turns all of them belong to durable records, unless the journal failed.
    fn bound_keys(&mut self) {
        if self.has_failed() {
            return;
        }
        if self.exchange.frozen_keys() > 0 {
            let (first, _) = self.reader.range();
            self.exchange.forget_keys(self.keys.covered(first));
        }
        if self.exchange.recent_keys() >= self.settings.dedupe_recent_max
            && self.exchange.frozen_keys() < keys::FROZEN_MAX
        {
            let last = self.journal.next_sequence() - 1;
            // It ends only with the loop.
            let _ = self.sealing.send(self.exchange.freeze_keys(last));
        }
    }

    /// Whether keys come in faster than they are stored, so that memory would not be bounded.
    pub(crate) fn has_too_many_keys(&self) -> bool {
        let recent_max = self.settings.dedupe_recent_max;
        self.exchange.recent_keys() >= recent_max.saturating_add(recent_max.max(keys::SPARE_MIN))
    }

    /// Lets everybody know, now that it is durable.
    fn speak(&mut self) {
        let failed = self.has_failed();
        if failed {
            self.batch.entries.clear();
            self.batch.matches.clear();
            self.batch.wake.clear();
        } else if !self.batch.entries.is_empty() {
            self.ring.extend(self.batch.entries.drain(..));
        }
        let effects = std::mem::take(&mut self.batch.effects);
        for effect in effects {
            self.tell(effect, failed);
        }
        let mut touched: Vec<ChannelId> = Vec::new();
        for (id, sequence, bytes) in self.batch.matches.drain(..) {
            if let Some(channel) = self.channels.get(&id) {
                channel.push(sequence, bytes);
                if touched.last() != Some(&id) {
                    touched.push(id);
                }
            }
        }
        touched.sort_unstable();
        touched.dedup();
        for id in touched {
            if let Some(channel) = self.channels.get(&id) {
                channel.wake();
            }
        }
        let mut woken = std::mem::take(&mut self.batch.wake);
        woken.sort_unstable();
        woken.dedup();
        for place in woken {
            self.serve_parked(place);
        }
        self.watchers.tell();
        self.batch.bytes = 0;
        self.batch.messages = 0;
    }

    fn tell(&mut self, effect: Effect, failed: bool) {
        match effect {
            Effect::Published(ticket, result) => {
                ticket.answer(if failed {
                    result.and_then(|_| Err(storage_failed()))
                } else {
                    result
                });
            }
            Effect::Done(answer) => answer(failed),
            Effect::Listening(caller, (channel, last)) => {
                let listening = (channel, last.min(self.last_sequence()));
                if let Err((channel, _)) = caller.send(listening) {
                    self.unlisten(channel.id);
                }
            }
            Effect::Pulled(caller, result) => {
                let result = if failed {
                    Err(storage_failed())
                } else {
                    result
                };
                if let Err(Ok(leases)) = caller.send(result) {
                    self.give_back(&leases);
                }
            }
            Effect::Settled(caller, results) => {
                let results = if failed {
                    results.into_iter().map(|_| Err(storage_failed())).collect()
                } else {
                    results
                };
                drop(caller.send(results));
            }
            Effect::Closed(caller) => drop(caller.send(())),
        }
    }

    /// Does what is due. What follows from it joins the batch.
    pub(crate) fn expire(&mut self) {
        self.expire_at(self.clock.now());
    }

    pub(crate) fn expire_at(&mut self, now: Timestamp) {
        let is_due = |moment| moment <= now;
        if !self.has_failed() && self.exchange.next_deadline().is_some_and(is_due) {
            let outcome = self.exchange.expire(now, self.journal.next_sequence());
            self.follow(outcome);
        }
    }

    /// The last sequence that is or will be in the journal. What was appended and could not be
    /// written has none: a reader would wait for it, and after a restart others have its place.
    pub(crate) fn last_sequence(&self) -> u64 {
        if self.has_failed() {
            return self.reader.range().1;
        }
        self.journal.next_sequence() - 1
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.condition.storage_failed.load(Ordering::Acquire)
    }
}

/// Wakes the loop's thread when a request comes.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

enum Waited {
    Request(Box<Queued>),
    Timer,
    Abandoned,
}

/// The refusal of every write after the journal failed.
pub(crate) fn storage_failed() -> Rejection {
    Fault::new(
        Code::StorageFailed,
        "",
        "ARCHITECTURE 4",
        "expected the journal to take the write; an earlier write or sync failed and only a restart clears that",
    )
    .into()
}
