//! Every task of a space, and the moves made.

use super::forgotten::Forgotten;
use super::judge::assignees;
use super::judge::{Action, Verdict, Who, fresh_parties};
use super::kept::{Context, End, Name, Names, Part, Task, conversation_key, event_name, overall};
use super::speech::SERVICE;
use super::step::{Opening, Step, Terms};
use super::{TaskState, view::TaskView};
use crate::{DialectName, Fault, Header, Party, Timestamp};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Longest id of a task, in bytes: what a filter can name.
pub const TASK_ID_BYTES_MAX: usize = crate::filter::VALUE_BYTES_MAX;

/// Most parties that work on one task.
pub(super) const PARTS_MAX: usize = 1_024;

/// How many tasks stay in memory. What leaves is in the journal still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Open ones; beyond it, one without a deadline, a parent or children leaves for each that comes.
    pub open_max: usize,
    /// Ended ones; beyond it the one that ended first leaves.
    pub finished_max: usize,
}

impl Default for Limits {
    /// 200,000 open and 50,000 ended.
    fn default() -> Self {
        Self {
            open_max: 200_000,
            finished_max: 50_000,
        }
    }
}

/// What a move did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved<'t> {
    /// The task's id.
    pub task: &'t str,
    /// Where it stands now.
    pub state: TaskState,
    /// Whether anything of it moved.
    pub is_change: bool,
}

/// Every task of a space.
#[derive(Clone, Debug)]
pub struct Tasks {
    pub(super) limits: Limits,
    /// By the sequence of the envelope that opened it.
    pub(super) tasks: BTreeMap<u64, Box<Task>>,
    pub(super) names: Names<u64>,
    /// The open AEE tasks of each conversation.
    pub(super) conversations: BTreeSet<(u64, u64)>,
    /// The open children of each parent.
    pub(super) children: BTreeMap<Name, BTreeSet<u64>>,
    /// When the exchange must look at which task.
    pub(super) due: BTreeSet<(Timestamp, u64)>,
    /// Open tasks that may leave memory, by turn.
    pub(super) turns: BTreeMap<u64, u64>,
    pub(super) next_turn: u64,
    /// Ended tasks, the one that ended first in front.
    pub(super) finished: VecDeque<u64>,
    /// Tasks in memory whose id holds their requester.
    pub(super) qualified: usize,
    pub(super) forgotten: Forgotten,
}

impl Default for Tasks {
    fn default() -> Self {
        Self::bounded(Limits::default())
    }
}

impl Tasks {
    /// Tasks that keep at most so many in memory, at least one of each.
    #[must_use]
    pub fn bounded(limits: Limits) -> Self {
        Self {
            limits: Limits {
                open_max: limits.open_max.max(1),
                finished_max: limits.finished_max.max(1),
            },
            tasks: BTreeMap::new(),
            names: Names::default(),
            conversations: BTreeSet::new(),
            children: BTreeMap::new(),
            due: BTreeSet::new(),
            turns: BTreeMap::new(),
            next_turn: 0,
            finished: VecDeque::new(),
            qualified: 0,
            forgotten: Forgotten::default(),
        }
    }

    /// Judges the move of an envelope that was accepted at `at` with that sequence, and makes it.
    ///
    /// # Errors
    /// As [`Self::judge`]; nothing has changed then.
    pub fn accept(
        &mut self,
        at: Timestamp,
        sequence: u64,
        header: &Header,
    ) -> Result<Option<Moved<'_>>, Fault> {
        let verdict = self.judge(header)?;
        Ok(self.perform(at, sequence, header, verdict))
    }

    /// Makes the move of an envelope that is a record: it was legal, whatever the limits are now. One
    /// whose task has left memory changes nothing here; the journal knows it.
    pub fn apply(&mut self, at: Timestamp, sequence: u64, header: &Header) {
        let open_max = std::mem::replace(&mut self.limits.open_max, usize::MAX);
        let verdict = self.judge(header);
        self.limits.open_max = open_max;
        if let Ok(verdict) = verdict {
            self.perform(at, sequence, header, verdict);
        }
    }

    /// Everybody who has to do with the task that a move is about.
    #[must_use]
    pub fn parties(&self, verdict: &Verdict) -> Vec<Party> {
        let key = match &verdict.0 {
            Action::Carry | Action::Open(..) => return Vec::new(),
            Action::Mention(key)
            | Action::HandOn(key)
            | Action::RequestCancel(key)
            | Action::Confirm(key)
            | Action::Move { task: key, .. } => key,
        };
        let Some(task) = self.tasks.get(key) else {
            return Vec::new();
        };
        let mut parties = vec![task.requester.clone()];
        for party in task.parts.iter().filter_map(|part| part.party.as_ref()) {
            if !parties.contains(party) {
                parties.push(party.clone());
            }
        }
        parties
    }

    /// The id under which an envelope belongs to its task, where its header says another or none.
    /// Everything that moves a task goes by the one id, except a question about another task.
    #[must_use]
    pub fn label(&self, header: &Header, verdict: &Verdict) -> Option<Box<str>> {
        let id: &str = match &verdict.0 {
            Action::Carry => return None,
            Action::Open(id, _) => {
                let is_about_another = header
                    .task
                    .as_deref()
                    .is_some_and(|task| *task != *header.id && *task != **id);
                if is_about_another {
                    return None;
                }
                id
            }
            Action::Mention(key)
            | Action::HandOn(key)
            | Action::RequestCancel(key)
            | Action::Confirm(key)
            | Action::Move { task: key, .. } => &self.tasks.get(key)?.id,
        };
        (header.task.as_deref() != Some(id)).then(|| id.into())
    }

    /// Makes a move that was judged since the last change. `None` when it was no task's business.
    pub fn perform(
        &mut self,
        at: Timestamp,
        sequence: u64,
        header: &Header,
        verdict: Verdict,
    ) -> Option<Moved<'_>> {
        let (key, is_change) = match verdict.0 {
            Action::Carry => return None,
            Action::Mention(key) => (key, false),
            Action::Open(id, name) => {
                self.open(id, name, at, sequence, header);
                (sequence, true)
            }
            Action::HandOn(key) => {
                self.hand_on(key, at, sequence, header);
                (key, true)
            }
            Action::Move { task, who, state } => {
                self.advance(task, who, state, at, sequence, header);
                (task, true)
            }
            Action::RequestCancel(key) => {
                self.touch(key, at, sequence)?.cancel_requested = true;
                (key, true)
            }
            Action::Confirm(key) => {
                if let Some(end) = self.tasks.get_mut(&key).and_then(|task| task.end.as_mut()) {
                    end.may_be_confirmed = false;
                }
                (key, false)
            }
        };
        self.trim();
        let task = self.tasks.get(&key)?;
        Some(Moved {
            task: &task.id,
            state: task.state(),
            is_change,
        })
    }

    /// How many tasks are open in memory.
    #[must_use]
    pub fn open_count(&self) -> usize {
        self.tasks.len() - self.finished.len()
    }

    /// How many ended tasks are in memory.
    #[must_use]
    pub fn finished_count(&self) -> usize {
        self.finished.len()
    }

    /// A task in memory.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<TaskView> {
        let (key, task) = self.by_name(Name::of(id))?;
        Some(self.view(key, task))
    }

    pub(super) fn by_name(&self, name: Name) -> Option<(u64, &Task)> {
        let key = *self.names.get(&name)?;
        Some((key, self.tasks.get(&key)?))
    }

    /// The open children of a task.
    pub(super) fn open_children(&self, parent: Name) -> impl Iterator<Item = u64> {
        let children = self.children.get(&parent);
        children.into_iter().flatten().copied()
    }

    fn touch(&mut self, key: u64, at: Timestamp, sequence: u64) -> Option<&mut Task> {
        let task = self.tasks.get_mut(&key)?;
        (task.last, task.last_at) = (sequence, at);
        Some(task)
    }

    fn open(&mut self, id: Box<str>, name: Name, at: Timestamp, sequence: u64, header: &Header) {
        let terms = match &header.step {
            Some(Step::Open(terms)) => terms.as_ref().clone(),
            Some(_) | None => Terms::new(Opening::Question),
        };
        let mut task = Task::opened(id, name, &terms, header, at, sequence);
        // A parent that is not open cannot be held back; one that left memory may be.
        let parent = terms.parent.filter(|parent| {
            let name = Name::of(parent);
            *parent != task.id
                && match self.by_name(name) {
                    Some((_, parent)) => parent.end.is_none(),
                    None => self.forgotten.may_hold(name),
                }
        });
        task.length_ms = terms.timeout_ms.map(|length| length.max(0));
        task.deadline = deadline(at, task.length_ms, header);
        if task.deadline.is_some() || parent.is_some() {
            task.context = Some(Box::new(Context::of(header)));
        }
        if let Some(moment) = task.deadline {
            task.due = Some(moment);
            self.due.insert((moment, sequence));
        }
        if let Some(parent) = parent {
            let name = Name::of(&parent);
            self.children.entry(name).or_default().insert(sequence);
            if let Some(key) = self.names.get(&name).copied() {
                self.keep(key);
            }
            task.parent = Some(parent);
        }
        if let (DialectName::Aee, Some(conversation)) = (header.dialect, &header.conversation) {
            self.conversations
                .insert((conversation_key(conversation), sequence));
        }
        self.qualified += usize::from(is_qualified(&task));
        let alias = task.request.as_ref().map(|id| match header.dialect {
            DialectName::Aep => event_name(id, &header.sender),
            DialectName::Aee | DialectName::Uai => Name::of(id),
        });
        self.names.insert(name, sequence);
        self.tasks.insert(sequence, Box::new(task));
        if let Some(alias) = alias {
            self.add_alias(sequence, alias);
        }
        self.give_turn(sequence);
    }

    /// Gives a task one more name, unless the name is another's.
    fn add_alias(&mut self, key: u64, name: Name) {
        if !self.names.contains_key(&name)
            && let Some(task) = self.tasks.get_mut(&key)
        {
            task.aliases.push(name);
            self.names.insert(name, key);
        }
    }

    fn hand_on(&mut self, key: u64, at: Timestamp, sequence: u64, header: &Header) {
        let Some(task) = self.touch(key, at, sequence) else {
            return;
        };
        let fresh: Vec<_> = fresh_parties(header, task).cloned().collect();
        // Nobody had it: now somebody does.
        let mut taken = fresh.len();
        task.parts.retain(|part| {
            let is_taken = part.party.is_none() && taken > 0;
            taken -= usize::from(is_taken);
            !is_taken
        });
        task.is_assigned |= !assignees(header).is_empty();
        task.parts.extend(fresh.into_iter().map(Part::asked));
        self.add_alias(key, Name::of(&header.id));
    }

    fn advance(
        &mut self,
        key: u64,
        who: Who,
        state: TaskState,
        at: Timestamp,
        sequence: u64,
        header: &Header,
    ) {
        let Some(task) = self.touch(key, at, sequence) else {
            return;
        };
        let is_shared = task.is_shared;
        let sender = &header.sender;
        let takes = !is_shared && *sender != task.requester && sender.as_str() != SERVICE;
        for (of, part) in task.parts.iter_mut().enumerate() {
            let is_meant = match who {
                Who::One(at) => of == at,
                Who::All => part.state.may_become_in(header.dialect, state),
            };
            if is_meant {
                part.state = state;
                if part.party.is_none() && takes {
                    part.party = Some(sender.clone());
                }
            }
        }
        if task.parts.iter().all(|part| part.state.is_terminal()) {
            let end = End {
                state: overall(&task.parts),
                sequence,
                by: sender.clone(),
                may_be_confirmed: state == TaskState::Cancelled && sender.as_str() == SERVICE,
            };
            self.end(key, end, at, header);
        }
    }

    fn end(&mut self, key: u64, end: End, at: Timestamp, header: &Header) {
        let Some(task) = self.tasks.get_mut(&key) else {
            return;
        };
        let state = end.state;
        let name = task.name;
        task.end = Some(end);
        task.context = None;
        if let Some(moment) = task.due.take() {
            self.due.remove(&(moment, key));
        }
        if let Some(turn) = task.turn.take() {
            self.turns.remove(&turn);
        }
        if let Some(conversation) = &task.conversation {
            self.conversations
                .remove(&(conversation_key(conversation), key));
        }
        if let Some(parent) = task.parent.as_deref().map(Name::of) {
            self.unlink(parent, key);
        }
        self.finished.push_back(key);
        match state {
            // Its children are cancelled with it, each by an envelope of its own.
            TaskState::Cancelled => self.orphan(name, at, &header.id),
            TaskState::Submitted
            | TaskState::Accepted
            | TaskState::Started
            | TaskState::Blocked
            | TaskState::Progress
            | TaskState::Output
            | TaskState::Completed
            | TaskState::Failed
            | TaskState::TimedOut => {}
        }
    }

    fn unlink(&mut self, parent: Name, child: u64) {
        let Some(siblings) = self.children.get_mut(&parent) else {
            return;
        };
        siblings.remove(&child);
        if siblings.is_empty() {
            self.children.remove(&parent);
            if let Some(key) = self.names.get(&parent).copied() {
                self.give_turn(key);
            }
        }
    }
}

/// When a task must have ended: so long after its acceptance, and not after the envelope's own
/// expiry. AEE counts from the sender's clock, which nobody else has: there only the length counts.
fn deadline(at: Timestamp, length_ms: Option<i64>, header: &Header) -> Option<Timestamp> {
    let by_length = length_ms.map(|length| at.plus_millis(length));
    let by_expiry = match header.dialect {
        DialectName::Aee => None,
        DialectName::Aep | DialectName::Uai => header.deadline,
    };
    [by_length, by_expiry].into_iter().flatten().min()
}

/// Whether a task has another id than it was given.
pub(super) fn is_qualified(task: &Task) -> bool {
    task.opening == Opening::Question && task.request.is_some()
}
