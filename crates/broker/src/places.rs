//! The part of the handle that is about places: subscriptions, settings, pausing.

use crate::handle::Handle;
use exchange::{
    DeliverySettings, Outcome as Change, PlaceId, PlaceName, PlaceView, Push, SubscriptionView,
};
use protocol::{Code, Fault, Filter, Party, Rejection};
use tokio::sync::watch;

impl Handle {
    /// Creates or confirms a durable subscription; settings change those it has.
    ///
    /// # Errors
    /// `subscription_conflict` when the name stands for another filter.
    pub async fn put_subscription(
        &self,
        name: &str,
        filter: Filter,
        deliver_to: Option<Party>,
        settings: Option<DeliverySettings>,
    ) -> Result<SubscriptionView, Rejection> {
        self.put_pushed(name, filter, deliver_to, settings, None)
            .await
    }

    /// As [`Self::put_subscription`], and pushes its deliveries to an address, or with `Some(None)` to
    /// none any more; without a word about it that stays as it is.
    ///
    /// # Errors
    /// As [`Self::put_subscription`]; `subscription_conflict` for a push beside `deliver_to`.
    pub async fn put_pushed(
        &self,
        name: &str,
        filter: Filter,
        deliver_to: Option<Party>,
        settings: Option<DeliverySettings>,
        push: Option<Option<Push>>,
    ) -> Result<SubscriptionView, Rejection> {
        if deliver_to.is_some() && matches!(push, Some(Some(_))) {
            let detail = "expected `push` or `deliver_to`, got both: what feeds an inbox hands out nothing itself";
            let rule = "ARCHITECTURE subscriptions";
            return Err(Fault::new(Code::SubscriptionConflict, "/push", rule, detail).into());
        }
        let name: Box<str> = name.into();
        let put = self
            .act(move |exchange, _, _| {
                let (mut view, record) =
                    exchange.put_subscription(&name, filter, deliver_to, settings)?;
                let mut records: Vec<_> = record.into_iter().collect();
                if let Some(push) = push {
                    view.push.clone_from(&push);
                    records.extend(exchange.put_push(&name, push)?);
                }
                let change = Change {
                    wake: records.iter().map(|_| view.id).take(1).collect(),
                    records,
                    ..Change::default()
                };
                Ok((view, change))
            })
            .await;
        self.shared.subscriptions.send_modify(|count| *count += 1);
        put
    }

    /// Tells of every change of durable subscriptions.
    #[must_use]
    pub fn subscriptions_changed(&self) -> watch::Receiver<u64> {
        self.shared.subscriptions.subscribe()
    }

    /// Removes a durable subscription and what waits in it.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn remove_subscription(&self, name: &str) -> Result<(), Rejection> {
        let name: Box<str> = name.into();
        let removed = self
            .act(move |exchange, _, _| {
                let record = exchange.remove_subscription(&name)?;
                let change = Change {
                    records: vec![record],
                    ..Change::default()
                };
                Ok(((), change))
            })
            .await;
        self.shared.subscriptions.send_modify(|count| *count += 1);
        removed
    }

    /// All durable subscriptions.
    ///
    /// # Errors
    /// `draining` when the exchange is gone.
    pub async fn subscriptions(&self) -> Result<Vec<SubscriptionView>, Rejection> {
        self.look(exchange::Exchange::subscriptions).await
    }

    /// Up to `max` durable subscriptions whose names come after one and begin with `prefix`, in order.
    ///
    /// # Errors
    /// `draining` when the exchange is gone.
    pub async fn subscriptions_after(
        &self,
        after: &str,
        prefix: &'static str,
        max: usize,
    ) -> Result<Vec<SubscriptionView>, Rejection> {
        let after: Box<str> = after.into();
        self.look(move |exchange| exchange.subscriptions_after(&after, prefix, max))
            .await
    }

    /// One durable subscription, if there is one of that name.
    ///
    /// # Errors
    /// `draining` when the exchange is gone.
    pub async fn subscription(&self, name: &str) -> Result<Option<SubscriptionView>, Rejection> {
        let name: Box<str> = name.into();
        self.look(move |exchange| exchange.subscription(&name))
            .await
    }

    /// Gives a place settings of its own.
    ///
    /// # Errors
    /// `not_found` for a subscription that does not exist, `overloaded`.
    pub async fn configure(
        &self,
        place: PlaceName,
        settings: DeliverySettings,
    ) -> Result<(), Rejection> {
        self.act(move |exchange, _, _| Ok(((), exchange.configure(&place, settings)?)))
            .await
    }

    /// Stops or resumes handing out from a place.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn pause(&self, place: PlaceName, is_paused: bool) -> Result<(), Rejection> {
        self.act(move |exchange, _, _| Ok(((), exchange.pause(&place, is_paused)?)))
            .await
    }

    /// A place at a glance; none when it is not open.
    ///
    /// # Errors
    /// `draining` when the exchange is gone.
    pub async fn place(&self, place: PlaceName) -> Result<Option<PlaceView>, Rejection> {
        self.look(move |exchange| exchange.place_view(&place)).await
    }

    /// The names of places; none for those that are gone.
    ///
    /// # Errors
    /// `draining` when the exchange is gone.
    pub async fn place_names(
        &self,
        places: Vec<PlaceId>,
    ) -> Result<Vec<Option<PlaceName>>, Rejection> {
        self.look(move |exchange| {
            let name = |place| exchange.place_name(place).cloned();
            places.into_iter().map(name).collect()
        })
        .await
    }
}
