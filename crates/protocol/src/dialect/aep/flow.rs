//! The stateful part of AEP: tasks, budgets, commands, queries, delivery tracking (AEP 2, 5, 6).
//!
//! Pure: [`Flow::accept`] judges one event that already passed every stateless rule and, when it is
//! legal, applies it. A flow is rebuilt by feeding it the accepted events again in order.

use crate::Fault;

/// What one event brings to the flow, taken out of the envelope when it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {}

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
}

/// The state of all AEP flows of one space.
#[derive(Debug, Default)]
pub struct Flow {}

impl Flow {
    /// Judges the event `id` and, when legal, applies it.
    ///
    /// # Errors
    /// `duplicate_task`, `unknown_task`, `illegal_transition`, `child_tasks_open`,
    /// `budget_exceeded`, `invalid_command`, `invalid_query`; the flow is then unchanged.
    pub fn accept(&mut self, id: &str, facts: &Facts) -> Result<(), Fault> {
        let _ = (id, facts);
        Ok(())
    }

    /// The delivery tracker's counters.
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats::default()
    }
}
