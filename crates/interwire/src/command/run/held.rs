//! What the child was given and is not settled.

use client::{Delivery, Error};
use protocol::Timestamp;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// The longest and the shortest time between two extensions of a lease.
const EXTEND_EVERY_MAX: Duration = Duration::from_secs(5);
const EXTEND_EVERY_MIN: Duration = Duration::from_millis(100);

/// Deliveries by name, and when each lease is extended.
#[derive(Debug, Default)]
pub struct Held {
    by_name: BTreeMap<String, (Delivery, Instant)>,
}

impl Held {
    pub fn count(&self) -> usize {
        self.by_name.len()
    }

    pub fn insert(&mut self, delivery: Delivery) {
        let next = Instant::now() + extend_every(&delivery);
        self.by_name
            .insert(delivery.delivery.clone(), (delivery, next));
    }

    pub fn remove(&mut self, name: &str) -> Option<Delivery> {
        self.by_name.remove(name).map(|(delivery, _)| delivery)
    }

    pub fn drain(&mut self) -> Vec<Delivery> {
        let all = std::mem::take(&mut self.by_name);
        all.into_values().map(|(delivery, _)| delivery).collect()
    }

    /// When a lease is to be extended next.
    pub fn next(&self) -> Option<Instant> {
        self.by_name.values().map(|(_, at)| *at).min()
    }

    /// Extends leases that are due; what is no longer held was settled, or is somebody else's.
    pub async fn extend_due(&mut self) {
        let now = Instant::now();
        let due = self.by_name.values().filter(|(_, at)| *at <= now);
        let due: Vec<Delivery> = due.map(|(delivery, _)| delivery.clone()).collect();
        for delivery in due {
            self.extend(&delivery).await;
        }
    }

    /// Looks after a line of the child which of what it mentions has been settled by it.
    pub async fn look_after(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let named = self.by_name.values();
        let named = named.filter(|(delivery, _)| text.contains(&delivery.id));
        let named: Vec<Delivery> = named.map(|(delivery, _)| delivery.clone()).collect();
        for delivery in named {
            self.extend(&delivery).await;
        }
    }

    async fn extend(&mut self, delivery: &Delivery) {
        match delivery.extend(None).await {
            Err(Error::Refused(problem)) if problem.code == "lease_lost" => {
                self.by_name.remove(&delivery.delivery);
            }
            // An exchange that is away for a moment keeps the lease or takes it; both show next time.
            _ => {
                let next = Instant::now() + extend_every(delivery);
                if let Some((_, at)) = self.by_name.get_mut(&delivery.delivery) {
                    *at = next;
                }
            }
        }
    }
}

/// A third of a lease, by what was left of it when it was handed out.
fn extend_every(delivery: &Delivery) -> Duration {
    let left = Timestamp::parse_rfc3339(&delivery.lease_until).map_or(0, |(until, _)| {
        until.as_millis() - crate::identity::now().as_millis()
    });
    let third = Duration::from_millis(u64::try_from(left / 3).unwrap_or(0));
    third.clamp(EXTEND_EVERY_MIN, EXTEND_EVERY_MAX)
}
