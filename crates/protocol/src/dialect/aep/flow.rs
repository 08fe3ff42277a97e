//! The stateful part of AEP beside tasks: budgets, commands, queries, delivery tracking (AEP 2, 6).
//! Tasks are the same in every dialect and stand in [`crate::task`].
//!
//! Pure: [`Flow::accept`] judges one event that already passed every stateless rule and, when it is
//! legal, applies it. A flow is rebuilt by feeding it the accepted events again in order.
//!
//! Memory is bounded twice. A key of more than [`KEY_BYTES_MAX`] bytes is kept as its digest, so an
//! entry costs a few hundred bytes whatever senders write. Each of the kinds of entry (budgets,
//! commands, queries, deliveries) holds at most a fixed number; beyond it the oldest is forgotten, as
//! if it had never been seen.

mod amount;
mod budgets;
mod deliveries;
mod recent;
mod requests;
mod snapshot;

pub use amount::Amount;
pub use recent::KEY_BYTES_MAX;

use crate::Fault;
use budgets::Budgets;
use deliveries::Deliveries;
use recent::key;
use requests::Requests;

/// Most entries of each kind in a flow made by [`Flow::default`].
pub const ENTRIES_MAX: usize = 100_000;

/// What one event brings to the flow, taken out of the envelope when it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// What the event type moves.
    pub step: Move,
    /// What the event spends.
    pub spend: Option<Spend>,
    /// Whether `delivery.mode` asks for tracking.
    pub is_tracked: bool,
}

/// What an event type moves. Ids are the senders' own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Move {
    /// Nothing; the event only spends or is tracked.
    Nothing,
    /// Sets the limit of a budget.
    BudgetSet {
        /// Whose budget; `None` when it is open to every tenant.
        tenant: Option<Box<str>>,
        /// The budget.
        budget: Box<str>,
        /// Its limit.
        limit: Amount,
    },
    /// Opens the command of that correlation id.
    CommandOpen(Box<str>),
    /// Ends the command of that correlation id.
    CommandClose(Box<str>),
    /// Opens the query of that correlation id.
    QueryOpen(Box<str>),
    /// Ends the query of that correlation id.
    QueryClose(Box<str>),
    /// Settles the delivery of that event.
    Acknowledged(Box<str>),
    /// Counts another attempt to deliver that event.
    Redelivered(Box<str>),
    /// Gives the delivery of that event up.
    DeadLettered(Box<str>),
}

/// A cost on a budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spend {
    /// Who spends.
    pub tenant: Box<str>,
    /// On which budget.
    pub budget: Box<str>,
    /// How much.
    pub cost: Amount,
}

/// Counters of the delivery tracker (AEP 6), under the names peers know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// `totalSequences`.
    pub total_sequences: u64,
    /// `pending`.
    pub pending: u64,
    /// `acknowledged`.
    pub acknowledged: u64,
    /// `deadLettered`.
    pub dead_lettered: u64,
    /// The sequence behind `lastAckCursor`; 0 before the first acknowledgement.
    pub last_acknowledged: u64,
}

/// How much is open in a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Open {
    /// Commands without an end.
    pub commands: usize,
    /// Queries without an answer.
    pub queries: usize,
    /// Budgets.
    pub budgets: usize,
}

/// The state of all AEP flows of one space.
#[derive(Debug)]
pub struct Flow {
    budgets: Budgets,
    commands: Requests,
    queries: Requests,
    deliveries: Deliveries,
}

impl Default for Flow {
    fn default() -> Self {
        Self::bounded(ENTRIES_MAX)
    }
}

impl Flow {
    /// A flow that keeps at most `entries_max` entries of each kind, at least one.
    #[must_use]
    pub fn bounded(entries_max: usize) -> Self {
        Self {
            budgets: Budgets::bounded(entries_max),
            commands: Requests::bounded(entries_max),
            queries: Requests::bounded(entries_max),
            deliveries: Deliveries::bounded(entries_max),
        }
    }

    /// Judges the event `id` and, when legal, applies it.
    ///
    /// # Errors
    /// `budget_exceeded`, `invalid_command`; the flow is then unchanged.
    pub fn accept(&mut self, id: &str, facts: &Facts) -> Result<(), Fault> {
        if let Some(spend) = &facts.spend {
            self.budgets.judge(spend)?;
        }
        match &facts.step {
            Move::Nothing => {}
            Move::BudgetSet {
                tenant,
                budget,
                limit,
            } => {
                self.budgets.set(tenant.as_deref(), budget, *limit);
            }
            Move::CommandOpen(correlation) => {
                self.commands.open_once(key(correlation), correlation)?;
            }
            Move::CommandClose(correlation) => self.commands.close(&key(correlation)),
            // A query may be asked again under its id: the next page, or a retry after silence.
            Move::QueryOpen(correlation) => self.queries.open(key(correlation)),
            Move::QueryClose(correlation) => self.queries.close(&key(correlation)),
            Move::Acknowledged(event) => self.deliveries.acknowledge(&key(event)),
            Move::Redelivered(event) => self.deliveries.redeliver(&key(event)),
            Move::DeadLettered(event) => self.deliveries.give_up(&key(event)),
        }
        if let Some(spend) = &facts.spend {
            self.budgets.spend(spend);
        }
        if facts.is_tracked {
            self.deliveries.track(key(id));
        }
        Ok(())
    }

    /// The delivery tracker's counters.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.deliveries.stats()
    }

    /// How much is open.
    #[must_use]
    pub fn open(&self) -> Open {
        Open {
            commands: self.commands.len(),
            queries: self.queries.len(),
            budgets: self.budgets.len(),
        }
    }

    /// How often the event was handed out; `None` when it is not pending.
    #[must_use]
    pub fn attempts(&self, event: &str) -> Option<u32> {
        self.deliveries.attempts(&key(event))
    }

    /// What is left of a tenant's budget; `None` when there is no such budget.
    #[must_use]
    pub fn remaining(&self, tenant: &str, budget: &str) -> Option<Amount> {
        self.budgets.remaining(tenant, budget)
    }
}

#[cfg(test)]
mod tests;
