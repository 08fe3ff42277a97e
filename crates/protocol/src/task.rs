//! Tasks: one state machine for the work that all dialects speak of (AEP 5, AEE 1.3, UAI 4).
//!
//! | file | what it holds |
//! |---|---|
//! | `state` | the states, the moves between them, the one rule of implied moves |
//! | `step` | what one envelope does to a task, as its dialect reads it |
//! | `kept` | one task as it is kept: who works on it, where it stands, how it ended |
//! | `judge` | which task an envelope is about, and whether its move is legal |
//! | `tasks` | every task of a space, and the moves made |
//! | `bounds` | what leaves memory, and what comes back |
//! | `forgotten` | which ids may belong to tasks that only the journal knows |
//! | `due` | deadlines |
//! | `speech` | what the exchange says about tasks, in each dialect |
//! | `view` | what others see of a task |
//! | `snapshot` | all of it as bytes, and back |
//! | `history` | one task again, from its envelopes |
//!
//! Pure: time and the place in the journal are arguments. A task's identity is the sequence of the
//! envelope that opened it. Rebuilding is feeding the accepted envelopes again, in order.

mod bounds;
mod due;
mod forgotten;
mod history;
mod judge;
mod kept;
mod snapshot;
mod speech;
mod state;
mod step;
mod tasks;
mod view;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;

pub use history::{History, Line, history};
pub use judge::Verdict;
pub use speech::{SERVICE, cancel_request};
pub use state::TaskState;
pub use step::{CANCEL_INTENT, Opening, Step, Terms};
pub use tasks::{Limits, Moved, TASK_ID_BYTES_MAX, Tasks};
pub use view::{PartView, TaskFilter, TaskView};
