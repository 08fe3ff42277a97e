//! Tasks, as others ask about them. The machine itself is [`protocol::task`].

use crate::exchange::Exchange;
use protocol::task::{TaskFilter, TaskView};
use protocol::{Header, Timestamp};

impl Exchange {
    /// A task in memory.
    #[must_use]
    pub fn task(&self, id: &str) -> Option<TaskView> {
        self.tasks.get(id)
    }

    /// The tasks in memory that pass `filter`, the newest first, at most `limit`.
    #[must_use]
    pub fn tasks(&self, filter: &TaskFilter, limit: usize) -> Vec<TaskView> {
        self.tasks.list(filter, limit)
    }

    /// The ids of tasks that a message speaks of and that left memory, or may have: give back with
    /// [`recall_task`](Self::recall_task) what the journal says of each before the message is published.
    /// Nearly always empty.
    #[must_use]
    pub fn missing_tasks(&self, header: &Header) -> Vec<Box<str>> {
        self.tasks.missing(header)
    }

    /// No task that left memory has an envelope after this sequence.
    #[must_use]
    pub fn forgotten_until(&self) -> u64 {
        self.tasks.forgotten_until()
    }

    /// Takes back what the journal says of a task: its envelopes in order. When the id is that of a
    /// message of another task, gives that task's id: ask for it instead.
    pub fn recall_task<'h>(
        &mut self,
        id: &str,
        rows: impl IntoIterator<Item = (Timestamp, u64, &'h Header)>,
    ) -> Option<Box<str>> {
        self.tasks.recall(id, rows)
    }
}
