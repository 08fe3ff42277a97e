//! What a connection has sent lately: deliveries that wait for an acknowledgement, and what other
//! readers of the same connection sent, so that it is not sent twice.

use super::work::Name;
use broker::DeliveryId;
use protocol::session::Place;
use std::collections::{HashMap, VecDeque};

/// Events remembered.
const REMEMBERED_MAX: usize = 8_192;

#[derive(Default)]
pub(super) struct Held {
    /// Deliveries by the id of their event. Two senders may have used one id.
    deliveries: HashMap<Box<str>, Vec<DeliveryId>>,
    order: VecDeque<(u64, Box<str>)>,
    sent: HashMap<u64, (Name, Place)>,
    by_id: HashMap<Box<str>, u64>,
}

impl Held {
    /// A delivery was sent.
    pub(super) fn hold(&mut self, event: &str, delivery: DeliveryId) {
        if self.deliveries.len() >= REMEMBERED_MAX
            && let Some(any) = self.deliveries.keys().next().cloned()
        {
            // Its lease runs out instead.
            self.deliveries.remove(&any);
        }
        let held = self.deliveries.entry(event.into()).or_default();
        // A later attempt takes the place of an earlier one.
        held.retain(|one| (one.place, one.sequence) != (delivery.place, delivery.sequence));
        held.push(delivery);
    }

    /// The deliveries of an event, to be settled.
    pub(super) fn take(&mut self, event: &str) -> Vec<DeliveryId> {
        self.deliveries.remove(event).unwrap_or_default()
    }

    /// Whether another reader sent that event, or if not, that this one does now.
    pub(super) fn is_sent_by_other(&mut self, reader: &Name, event: &str, place: &Place) -> bool {
        if let Some((other, _)) = self.sent.get(&place.sequence) {
            return other != reader;
        }
        if self.order.len() >= REMEMBERED_MAX
            && let Some((sequence, event)) = self.order.pop_front()
        {
            self.sent.remove(&sequence);
            if self.by_id.get(&event) == Some(&sequence) {
                self.by_id.remove(&event);
            }
        }
        self.order.push_back((place.sequence, event.into()));
        self.by_id.insert(event.into(), place.sequence);
        self.sent
            .insert(place.sequence, (reader.clone(), place.clone()));
        false
    }

    /// Where an event stands that was sent.
    pub(super) fn place_of(&self, event: &str) -> Option<Place> {
        let sequence = self.by_id.get(event)?;
        self.sent.get(sequence).map(|(_, place)| place.clone())
    }
}
