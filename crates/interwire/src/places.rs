//! The options that name a durable place, and those that say how it delivers.

use crate::failure::Failure;
use crate::output::{self, tame};
use client::{DeliverySettings, Place, PlaceState};

/// A party's inbox, or a durable subscription.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct PlaceArgs {
    /// The inbox of this party
    #[arg(long, value_name = "PARTY", conflicts_with = "subscription")]
    inbox: Option<String>,
    /// This durable subscription
    #[arg(long, value_name = "NAME")]
    subscription: Option<String>,
}

impl PlaceArgs {
    /// The place, when one is named.
    pub fn place(&self) -> Option<Place> {
        match (&self.inbox, &self.subscription) {
            (Some(party), _) => Some(Place::Inbox(party.clone())),
            (None, Some(name)) => Some(Place::Subscription(name.clone())),
            (None, None) => None,
        }
    }
}

/// How a place delivers; what is left out is as the exchange does it.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct DeliveryArgs {
    /// How long a pulled delivery is reserved, in milliseconds
    #[arg(long, value_name = "MS", help_heading = "Delivery")]
    lease_ms: Option<u64>,
    /// After so many failed attempts a delivery is a dead letter
    #[arg(long, value_name = "N", help_heading = "Delivery")]
    max_attempts: Option<u32>,
    /// The wait after the first failed attempt, in milliseconds
    #[arg(long, value_name = "MS", help_heading = "Delivery")]
    backoff_ms: Option<u64>,
    /// By what the wait grows with every further failure
    #[arg(long, value_name = "TIMES", help_heading = "Delivery")]
    backoff_multiplier: Option<f64>,
    /// The longest wait, in milliseconds
    #[arg(long, value_name = "MS", help_heading = "Delivery")]
    backoff_ms_max: Option<u64>,
    /// Most deliveries that consumers hold at once
    #[arg(long, value_name = "N", help_heading = "Delivery")]
    max_in_flight: Option<u32>,
    /// conversation (kept together and in order) or none
    #[arg(long, value_name = "WORD", help_heading = "Delivery")]
    order: Option<String>,
}

impl DeliveryArgs {
    /// The settings they say.
    pub fn settings(&self) -> DeliverySettings {
        DeliverySettings {
            lease_ms: self.lease_ms,
            max_attempts: self.max_attempts,
            backoff_ms: self.backoff_ms,
            backoff_multiplier: self.backoff_multiplier,
            backoff_ms_max: self.backoff_ms_max,
            max_in_flight: self.max_in_flight,
            order: self.order.clone(),
        }
    }
}

/// What a place is called by people.
pub fn name(place: &Place) -> String {
    match place {
        Place::Inbox(party) => format!("inbox {}", tame(party)),
        Place::Subscription(name) => format!("subscription {}", tame(name)),
    }
}

/// Prints a place.
pub fn print(place: &Place, state: &PlaceState, is_json: bool) -> Result<(), Failure> {
    if is_json {
        return output::line(state.raw.trim());
    }
    let PlaceState {
        waiting,
        leased,
        dead,
        paused,
        delivery,
        raw: _,
    } = state;
    let paused = if *paused { "  paused" } else { "" };
    output::line(&format!(
        "{}  {waiting} waiting  {leased} leased  {dead} dead{paused}",
        name(place)
    ))?;
    let shown = serde_json::to_value(delivery).unwrap_or_default();
    for (name, value) in shown.as_object().into_iter().flatten() {
        output::line(&format!("  {name} = {value}"))?;
    }
    Ok(())
}
