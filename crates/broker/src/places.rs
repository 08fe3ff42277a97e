//! The part of the handle that is about places: subscriptions, settings, pausing.

use crate::handle::Handle;
use exchange::{
    DeliverySettings, Outcome as Change, PlaceId, PlaceName, PlaceView, SubscriptionView,
};
use protocol::{Filter, Party, Rejection};

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
        let name: Box<str> = name.into();
        self.act(move |exchange, _, _| {
            let (view, record) = exchange.put_subscription(&name, filter, deliver_to, settings)?;
            let change = Change {
                wake: record.iter().map(|_| view.id).collect(),
                records: record.into_iter().collect(),
                ..Change::default()
            };
            Ok((view, change))
        })
        .await
    }

    /// Removes a durable subscription and what waits in it.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn remove_subscription(&self, name: &str) -> Result<(), Rejection> {
        let name: Box<str> = name.into();
        self.act(move |exchange, _, _| {
            let record = exchange.remove_subscription(&name)?;
            let change = Change {
                records: vec![record],
                ..Change::default()
            };
            Ok(((), change))
        })
        .await
    }

    /// All durable subscriptions.
    ///
    /// # Errors
    /// `draining` when the exchange is gone.
    pub async fn subscriptions(&self) -> Result<Vec<SubscriptionView>, Rejection> {
        self.look(exchange::Exchange::subscriptions).await
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
