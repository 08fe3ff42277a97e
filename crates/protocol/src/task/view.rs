//! What others see of a task.

use super::TaskState;
use super::kept::Task;
use super::tasks::Tasks;
use crate::{DialectName, Party, Timestamp};

/// A task as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskView {
    /// Its id.
    pub id: Box<str>,
    /// Where it stands.
    pub state: TaskState,
    /// The dialect it was asked for in.
    pub dialect: DialectName,
    /// Who asked for it.
    pub requester: Party,
    /// Who works on it, and where each stands.
    pub parts: Vec<PartView>,
    /// The id of the envelope that opened it.
    pub request: Box<str>,
    /// Where that is in the journal.
    pub opened: u64,
    /// When it was accepted.
    pub opened_at: Timestamp,
    /// The conversation it belongs to.
    pub conversation: Option<Box<str>>,
    /// When it must have ended.
    pub deadline: Option<Timestamp>,
    /// The task it is a part of, while that was open when this one was.
    pub parent: Option<Box<str>>,
    /// Its children that have not ended.
    pub children: Vec<Box<str>>,
    /// Whether its end was asked for.
    pub cancel_requested: bool,
    /// The last envelope that moved it.
    pub last: u64,
    /// When that was accepted.
    pub last_at: Timestamp,
    /// The envelope that ended it.
    pub ended: Option<u64>,
}

/// One party's share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartView {
    /// Whose; `None` until somebody has taken it.
    pub party: Option<Party>,
    /// Where it stands.
    pub state: TaskState,
}

/// Which tasks are asked for. The default asks for all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// In one of these states; empty is any.
    pub states: Vec<TaskState>,
    /// Of this conversation.
    pub conversation: Option<Box<str>>,
    /// Asked for or worked on by this party.
    pub party: Option<Party>,
}

impl TaskFilter {
    fn matches(&self, task: &Task) -> bool {
        (self.states.is_empty() || self.states.contains(&task.state()))
            && (self.conversation.is_none() || self.conversation == task.conversation)
            && self.party.as_ref().is_none_or(|party| task.involves(party))
    }
}

impl Tasks {
    /// The tasks in memory that pass `filter`, the newest first, at most `limit`.
    #[must_use]
    pub fn list(&self, filter: &TaskFilter, limit: usize) -> Vec<TaskView> {
        let newest = self.tasks.iter().rev();
        newest
            .filter(|(_, task)| filter.matches(task))
            .take(limit)
            .map(|(key, task)| self.view(*key, task))
            .collect()
    }

    pub(super) fn view(&self, key: u64, task: &Task) -> TaskView {
        let children = self.open_children(task.name);
        TaskView {
            id: task.id.clone(),
            state: task.state(),
            dialect: task.dialect,
            requester: task.requester.clone(),
            parts: task
                .parts
                .iter()
                .map(|part| PartView {
                    party: part.party.clone(),
                    state: part.state,
                })
                .collect(),
            request: task.request_id().into(),
            opened: key,
            opened_at: task.opened_at,
            conversation: task.conversation.clone(),
            deadline: task.deadline,
            parent: task.parent.clone(),
            children: children
                .filter_map(|child| Some(self.tasks.get(&child)?.id.clone()))
                .collect(),
            cancel_requested: task.cancel_requested,
            last: task.last,
            last_at: task.last_at,
            ended: task.end.as_ref().map(|end| end.sequence),
        }
    }
}
