//! How a place delivers, and whether it does.

use crate::delivery_settings::DeliverySettings;
use crate::exchange::Exchange;
use crate::outcome::Outcome;
use crate::place::{PlaceId, PlaceName};
use crate::record::Record;
use protocol::{Code, Fault, Rejection};

/// What a place is, at a glance.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaceView {
    /// Its number.
    pub id: PlaceId,
    /// Its name.
    pub name: PlaceName,
    /// Deliveries that no reader holds.
    pub waiting: usize,
    /// Deliveries that a reader holds.
    pub leased: usize,
    /// Dead letters.
    pub dead: usize,
    /// How it delivers.
    pub settings: DeliverySettings,
    /// Whether it hands out nothing for now.
    pub is_paused: bool,
}

impl Exchange {
    /// Gives a place its own settings. An inbox opens for it; a subscription must be there.
    ///
    /// # Errors
    /// `not_found` for a subscription, `overloaded` when no inbox can be opened.
    pub fn configure(
        &mut self,
        name: &PlaceName,
        settings: DeliverySettings,
    ) -> Result<Outcome, Rejection> {
        let place = self.open_place(name)?;
        self.places
            .change(place, |place, _| place.configure(settings));
        Ok(Outcome {
            records: vec![Record::PlaceConfigured {
                place,
                name: name.clone(),
                settings,
            }],
            wake: vec![place],
            ..Outcome::default()
        })
    }

    /// Stops or resumes handing out. What is held may still be settled; what comes in waits.
    ///
    /// # Errors
    /// `not_found` for a place that is not open.
    pub fn pause(&mut self, name: &PlaceName, is_paused: bool) -> Result<Outcome, Rejection> {
        let place = self.place(name).ok_or_else(|| not_found(name))?;
        let was_paused = self
            .places
            .get(place)
            .is_some_and(crate::place::Place::is_paused);
        if was_paused == is_paused {
            return Ok(Outcome::default());
        }
        self.places.change(place, |place, _| place.pause(is_paused));
        Ok(Outcome {
            records: vec![Record::PlacePaused { place, is_paused }],
            wake: vec![place],
            ..Outcome::default()
        })
    }

    /// A place at a glance; `None` when it is not open.
    #[must_use]
    pub fn place_view(&self, name: &PlaceName) -> Option<PlaceView> {
        let id = self.place(name)?;
        let place = self.places.get(id)?;
        let own = place.settings.as_deref().copied();
        Some(PlaceView {
            id,
            name: name.clone(),
            waiting: place.waiting(),
            leased: place.held_count(),
            dead: place.dead_count(),
            settings: own.unwrap_or(self.settings.delivery),
            is_paused: place.is_paused(),
        })
    }

    fn open_place(&mut self, name: &PlaceName) -> Result<PlaceId, Rejection> {
        if let Some(place) = self.place(name) {
            return Ok(place);
        }
        let PlaceName::Inbox(party) = name else {
            return Err(not_found(name));
        };
        let max = self.settings.places_max;
        if self.places.room(max) == 0 {
            let detail = format!("expected at most {max} inboxes and subscriptions, got more");
            return Err(Fault::new(Code::Overloaded, "", "ARCHITECTURE limits", detail).into());
        }
        let id = self.places.next_id(0);
        self.places.open_inbox(id, party);
        Ok(id)
    }
}

fn not_found(name: &PlaceName) -> Rejection {
    let detail = match name {
        PlaceName::Inbox(party) => format!("expected a party with an inbox, got `{party}`"),
        PlaceName::Subscription(name) => {
            format!("expected the name of a durable subscription, got {name:?}")
        }
    };
    Fault::new(Code::NotFound, "", "ARCHITECTURE subscriptions", detail).into()
}
