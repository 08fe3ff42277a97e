//! What became of one message: in every place it went to, and so for every recipient.
//!
//! What is still owed the exchange knows; what is over the journal says, in a record after the
//! message. The exchange is asked first and answers after its commit, so what it no longer owes has
//! its record by then.

use crate::Entry;
use crate::handle::{Handle, Shared};
use crate::request::Request;
use crate::turn::{Effect, Turn, storage_failed};
use exchange::{
    DeliveryState, Ending, PlaceId, PlaceName, RecipientState, Record, inboxes_of_lines,
};
use protocol::task::{Step, TaskView};
use protocol::{Code, Party, Rejection, Timestamp};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::{oneshot, watch};

/// One failed attempt to deliver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptView {
    /// Which attempt.
    pub attempt: u32,
    /// When it failed.
    pub at: Timestamp,
    /// How: `nacked`, `lease_expired`, `rejected`, `consumer_gone`.
    pub why: &'static str,
    /// What the reader said.
    pub error: Box<str>,
}

/// Where a message stands in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It waits.
    Stored,
    /// A consumer holds it.
    Delivered,
    /// It is done.
    Acked,
    /// It was too old.
    Expired,
    /// It is a dead letter, or was one until somebody let go of it.
    Dead,
    /// It never came there.
    Refused,
    /// It never came there, because the same message had come before.
    Duplicate,
    /// The place is gone, with what waited in it.
    Removed,
}

impl Standing {
    /// The word on every surface.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Delivered => "delivered",
            Self::Acked => "acked",
            Self::Expired => "expired",
            Self::Dead => "dead",
            Self::Refused => "refused",
            Self::Duplicate => "duplicate",
            Self::Removed => "removed",
        }
    }

    /// Whether nothing more happens by itself.
    #[must_use]
    pub fn is_final(self) -> bool {
        match self {
            Self::Stored | Self::Delivered => false,
            Self::Acked
            | Self::Expired
            | Self::Dead
            | Self::Refused
            | Self::Duplicate
            | Self::Removed => true,
        }
    }
}

/// What became of a message in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceFate {
    /// The place.
    pub place: PlaceId,
    /// Its name; none when it is gone.
    pub name: Option<PlaceName>,
    /// Where the message stands there.
    pub standing: Standing,
    /// How often it was handed out.
    pub attempts: u32,
    /// Since when it stands there; none while it waits or is held.
    pub at: Option<Timestamp>,
    /// When the lease ends, or the next attempt may begin.
    pub until: Option<Timestamp>,
    /// Who holds it, or acknowledged it, when it has a name.
    pub consumer: Option<Box<str>>,
    /// The id of the message that acknowledged it, when one did.
    pub message: Option<Box<str>>,
    /// Why it is over.
    pub reason: Box<str>,
    /// How attempts failed.
    pub failures: Vec<AttemptView>,
}

/// What became of a message for one recipient, or for the channel that was named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecipientFate {
    /// The recipient.
    pub party: Party,
    /// What its first receipt said.
    pub first: RecipientState,
    /// Where it stands in the recipient's inbox; none for channels and refused recipients.
    pub inbox: Option<PlaceFate>,
}

impl RecipientFate {
    /// Where it stands. A channel has no inbox: what went to it is stored for its subscribers.
    #[must_use]
    pub fn standing(&self) -> Standing {
        match (&self.inbox, self.first) {
            (Some(inbox), _) => inbox.standing,
            (None, RecipientState::Stored) => Standing::Stored,
            (None, RecipientState::Refused) => Standing::Refused,
            (None, RecipientState::Duplicate) => Standing::Duplicate,
            (None, RecipientState::Dead) => Standing::Dead,
        }
    }

    /// Whether nothing more happens by itself.
    #[must_use]
    pub fn is_final(&self) -> bool {
        self.inbox.is_none() || self.standing().is_final()
    }
}

/// What became of one message.
#[derive(Clone, Debug)]
pub struct Fate {
    /// The message.
    pub entry: Arc<Entry>,
    /// One for each line of the first receipt, in order.
    pub recipients: Vec<RecipientFate>,
    /// Other places that got it: subscriptions, and inboxes that they feed.
    pub others: Vec<PlaceFate>,
    /// The task that it opened or handed on, as it stands.
    pub task: Option<TaskView>,
}

impl Fate {
    /// Whether every recipient's line is final.
    #[must_use]
    pub fn is_final(&self) -> bool {
        self.recipients.iter().all(RecipientFate::is_final)
    }
}

/// What the exchange knows of a message in one place.
struct Known {
    place: PlaceId,
    name: Option<PlaceName>,
    /// None when it is no longer owed.
    state: Option<DeliveryState>,
    failures: Vec<u64>,
}

impl Handle {
    /// What became of a message.
    ///
    /// # Errors
    /// `storage_failed` when the journal cannot be read, `draining` when the exchange is gone.
    pub async fn fate(&self, entry: Arc<Entry>) -> Result<Fate, Rejection> {
        let known = self.known(&entry).await?;
        let task = self.task_opened_by(&entry).await?;
        let shared = Arc::clone(&self.shared);
        let fate = self.shared.aside(move || shared.fate(entry, known)).await?;
        Ok(Fate { task, ..fate })
    }

    async fn task_opened_by(&self, entry: &Entry) -> Result<Option<TaskView>, Rejection> {
        let header = &entry.header;
        let (Some(Step::Open(_)), Some(id)) = (&header.step, &header.task) else {
            return Ok(None);
        };
        if let Some(view) = self.task_now(id).await? {
            return Ok(Some(view));
        }
        // It left memory; the journal has it, unless that was cut.
        match self.task(id).await {
            Ok(past) => Ok(Some(past.view)),
            Err(refused) if refused.code() == Code::NotFound => Ok(None),
            Err(refused) => Err(refused),
        }
    }

    /// Tells of every later change of what became of a message.
    ///
    /// # Errors
    /// `draining` when the exchange is gone.
    pub async fn watch(&self, sequence: u64) -> Result<watch::Receiver<u64>, Rejection> {
        let (reply, answer) = oneshot::channel();
        self.ask(Request::Act(Box::new(move |turn: &mut Turn| {
            drop(reply.send(turn.watchers.watch(sequence)));
        })))
        .await?;
        answer.await.map_err(|_| crate::serve::draining())
    }

    /// Asks the exchange; what it says is durable when the answer comes.
    async fn known(&self, entry: &Entry) -> Result<Vec<Known>, Rejection> {
        let (sequence, places) = (entry.sequence, entry.places.clone());
        let (reply, answer) = oneshot::channel();
        self.ask(Request::Act(Box::new(move |turn: &mut Turn| {
            let exchange = &turn.exchange;
            let known = places.into_iter().map(|place| Known {
                place,
                name: exchange.place_name(place).cloned(),
                state: exchange.delivery_state(place, sequence),
                failures: exchange.failures(place, sequence),
            });
            let known: Vec<_> = known.collect();
            let done = move |failed: bool| {
                drop(reply.send(if failed {
                    Err(storage_failed())
                } else {
                    Ok(known)
                }));
            };
            turn.batch.effects.push(Effect::Done(Box::new(done)));
        })))
        .await?;
        answer.await.map_err(|_| crate::serve::draining())?
    }
}

impl Shared {
    fn fate(&self, entry: Arc<Entry>, known: Vec<Known>) -> Result<Fate, Rejection> {
        let is_over = |known: &&Known| known.state.is_none() && known.name.is_some();
        let over = known.iter().filter(is_over).map(|known| known.place);
        let mut over: BTreeMap<PlaceId, PlaceFate> =
            over.map(|place| (place, waiting(place))).collect();
        self.tell_ends(entry.sequence, &mut over)?;
        let mut fates = BTreeMap::new();
        for known in known {
            let fate = match over.remove(&known.place) {
                Some(fate) => PlaceFate {
                    name: known.name,
                    ..fate
                },
                None => self.owed(entry.sequence, known)?,
            };
            fates.insert(fate.place, fate);
        }
        let inboxes = inboxes_of_lines(&entry.recipients, &entry.places);
        let lines = entry.recipients.iter().zip(inboxes);
        let recipients = lines.map(|((party, first), inbox)| RecipientFate {
            party: party.clone(),
            first: *first,
            inbox: inbox.and_then(|place| fates.remove(&place)),
        });
        let recipients = recipients.collect();
        Ok(Fate {
            entry,
            recipients,
            others: fates.into_values().collect(),
            task: None,
        })
    }

    /// The fate of a delivery that is not over, or whose place is gone.
    fn owed(&self, sequence: u64, known: Known) -> Result<PlaceFate, Rejection> {
        let mut fate = waiting(known.place);
        fate.name = known.name;
        for failure in known.failures {
            fate.failures.extend(self.failure(failure, sequence)?);
        }
        match known.state {
            None => fate.standing = Standing::Removed,
            Some(DeliveryState::Waiting { attempts }) => fate.attempts = attempts,
            Some(DeliveryState::Held {
                attempt,
                consumer,
                until,
            }) => {
                fate.standing = Standing::Delivered;
                fate.attempts = attempt;
                fate.consumer = consumer.as_deref().map(Into::into);
                fate.until = Some(until);
            }
            Some(DeliveryState::Resting { attempts, until }) => {
                fate.attempts = attempts;
                fate.until = Some(until);
            }
            Some(DeliveryState::Dead {
                attempts,
                at,
                reason,
            }) => {
                fate.standing = Standing::Dead;
                fate.attempts = attempts;
                fate.at = Some(at);
                fate.reason = reason;
            }
        }
        Ok(fate)
    }

    /// Reads the records about a message, until each of these places has its end: those that the index
    /// knows, then what the index has not seen yet.
    fn tell_ends(
        &self,
        sequence: u64,
        over: &mut BTreeMap<PlaceId, PlaceFate>,
    ) -> Result<(), Rejection> {
        let mut left = over.len();
        if left == 0 {
            return Ok(());
        }
        let (_, last) = self.reader.range();
        let (known, applied) = self.facts(sequence)?;
        let mut tell_one = |record: &journal::Record| {
            if left > 0
                && Record::is_of_deliveries(record.kind)
                && let Ok(said) = Record::decode(record.kind, &record.body)
                && let Some(fate) = place_of(&said).and_then(|place| over.get_mut(&place))
            {
                let was_final = is_over(fate);
                tell(fate, &said, sequence);
                left -= usize::from(!was_final && is_over(fate));
            }
            Ok(left > 0)
        };
        self.each_at(&known, &mut tell_one)?;
        self.each_between(applied.max(sequence), last, &mut tell_one)
    }

    /// How one attempt failed, from the record that says so; none when it is no longer kept.
    pub(crate) fn failure(
        &self,
        failure: u64,
        sequence: u64,
    ) -> Result<Option<AttemptView>, Rejection> {
        let records = crate::find::records(&self.reader, failure, 1, 1)?;
        let Some(record) = records.first().filter(|record| record.sequence == failure) else {
            return Ok(None);
        };
        let said = Record::decode(record.kind, &record.body).ok();
        Ok(said.and_then(|said| attempt_of(&said, sequence)))
    }
}

/// Nothing is known yet.
fn waiting(place: PlaceId) -> PlaceFate {
    PlaceFate {
        place,
        name: None,
        standing: Standing::Stored,
        attempts: 0,
        at: None,
        until: None,
        consumer: None,
        message: None,
        reason: Box::default(),
        failures: Vec::new(),
    }
}

/// Whether nothing can follow: a dead letter may be delivered again, one that was let go of not.
fn is_over(fate: &PlaceFate) -> bool {
    match fate.standing {
        Standing::Acked | Standing::Expired | Standing::Duplicate => true,
        Standing::Dead => *fate.reason == *DROPPED,
        Standing::Stored | Standing::Delivered | Standing::Refused | Standing::Removed => false,
    }
}

/// The reason of a dead letter that was let go of.
const DROPPED: &str = "dropped";

fn place_of(record: &Record) -> Option<PlaceId> {
    match record {
        Record::Acked { place, .. }
        | Record::Failed { place, .. }
        | Record::Ended { place, .. }
        | Record::Redriven { place, .. } => Some(*place),
        Record::Published { .. }
        | Record::SubscriptionPut { .. }
        | Record::SubscriptionRemoved { .. }
        | Record::PlaceConfigured { .. }
        | Record::PlacePaused { .. }
        | Record::CardPut { .. }
        | Record::CardRemoved { .. } => None,
    }
}

/// Moves a fate on by what a record of its place says.
fn tell(fate: &mut PlaceFate, record: &Record, sequence: u64) {
    match record {
        Record::Acked {
            at,
            consumer,
            by,
            sequences,
            attempts,
            ..
        } => {
            if let Ok(found) = sequences.binary_search(&sequence) {
                fate.standing = Standing::Acked;
                fate.at = Some(*at);
                fate.attempts = attempts.get(found).copied().unwrap_or(1);
                fate.consumer.clone_from(consumer);
                fate.message.clone_from(by);
                fate.reason = Box::default();
            }
        }
        Record::Failed { .. } => {
            if let Some(attempt) = attempt_of(record, sequence) {
                fate.attempts = attempt.attempt;
                fate.failures.push(attempt);
            }
        }
        Record::Ended {
            at,
            how,
            reason,
            sequences,
            ..
        } => {
            if sequences.binary_search(&sequence).is_ok() {
                fate.standing = match how {
                    Ending::Expired => Standing::Expired,
                    Ending::Dead | Ending::Dropped => Standing::Dead,
                };
                fate.at = Some(*at);
                fate.reason = match how {
                    Ending::Dropped => DROPPED.into(),
                    Ending::Expired | Ending::Dead => reason.clone(),
                };
            }
        }
        Record::Redriven { sequence: one, .. } => {
            if *one == sequence {
                fate.standing = Standing::Stored;
                fate.at = None;
                fate.reason = Box::default();
                fate.failures.clear();
            }
        }
        Record::Published { .. }
        | Record::SubscriptionPut { .. }
        | Record::SubscriptionRemoved { .. }
        | Record::PlaceConfigured { .. }
        | Record::PlacePaused { .. }
        | Record::CardPut { .. }
        | Record::CardRemoved { .. } => {}
    }
}

fn attempt_of(record: &Record, sequence: u64) -> Option<AttemptView> {
    let Record::Failed {
        at,
        why,
        error,
        deliveries,
        ..
    } = record
    else {
        return None;
    };
    let failed = deliveries
        .iter()
        .find(|failed| failed.sequence == sequence)?;
    Some(AttemptView {
        attempt: failed.attempt,
        at: *at,
        why: why.as_str(),
        error: error.clone(),
    })
}
