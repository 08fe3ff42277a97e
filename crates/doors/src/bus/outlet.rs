//! Outwards: what the bus is owed, published in order and acknowledged here only after the bus confirmed.

use super::{Link, intake};
use broker::{Delivery, DeliveryId, Entry, Handle, PlaceName, Portion, Settle};
use futures_util::StreamExt as _;
use futures_util::stream;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Deliveries taken at once, and their bytes.
const PORTION: Portion = Portion {
    max: 256,
    held_max: 256,
    bytes_max: 8 << 20,
};
/// Conversations on their way at once; each has one message on its way, so that none overtakes.
const CONVERSATIONS_MAX: usize = 64;
/// How long a pull waits before it asks again.
const PULL_WAIT: Duration = Duration::from_secs(5);

/// How long a message on its way is waited for when the exchange stops.
const STOP_WAIT: Duration = Duration::from_secs(2);

/// What became of the messages that were taken together.
#[derive(Default)]
struct Round {
    confirmed: Mutex<Vec<DeliveryId>>,
    /// Confirmed or refused.
    settled: AtomicUsize,
    is_broken: AtomicBool,
}

/// Takes what one bus is owed.
pub(crate) struct Outlet {
    handle: Handle,
    place: PlaceName,
    pub link: Link,
}

/// What became of one message on the bus.
pub(crate) enum Sent {
    /// The bus has it, as safely as it keeps anything.
    Confirmed,
    /// The bus will never take it, such as one over its size limit: it becomes a dead letter.
    Refused(String),
    /// The bus did not say; it is sent again.
    Unknown(String),
}

impl Outlet {
    pub(crate) fn new(handle: &Handle, subscription: &str, link: Link) -> Self {
        Self {
            handle: handle.connection(),
            place: PlaceName::Subscription(subscription.into()),
            link,
        }
    }

    /// This exchange as others on the bus know it.
    pub(crate) fn exchange(&self) -> String {
        intake::exchange(&self.handle)
    }

    /// Sends until the exchange stops. `send` publishes one message and waits for the confirmation.
    pub(crate) async fn run<F>(&self, send: impl Fn(Arc<Entry>) -> F)
    where
        F: Future<Output = Sent>,
    {
        let mut failures = 0;
        while !self.link.stop.is_asked() {
            let pull = self
                .handle
                .pull_within(self.place.clone(), None, PORTION, PULL_WAIT);
            let pulled = tokio::select! {
                pulled = pull => pulled,
                () = self.link.stop.asked() => break,
            };
            let is_well = match pulled {
                Ok(deliveries) if deliveries.is_empty() => true,
                Ok(deliveries) => self.send_all(deliveries, &send).await,
                Err(refusal) => {
                    // Also when somebody removed the subscription, perhaps to make it anew.
                    let why = &refusal.first().detail;
                    tracing::warn!(bus = self.link.kind.as_str(), %why, "nothing can be sent");
                    false
                }
            };
            failures = if is_well { 0 } else { failures + 1 };
            if failures > 0 && !self.link.rest(failures).await {
                break;
            }
        }
    }

    /// Sends deliveries, conversations side by side and each in its order; whether the bus took them all.
    async fn send_all<F>(&self, deliveries: Vec<Delivery>, send: &impl Fn(Arc<Entry>) -> F) -> bool
    where
        F: Future<Output = Sent>,
    {
        let round = Round::default();
        let all: Vec<DeliveryId> = deliveries.iter().map(|one| one.id).collect();
        let groups = by_conversation(deliveries).into_iter();
        let sending = groups.map(|group| self.send_group(group, send, &round));
        let sending = stream::iter(sending).buffer_unordered(CONVERSATIONS_MAX);
        let late = async {
            self.link.stop.asked().await;
            tokio::time::sleep(STOP_WAIT).await;
        };
        tokio::select! {
            () = sending.for_each(|()| std::future::ready(())) => {}
            // What was not confirmed by now is sent again after the next start.
            () = late => {}
        }
        let confirmed = std::mem::take(&mut *round.confirmed.lock());
        if !confirmed.is_empty() {
            self.link.up();
            if let Err(refusal) = self.handle.settle(confirmed, Settle::Ack).await {
                // They are sent again, and known there by their ids.
                tracing::warn!(why = %refusal.first().detail, "what was sent could not be settled");
            }
        }
        // What is settled by now is not given back by this. The rest waits again, at once and in order; it
        // has not failed, and nobody is told of another attempt: a bus may be away for long.
        if round.settled.load(Ordering::Relaxed) < all.len()
            && let Err(refusal) = self.handle.give_back_unseen(all).await
        {
            tracing::debug!(why = %refusal.first().detail, "held messages wait for the next start");
        }
        !round.is_broken.load(Ordering::Relaxed)
    }

    /// Sends one conversation up to the first that the bus does not confirm.
    async fn send_group<F>(
        &self,
        group: Vec<Delivery>,
        send: &impl Fn(Arc<Entry>) -> F,
        round: &Round,
    ) where
        F: Future<Output = Sent>,
    {
        for delivery in group {
            if round.is_broken.load(Ordering::Relaxed) {
                break;
            }
            match send(delivery.entry).await {
                Sent::Confirmed => {
                    self.count("confirmed");
                    round.confirmed.lock().push(delivery.id);
                    round.settled.fetch_add(1, Ordering::Relaxed);
                }
                Sent::Refused(reason) => {
                    self.count("refused");
                    round.settled.fetch_add(1, Ordering::Relaxed);
                    tracing::warn!(bus = self.link.kind.as_str(), %reason, "a message was refused");
                    let reason = reason.into();
                    let dead = self
                        .handle
                        .settle(vec![delivery.id], Settle::Reject { reason });
                    if let Err(refusal) = dead.await {
                        // It comes again and is refused again.
                        tracing::warn!(why = %refusal.first().detail, "it could not be put aside");
                    }
                }
                Sent::Unknown(why) => {
                    self.count("unknown");
                    round.is_broken.store(true, Ordering::Relaxed);
                    self.link.down(&why);
                    break;
                }
            }
        }
    }

    fn count(&self, result: &'static str) {
        self.link.meter.outwards(self.link.kind, result);
    }
}

/// Deliveries by conversation, each in its order; one without a conversation is on its own.
fn by_conversation(deliveries: Vec<Delivery>) -> Vec<Vec<Delivery>> {
    let mut groups: Vec<Vec<Delivery>> = Vec::new();
    let mut known: HashMap<Box<str>, usize> = HashMap::new();
    for delivery in deliveries {
        let at = match &delivery.entry.header.conversation {
            Some(conversation) => *known.entry(conversation.clone()).or_insert(groups.len()),
            None => groups.len(),
        };
        match groups.get_mut(at) {
            Some(group) => group.push(delivery),
            None => groups.push(vec![delivery]),
        }
    }
    groups
}
