//! What a session is sent: live readers follow the journal, durable ones hold leased deliveries.

use super::frames::Frames;
use super::peer::{End, Peer};
use super::registry::name_of;
use super::work::{self, Done, Name};
use broker::{
    Batch, Cursor, Delivery, DeliveryId, Departure, Entry, Follow, From, Handle, PlaceName,
    Portion, Settle, Tail,
};
use futures_util::future::AbortHandle;
use protocol::session::{About, DeliveryMode, Place, Subscription};
use protocol::{Code, DialectName, Filter, Party, Rejection};
use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Messages that a live reader puts on its way in one turn.
const BATCH_MAX: usize = 64;
/// Deliveries that a durable reader takes in one turn, at most, and about so many bytes of them.
const PULL_MAX: usize = 512;
const PULL_BYTES_MAX: usize = 512 << 10;
/// How long one pull of a durable reader waits; then it asks again.
const PULL_WAIT: Duration = Duration::from_secs(30);

/// The readers of one connection.
#[derive(Default)]
pub(super) struct Readers {
    open: HashMap<Name, Reader>,
    /// Deliveries that ask for no acknowledgement, until they were sent.
    pub(super) unflushed: Vec<DeliveryId>,
}

struct Reader {
    kind: Kind,
    waits: AbortHandle,
}

enum Kind {
    Live {
        /// Events behind this were published while it listened.
        since: u64,
        /// The cursor and the number of events of a replay that is under way.
        replay: Option<(Cursor, u64)>,
        _owed: Option<Box<dyn Any + Send>>,
    },
    Durable {
        place: PlaceName,
        is_acknowledged: bool,
    },
}

impl Readers {
    /// Ends all: the places that were read, and the names of durable subscriptions.
    pub(super) fn leave(&mut self) -> (Vec<PlaceName>, Vec<Box<str>>) {
        let (mut places, mut names) = (Vec::new(), Vec::new());
        for (_, reader) in self.open.drain() {
            reader.waits.abort();
            if let Kind::Durable { place, .. } = reader.kind {
                if let PlaceName::Subscription(name) = &place {
                    names.push(name.clone());
                }
                places.push(place);
            }
        }
        (places, names)
    }
}

impl<F: Frames> Peer<F> {
    pub(super) async fn done(&mut self, done: Done) -> Result<(), End> {
        match done {
            Done::Opened {
                name,
                about,
                is_replay,
                tail,
            } => self.opened(name, about, is_replay, tail).await,
            Done::Batch { name, tail, batch } => self.batch(name, tail, batch).await,
            Done::Stands {
                name,
                about,
                result,
            } => self.stands(name, about, result).await,
            Done::Pulled { name, pulled } => self.pulled(name, pulled).await,
            Done::Overhears { tail } => {
                self.overhears(tail);
                Ok(())
            }
            Done::Overheard { tail, batch } => self.overheard(tail, batch).await,
            Done::Over => Ok(()),
        }
    }

    /// Begins to deliver what waits for a party.
    pub(super) fn attach(&mut self, party: Party, is_acknowledged: bool) {
        let name: Name = "".into();
        if let Some(reader) = self.readers.open.remove(&name) {
            reader.waits.abort();
            self.leave(reader.kind);
        }
        self.consume(name, PlaceName::Inbox(party), is_acknowledged);
    }

    fn consume(&mut self, name: Name, place: PlaceName, is_acknowledged: bool) {
        let (waits, _) = AbortHandle::new_pair();
        let kind = Kind::Durable {
            place,
            is_acknowledged,
        };
        self.readers
            .open
            .insert(Arc::clone(&name), Reader { kind, waits });
        self.pull_on(name);
    }

    pub(super) fn subscribe(&mut self, about: Option<About>, subscription: Subscription) {
        let name: Name = Arc::from(&*subscription.id);
        if let Some(reader) = self.readers.open.remove(&name) {
            // Asked again from another place.
            reader.waits.abort();
            self.leave(reader.kind);
        }
        let handle = self.handle.clone();
        let Subscription {
            filter, mode, from, ..
        } = subscription;
        if mode == DeliveryMode::AtLeastOnce {
            let stands = self.durable_name(&name);
            work::add(&self.work, async move {
                let put = handle.put_subscription(&stands, filter, None, None).await;
                let result = put.map(drop);
                Done::Stands {
                    name,
                    about,
                    result,
                }
            });
            return;
        }
        work::add(&self.work, async move {
            let is_replay = from.is_some() && mode == DeliveryMode::Replayable;
            let tail = follow(&handle, filter, from.as_deref()).await.map(Box::new);
            Done::Opened {
                name,
                about,
                is_replay,
                tail,
            }
        });
    }

    fn durable_name(&self, id: &str) -> String {
        let key = self
            .claim
            .as_ref()
            .map_or(&*self.own_name, |claim| &claim.key);
        name_of(key, id)
    }

    /// Ends a reader for good.
    pub(super) async fn unsubscribe(&mut self, id: &str) {
        let Some(reader) = self.readers.open.remove(id) else {
            return;
        };
        reader.waits.abort();
        if let Kind::Durable {
            place: PlaceName::Subscription(name),
            ..
        } = &reader.kind
            && let Err(refused) = self.handle.remove_subscription(name).await
        {
            tracing::debug!(%refused, "a session's subscription was gone");
        }
    }

    /// What a reader held goes to others.
    fn leave(&self, kind: Kind) {
        if let Kind::Durable { place, .. } = kind {
            let (handle, consumer) = (self.handle.clone(), Some(Arc::clone(&self.own_name)));
            work::add(&self.work, async move {
                // Otherwise the leases run out.
                let _ = handle.leave(place, consumer, Departure::Leaves).await;
                Done::Over
            });
        }
    }

    fn place(&self, cursor: Cursor) -> Place {
        Place {
            sequence: cursor.sequence,
            cursor: cursor.to_string().into(),
        }
    }

    async fn stands(
        &mut self,
        name: Name,
        about: Option<About>,
        result: Result<(), Rejection>,
    ) -> Result<(), End> {
        if !self.machine.subscriptions().any(|one| *one.id == *name) {
            // Cancelled while it was on its way.
            let stands = self.durable_name(&name);
            let _ = self.handle.remove_subscription(&stands).await;
            return Ok(());
        }
        if let Err(refused) = result {
            return self.refuse_reader(&name, about.as_ref(), refused).await;
        }
        let (now, head) = (self.now(), self.place(self.handle.head()));
        if let Some(text) = self.machine.subscribed(now, about.as_ref(), &name, head) {
            self.say(text).await?;
        }
        let place = PlaceName::Subscription(self.durable_name(&name).into());
        self.consume(name, place, true);
        Ok(())
    }

    async fn refuse_reader(
        &mut self,
        name: &Name,
        about: Option<&About>,
        refused: Rejection,
    ) -> Result<(), End> {
        if self.host.stop.is_draining() {
            // Told as part of the drain.
            return Ok(());
        }
        self.readers.open.remove(name);
        if name.is_empty() {
            tracing::warn!(%refused, "an inbox cannot be read");
            return Ok(());
        }
        let refused = self.advise(refused);
        let text = self.machine.refused(self.now(), about, name, &refused);
        self.say(text).await
    }

    async fn opened(
        &mut self,
        name: Name,
        about: Option<About>,
        is_replay: bool,
        tail: Result<Box<Tail>, Rejection>,
    ) -> Result<(), End> {
        if !self.machine.subscriptions().any(|one| *one.id == *name) {
            return Ok(());
        }
        let tail = match tail {
            Ok(tail) => tail,
            Err(refused) => return self.refuse_reader(&name, about.as_ref(), refused).await,
        };
        let (now, cursor) = (self.now(), tail.cursor());
        let start = self.place(cursor);
        if let Some(text) = self.machine.subscribed(now, about.as_ref(), &name, start) {
            self.say(text).await?;
        }
        let kind = Kind::Live {
            since: self.handle.head().sequence,
            replay: is_replay.then_some((cursor, 0)),
            _owed: self.frames.owe(tail.feed()),
        };
        let (waits, _) = AbortHandle::new_pair();
        self.readers
            .open
            .insert(Arc::clone(&name), Reader { kind, waits });
        self.follow_on(name, tail);
        Ok(())
    }

    async fn batch(
        &mut self,
        name: Name,
        tail: Box<Tail>,
        batch: Result<Batch, Rejection>,
    ) -> Result<(), End> {
        let Batch {
            gap,
            entries,
            caught_up,
        } = match batch {
            Ok(batch) => batch,
            Err(refused) => return self.refuse_reader(&name, None, refused).await,
        };
        let now = self.now();
        if let Some(gap) = gap {
            let text = self.machine.gap(now, &name, &gap.to_json());
            self.say(text).await?;
        }
        let Some(Reader {
            kind: Kind::Live { since, replay, .. },
            ..
        }) = self.readers.open.get_mut(&name)
        else {
            return Ok(());
        };
        if let Some((_, count)) = replay {
            *count += entries.len() as u64;
        }
        let (since, done) = (*since, if caught_up { replay.take() } else { None });
        for entry in &entries {
            self.send_live(&name, entry, since).await?;
        }
        self.handle.meter().streamed.inc_by(entries.len() as u64);
        let reached = self.place(tail.cursor());
        if let Some((from, count)) = done {
            let from = from.to_string();
            let text = self
                .machine
                .replayed(now, &name, &from, &reached.cursor, count);
            self.say(text).await?;
        }
        self.machine.sent(&name, reached);
        self.follow_on(name, tail);
        Ok(())
    }

    /// One event, unless another reader of this connection has sent it. A replay sends all again.
    async fn send_live(&mut self, name: &Name, entry: &Entry, since: u64) -> Result<(), End> {
        let place = self.place(self.handle.cursor(entry));
        let is_sent = self.held.is_sent_by_other(name, &entry.header.id, &place);
        if is_sent && entry.sequence > since {
            return Ok(());
        }
        self.frames.send(entry.envelope.clone()).await?;
        self.frames.reached(self.handle.cursor(entry));
        Ok(())
    }

    fn follow_on(&mut self, name: Name, mut tail: Box<Tail>) {
        let called = Arc::clone(&name);
        let waits = work::add(&self.work, async move {
            let batch = tail.next(BATCH_MAX).await;
            Done::Batch {
                name: called,
                tail,
                batch,
            }
        });
        self.now_waits(&name, waits);
    }

    fn now_waits(&mut self, name: &Name, waits: AbortHandle) {
        match self.readers.open.get_mut(name) {
            Some(reader) => reader.waits = waits,
            None => waits.abort(),
        }
    }

    fn pull_on(&mut self, name: Name) {
        let Some(Reader {
            kind: Kind::Durable { place, .. },
            ..
        }) = self.readers.open.get(&name)
        else {
            return;
        };
        let (handle, place) = (self.handle.clone(), place.clone());
        let consumer = Some(Arc::clone(&self.own_name));
        let portion = Portion {
            max: PULL_MAX,
            held_max: self.host.settings.held_max.max(1),
            bytes_max: PULL_BYTES_MAX,
        };
        let called = Arc::clone(&name);
        let waits = work::add(&self.work, async move {
            let pulled = handle
                .pull_within(place, consumer, portion, PULL_WAIT)
                .await;
            Done::Pulled {
                name: called,
                pulled,
            }
        });
        self.now_waits(&name, waits);
    }

    async fn pulled(
        &mut self,
        name: Name,
        pulled: Result<Vec<Delivery>, Rejection>,
    ) -> Result<(), End> {
        let pulled = match pulled {
            Ok(pulled) => pulled,
            Err(refused) => return self.refuse_reader(&name, None, refused).await,
        };
        let Some(Reader {
            kind: Kind::Durable {
                is_acknowledged, ..
            },
            ..
        }) = self.readers.open.get(&name)
        else {
            return Ok(());
        };
        let is_acknowledged = *is_acknowledged;
        for delivery in pulled {
            self.deliver(&name, delivery, is_acknowledged).await?;
        }
        self.pull_on(name);
        Ok(())
    }

    async fn deliver(
        &mut self,
        name: &Name,
        delivery: Delivery,
        is_acknowledged: bool,
    ) -> Result<(), End> {
        let entry = &delivery.entry;
        let header = &entry.header;
        if is_acknowledged || asks_for_acknowledgement(entry) {
            self.held.hold(&header.id, delivery.id);
        } else {
            self.readers.unflushed.push(delivery.id);
        }
        let place = self.place(self.handle.cursor(entry));
        if self.held.is_sent_by_other(name, &header.id, &place) && delivery.attempt == 1 {
            return Ok(());
        }
        if delivery.redelivered && delivery.attempt > 1 {
            let now = self.now();
            let text = self.machine.redelivered(now, &header.id, delivery.attempt);
            self.say(text).await?;
        }
        self.frames.send(entry.envelope.clone()).await?;
        self.frames.reached(self.handle.cursor(entry));
        Ok(())
    }

    /// What asks for no acknowledgement is done when it was sent.
    pub(super) fn settle_flushed(&mut self) {
        if self.readers.unflushed.is_empty() {
            return;
        }
        let deliveries = std::mem::take(&mut self.readers.unflushed);
        let handle = self.handle.clone();
        work::add(&self.work, async move {
            if let Err(refused) = handle.settle(deliveries, Settle::Ack).await {
                tracing::debug!(%refused, "nothing is settled any more");
            }
            Done::Over
        });
    }
}

/// Whether a message waits for an acknowledgement: an AEP event when its `delivery.mode` says so
/// (AEP 6), the other dialects always.
fn asks_for_acknowledgement(entry: &Entry) -> bool {
    if entry.header.dialect != DialectName::Aep {
        return true;
    }
    let limits = protocol::json::Limits {
        bytes_max: entry.envelope.len(),
        depth_max: usize::MAX,
    };
    let Ok(document) = protocol::json::read(&entry.envelope, limits) else {
        return false;
    };
    let mode = document.root().at("/delivery/mode");
    let mode = mode.and_then(|mode| DeliveryMode::parse(&mode.as_str()?));
    matches!(
        mode,
        Some(DeliveryMode::AtLeastOnce | DeliveryMode::Replayable)
    )
}

/// A reader from a cursor, or just after the event of that id.
pub(super) async fn follow(
    handle: &Handle,
    filter: Filter,
    from: Option<&str>,
) -> Result<Tail, Rejection> {
    let Some(text) = from else {
        return handle
            .follow(filter, &From::Latest, Follow::default())
            .await;
    };
    let from = From::parse(text);
    match handle
        .follow(filter.clone(), &from, Follow::default())
        .await
    {
        Err(refused) if refused.code() == Code::CursorUnknown => {
            let Ok(entry) = handle.find(text, None).await else {
                return Err(refused);
            };
            let from = From::Cursor(handle.cursor(&entry).to_string());
            handle.follow(filter, &from, Follow::default()).await
        }
        answer => answer,
    }
}
