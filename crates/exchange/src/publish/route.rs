//! The places of one message, and the lines of its receipt.

use super::RecipientState;
use crate::exchange::Exchange;
use crate::place::PlaceId;
use foldhash::fast::FixedState;
use protocol::{Act, Code, DialectName, Fault, Header, Intake, Party};
use std::collections::HashSet;

/// Where a message goes. Nothing has changed yet.
#[derive(Debug, Default)]
pub(super) struct Route {
    /// Parties and channels as named, then listeners, then parties that a wildcard stood for.
    pub(super) lines: Vec<(Party, RecipientState)>,
    /// Inboxes of the stored lines in their order, then other places; each once.
    pub(super) places: Vec<PlaceId>,
    /// Parties whose inboxes must be opened, in order.
    pub(super) fresh: Vec<Party>,
    seen: HashSet<PlaceId, FixedState>,
}

/// Up to this many places, looking through them is cheaper than a set.
const SCAN_MAX: usize = 32;

impl Exchange {
    /// `known` are recipients that had the message before: it does not go to them again. `listeners`
    /// are parties that get it although it is not addressed to them. It came from where the
    /// subscription `origin` leads.
    pub(super) fn route(
        &self,
        header: &Header,
        known: &[Party],
        listeners: &[Party],
        origin: Option<&str>,
    ) -> Result<Route, Fault> {
        let mut route = Route::default();
        match header.intake {
            Intake::Log => return Ok(route),
            Intake::Work => {}
        }
        let mut prefixes = Vec::new();
        for party in &header.recipients {
            let prefix = wildcard_prefix(party);
            if prefix.is_some() && header.act != Act::Inform {
                return Err(wildcard_not_allowed(header, party));
            }
            if known.contains(party) {
                route.lines.push((party.clone(), RecipientState::Duplicate));
                continue;
            }
            match prefix {
                // A channel stands for its subscribers, who are found by their filters.
                _ if party.is_channel() => {
                    route.lines.push((party.clone(), RecipientState::Stored));
                }
                Some(prefix) => prefixes.push(prefix),
                None => self.add_party(party, &mut route),
            }
        }
        for party in listeners {
            self.add_party(party, &mut route);
        }
        self.check_room(&route)?;
        for prefix in prefixes {
            for (place, party) in self.places.inboxes_under(prefix) {
                // Nobody needs an echo of what went to everybody.
                if *party != header.sender && route.add(place) {
                    route.lines.push((party.clone(), RecipientState::Stored));
                }
            }
        }
        // What is played again is for those it is played to: others have had the original.
        let original = header.replay_of.is_none().then_some(header);
        let subscriptions = &self.subscriptions;
        let origin = origin.and_then(|name| subscriptions.own_place(name));
        for place in original
            .into_iter()
            .flat_map(|one| subscriptions.places_for(one))
        {
            let is_known = |party| self.places.inbox(party) == Some(place);
            if Some(place) != origin && !known.iter().any(is_known) {
                route.add(place);
            }
        }
        let (count, max) = (route.places.len(), self.settings.fan_out_max);
        if count > max {
            let detail = format!("expected at most {max} places, got {count}");
            return Err(Fault::new(
                Code::TooManyTargets,
                "",
                "ARCHITECTURE limits",
                detail,
            ));
        }
        Ok(route)
    }

    fn add_party(&self, party: &Party, route: &mut Route) {
        let state = match self.places.inbox(party) {
            Some(place) => {
                route.add(place);
                RecipientState::Stored
            }
            None if route.fresh.len() < self.places.room(self.settings.places_max) => {
                route.add(self.places.next_id(route.fresh.len()));
                route.fresh.push(party.clone());
                RecipientState::Stored
            }
            None => RecipientState::Refused,
        };
        route.lines.push((party.clone(), state));
    }

    /// A message that reaches some of its recipients is accepted; one that reaches none is not.
    fn check_room(&self, route: &Route) -> Result<(), Fault> {
        let has = |wanted| route.lines.iter().any(|(_, state)| *state == wanted);
        if has(RecipientState::Stored) || !has(RecipientState::Refused) {
            return Ok(());
        }
        let max = self.settings.places_max;
        let detail = format!("expected at most {max} inboxes and subscriptions, got one more");
        Err(Fault::new(
            Code::Overloaded,
            "",
            "ARCHITECTURE limits",
            detail,
        ))
    }
}

impl Route {
    /// Nobody gets it: it is a claim that lost.
    pub(super) fn lose(&mut self) {
        for (_, state) in &mut self.lines {
            *state = RecipientState::Refused;
        }
        self.places.clear();
        self.fresh.clear();
    }

    /// Adds a place once; true when it is new.
    fn add(&mut self, place: PlaceId) -> bool {
        if self.places.len() < SCAN_MAX {
            if self.places.contains(&place) {
                return false;
            }
        } else {
            if self.seen.is_empty() {
                self.seen.extend(&self.places);
            }
            if !self.seen.insert(place) {
                return false;
            }
        }
        self.places.push(place);
        true
    }
}

/// What an address that ends in a lone `*` starts with (AEE 3): `agent:` for `agent.*`.
pub(crate) fn wildcard_prefix(party: &Party) -> Option<&str> {
    let prefix = party.as_str().strip_suffix('*')?;
    (prefix.is_empty() || prefix.ends_with([':', '.'])).then_some(prefix)
}

fn wildcard_not_allowed(header: &Header, party: &Party) -> Fault {
    let pointer = match header.dialect {
        DialectName::Aee => "/to",
        DialectName::Aep | DialectName::Uai => "/target",
    };
    let act = header.act.as_str();
    let detail = format!(
        "expected one recipient for this act ({act}), got `{party}`, which only an event may name"
    );
    Fault::new(Code::IdentityMalformed, pointer, "AEE 3", detail)
}
