//! Which task an envelope is about, and whether its move is legal. Nothing changes here.

use super::TaskState;
use super::kept::{End, Name, Part, Task, conversation_key, event_name, qualified};
use super::speech::SERVICE;
use super::step::{Opening, Step, Terms};
use super::tasks::{PARTS_MAX, TASK_ID_BYTES_MAX, Tasks};
use crate::{Code, DialectName, Fault, Header, Party};

/// Open tasks of one conversation that are looked at for a report that names none.
const CONVERSATION_MAX: usize = 64;

/// A legal move, judged and not yet made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict(pub(super) Action);

/// What the move does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Nothing: the envelope is no task's business, or tells nothing new.
    Carry,
    /// Belongs to a task and moves nothing: an acceptance that comes late.
    Mention(u64),
    /// Opens a task under this id.
    Open(Box<str>, Name),
    /// Adds the recipients to those who work on it.
    HandOn(u64),
    /// Moves parts of a task.
    Move {
        task: u64,
        who: Who,
        state: TaskState,
    },
    /// Notes that its end is asked for.
    RequestCancel(u64),
    /// The worker's own word after the exchange has cancelled the task with its parent.
    Confirm(u64),
}

/// Whose part moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// The part at this place.
    One(usize),
    /// Every part that is open.
    All,
}

impl Tasks {
    /// Judges the move of an envelope.
    ///
    /// AEP tells of tasks that must be known; what another dialect says of an unknown task is carried.
    ///
    /// # Errors
    /// `illegal_transition`, `unknown_task`, `duplicate_task`, `child_tasks_open`; `too_long` for the
    /// id of a new task, `too_many_targets` and `overloaded` for more than is kept.
    pub fn judge(&self, header: &Header) -> Result<Verdict, Fault> {
        let Some(step) = &header.step else {
            return Ok(Verdict(Action::Carry));
        };
        let action = match step {
            Step::Open(terms) => self.judge_opening(header, terms)?,
            Step::Report(state) | Step::Reply(state) => match self.target(header, step) {
                Some((key, task)) => report(self, header, key, task, *state)?,
                None => unknown(header)?,
            },
            Step::Answer => match self.target(header, step) {
                Some((key, task)) => {
                    let state = if task.ends_with_answer() {
                        TaskState::Completed
                    } else {
                        TaskState::Output
                    };
                    report(self, header, key, task, state)?
                }
                None => Action::Carry,
            },
            Step::RequestCancel => match self.target(header, step) {
                Some((key, Task { end: None, .. })) => Action::RequestCancel(key),
                Some((_, task)) => return Err(ended(header, task, "a request to cancel it")),
                None => unknown(header)?,
            },
        };
        Ok(Verdict(action))
    }

    fn judge_opening(&self, header: &Header, terms: &Terms) -> Result<Action, Fault> {
        let named = match terms.opening {
            Opening::Submission | Opening::Handoff => header.task.as_deref(),
            Opening::Question => None,
        };
        let known = named.and_then(|id| self.find(id, header));
        match (terms.opening, known) {
            (_, None) => {}
            (Opening::Handoff, Some((key, task))) if is_handed_on(header, task) => {
                let fresh = fresh_parties(header, task).count();
                if task.parts.len() + fresh > PARTS_MAX {
                    let detail = format!(
                        "expected at most {PARTS_MAX} parties to work on one task, got {fresh} more than {}",
                        task.parts.len()
                    );
                    return Err(fault(header, Code::TooManyTargets, detail));
                }
                return Ok(Action::HandOn(key));
            }
            (Opening::Submission | Opening::Handoff | Opening::Question, Some((_, task))) => {
                return Err(known_already(header, task));
            }
        }
        let (id, name) = match (named, terms.opening) {
            (Some(id), _) => (Box::from(id), Name::of(id)),
            (None, Opening::Question) => match self.question_id(header) {
                Ok(free) => free,
                Err(task) => return Err(known_already(header, task)),
            },
            // A submission or handoff that names no task opens none.
            (None, Opening::Submission | Opening::Handoff) => return Ok(Action::Carry),
        };
        let length = id.len();
        if length > TASK_ID_BYTES_MAX {
            let detail =
                format!("expected a task id of at most {TASK_ID_BYTES_MAX} bytes, got {length}");
            return Err(fault(header, Code::TooLong, detail));
        }
        if !self.has_room() {
            let detail = format!(
                "expected at most {} open tasks with a deadline, a parent or children, got one more",
                self.limits.open_max
            );
            return Err(fault(header, Code::Overloaded, detail));
        }
        Ok(Action::Open(id, name))
    }

    /// The id of the task that a question opens: its message id, or that and the party when another's
    /// task has the id. Read back from a record it stands in the header already. The task that has it,
    /// when the same question is asked again.
    fn question_id(&self, header: &Header) -> Result<(Box<str>, Name), &Task> {
        let name = Name::of(&header.id);
        let has_other_label = header
            .task
            .as_deref()
            .is_some_and(|task| *task != *header.id);
        let holder = self.by_name(name).map(|(_, task)| task);
        if holder.is_none() && !has_other_label {
            return Ok((header.id.clone(), name));
        }
        let long = qualified(&header.id, &header.sender);
        let is_stored_long = header.task.as_deref() == Some(&*long);
        match holder {
            None if !is_stored_long => Ok((header.id.clone(), name)),
            Some(task) if task.requester == header.sender => Err(task),
            None | Some(_) => {
                let name = Name::of(&long);
                match self.by_name(name) {
                    Some((_, task)) => Err(task),
                    None => Ok((long.into(), name)),
                }
            }
        }
    }

    /// The task that an envelope is about.
    pub(super) fn target(&self, header: &Header, step: &Step) -> Option<(u64, &Task)> {
        let by_cause = || match header.dialect {
            // Its causes are events of any kind; its tasks are always named.
            DialectName::Aep => None,
            DialectName::Aee | DialectName::Uai => {
                let cause = header.cause.as_deref()?;
                let by_event = || events(cause, header).find_map(|name| self.by_name(name));
                self.find(cause, header).or_else(by_event)
            }
        };
        match step {
            Step::Open(_) => None,
            Step::Reply(_) | Step::Answer => by_cause(),
            Step::Report(_) | Step::RequestCancel => header
                .task
                .as_deref()
                .and_then(|id| self.find(id, header))
                .or_else(by_cause)
                .or_else(|| self.only_task_of(header)),
        }
    }

    /// A task by an id that an envelope gives.
    fn find(&self, id: &str, header: &Header) -> Option<(u64, &Task)> {
        candidates(id, header, self.qualified > 0).find_map(|name| self.by_name(name))
    }

    /// AEE streams need not say what they are about (AEE 1.4): the one open task of the conversation
    /// that the sender works on.
    fn only_task_of(&self, header: &Header) -> Option<(u64, &Task)> {
        if header.dialect != DialectName::Aee || header.cause.is_some() {
            return None;
        }
        let conversation = header.conversation.as_deref()?;
        let key = conversation_key(conversation);
        let mut found = None;
        let open = self.conversations.range((key, 0)..=(key, u64::MAX));
        for (looked_at, (_, key)) in open.enumerate() {
            let task = self.tasks.get(key)?;
            let is_it = task.conversation.as_deref() == Some(conversation)
                && task.part_of(&header.sender).is_some();
            if is_it && found.replace((*key, &**task)).is_some() || looked_at == CONVERSATION_MAX {
                return None;
            }
        }
        found
    }
}

/// The names under which an id is looked for: as another party's of the same id, then as it is.
pub(super) fn candidates(
    id: &str,
    header: &Header,
    has_qualified: bool,
) -> impl Iterator<Item = Name> {
    texts(id, header, has_qualified).map(|text| Name::of(&text))
}

/// The names under which the event of that id may have submitted a task: to whom the reply goes, or of who
/// asks to cancel it.
pub(super) fn events(id: &str, header: &Header) -> impl Iterator<Item = Name> {
    let parties = header.recipients.iter().chain([&header.sender]);
    parties.map(move |party| event_name(id, party))
}

/// The same as texts. A reply goes to the requester; a request to cancel comes from it.
pub(super) fn texts(
    id: &str,
    header: &Header,
    has_qualified: bool,
) -> impl Iterator<Item = String> {
    let parties = header.recipients.iter().chain([&header.sender]);
    parties
        .filter(move |_| has_qualified)
        .map(move |party| qualified(id, party))
        .chain([id.to_owned()])
}

fn is_handed_on(header: &Header, task: &Task) -> bool {
    task.end.is_none() && task.involves(&header.sender)
}

/// Recipients of a handoff that do not work on the task yet.
pub(super) fn fresh_parties<'h>(
    header: &'h Header,
    task: &Task,
) -> impl Iterator<Item = &'h Party> {
    let workers = match assignees(header) {
        [] => &header.recipients,
        named => named,
    };
    workers
        .iter()
        .filter(|party| !party.is_channel() && task.part_of(party).is_none())
}

/// Who works on what a message opens or hands on, when that is not every recipient.
pub(super) fn assignees(header: &Header) -> &[Party] {
    match &header.step {
        Some(Step::Open(terms)) => &terms.assignees,
        Some(_) | None => &[],
    }
}

fn report(
    tasks: &Tasks,
    header: &Header,
    key: u64,
    task: &Task,
    state: TaskState,
) -> Result<Action, Fault> {
    if let Some(end) = &task.end {
        return after_end(header, task, end, key, state);
    }
    let Some(who) = who(header, task) else {
        return Ok(Action::Mention(key));
    };
    let moving: Vec<&Part> = match who {
        Who::One(at) => task.parts.get(at).into_iter().collect(),
        Who::All => task
            .parts
            .iter()
            .filter(|part| !part.state.is_terminal())
            .collect(),
    };
    let may = |part: &&Part| part.state.may_become_in(header.dialect, state);
    let is_legal = if state.is_terminal() {
        moving.iter().all(may)
    } else {
        moving.iter().any(may)
    };
    if !is_legal {
        let is_late = state == TaskState::Accepted && header.dialect != DialectName::Aep;
        if is_late && moving.iter().all(|part| !part.state.is_terminal()) {
            return Ok(Action::Mention(key));
        }
        let from = moving.iter().map(|part| part.state).min();
        return Err(illegal(header, task, from.unwrap_or(task.state()), state));
    }
    if state != TaskState::Cancelled && would_end(task, who, state) {
        let open = tasks.open_children(task.name).count();
        if open > 0 {
            let detail = format!(
                "expected the {open} open children of task {:?} to end first, got {}",
                task.id,
                state.as_str()
            );
            return Err(fault(header, Code::ChildTasksOpen, detail));
        }
    }
    Ok(Action::Move {
        task: key,
        who,
        state,
    })
}

fn after_end(
    header: &Header,
    task: &Task,
    end: &End,
    key: u64,
    state: TaskState,
) -> Result<Action, Fault> {
    if end.may_be_confirmed && state == TaskState::Cancelled {
        return Ok(Action::Confirm(key));
    }
    let is_others = header.sender != end.by && end.by.as_str() != SERVICE;
    if task.is_shared && is_others && header.sender.as_str() != SERVICE {
        return Ok(Action::Mention(key));
    }
    Err(ended(header, task, state.as_str()))
}

/// Whose part a sender reports on: its own; the requester, the exchange, and anybody about work that
/// only one does, on all that is open. A stranger among several moves nothing, nor does one who was only
/// told of it.
fn who(header: &Header, task: &Task) -> Option<Who> {
    if let Some(at) = task.part_of(&header.sender) {
        return Some(Who::One(at));
    }
    let speaks_for_all = (task.parts.len() == 1 && !task.is_assigned)
        || task.requester == header.sender
        || header.sender.as_str() == SERVICE;
    speaks_for_all.then_some(Who::All)
}

/// Whether nothing of the task would be open after the move.
fn would_end(task: &Task, who: Who, state: TaskState) -> bool {
    if !state.is_terminal() {
        return false;
    }
    match who {
        Who::All => true,
        Who::One(at) => {
            let others = task.parts.iter().enumerate().filter(|(of, _)| *of != at);
            others
                .map(|(_, part)| part.state)
                .all(TaskState::is_terminal)
        }
    }
}

/// AEP refuses what it does not know; other dialects speak of tasks that were never shown here.
fn unknown(header: &Header) -> Result<Action, Fault> {
    match (header.dialect, header.task.as_deref()) {
        (DialectName::Aep, Some(id)) => {
            let detail = format!("expected a task that was submitted, got {id:?}, which never was");
            Err(fault(header, Code::UnknownTask, detail))
        }
        (DialectName::Aep, None) | (DialectName::Aee | DialectName::Uai, _) => Ok(Action::Carry),
    }
}

fn known_already(header: &Header, task: &Task) -> Fault {
    let detail = format!(
        "expected a new task, got {:?}, which is {}",
        task.id,
        task.state().as_str()
    );
    fault(header, Code::DuplicateTask, detail)
}

fn illegal(header: &Header, task: &Task, from: TaskState, to: TaskState) -> Fault {
    let next: Vec<_> = TaskState::ALL
        .into_iter()
        .filter(|state| *state != from && from.may_become_in(header.dialect, *state))
        .map(TaskState::as_str)
        .collect();
    let detail = if next.is_empty() {
        format!(
            "expected no further report of {} on task {:?}, whose part is {}, got {}",
            header.sender,
            task.id,
            from.as_str(),
            to.as_str()
        )
    } else {
        format!(
            "expected task {:?}, which is {}, to become {}, got {}",
            task.id,
            from.as_str(),
            next.join(", "),
            to.as_str()
        )
    };
    fault(header, Code::IllegalTransition, detail)
}

fn ended(header: &Header, task: &Task, got: &str) -> Fault {
    let detail = format!(
        "expected nothing more about task {:?}, which is {}, got {got}",
        task.id,
        task.state().as_str()
    );
    fault(header, Code::IllegalTransition, detail)
}

/// A fault at the member that names the task.
fn fault(header: &Header, code: Code, detail: String) -> Fault {
    let opens = matches!(header.step, Some(Step::Open(_)));
    let (pointer, rule) = match (header.dialect, &header.step) {
        (DialectName::Aep, _) => ("/task_id", "AEP 5"),
        (DialectName::Aee, _) if opens => ("/id", "ARCHITECTURE tasks"),
        (DialectName::Aee, _) => ("/reply_to", "ARCHITECTURE tasks"),
        (DialectName::Uai, Some(Step::Reply(_) | Step::Answer | Step::RequestCancel)) => {
            ("/conversation/parent_message_id", "ARCHITECTURE tasks")
        }
        (DialectName::Uai, _) => ("/body/task_id", "ARCHITECTURE tasks"),
    };
    Fault::new(code, pointer, rule, detail)
}
