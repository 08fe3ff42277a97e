//! One task again, from its envelopes: the same machine, fed with what the journal holds of it.

use super::tasks::{Limits, Tasks};
use super::{TaskState, TaskView};
use crate::{Header, Party, Timestamp};

/// One change of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Where the task stood then.
    pub state: TaskState,
    /// When the envelope was accepted.
    pub at: Timestamp,
    /// Who sent it.
    pub by: Party,
    /// Its id.
    pub id: Box<str>,
    /// Its place in the journal.
    pub sequence: u64,
}

/// A task with its past.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// Where it stands.
    pub view: TaskView,
    /// Its changes in order. A report that repeats the state of the one before is left out.
    pub lines: Vec<Line>,
}

/// The task `id`, from the envelopes that speak of it, in order. `None` when none of them opens it.
pub fn history<'h>(
    id: &str,
    rows: impl IntoIterator<Item = (Timestamp, u64, &'h Header)>,
) -> Option<History> {
    let mut tasks = Tasks::bounded(Limits {
        open_max: usize::MAX,
        finished_max: usize::MAX,
    });
    let mut lines: Vec<Line> = Vec::new();
    for (at, sequence, header) in rows {
        // What was refused is no record; what opens another task is not this one's.
        let Ok(Some(moved)) = tasks.accept(at, sequence, header) else {
            continue;
        };
        let is_news = lines
            .last()
            .is_none_or(|last| last.state != moved.state || last.by != header.sender);
        if moved.task == id && moved.is_change && is_news {
            lines.push(Line {
                state: moved.state,
                at,
                by: header.sender.clone(),
                id: header.id.clone(),
                sequence,
            });
        }
    }
    let view = tasks.get(id).filter(|view| *view.id == *id)?;
    Some(History { view, lines })
}
