//! Whether a message is new, legal and deliverable, and which places get it.
//!
//! The order matters: a repeat is recognised before its move is judged, so that a repeated task event
//! is a duplicate and not an illegal move; and everything that can be refused is refused before
//! anything changes. Nothing here reads the envelope, except
//! that the directory takes up what an announcement says of its sender.

mod route;

use route::Route;
pub(crate) use route::wildcard_prefix;

use crate::dedupe::Standing;
use crate::exchange::Exchange;
use crate::fail::end;
use crate::listen::ChannelId;
use crate::loop_guard::{Stop, is_of_stop, speak_of_stop};
use crate::outcome::Outcome;
use crate::place::{Arrival, OrderKey, PlaceId};
use crate::record::{Ending, Record};
use bytes::Bytes;
use foldhash::quality::FixedState;
use protocol::task::{SERVICE, Verdict};
use protocol::{Header, Intake, Party, Rejection, Timestamp};
use std::hash::BuildHasher;
use std::num::NonZeroU32;
use std::sync::Arc;

/// What became of one recipient when the message was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecipientState {
    /// The message waits for it, or for whoever subscribed to it.
    Stored,
    /// It has no inbox and none can be opened, because there are too many places; or the message is a
    /// claim that came too late, which goes to nobody.
    Refused,
    /// It was sent the same message before, under the same idempotency key.
    Duplicate,
    /// The message ends a loop: it was kept as a dead letter and goes to nobody.
    Dead,
}

impl RecipientState {
    /// The word in receipts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Refused => "refused",
            Self::Duplicate => "duplicate",
            Self::Dead => "dead",
        }
    }
}

/// What a publish did.
#[derive(Debug)]
pub struct Publication {
    /// Where the message is in the journal; for a duplicate, where the first is.
    pub sequence: u64,
    /// Whether the same bytes were published before.
    pub duplicate: bool,
    /// One line per recipient, as the receipt shows them. Empty for a duplicate: the journal's record
    /// at `sequence` has the lines of the first.
    pub recipients: Vec<(Party, RecipientState)>,
    /// To append; `None` for a duplicate.
    pub record: Option<Record>,
    /// Places that have something new to pull.
    pub wake: Vec<PlaceId>,
    /// Channels whose readers want it.
    pub channels: Vec<ChannelId>,
    /// Why it goes to nobody, when it ends a loop.
    pub stop: Option<Stop>,
    /// What else follows from it; its records come directly after this message's.
    pub then: Outcome,
}

/// The inbox behind each line of a receipt, from the places of its record: none for a channel and for
/// a recipient that was refused.
#[must_use]
pub fn inboxes_of_lines(
    recipients: &[(Party, RecipientState)],
    places: &[PlaceId],
) -> Vec<Option<PlaceId>> {
    let mut places = places.iter();
    let inbox = |(party, state): &(Party, RecipientState)| match state {
        RecipientState::Stored | RecipientState::Dead if !party.is_channel() => {
            places.next().copied()
        }
        RecipientState::Stored
        | RecipientState::Dead
        | RecipientState::Refused
        | RecipientState::Duplicate => None,
    };
    recipients.iter().map(inbox).collect()
}

impl Exchange {
    /// Accepts a message. `sequence` is the one its record will have in the journal.
    ///
    /// A message of the log intake goes to nobody; readers of the journal still see it, so live
    /// channels are told.
    ///
    /// # Errors
    /// `id_conflict`, `idempotency_conflict`, `storage_failed` (it cannot be found out whether the
    /// message is new), `identity_malformed` (a wildcard recipient of anything but an event),
    /// `too_many_targets`, `overloaded` (no recipient's inbox can be opened), those of
    /// [`Tasks::judge`](protocol::Tasks::judge) and of
    /// [`Flow::accept`](protocol::dialect::aep::flow::Flow::accept). Nothing has changed then.
    pub fn publish(
        &mut self,
        now: Timestamp,
        sequence: u64,
        header: Arc<Header>,
        envelope: Bytes,
    ) -> Result<Publication, Rejection> {
        self.publish_from(now, sequence, header, envelope, None)
    }

    /// As [`Self::publish`], for a message that came from where the subscription `origin` leads: it is
    /// not put into that subscription's own place, so that nothing goes back to where it came from.
    ///
    /// # Errors
    /// As [`Self::publish`].
    pub fn publish_from(
        &mut self,
        now: Timestamp,
        sequence: u64,
        mut header: Arc<Header>,
        envelope: Bytes,
        origin: Option<&str>,
    ) -> Result<Publication, Rejection> {
        self.saw(now, &header.sender);
        let known = match self.dedupe.standing(&header)? {
            Standing::Repeat(first) => {
                let mut repeat = repeat(first.sequence);
                let words = self.claims.say_again(&header);
                repeat.then.speak = words.into_iter().map(Bytes::from).collect();
                return Ok(repeat);
            }
            Standing::New(known) => known,
        };
        let claim = self.claims.judge(now, &header, &self.directory)?;
        if claim.is_lost() {
            // It changes nothing: nobody works on what it asks for, and nothing is settled with it.
            let header = Arc::make_mut(&mut header);
            (header.step, header.settles) = (None, None);
        }
        let spoken_of = self.spoken_of(&header)?;
        let verdict = self.tasks.judge(&header)?;
        if let Some(task) = self.tasks.label(&header, &verdict) {
            Arc::make_mut(&mut header).task = Some(task);
        }
        let listeners = self.listeners(&header, &verdict);
        let mut route = self.route(&header, &known, &listeners, origin)?;
        if claim.is_lost() {
            route.lose();
        }
        if let Some(facts) = &header.flow {
            self.flow.accept(&header.id, facts)?;
        }
        self.tasks.perform(now, sequence, &header, verdict);
        self.dedupe.remember_message(&header, &known, sequence);
        for party in &route.fresh {
            self.places.open_inbox(self.places.next_id(0), party);
        }
        self.deliver(sequence, &header, &route.places);
        let mut then = Outcome::default();
        let words = self.claims.perform(now, &header, claim);
        then.speak.extend(words.into_iter().map(Bytes::from));
        self.settle_in_band(now, sequence + 1, &header, spoken_of, &mut then);
        let stop = match header.intake {
            Intake::Work => self.loop_guard.observe(&self.settings.loops, now, &header),
            Intake::Log => None,
        };
        if let Some(stop) = &stop {
            self.stop(now, sequence, &header, stop, &mut route, &mut then);
        }
        self.take_announcement(now, &header, &envelope, &mut then);
        let channels = self.channels.matching(&header);
        let record = Record::Published {
            at: now,
            recipients: route.lines.clone(),
            places: route.places.clone(),
            moves_flow: header.flow.is_some(),
            header,
            envelope,
        };
        Ok(Publication {
            sequence,
            duplicate: false,
            recipients: route.lines,
            record: Some(record),
            wake: if stop.is_some() {
                Vec::new()
            } else {
                route.places
            },
            channels,
            stop,
            then,
        })
    }

    /// Who must hear what the exchange itself says of a task, besides those it is addressed to: an
    /// envelope of most dialects has one address, a task has at least two parties.
    fn listeners(&self, header: &Header, verdict: &Verdict) -> Vec<Party> {
        // Of a task that was stopped nobody but its sender knows.
        if header.sender.as_str() != SERVICE || is_of_stop(header) {
            return Vec::new();
        }
        let mut parties = self.tasks.parties(verdict);
        parties.retain(|party| !header.recipients.contains(party) && *party != header.sender);
        parties
    }

    /// Makes a message that ends a loop a dead letter everywhere, and tells its sender.
    fn stop(
        &mut self,
        now: Timestamp,
        sequence: u64,
        header: &Header,
        stop: &Stop,
        route: &mut Route,
        then: &mut Outcome,
    ) {
        let reason = stop.limit.as_str();
        for (_, state) in &mut route.lines {
            if *state == RecipientState::Stored {
                *state = RecipientState::Dead;
            }
        }
        for place in &route.places {
            self.places.change(*place, |queue, moments| {
                queue.bury(sequence, now, reason, moments);
            });
            end(now, *place, Ending::Dead, reason, vec![sequence], then);
        }
        if !stop.was_told {
            let words = speak_of_stop(header, stop, now);
            then.speak.extend(words.map(Bytes::from));
        }
    }

    /// Puts a message into places.
    pub(crate) fn deliver(&mut self, sequence: u64, header: &Header, places: &[PlaceId]) {
        let arrival = Arrival {
            sequence,
            priority: header.priority,
            key: order_key(header),
            expires_at: header.deadline,
            retry: header.retry.as_deref(),
        };
        for place in places {
            self.places
                .change(*place, |place, moments| place.push(arrival, moments));
        }
    }
}

/// The conversation in 32 bits, from the same digest on every machine and at every start.
fn order_key(header: &Header) -> OrderKey {
    let Some(conversation) = &header.conversation else {
        return OrderKey::default();
    };
    let hash = FixedState::with_seed(0).hash_one(conversation.as_bytes());
    OrderKey(NonZeroU32::new((hash >> 32) as u32 | 1))
}

fn repeat(sequence: u64) -> Publication {
    Publication {
        sequence,
        duplicate: true,
        recipients: Vec::new(),
        record: None,
        wake: Vec::new(),
        channels: Vec::new(),
        stop: None,
        then: Outcome::default(),
    }
}
