//! Durable subscriptions: a name, a filter, and a place of their own or a party's inbox.
//!
//! A subscription gets messages accepted after it. Who may subscribe to what is not decided here.

use crate::delivery_settings::DeliverySettings;
use crate::exchange::Exchange;
use crate::matcher::Matcher;
use crate::place::{Place, PlaceId, PlaceName};
use crate::publish::wildcard_prefix;
use crate::push::Push;
use crate::record::Record;
use foldhash::fast::FixedState;
use protocol::{Code, Fault, Filter, Header, Party, Rejection};
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

/// Longest name, in bytes.
const NAME_BYTES_MAX: usize = 255;

/// One durable subscription as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct SubscriptionView {
    /// Its place.
    pub id: PlaceId,
    /// Its name.
    pub name: Box<str>,
    /// What it wants.
    pub filter: Filter,
    /// The party whose inbox it feeds, instead of its own place.
    pub deliver_to: Option<Party>,
    /// Deliveries in its own place that no reader holds.
    pub waiting: usize,
    /// Deliveries from its own place that a reader holds.
    pub leased: usize,
    /// Its dead letters.
    pub dead: usize,
    /// How it delivers, when not as everybody does.
    pub settings: Option<DeliverySettings>,
    /// Whether it hands out nothing for now.
    pub is_paused: bool,
    /// Where its deliveries are pushed.
    pub push: Option<Push>,
}

#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    by_name: BTreeMap<Box<str>, Subscription>,
    /// Filters under the number of the subscription's place.
    matcher: Matcher,
    /// Where matches go when not to the subscription's own place.
    forwards: HashMap<PlaceId, PlaceId, FixedState>,
}

#[derive(Debug)]
struct Subscription {
    id: PlaceId,
    deliver_to: Option<Party>,
    push: Option<Box<Push>>,
}

/// A subscription as it is kept, without its place.
pub(crate) struct Kept<'s> {
    pub(crate) name: &'s str,
    pub(crate) id: PlaceId,
    pub(crate) filter: &'s Filter,
    /// The party and inbox that it feeds instead of its own place.
    pub(crate) forward: Option<(&'s Party, PlaceId)>,
    pub(crate) push: Option<&'s Push>,
}

impl Subscriptions {
    pub(crate) fn count(&self) -> usize {
        self.by_name.len()
    }

    /// All subscriptions in the order of their names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Kept<'_>> {
        self.by_name.iter().filter_map(|(name, subscription)| {
            let id = subscription.id;
            let party = subscription.deliver_to.as_ref();
            Some(Kept {
                name,
                id,
                filter: self.matcher.filter(id.0)?,
                forward: party.zip(self.forwards.get(&id).copied()),
                push: subscription.push.as_deref(),
            })
        })
    }

    /// Adds a subscription whose place is open.
    pub(crate) fn insert(
        &mut self,
        id: PlaceId,
        name: &str,
        filter: Filter,
        forward: Option<(Party, PlaceId)>,
    ) {
        let deliver_to = forward.map(|(party, inbox)| {
            self.forwards.insert(id, inbox);
            party
        });
        self.matcher.insert(id.0, filter);
        let subscription = Subscription {
            id,
            deliver_to,
            push: None,
        };
        self.by_name.insert(name.into(), subscription);
    }

    pub(crate) fn set_push(&mut self, name: &str, push: Option<Push>) {
        if let Some(subscription) = self.by_name.get_mut(name) {
            subscription.push = push.map(Box::new);
        }
    }

    /// Whether that place is the subscription's of that name.
    pub(crate) fn is_place_of(&self, id: PlaceId, name: &str) -> bool {
        self.by_name.get(name).is_some_and(|known| known.id == id)
    }

    /// The place of its own that a subscription has, or would have.
    pub(crate) fn own_place(&self, name: &str) -> Option<PlaceId> {
        self.by_name.get(name).map(|subscription| subscription.id)
    }

    /// The places of all subscriptions that want this message, perhaps one place several times.
    pub(crate) fn places_for(&self, header: &Header) -> impl Iterator<Item = PlaceId> {
        let ids = self.matcher.matching(header).into_iter().map(PlaceId);
        ids.map(|id| self.forwards.get(&id).copied().unwrap_or(id))
    }
}

impl Exchange {
    /// Creates a subscription or, with the same filter and `deliver_to`, confirms it; then there is
    /// a record only if it gets other delivery settings.
    ///
    /// # Errors
    /// `subscription_conflict` when the name stands for something else, `too_short` or `too_long` for
    /// the name, `identity_malformed` when `deliver_to` can have no inbox, `overloaded` when there
    /// are too many places.
    pub fn put_subscription(
        &mut self,
        name: &str,
        filter: Filter,
        deliver_to: Option<Party>,
        settings: Option<DeliverySettings>,
    ) -> Result<(SubscriptionView, Option<Record>), Rejection> {
        check_name(name)?;
        if let Some(party) = &deliver_to {
            check_party(party)?;
        }
        if let Some(view) = self.subscription(name) {
            if view.filter == filter && view.deliver_to == deliver_to {
                return Ok(self.reconfigure(view, settings));
            }
            let detail =
                format!("expected the filter and deliver_to that {name:?} has, got others");
            return Err(fault(Code::SubscriptionConflict, "/name", detail).into());
        }
        let inbox = deliver_to.as_ref().map(|party| self.places.inbox(party));
        let needed = if inbox == Some(None) { 2 } else { 1 };
        let max = self.settings.places_max;
        if self.places.room(max) < needed {
            let detail = format!("expected at most {max} inboxes and subscriptions, got more");
            return Err(fault(Code::Overloaded, "", detail).into());
        }
        let id = self.places.next_id(0);
        let inbox = inbox.map(|open| open.unwrap_or(self.places.next_id(1)));
        self.insert_subscription(
            id,
            name,
            filter.clone(),
            deliver_to.clone(),
            inbox,
            settings,
        );
        let name: Box<str> = name.into();
        let view = SubscriptionView {
            id,
            name: name.clone(),
            filter: filter.clone(),
            deliver_to: deliver_to.clone(),
            waiting: 0,
            leased: 0,
            dead: 0,
            settings,
            is_paused: false,
            push: None,
        };
        let record = Record::SubscriptionPut {
            id,
            name,
            filter,
            deliver_to,
            inbox,
            settings,
            push: None,
        };
        Ok((view, Some(record)))
    }

    /// The same subscription with other settings; absent settings change nothing.
    fn reconfigure(
        &mut self,
        mut view: SubscriptionView,
        settings: Option<DeliverySettings>,
    ) -> (SubscriptionView, Option<Record>) {
        let Some(settings) = settings.filter(|_| view.settings != settings) else {
            return (view, None);
        };
        self.places
            .change(view.id, |place, _| place.configure(settings));
        view.settings = Some(settings);
        let record = Record::PlaceConfigured {
            place: view.id,
            name: PlaceName::Subscription(view.name.clone()),
            settings,
        };
        (view, Some(record))
    }

    /// Removes a subscription and everything that waits in its place. What it already put into an
    /// inbox stays there.
    ///
    /// # Errors
    /// `not_found`.
    pub fn remove_subscription(&mut self, name: &str) -> Result<Record, Rejection> {
        let Some(subscription) = self.subscriptions.by_name.get(name) else {
            let detail = format!("expected a subscription, got {name:?}");
            return Err(fault(Code::NotFound, "/name", detail).into());
        };
        let id = subscription.id;
        self.drop_subscription(id);
        Ok(Record::SubscriptionRemoved { id })
    }

    /// Every durable subscription, in order of the names.
    #[must_use]
    pub fn subscriptions(&self) -> Vec<SubscriptionView> {
        self.subscriptions
            .by_name
            .keys()
            .filter_map(|name| self.subscription(name))
            .collect()
    }

    /// Up to `max` durable subscriptions whose names come after one and begin with `prefix`, in order.
    #[must_use]
    pub fn subscriptions_after(
        &self,
        after: &str,
        prefix: &str,
        max: usize,
    ) -> Vec<SubscriptionView> {
        let from: (Bound<&str>, Bound<&str>) = (Bound::Excluded(after), Bound::Unbounded);
        let names = self.subscriptions.by_name.range::<str, _>(from);
        names
            .take_while(|(name, _)| name.starts_with(prefix))
            .take(max)
            .filter_map(|(name, _)| self.subscription(name))
            .collect()
    }

    /// One durable subscription.
    #[must_use]
    pub fn subscription(&self, name: &str) -> Option<SubscriptionView> {
        let (name, subscription) = self.subscriptions.by_name.get_key_value(name)?;
        let place = self.places.get(subscription.id)?;
        Some(SubscriptionView {
            id: subscription.id,
            name: name.clone(),
            filter: self
                .subscriptions
                .matcher
                .filter(subscription.id.0)?
                .clone(),
            deliver_to: subscription.deliver_to.clone(),
            waiting: place.waiting(),
            leased: place.held_count(),
            dead: place.dead_count(),
            settings: place.settings.as_deref().copied(),
            is_paused: place.is_paused(),
            push: subscription.push.as_deref().cloned(),
        })
    }

    /// The number of a place; an inbox exists from its first message on.
    #[must_use]
    pub fn place(&self, name: &PlaceName) -> Option<PlaceId> {
        match name {
            PlaceName::Inbox(party) => self.places.inbox(party),
            PlaceName::Subscription(name) => self
                .subscriptions
                .by_name
                .get(name)
                .map(|subscription| subscription.id),
        }
    }

    /// The name of a place.
    #[must_use]
    pub fn place_name(&self, id: PlaceId) -> Option<&PlaceName> {
        self.places.get(id).map(Place::name)
    }

    pub(crate) fn insert_subscription(
        &mut self,
        id: PlaceId,
        name: &str,
        filter: Filter,
        deliver_to: Option<Party>,
        inbox: Option<PlaceId>,
        settings: Option<DeliverySettings>,
    ) {
        self.places.open(id, PlaceName::Subscription(name.into()));
        if let Some(settings) = settings {
            self.places.change(id, |place, _| place.configure(settings));
        }
        let forward = deliver_to.zip(inbox);
        if let Some((party, inbox)) = &forward {
            self.places.open_inbox(*inbox, party);
        }
        self.subscriptions.insert(id, name, filter, forward);
    }

    pub(crate) fn drop_subscription(&mut self, id: PlaceId) {
        if let Some(PlaceName::Subscription(name)) = self.place_name(id).cloned() {
            self.subscriptions.by_name.remove(&name);
            self.subscriptions.forwards.remove(&id);
            self.subscriptions.matcher.remove(id.0);
            self.places.close(id);
        }
    }
}

fn check_name(name: &str) -> Result<(), Fault> {
    match name.len() {
        0 => Err(fault(
            Code::TooShort,
            "/name",
            "expected a name, got an empty text".into(),
        )),
        1..=NAME_BYTES_MAX => Ok(()),
        length => {
            let detail = format!("expected at most {NAME_BYTES_MAX} bytes, got {length}");
            Err(fault(Code::TooLong, "/name", detail))
        }
    }
}

fn check_party(party: &Party) -> Result<(), Fault> {
    if !party.is_channel() && wildcard_prefix(party).is_none() {
        return Ok(());
    }
    let detail = format!("expected a party with an inbox, got `{party}`");
    Err(fault(Code::IdentityMalformed, "/deliver_to", detail))
}

fn fault(code: Code, pointer: &str, detail: String) -> Fault {
    Fault::new(code, pointer, "ARCHITECTURE subscriptions", detail)
}
