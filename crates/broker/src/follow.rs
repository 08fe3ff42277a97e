//! What follows from a change: records, wake-ups, and what the exchange itself has to say.
//!
//! The exchange speaks in the dialect of the message it speaks about, as `service:interwire`, and its
//! words are published like anybody's, in the same commit. It never speaks about its own words: what
//! it says may fail to be delivered too, and nobody would ever stop.

use crate::give_up::{self, GivenUp};
use crate::turn::Turn;
use crate::{Entry, find};
use bytes::Bytes;
use exchange::{Notice, Outcome, PlaceName};
use protocol::dialect::aep::Aep;
use protocol::dialect::uai::build::{Agent, Envelope as Uai, Heading};
use protocol::json::push_string;
use protocol::{AeePolicy, Code, DialectName, Mode, Party, Rules, Timestamp};
use std::fmt::Write as _;
use std::sync::Arc;

/// The party that the exchange speaks as, in the spelling of AEP.
pub(crate) const SELF: &str = "service:interwire";

impl Turn {
    /// Appends what a change asks and publishes what it has to say.
    pub(crate) fn follow(&mut self, outcome: Outcome) {
        for record in &outcome.records {
            self.append(record);
            self.batch.entries.push(None);
            self.watchers.touch_record(record);
            self.meter.settled(record);
        }
        self.watchers.touch(outcome.touched.into_iter());
        self.batch.wake.extend(outcome.wake);
        for envelope in outcome.speak {
            self.say(envelope);
        }
        for notice in outcome.notices {
            self.notify(&notice);
        }
    }

    /// Publishes an envelope of the exchange's own.
    fn say(&mut self, envelope: Bytes) {
        let now = self.clock.now();
        // What others are asked to keep to may be more than an answer to a careless sender can.
        let rules = Rules {
            now,
            mode: Mode::Lenient,
            aee_policy: AeePolicy::Either,
            ..self.settings.rules.clone()
        };
        match protocol::decode(&envelope, &rules).into_result() {
            Ok((header, _)) => {
                let header = Arc::new(header);
                if let Err(rejection) = self.accept(now, &header, &envelope, None) {
                    tracing::warn!(id = %header.id, code = rejection.code().as_str(), "own words were refused");
                }
            }
            // It was built here, so this is a fault of this program; nobody else may suffer for it.
            Err(rejection) => {
                tracing::error!(code = rejection.code().as_str(), "own words cannot be read");
            }
        }
    }

    fn notify(&mut self, notice: &Notice) {
        let sequence = match notice {
            Notice::Redelivered { sequence, .. }
            | Notice::DeadLettered { sequence, .. }
            | Notice::Expired { sequence, .. } => *sequence,
        };
        let entry = match find::entry(&self.reader, &self.ring, sequence) {
            Ok(Some(entry)) => entry,
            Ok(None) | Err(_) => return,
        };
        if entry.header.sender.as_str() == SELF {
            return;
        }
        match entry.header.dialect {
            DialectName::Aep => {
                if let Some(event) = event_of(notice, &entry, self.clock.now()) {
                    self.say(event.into());
                }
            }
            DialectName::Uai => {
                let words = self.error_of(notice, &entry);
                let words = words.or_else(|| self.blocker_of(notice, &entry));
                if let Some(words) = words {
                    self.say(words);
                }
            }
            // It has no words for a delivery's fate but a task's; the receipt tells.
            DialectName::Aee => {}
        }
    }

    /// What the sender asked for when a recipient will not get the message; a dead letter of a
    /// subscription is nobody's but the subscriber's.
    fn blocker_of(&self, notice: &Notice, entry: &Entry) -> Option<Bytes> {
        let Notice::DeadLettered {
            place,
            attempts,
            reason,
            ..
        } = notice
        else {
            return None;
        };
        let Some(PlaceName::Inbox(party)) = self.exchange.place_name(*place) else {
            return None;
        };
        let given_up = GivenUp {
            party,
            place: place.0,
            attempts: *attempts,
            reason,
        };
        give_up::blocker(entry, &given_up, self.clock.now()).map(Bytes::from)
    }

    /// `uai.error.v1` with `message_expired` to the sender (UAI 4 D8), for a recipient; who subscribed
    /// was not known to it.
    fn error_of(&self, notice: &Notice, entry: &Entry) -> Option<Bytes> {
        let Notice::Expired { place, sequence } = notice else {
            return None;
        };
        let Some(PlaceName::Inbox(party)) = self.exchange.place_name(*place) else {
            return None;
        };
        let header = &entry.header;
        let mut body = String::from("{\"status\":410,\"code\":\"message_expired\",\"title\":");
        push_string(&mut body, Code::MessageExpired.title());
        body.push_str(",\"detail\":");
        push_string(
            &mut body,
            &format!("expected {party} to take the message before it expired, got nobody in time"),
        );
        body.push_str(",\"related_message_id\":");
        push_string(&mut body, &header.id);
        body.push_str(",\"errors\":[]}");
        let heading = Heading {
            // The same fact always has the same id, so that it is told once.
            id: format!("expired-{}-{sequence}", place.0),
            issued_at: self.clock.now(),
            source: agent(&Party::from_canonical(SELF)),
            target: agent(&header.sender),
            conversation: header.conversation.as_deref()?.to_owned(),
        };
        let error = Uai::new("uai.error.v1", body, heading)
            .reply_to(&header.id)
            .correlation(header.correlation.as_deref()?);
        match error.write() {
            Ok(text) => Some(text.into()),
            Err(fault) => {
                tracing::error!(%fault, "own words cannot be written");
                None
            }
        }
    }
}

/// A party as UAI-1 spells it.
pub(crate) fn agent(party: &Party) -> Agent {
    match party.kind() {
        Some(kind) => Agent::new(kind, party.name()),
        None => Agent::new("agent", party.as_str()),
    }
}

/// `event.redelivered` or `event.dead_lettered` (AEP 6), to nobody in particular: whoever follows the
/// session, the conversation or the type sees it.
fn event_of(notice: &Notice, entry: &Entry, now: Timestamp) -> Option<String> {
    let header = &entry.header;
    let mut payload = String::from("{\"original_event_id\":");
    push_string(&mut payload, &header.id);
    let (kind, place, attempt) = match notice {
        Notice::Redelivered { place, attempt, .. } => {
            let _ = write!(payload, ",\"attempt\":{attempt}");
            ("event.redelivered", place, attempt)
        }
        Notice::DeadLettered {
            place,
            attempts,
            reason,
            ..
        } => {
            let _ = write!(payload, ",\"attempts\":{attempts},\"error\":{{\"code\":");
            push_string(&mut payload, reason);
            payload.push_str(",\"message\":\"the delivery was given up\",\"retryable\":false},\"original_event\":");
            payload.push_str(std::str::from_utf8(&entry.envelope).ok()?);
            ("event.dead_lettered", place, attempts)
        }
        Notice::Expired { .. } => return None,
    };
    payload.push('}');
    let mut event = Aep::event(kind, SELF)
        .cause(&header.id)
        .payload_json(&payload);
    if let Some(conversation) = &header.conversation {
        event = event.conversation(conversation);
    }
    if let Some(session) = &header.session {
        event = event.session(session);
    }
    // The same fact always has the same id, so that it is told once.
    let id = format!("{kind}:{}.{}.{attempt}", place.0, entry.sequence);
    Some(event.build(&id, now))
}
