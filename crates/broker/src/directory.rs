//! The part of the handle that is about the directory of agents.

use crate::handle::Handle;
use crate::request::Request;
use crate::turn::{Effect, Turn, storage_failed};
use bytes::Bytes;
use exchange::{AgentQuery, AgentView, PlaceName};
use protocol::{Card, Header, Party, Rejection};
use tokio::sync::oneshot;

/// A page of agents, and whether there are more.
#[derive(Clone, Debug, Default)]
pub struct AgentPage {
    /// In the order of their names.
    pub agents: Vec<AgentView>,
    /// The name after which the next page begins.
    pub next: Option<Party>,
}

impl Handle {
    /// Registers an agent's card; whether it is the first of its agent.
    ///
    /// # Errors
    /// Those of [`Exchange::put_card`](exchange::Exchange::put_card).
    pub async fn put_card(&self, party: Party, card: Card) -> Result<bool, Rejection> {
        self.act(move |exchange, now, _| exchange.put_card(now, &party, card))
            .await
    }

    /// Takes an agent out of the directory.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn remove_cards(&self, party: Party) -> Result<(), Rejection> {
        self.act(move |exchange, now, _| Ok(((), exchange.remove_cards(now, &party)?)))
            .await
    }

    /// One agent of the directory, as it stands now.
    ///
    /// # Errors
    /// `draining` when the exchange is gone.
    pub async fn agent(&self, party: Party) -> Result<Option<AgentView>, Rejection> {
        self.see(move |turn| {
            let waits = |party: &Party| turn.waits(party);
            turn.exchange.agent(turn.clock.now(), &party, &waits)
        })
        .await
    }

    /// Agents that pass `query`, in the order of their names, at most `limit` of them, after `after`.
    ///
    /// # Errors
    /// `draining` when the exchange is gone.
    pub async fn agents(
        &self,
        query: AgentQuery,
        after: Option<Party>,
        limit: usize,
    ) -> Result<AgentPage, Rejection> {
        self.see(move |turn| {
            let waits = |party: &Party| turn.waits(party);
            let (now, after) = (turn.clock.now(), after.as_ref());
            let more = limit.saturating_add(1);
            let mut agents = turn.exchange.agents(now, &query, after, more, &waits);
            let has_more = agents.len() > limit;
            agents.truncate(limit);
            let last = agents.last().map(|agent| agent.party.clone());
            AgentPage {
                agents,
                next: last.filter(|_| has_more),
            }
        })
        .await
    }

    /// Notes that a party gave a sign of life, such as a session that is open.
    ///
    /// # Errors
    /// `draining` when the exchange is gone.
    pub async fn saw(&self, party: Party) -> Result<(), Rejection> {
        self.ask(Request::Act(Box::new(move |turn: &mut Turn| {
            let now = turn.clock.now();
            turn.exchange.saw(now, &party);
        })))
        .await
    }

    /// Takes up what a party says of itself to the exchange, without publishing it; does not wait.
    ///
    /// # Errors
    /// `draining` when the exchange is gone.
    pub async fn hear(&self, header: Header, envelope: Bytes) -> Result<(), Rejection> {
        self.ask(Request::Act(Box::new(move |turn: &mut Turn| {
            if turn.check_writable().is_ok() {
                let now = turn.clock.now();
                let outcome = turn.exchange.hear(now, &header, &envelope);
                turn.follow(outcome);
            }
        })))
        .await
    }

    /// As [`Self::look`], for what is not in the exchange alone.
    async fn see<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Turn) -> T + Send + 'static,
    ) -> Result<T, Rejection> {
        let (reply, answer) = oneshot::channel();
        self.ask(Request::Act(Box::new(move |turn: &mut Turn| {
            let found = question(turn);
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
}

impl Turn {
    /// Whether somebody waits for messages in a party's inbox at this moment.
    fn waits(&self, party: &Party) -> bool {
        self.parked.has(&PlaceName::Inbox(party.clone()))
    }
}
