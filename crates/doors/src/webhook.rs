//! Webhooks: deliveries of a durable subscription, pushed to an address.
//!
//! A webhook is a consumer like any other: it pulls from the subscription's place, and settles by
//! what the address answers. Attempts, waits, order and dead letters are the place's. Each of its
//! slots is a consumer of its own that holds one delivery at a time, so a conversation stays in order.

mod guard;
mod meter;
mod post;
mod sign;

pub use guard::{Networks, check_url};
pub use meter::Meter;
pub use sign::{SecretError, check_secret, new_secret};

use crate::http::Stop;
use broker::{
    Delivery, Departure, Handle, PlaceId, PlaceName, Portion, Push, Settle, SubscriptionView,
};
use parking_lot::Mutex;
use post::{Answered, Post};
use protocol::Code;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

/// How long a slot waits for a delivery before it asks again.
const PULL_WAIT: Duration = Duration::from_secs(20);

/// The pause after the exchange could not be asked.
const PAUSE: Duration = Duration::from_secs(1);

/// What webhooks can be told.
#[derive(Clone, Debug)]
pub struct WebhookSettings {
    /// Networks that may be called although they are private.
    pub networks: Networks,
    /// Milliseconds for one attempt, from the look-up of the name to the head of the answer.
    pub wait_ms: u64,
    /// Attempts of one subscription that are under way at once.
    pub in_flight_max: usize,
}

impl Default for WebhookSettings {
    fn default() -> Self {
        Self {
            networks: Networks::default(),
            wait_ms: 15_000,
            in_flight_max: 4,
        }
    }
}

/// The webhooks of one process.
#[derive(Debug)]
pub struct Webhooks {
    running: JoinSet<()>,
    meter: Meter,
}

impl Webhooks {
    /// Begins to push what there is to push, until `stop` leads to the drain.
    #[must_use]
    pub fn start(settings: WebhookSettings, handle: &Handle, stop: &Stop) -> Self {
        let mut running = JoinSet::new();
        let meter = Meter::default();
        match Post::new(&settings) {
            Ok(post) => {
                let post = Arc::new(post);
                let counts = meter.clone();
                let supervised =
                    supervise(settings, post, handle.connection(), stop.clone(), counts);
                running.spawn(supervised);
            }
            Err(error) => tracing::error!(error, "webhooks cannot be called"),
        }
        Self { running, meter }
    }

    /// What these webhooks count.
    #[must_use]
    pub fn meter(&self) -> Meter {
        self.meter.clone()
    }

    /// Returns when every attempt under way has ended, after the drain began.
    pub async fn ended(mut self) {
        while self.running.join_next().await.is_some() {}
    }
}

/// What one subscription pushes, as far as its slots depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Target {
    place: PlaceId,
    push: Push,
    lease_ms: i64,
}

/// Starts and ends slots as subscriptions come, change and go.
async fn supervise(
    settings: WebhookSettings,
    post: Arc<Post>,
    handle: Handle,
    stop: Stop,
    meter: Meter,
) {
    let mut changed = handle.subscriptions_changed();
    let mut current: BTreeMap<Box<str>, (Target, CancellationToken)> = BTreeMap::new();
    let mut slots = JoinSet::new();
    let mut generation = 0_u64;
    while !stop.is_draining() {
        changed.mark_unchanged();
        let Ok(views) = handle.subscriptions().await else {
            tokio::select! {
                () = sleep(PAUSE) => continue,
                () = stop.draining() => break,
            }
        };
        let default_lease_ms = handle.settings().exchange.delivery.lease_ms;
        let mut wanted: BTreeMap<Box<str>, Target> = views
            .into_iter()
            .filter_map(|view| target(view, default_lease_ms))
            .collect();
        current.retain(|name, (target, end)| {
            let is_same = wanted.get(name) == Some(target);
            if is_same {
                wanted.remove(name);
            } else {
                end.cancel();
            }
            is_same
        });
        for (name, target) in wanted {
            let end = CancellationToken::new();
            generation += 1;
            let rest = Arc::new(Mutex::new(None));
            for number in 0..settings.in_flight_max.max(1) {
                let slot = Slot {
                    name: name.clone(),
                    consumer: format!("webhook-{generation}-{number}").into(),
                    target: target.clone(),
                    post: Arc::clone(&post),
                    handle: handle.connection(),
                    end: end.clone(),
                    rest: Arc::clone(&rest),
                    meter: meter.clone(),
                };
                slots.spawn(slot.run());
            }
            current.insert(name, (target, end));
        }
        tokio::select! {
            told = changed.changed() => if told.is_err() { break },
            () = stop.draining() => {}
            Some(_) = slots.join_next() => {}
        }
    }
    for (_, end) in current.values() {
        end.cancel();
    }
    while slots.join_next().await.is_some() {}
}

fn target(view: SubscriptionView, default_lease_ms: i64) -> Option<(Box<str>, Target)> {
    let target = Target {
        place: view.id,
        push: view.push?,
        lease_ms: view
            .settings
            .map_or(default_lease_ms, |settings| settings.lease_ms),
    };
    Some((view.name, target))
}

/// One of the consumers of a subscription that is pushed.
struct Slot {
    name: Box<str>,
    consumer: Arc<str>,
    target: Target,
    post: Arc<Post>,
    handle: Handle,
    end: CancellationToken,
    /// Until when the address asked for rest, for all slots of it.
    rest: Arc<Mutex<Option<Instant>>>,
    meter: Meter,
}

impl Slot {
    async fn run(self) {
        let place = PlaceName::Subscription(self.name.clone());
        while !self.end.is_cancelled() {
            let rest = *self.rest.lock();
            if let Some(until) = rest.filter(|until| *until > Instant::now()) {
                tokio::select! {
                    () = sleep_until(until) => {}
                    () = self.end.cancelled() => break,
                }
            }
            let (consumer, portion) = (Some(Arc::clone(&self.consumer)), Portion::of(1));
            let pull = self
                .handle
                .pull_within(place.clone(), consumer, portion, PULL_WAIT);
            let pulled = tokio::select! {
                biased;
                // A delivery on its way to a pull that was given up returns to the place.
                () = self.end.cancelled() => break,
                pulled = pull => pulled,
            };
            match pulled {
                Ok(deliveries) => {
                    for delivery in deliveries {
                        self.deliver(&place, delivery).await;
                    }
                }
                Err(gone) if gone.code() == Code::NotFound => return,
                Err(_) => tokio::select! {
                    () = sleep(PAUSE) => {}
                    () = self.end.cancelled() => break,
                },
            }
        }
        // Whoever is there next has it at once; when the exchange is gone it was nobody's anyway.
        let _ = self
            .handle
            .leave(place, Some(Arc::clone(&self.consumer)), Departure::Leaves)
            .await;
    }

    /// One attempt, settled by its answer.
    async fn deliver(&self, place: &PlaceName, delivery: Delivery) {
        let lease = Duration::from_millis(u64::try_from(self.target.lease_ms).unwrap_or(0));
        // What is answered after the lease counts for nothing.
        let wait = self.post.wait().min(lease * 3 / 4);
        let call = self
            .post
            .call(&self.target.push, &self.name, &self.handle, &delivery, wait);
        let began = Instant::now();
        let answered = call.await;
        self.meter.attempt(answered.result(), began.elapsed());
        let (name, attempt) = (&*self.name, delivery.attempt);
        let how = match answered {
            Answered::Taken(status) => {
                tracing::debug!(name, attempt, status, "webhook taken");
                Settle::Ack
            }
            Answered::Gone => {
                tracing::warn!(name, "the webhook answered 410; its subscription is paused");
                let _ = self.handle.pause(place.clone(), true).await;
                let consumer = Some(Arc::clone(&self.consumer));
                // The message has not failed: it waits for who resumes the subscription.
                let _ = self
                    .handle
                    .leave(place.clone(), consumer, Departure::Leaves)
                    .await;
                return;
            }
            Answered::Failed {
                reason,
                retry_after,
                rests,
            } => {
                tracing::info!(name, attempt, reason, "webhook failed");
                if let Some(wait) = retry_after.filter(|_| rests) {
                    *self.rest.lock() = Instant::now().checked_add(wait);
                }
                let retry_after_ms =
                    retry_after.and_then(|wait| i64::try_from(wait.as_millis()).ok());
                Settle::Nack {
                    retry_after_ms,
                    reason: reason.into(),
                }
            }
        };
        match self.handle.settle(vec![delivery.id], how).await {
            Ok(outcomes) => {
                for late in outcomes.into_iter().filter_map(Result::err) {
                    tracing::warn!(name, attempt, code = %late.code(), "webhook answered too late");
                }
            }
            Err(refused) => {
                tracing::warn!(name, code = %refused.code(), "webhook's answer was lost; it is called again");
            }
        }
    }
}
