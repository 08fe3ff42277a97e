//! The part of the handle that is about what places owe.

use crate::Entry;
use crate::fate::AttemptView;
use crate::handle::Handle;
use exchange::{DeliveryId, DeliveryState, OwedDelivery, PlaceId, PlaceName};
use protocol::Rejection;
use std::sync::Arc;

/// Places looked at in one turn of the loop.
const PLACES_PER_TURN: u32 = 4_096;

/// A delivery that a place owes, with its message.
#[derive(Clone, Debug)]
pub struct OwedView {
    /// Names it; the delivery's place and sequence.
    pub id: DeliveryId,
    /// The place that owes it.
    pub place: PlaceName,
    /// Where it stands; never dead.
    pub state: DeliveryState,
    /// How each attempt failed, as far as the journal still tells.
    pub failures: Vec<AttemptView>,
    /// The message.
    pub entry: Arc<Entry>,
}

/// Some of what is owed.
#[derive(Clone, Debug, Default)]
pub struct OwedPage {
    /// In order of place and sequence.
    pub found: Vec<OwedView>,
    /// Where to go on; none when that was all.
    pub next: Option<DeliveryId>,
}

impl Handle {
    /// What a place owes, or all places: at most `max` deliveries, after one of them. Dead letters are
    /// no longer owed.
    ///
    /// # Errors
    /// `not_found` for a subscription that does not exist; `storage_failed` when a message cannot be
    /// read.
    pub async fn owed(
        &self,
        place: Option<PlaceName>,
        after: Option<DeliveryId>,
        max: usize,
    ) -> Result<OwedPage, Rejection> {
        let after = after.map(|id| (id.place, id.sequence));
        let owed = match place {
            Some(name) => self.owed_of(name, after, max).await?,
            None => self.owed_of_all(after, max).await?,
        };
        let last = owed.last().filter(|_| owed.len() >= max);
        let next = last.map(|(owed, _)| name_of(owed));
        let shared = Arc::clone(&self.shared);
        let views = move || {
            let mut found = Vec::with_capacity(owed.len());
            for (owed, place) in owed {
                let Some(entry) = shared.entry(owed.sequence)? else {
                    continue;
                };
                let mut failures = Vec::with_capacity(owed.failures.len());
                for failure in &owed.failures {
                    failures.extend(shared.failure(*failure, owed.sequence)?);
                }
                found.push(OwedView {
                    id: name_of(&owed),
                    place,
                    state: owed.state,
                    failures,
                    entry,
                });
            }
            Ok(OwedPage { found, next })
        };
        self.shared.aside(views).await
    }

    async fn owed_of(
        &self,
        name: PlaceName,
        after: Option<(PlaceId, u64)>,
        max: usize,
    ) -> Result<Vec<(OwedDelivery, PlaceName)>, Rejection> {
        self.look(move |exchange| {
            let Some(id) = exchange.place(&name) else {
                return match &name {
                    // A party that nobody has written to is owed nothing.
                    PlaceName::Inbox(_) => Ok(Vec::new()),
                    PlaceName::Subscription(name) => Err(crate::serve::no_subscription(name)),
                };
            };
            let owed = exchange.owed_of(id, after, max).into_iter();
            Ok(owed.map(|owed| (owed, name.clone())).collect())
        })
        .await?
    }

    /// Some places at a time, so that publishers have their turn in between.
    async fn owed_of_all(
        &self,
        after: Option<(PlaceId, u64)>,
        max: usize,
    ) -> Result<Vec<(OwedDelivery, PlaceName)>, Rejection> {
        let mut from = Some(after.map_or(PlaceId(0), |(place, _)| place));
        let mut owed = Vec::new();
        while let Some(first) = from
            && owed.len() < max
        {
            let room = max - owed.len();
            let (found, next) = self
                .look(move |exchange| {
                    let looked = exchange.owed_from(first, PLACES_PER_TURN, after, room);
                    let named = looked.found.into_iter().filter_map(|owed| {
                        let name = exchange.place_name(owed.place)?.clone();
                        Some((owed, name))
                    });
                    (named.collect::<Vec<_>>(), looked.next)
                })
                .await?;
            owed.extend(found);
            from = next;
        }
        Ok(owed)
    }
}

fn name_of(owed: &OwedDelivery) -> DeliveryId {
    DeliveryId {
        place: owed.place,
        sequence: owed.sequence,
        fence: 0,
    }
}
