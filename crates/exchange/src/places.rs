//! All places of a space: their numbers, names and totals.

mod snapshot;

use crate::place::{Moments, Place, PlaceId, PlaceName};
use foldhash::fast::FixedState;
use protocol::{Party, Timestamp};
use std::collections::{BTreeSet, HashMap};

#[derive(Debug, Default)]
pub(crate) struct Places {
    /// Boxed, so that a growing table moves pointers and not places.
    by_id: HashMap<PlaceId, Box<Place>, FixedState>,
    inboxes: HashMap<Party, PlaceId>,
    /// Inboxes by kind of party (empty for none), in the order they were opened.
    by_kind: HashMap<Box<str>, Vec<PlaceId>>,
    moments: Moments,
    next: u32,
    waiting: usize,
    leased: usize,
    dead: usize,
    with_dead: BTreeSet<PlaceId>,
}

impl Places {
    pub(crate) fn inbox(&self, party: &Party) -> Option<PlaceId> {
        self.inboxes.get(party).copied()
    }

    pub(crate) fn inbox_count(&self) -> usize {
        self.inboxes.len()
    }

    pub(crate) fn get(&self, id: PlaceId) -> Option<&Place> {
        self.by_id.get(&id).map(|place| &**place)
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    pub(crate) fn leased(&self) -> usize {
        self.leased
    }

    /// How many more places fit under `places_max`.
    pub(crate) fn room(&self, places_max: usize) -> usize {
        let numbers_left = (u32::MAX - self.next) as usize;
        places_max
            .saturating_sub(self.by_id.len())
            .min(numbers_left)
    }

    /// The number that the `ahead`-th new place from now will get.
    pub(crate) fn next_id(&self, ahead: usize) -> PlaceId {
        PlaceId(self.next.saturating_add(ahead as u32))
    }

    /// Opens a party's inbox under the number, unless it is open.
    pub(crate) fn open_inbox(&mut self, id: PlaceId, party: &Party) {
        if self.inboxes.contains_key(party) {
            return;
        }
        self.open(id, PlaceName::Inbox(party.clone()));
        self.inboxes.insert(party.clone(), id);
        let kind = party.kind().unwrap_or_default();
        if !self.by_kind.contains_key(kind) {
            self.by_kind.insert(kind.into(), Vec::new());
        }
        if let Some(ids) = self.by_kind.get_mut(kind) {
            ids.push(id);
        }
    }

    pub(crate) fn open(&mut self, id: PlaceId, name: PlaceName) {
        self.close(id);
        self.by_id.insert(id, Box::new(Place::new(id, name)));
        self.next = self.next.max(id.0.saturating_add(1));
    }

    pub(crate) fn close(&mut self, id: PlaceId) {
        if let Some(place) = self.by_id.remove(&id) {
            place.clear(&mut self.moments);
            self.waiting -= place.waiting();
            self.leased -= place.held_count();
            self.dead -= place.dead_count();
            self.with_dead.remove(&id);
        }
    }

    /// Changes one place and keeps the totals right; `None` when there is no such place.
    pub(crate) fn change<T>(
        &mut self,
        id: PlaceId,
        act: impl FnOnce(&mut Place, &mut Moments) -> T,
    ) -> Option<T> {
        let place = self.by_id.get_mut(&id)?;
        let before = (place.waiting(), place.held_count(), place.dead_count());
        let outcome = act(place, &mut self.moments);
        self.waiting = self.waiting - before.0 + place.waiting();
        self.leased = self.leased - before.1 + place.held_count();
        let dead = place.dead_count();
        self.dead = self.dead - before.2 + dead;
        if before.2 == 0 && dead > 0 {
            self.with_dead.insert(id);
        } else if before.2 > 0 && dead == 0 {
            self.with_dead.remove(&id);
        }
        Some(outcome)
    }

    /// The next moment at which a lease, a wait or a message's time ends.
    pub(crate) fn next_deadline(&self) -> Option<Timestamp> {
        let first = |set: &crate::place::Deadlines| set.first().map(|(until, _, _)| *until);
        let moments = [first(&self.moments.leases), first(&self.moments.expiries)];
        moments.into_iter().flatten().min()
    }

    /// Waits go on by a clock that shows `now`.
    pub(crate) fn resume_waits(&mut self, now: Timestamp) {
        for place in self.by_id.values_mut() {
            place.resume_waits(now, &mut self.moments);
        }
    }

    /// Takes the next lease or wait that has ended.
    pub(crate) fn pop_lease(&mut self, now: Timestamp) -> Option<(PlaceId, u64)> {
        pop(&mut self.moments.leases, now)
    }

    /// Takes the next message whose time is over.
    pub(crate) fn pop_expiry(&mut self, now: Timestamp) -> Option<(PlaceId, u64)> {
        pop(&mut self.moments.expiries, now)
    }

    /// `count` numbers from one on, some of which may be no place, and the number behind them; none
    /// when they are the last.
    pub(crate) fn numbers(
        &self,
        PlaceId(from): PlaceId,
        count: u32,
    ) -> (std::ops::Range<u32>, Option<PlaceId>) {
        let end = from.saturating_add(count).min(self.next);
        (from..end, (end < self.next).then_some(PlaceId(end)))
    }

    pub(crate) fn dead(&self) -> usize {
        self.dead
    }

    /// Places with dead letters from `first` on, in order of their numbers.
    pub(crate) fn with_dead(&self, first: PlaceId) -> impl Iterator<Item = (PlaceId, &Place)> {
        let ids = self.with_dead.range(first..);
        ids.filter_map(|id| Some((*id, self.get(*id)?)))
    }

    /// Every place, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (PlaceId, &Place)> {
        self.by_id.iter().map(|(id, place)| (*id, &**place))
    }

    /// The inboxes of parties whose address starts with `prefix` (`agent:`, or empty for all), in
    /// the order they were opened.
    pub(crate) fn inboxes_under(&self, prefix: &str) -> Vec<(PlaceId, &Party)> {
        let start = Party::from_canonical(prefix);
        let of_kind = self.by_kind.get(start.kind().unwrap_or_default());
        let mut ids: Vec<PlaceId> = match prefix {
            "" => self.inboxes.values().copied().collect(),
            _ => of_kind.into_iter().flatten().copied().collect(),
        };
        ids.sort_unstable();
        let parties = ids.into_iter().filter_map(|id| match self.get(id)?.name() {
            PlaceName::Inbox(party) => Some((id, party)),
            PlaceName::Subscription(_) => None,
        });
        parties
            .filter(|(_, party)| party.as_str().starts_with(prefix))
            .collect()
    }
}

fn pop(moments: &mut crate::place::Deadlines, now: Timestamp) -> Option<(PlaceId, u64)> {
    moments.first().filter(|(until, _, _)| *until <= now)?;
    moments.pop_first().map(|(_, id, sequence)| (id, sequence))
}
