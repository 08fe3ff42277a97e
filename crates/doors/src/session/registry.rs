//! Sessions without a connection: kept for a while, then given up with what is theirs.

use broker::Handle;
use parking_lot::Mutex;
use protocol::session::{DeliveryMode, Machine, Parked, Subscription, key};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

/// Durable subscriptions of sessions are named `aep.session.<key>.<id>`.
const PREFIX: &str = "aep.session.";

/// How long a session waits for its old connection to let go.
const HANDOVER_WAIT: Duration = Duration::from_secs(5);

/// The sessions of one exchange by their key.
pub(super) struct Registry {
    handle: Handle,
    resume: Duration,
    parked_max: usize,
    sessions: Mutex<Sessions>,
    changed: Notify,
}

#[derive(Default)]
struct Sessions {
    next: u64,
    live: HashMap<String, (u64, CancellationToken)>,
    parked: HashMap<String, (u64, Instant, Parked)>,
    /// Durable subscriptions of an earlier run.
    left: HashMap<String, Vec<Subscription>>,
    /// Whether they are being looked for; until then nobody can be told that there are none.
    is_recalling: bool,
}

/// An open session's hold on its key.
#[derive(Debug)]
pub(super) struct Claim {
    pub key: String,
    number: u64,
    /// Cancelled when the session is opened on another connection.
    pub taken: CancellationToken,
}

/// The name of a session's durable subscription.
pub(super) fn name_of(key: &str, id: &str) -> String {
    format!("{PREFIX}{key}.{id}")
}

impl Registry {
    pub(super) fn new(handle: Handle, resume: Duration, parked_max: usize) -> Self {
        Self {
            handle,
            resume,
            parked_max,
            sessions: Mutex::default(),
            changed: Notify::new(),
        }
    }

    /// Finds what an earlier run left behind, and gives it up when nobody comes for it. From this call on
    /// sessions are opened only when it has been found: one that came earlier would not be resumed, and
    /// would lose its subscription to the clearing up.
    pub(super) fn recall(self: &Arc<Self>) -> impl Future<Output = ()> + Send + use<> {
        self.sessions.lock().is_recalling = true;
        let registry = Arc::clone(self);
        async move {
            let left = registry.left_behind().await;
            let is_any = !left.is_empty();
            {
                let mut sessions = registry.sessions.lock();
                sessions.left = left;
                sessions.is_recalling = false;
            }
            registry.changed.notify_waiters();
            if is_any {
                tokio::spawn(async move {
                    sleep(registry.resume).await;
                    let left = std::mem::take(&mut registry.sessions.lock().left);
                    for (key, subscriptions) in left {
                        registry.remove(&key, &subscriptions).await;
                    }
                });
            }
        }
    }

    /// Durable subscriptions of sessions, by the session's key.
    async fn left_behind(&self) -> HashMap<String, Vec<Subscription>> {
        let mut left: HashMap<String, Vec<Subscription>> = HashMap::new();
        for view in self.handle.subscriptions().await.unwrap_or_default() {
            let Some((key, id)) = view
                .name
                .strip_prefix(PREFIX)
                .and_then(|rest| rest.split_once('.'))
            else {
                continue;
            };
            let subscription = Machine::recalled(id, view.filter);
            left.entry(key.to_owned()).or_default().push(subscription);
        }
        left
    }

    /// Waits until it is known what an earlier run left behind.
    async fn recalled(&self) {
        loop {
            let changed = self.changed.notified();
            if !self.sessions.lock().is_recalling {
                return;
            }
            changed.await;
        }
    }

    /// Opens a session: the old connection, if there is one, lets go first.
    pub(super) async fn claim(&self, source: &str, session: &str) -> (Claim, Option<Parked>) {
        self.recalled().await;
        let key = key(source, session);
        let handed_over = async {
            loop {
                let changed = self.changed.notified();
                let Some(taken) = self
                    .sessions
                    .lock()
                    .live
                    .get(&key)
                    .map(|(_, taken)| taken.clone())
                else {
                    return;
                };
                taken.cancel();
                changed.await;
            }
        };
        // One that hangs in a write loses the session all the same.
        let _ = timeout(HANDOVER_WAIT, handed_over).await;
        let mut sessions = self.sessions.lock();
        sessions.next += 1;
        let (number, taken) = (sessions.next, CancellationToken::new());
        sessions.live.insert(key.clone(), (number, taken.clone()));
        let parked = match sessions.parked.remove(&key) {
            Some((_, _, parked)) => Some(parked),
            None => sessions
                .left
                .remove(&key)
                .map(|left| Parked::recalled(source, session, left)),
        };
        (Claim { key, number, taken }, parked)
    }

    /// The connection of a session is gone: it is kept for its return.
    pub(super) fn park(self: &Arc<Self>, claim: Claim, parked: Parked) {
        let mut oldest = None;
        {
            let mut sessions = self.sessions.lock();
            if sessions
                .live
                .get(&claim.key)
                .is_some_and(|(number, _)| *number == claim.number)
            {
                sessions.live.remove(&claim.key);
                if sessions.parked.len() >= self.parked_max {
                    let old = sessions.parked.iter().min_by_key(|(_, (_, at, _))| *at);
                    let old = old.map(|(key, _)| key.clone());
                    oldest = old.and_then(|key| Some((sessions.parked.remove(&key)?.2, key)));
                }
                let waits = (claim.number, Instant::now(), parked);
                sessions.parked.insert(claim.key.clone(), waits);
            }
        }
        self.changed.notify_waiters();
        let registry = Arc::clone(self);
        tokio::spawn(async move {
            if let Some((parked, key)) = oldest {
                registry.remove(&key, &parked.subscriptions).await;
            }
            sleep(registry.resume).await;
            let over = {
                let mut sessions = registry.sessions.lock();
                let is_same = sessions
                    .parked
                    .get(&claim.key)
                    .is_some_and(|(number, ..)| *number == claim.number);
                is_same
                    .then(|| sessions.parked.remove(&claim.key))
                    .flatten()
            };
            if let Some((_, _, parked)) = over {
                registry.remove(&claim.key, &parked.subscriptions).await;
            }
        });
    }

    /// The session was closed for good.
    pub(super) fn release(&self, claim: &Claim) {
        let mut sessions = self.sessions.lock();
        if sessions
            .live
            .get(&claim.key)
            .is_some_and(|(number, _)| *number == claim.number)
        {
            sessions.live.remove(&claim.key);
        }
        drop(sessions);
        self.changed.notify_waiters();
    }

    async fn remove(&self, key: &str, subscriptions: &[Subscription]) {
        for subscription in subscriptions {
            if subscription.mode == DeliveryMode::AtLeastOnce {
                let name = name_of(key, &subscription.id);
                if let Err(refused) = self.handle.remove_subscription(&name).await {
                    tracing::debug!(%refused, name, "a session's subscription was gone");
                }
            }
        }
    }
}
