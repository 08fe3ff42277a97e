//! The part of the handle that is about deliveries: pulling and settling.

use crate::handle::Handle;
use crate::request::Request;
use crate::turn::{Effect, Turn, storage_failed};
use crate::{Entry, find};
use exchange::{
    Consumer, Counts, DeliveryId, Exchange, Lease, Outcome as Change, PlaceName, Settle,
};
use protocol::{Rejection, Timestamp};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
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

/// The result of settling one delivery; of one that is held on, until when.
pub type Outcome = Result<Option<Timestamp>, Rejection>;

/// How a consumer goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// It says so: what it held has not failed.
    Leaves,
    /// Without a word, as when its process dies: what it held counts as failed.
    IsGone,
}

/// How much one pull may take.
#[derive(Clone, Copy, Debug)]
pub struct Portion {
    /// Most deliveries.
    pub max: usize,
    /// Most deliveries of the place that the consumer may hold then, with what it holds already.
    pub held_max: usize,
    /// About so many bytes of envelopes; what is over it is given back unseen.
    pub bytes_max: usize,
}

impl Portion {
    /// Up to `max` deliveries, without any other limit.
    #[must_use]
    pub fn of(max: usize) -> Self {
        Self {
            max,
            held_max: usize::MAX,
            bytes_max: usize::MAX,
        }
    }
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
        self.pull_within(place, consumer, Portion::of(max), wait)
            .await
    }

    /// As [`Self::pull`], within all limits of `portion`.
    ///
    /// # Errors
    /// As [`Self::pull`].
    pub async fn pull_within(
        &self,
        place: PlaceName,
        consumer: Consumer,
        portion: Portion,
        wait: Duration,
    ) -> Result<Vec<Delivery>, Rejection> {
        let Portion {
            max,
            held_max,
            bytes_max,
        } = portion;
        let (reply, mut answer) = oneshot::channel();
        self.ask(Request::Pull {
            place,
            consumer,
            max,
            held_max,
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
                self.give_back(leases.get(at..).unwrap_or_default()).await?;
                break;
            }
            let entry = match self.shared.entry_in(&mut chunk, lease.sequence) {
                Ok(entry) => entry,
                Err(unreadable) => {
                    // Nobody sees any of them, so none of them has failed.
                    self.give_back(&leases).await?;
                    return Err(unreadable);
                }
            };
            if let Some(entry) = entry {
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

    /// Deliveries that were pulled and did not reach anybody wait again, as if they had not been handed
    /// out: it counts as no attempt. Those that are settled stay so.
    ///
    /// # Errors
    /// `draining` when the exchange is gone.
    pub async fn give_back_unseen(&self, deliveries: Vec<DeliveryId>) -> Result<(), Rejection> {
        let lease = |id: DeliveryId| Lease {
            place: id.place,
            sequence: id.sequence,
            fence: id.fence,
            attempt: 1,
            redelivered: false,
            until: Timestamp::default(),
        };
        let leases: Vec<Lease> = deliveries.into_iter().map(lease).collect();
        self.give_back(&leases).await
    }

    /// Leases that their reader does not see.
    async fn give_back(&self, leases: &[Lease]) -> Result<(), Rejection> {
        let leases = leases.to_vec();
        self.ask(Request::Act(Box::new(move |turn: &mut Turn| {
            turn.give_back(&leases);
        })))
        .await
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
        self.begin_settle(deliveries, how).await?.await
    }

    /// As [`Self::settle`], and returns when the request has its place before all later ones; the
    /// results are awaited apart.
    ///
    /// # Errors
    /// As [`Self::settle`].
    pub async fn begin_settle(
        &self,
        deliveries: Vec<DeliveryId>,
        how: Settle,
    ) -> Result<impl Future<Output = Result<Vec<Outcome>, Rejection>> + Send + use<>, Rejection>
    {
        let (reply, answer) = oneshot::channel();
        self.ask(Request::Settle {
            deliveries,
            how,
            reply,
        })
        .await?;
        Ok(async { answer.await.map_err(|_| crate::serve::draining()) })
    }

    /// A consumer goes from a place: what it holds is for others at once, and pulls of it that still
    /// wait end with nothing.
    ///
    /// # Errors
    /// `draining` when the exchange is gone.
    pub async fn leave(
        &self,
        place: PlaceName,
        consumer: Consumer,
        how: Departure,
    ) -> Result<(), Rejection> {
        let (from, who) = (place.clone(), consumer.clone());
        self.ask(Request::Act(Box::new(move |turn: &mut Turn| {
            turn.parked.dismiss(&from, &who);
        })))
        .await?;
        self.act(move |exchange, now, next| {
            let change = exchange.place(&place).map(|id| match how {
                Departure::Leaves => exchange.leave(id, &consumer),
                Departure::IsGone => exchange.lose(now, next, id, &consumer),
            });
            Ok(((), change.unwrap_or_default()))
        })
        .await
    }

    /// Sizes of what is held, and the AEP delivery counters.
    ///
    /// # Errors
    /// `draining` when the exchange is gone.
    pub async fn counts(&self) -> Result<(Counts, protocol::dialect::aep::flow::Stats), Rejection> {
        // Told as it is, also after a failure: whoever measures has to see on.
        let (reply, answer) = oneshot::channel();
        self.ask(Request::Act(Box::new(move |turn: &mut Turn| {
            // A caller who has gone away does not need it.
            let _ = reply.send((turn.exchange.counts(), turn.exchange.aep_stats()));
        })))
        .await?;
        answer.await.map_err(|_| crate::serve::draining())
    }

    /// Asks the exchange something that changes nothing; answers when what it saw is durable.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Exchange) -> T + Send + 'static,
    ) -> Result<T, Rejection> {
        let (reply, answer) = oneshot::channel();
        self.ask(Request::Act(Box::new(move |turn: &mut Turn| {
            let found = question(&turn.exchange);
            let done = move |failed: bool| {
                drop(reply.send(if failed {
                    Err(storage_failed())
                } else {
                    Ok(found)
                }));
            };
            turn.batch.effects.push(Effect::Done(Box::new(done)));
        })))
        .await?;
        answer.await.map_err(|_| crate::serve::draining())?
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
