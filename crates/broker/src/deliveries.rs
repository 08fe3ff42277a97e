//! The part of the handle that is about deliveries: pulling, settling, places, dead letters.

use crate::handle::Handle;
use crate::request::Request;
use crate::turn::{Effect, Turn, storage_failed};
use crate::{Entry, find};
use bytes::Bytes;
use exchange::{
    Consumer, Counts, DeadLetter, DeliveryId, DeliverySettings, DeliveryState, Exchange,
    Outcome as Change, PlaceId, PlaceName, PlaceView, Record, Settle, SubscriptionView,
};
use protocol::{Code, Fault, Filter, Party, Rejection, Timestamp};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

/// One delivery handed to a consumer.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// Names this delivery when it is settled.
    pub id: DeliveryId,
    /// How often this message has been handed out to this place, from 1.
    pub attempt: u32,
    /// Whether it may have been handed out before, perhaps by an earlier run of the exchange.
    pub redelivered: bool,
    /// Settle before this moment.
    pub lease_until: Timestamp,
    /// The message.
    pub entry: Arc<Entry>,
}

/// The result of settling one delivery.
pub type Outcome = Result<(), Rejection>;

/// One failed attempt of a dead letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptView {
    /// Which attempt.
    pub attempt: u32,
    /// When it failed.
    pub at: Timestamp,
    /// How: `nacked`, `lease_expired`, `rejected`.
    pub why: &'static str,
    /// What the reader said.
    pub error: Box<str>,
}

/// A dead letter with everything that is known about it.
#[derive(Clone, Debug)]
pub struct DeadLetterView {
    /// Names it; the delivery's place and sequence.
    pub id: DeliveryId,
    /// The place it is dead in.
    pub place: PlaceName,
    /// Since when.
    pub at: Timestamp,
    /// Why.
    pub reason: Box<str>,
    /// How often it was handed out.
    pub attempts: u32,
    /// How each attempt failed, as far as the journal still tells.
    pub failures: Vec<AttemptView>,
    /// The message.
    pub entry: Arc<Entry>,
}

impl Handle {
    /// Hands out up to `max` deliveries of a place to a consumer; waits up to `wait` for the first.
    ///
    /// # Errors
    /// `not_found` for a subscription that does not exist.
    pub async fn pull(
        &self,
        place: PlaceName,
        consumer: Consumer,
        max: usize,
        wait: Duration,
    ) -> Result<Vec<Delivery>, Rejection> {
        self.pull_bytes(place, consumer, max, usize::MAX, wait)
            .await
    }

    /// As [`Self::pull`], and stops after about `bytes_max` bytes of envelopes: what is over it is
    /// given back unseen.
    ///
    /// # Errors
    /// As [`Self::pull`].
    pub async fn pull_bytes(
        &self,
        place: PlaceName,
        consumer: Consumer,
        max: usize,
        bytes_max: usize,
        wait: Duration,
    ) -> Result<Vec<Delivery>, Rejection> {
        let (reply, mut answer) = oneshot::channel();
        self.ask(Request::Pull {
            place,
            consumer,
            max,
            wait: !wait.is_zero(),
            reply,
        })
        .await?;
        let pulled = if wait.is_zero() {
            answer.await.map_err(|_| crate::serve::draining())?
        } else {
            match timeout(wait, &mut answer).await {
                Ok(pulled) => pulled.map_err(|_| crate::serve::draining())?,
                Err(_) => {
                    // Close first: a lease that is already on its way still arrives below.
                    answer.close();
                    answer.try_recv().unwrap_or(Ok(Vec::new()))
                }
            }
        };
        let leases = pulled?;
        let mut deliveries = Vec::with_capacity(leases.len());
        let mut chunk = find::Chunk::default();
        let mut bytes = 0;
        for (at, lease) in leases.iter().enumerate() {
            if bytes >= bytes_max {
                let rest = leases.get(at..).unwrap_or_default().to_vec();
                self.ask(Request::Act(Box::new(move |turn: &mut Turn| {
                    turn.give_back(&rest);
                })))
                .await?;
                break;
            }
            if let Some(entry) = self.shared.entry_in(&mut chunk, lease.sequence)? {
                bytes += entry.envelope.len();
                deliveries.push(Delivery {
                    id: lease.id(),
                    attempt: lease.attempt,
                    redelivered: lease.redelivered,
                    lease_until: lease.until,
                    entry,
                });
            }
        }
        Ok(deliveries)
    }

    /// Acknowledges, returns, rejects or extends deliveries; one result for each, after it is durable.
    ///
    /// # Errors
    /// `draining` when the exchange is gone.
    pub async fn settle(
        &self,
        deliveries: Vec<DeliveryId>,
        how: Settle,
    ) -> Result<Vec<Outcome>, Rejection> {
        let (reply, answer) = oneshot::channel();
        self.ask(Request::Settle {
            deliveries,
            how,
            reply,
        })
        .await?;
        answer.await.map_err(|_| crate::serve::draining())
    }

    /// A consumer leaves a place: what it holds goes to others at once.
    ///
    /// # Errors
    /// `draining` when the exchange is gone.
    pub async fn leave(&self, place: PlaceName, consumer: Consumer) -> Result<(), Rejection> {
        self.act(move |exchange, _, _| {
            let place = exchange.place(&place);
            let wake = place.map_or_else(Vec::new, |id| exchange.leave(id, &consumer));
            let change = Change {
                wake,
                ..Change::default()
            };
            Ok(((), change))
        })
        .await
    }

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

    /// Where deliveries of one message stand, for the places that still owe it.
    ///
    /// # Errors
    /// `draining` when the exchange is gone.
    pub async fn delivery_states(
        &self,
        sequence: u64,
        places: Vec<PlaceId>,
    ) -> Result<Vec<(PlaceId, Option<DeliveryState>)>, Rejection> {
        self.look(move |exchange| {
            let state = |place| (place, exchange.delivery_state(place, sequence));
            places.into_iter().map(state).collect()
        })
        .await
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

    /// Tells of every later change of a message's deliveries.
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

    /// Dead letters of a place, or of all, at most `max`, after one of them.
    ///
    /// # Errors
    /// `not_found` for a place that is not open; `storage_failed` when a message cannot be read.
    pub async fn dead_letters(
        &self,
        place: Option<PlaceName>,
        after: Option<DeliveryId>,
        max: usize,
    ) -> Result<Vec<DeadLetterView>, Rejection> {
        let found = self
            .look(move |exchange| {
                let after = after.map(|id| (id.place, id.sequence));
                let place = match &place {
                    // A party that nobody has written to has no dead letters either.
                    Some(name) => match (exchange.place(name), name) {
                        (Some(id), _) => Some(id),
                        (None, PlaceName::Inbox(_)) => return Ok(Vec::new()),
                        (None, PlaceName::Subscription(name)) => {
                            return Err(crate::serve::no_subscription(name));
                        }
                    },
                    None => None,
                };
                let letters = exchange.dead_letters(place, after, max);
                Ok(letters
                    .into_iter()
                    .map(|letter| named(exchange, letter))
                    .collect())
            })
            .await??;
        self.dead_letter_views(found).await
    }

    /// One dead letter.
    ///
    /// # Errors
    /// `not_found`; `storage_failed` when the message cannot be read.
    pub async fn dead_letter(&self, id: DeliveryId) -> Result<DeadLetterView, Rejection> {
        let found = self
            .look(move |exchange| {
                let letter = exchange.dead_letter(id.place, id.sequence);
                letter.map(|letter| named(exchange, letter))
            })
            .await?;
        let views = self.dead_letter_views(found.into_iter().collect()).await?;
        views.into_iter().next().ok_or_else(|| no_dead_letter(id))
    }

    /// Delivers a dead letter again.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn redrive(&self, id: DeliveryId) -> Result<(), Rejection> {
        self.act(move |exchange, now, _| {
            let change = exchange.redrive(now, id.place, id.sequence);
            Ok(((), change.ok_or_else(|| no_dead_letter(id))?))
        })
        .await
    }

    /// Lets go of a dead letter.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn drop_dead_letter(&self, id: DeliveryId) -> Result<(), Rejection> {
        self.act(move |exchange, now, _| {
            let change = exchange.drop_dead_letter(now, id.place, id.sequence);
            Ok(((), change.ok_or_else(|| no_dead_letter(id))?))
        })
        .await
    }

    /// Sizes of what is held, and the AEP delivery counters.
    ///
    /// # Errors
    /// `draining` when the exchange is gone.
    pub async fn counts(&self) -> Result<(Counts, protocol::dialect::aep::flow::Stats), Rejection> {
        self.look(|exchange| (exchange.counts(), exchange.aep_stats()))
            .await
    }

    /// Reads the dead letters' messages and failures from the journal.
    async fn dead_letter_views(
        &self,
        letters: Vec<(DeadLetter, PlaceName)>,
    ) -> Result<Vec<DeadLetterView>, Rejection> {
        let shared = Arc::clone(&self.shared);
        tokio::task::spawn_blocking(move || {
            let mut views = Vec::with_capacity(letters.len());
            for (letter, place) in letters {
                let Some(entry) = shared.entry(letter.sequence)? else {
                    continue;
                };
                let mut failures = Vec::with_capacity(letter.failures.len());
                for failure in &letter.failures {
                    failures.extend(shared.failure(*failure, letter.sequence)?);
                }
                views.push(DeadLetterView {
                    id: DeliveryId {
                        place: letter.place,
                        sequence: letter.sequence,
                        fence: 0,
                    },
                    place,
                    at: letter.at,
                    reason: letter.reason,
                    attempts: letter.attempts,
                    failures,
                    entry,
                });
            }
            Ok(views)
        })
        .await
        .map_err(|_| crate::tail::unreadable())?
    }

    /// Asks the exchange something that changes nothing.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Exchange) -> T + Send + 'static,
    ) -> Result<T, Rejection> {
        let (reply, answer) = oneshot::channel();
        self.ask(Request::Act(Box::new(move |turn: &mut Turn| {
            // A caller who has gone away does not need it.
            drop(reply.send(question(&turn.exchange)));
        })))
        .await?;
        answer.await.map_err(|_| crate::serve::draining())
    }

    /// Changes the exchange; answers after the change is durable.
    pub(crate) async fn act<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Exchange, Timestamp, u64) -> Result<(T, Change), Rejection>
        + Send
        + 'static,
    ) -> Result<T, Rejection> {
        let (reply, answer) = oneshot::channel();
        self.ask(Request::Act(Box::new(move |turn: &mut Turn| {
            let result = turn.check_writable().and_then(|()| {
                let (now, next) = (turn.clock.now(), turn.journal.next_sequence());
                change(&mut turn.exchange, now, next)
            });
            let result = result.map(|(answer, outcome)| {
                turn.follow(outcome);
                answer
            });
            let done = move |failed: bool| {
                drop(reply.send(if failed {
                    Err(storage_failed())
                } else {
                    result
                }));
            };
            turn.batch.effects.push(Effect::Done(Box::new(done)));
        })))
        .await?;
        answer.await.map_err(|_| crate::serve::draining())?
    }
}

impl crate::handle::Shared {
    /// How one attempt failed, from the record that says so; none when it is no longer kept.
    fn failure(&self, failure: u64, sequence: u64) -> Result<Option<AttemptView>, Rejection> {
        let records = self.reader.read(failure, 1, 1).map_err(|error| {
            tracing::error!(%error, "the journal cannot be read");
            crate::tail::unreadable()
        })?;
        let Some(record) = records.first().filter(|record| record.sequence == failure) else {
            return Ok(None);
        };
        let body: &Bytes = &record.body;
        let Ok(Record::Failed {
            at,
            why,
            error,
            deliveries,
            ..
        }) = Record::decode(record.kind, body)
        else {
            return Ok(None);
        };
        let failed = deliveries.iter().find(|failed| failed.sequence == sequence);
        Ok(failed.map(|failed| AttemptView {
            attempt: failed.attempt,
            at,
            why: why.as_str(),
            error,
        }))
    }
}

fn named(exchange: &Exchange, letter: DeadLetter) -> (DeadLetter, PlaceName) {
    let name = exchange.place_name(letter.place).cloned();
    let name = name.unwrap_or_else(|| PlaceName::Subscription(Box::default()));
    (letter, name)
}

fn no_dead_letter(id: DeliveryId) -> Rejection {
    let detail = format!("expected the delivery of a dead letter, got {id}");
    Fault::new(Code::NotFound, "", "ARCHITECTURE dead letters", detail).into()
}
