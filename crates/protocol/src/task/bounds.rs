//! What leaves memory, and what comes back.
//!
//! A task that left is known by its names only (`forgotten`). Whoever holds the journal asks
//! [`Tasks::missing`] before an envelope is judged, and gives back what the journal says of those
//! ids. So nothing that was ever opened is judged as new, and nothing ends twice.

use super::judge::{events, texts};
use super::kept::{Name, Task, conversation_key};
use super::step::{Opening, Step};
use super::tasks::{Limits, Tasks, is_qualified};
use crate::{DialectName, Header, Timestamp};

impl Tasks {
    /// Whether one more task can be opened.
    pub(super) fn has_room(&self) -> bool {
        self.open_count() < self.limits.open_max || !self.turns.is_empty()
    }

    /// The ids that an envelope speaks of and that only the journal may know. Empty as long as nothing
    /// has left memory, and nearly always afterwards.
    #[must_use]
    pub fn missing(&self, header: &Header) -> Vec<Box<str>> {
        let Some(step) = header.step.as_ref().filter(|_| !self.forgotten.is_empty()) else {
            return Vec::new();
        };
        let mut missing: Vec<Box<str>> = Vec::new();
        // Stops at the first that is in memory: it is the one that is meant.
        let mut look = |id: &str, others: bool| {
            for text in texts(id, header, others) {
                let name = Name::of(&text);
                if self.names.contains_key(&name) {
                    return true;
                }
                if self.forgotten.may_hold(name) {
                    missing.push(text.into_boxed_str());
                }
            }
            false
        };
        // The event that submitted a task: what the journal says of it names the task.
        let look_at_event = |id: &str, missing: &mut Vec<Box<str>>| {
            let names = || events(id, header);
            let is_known = names().any(|name| self.names.contains_key(&name));
            if !is_known && names().any(|name| self.forgotten.may_hold(name)) {
                missing.push(id.into());
            }
        };
        let is_foreign = header.dialect != DialectName::Aep;
        let (task, cause) = (header.task.as_deref(), header.cause.as_deref());
        match step {
            Step::Open(terms) => {
                match terms.opening {
                    Opening::Submission | Opening::Handoff => {
                        task.map(|id| look(id, true));
                    }
                    Opening::Question => {
                        look(&header.id, false);
                    }
                }
                terms.parent.as_deref().map(|id| look(id, false));
            }
            Step::Report(_) | Step::RequestCancel => {
                let is_found = task.is_some_and(|id| look(id, true));
                if !is_found && is_foreign && cause != task {
                    cause.map(|id| look(id, true));
                }
                if let Some(id) = cause.filter(|_| !is_found && is_foreign) {
                    look_at_event(id, &mut missing);
                }
            }
            Step::Reply(_) | Step::Answer => {
                let is_found = cause.is_some_and(|id| look(id, true));
                if let Some(id) = cause.filter(|_| !is_found && is_foreign) {
                    look_at_event(id, &mut missing);
                }
            }
        }
        missing.dedup();
        missing
    }

    /// Whether the journal may know a task of that id that is not in memory.
    #[must_use]
    pub fn is_missing(&self, id: &str) -> bool {
        let name = Name::of(id);
        !self.names.contains_key(&name) && self.forgotten.may_hold(name)
    }

    /// Every task that left memory is in the journal up to this sequence.
    #[must_use]
    pub fn forgotten_until(&self) -> u64 {
        self.forgotten.until()
    }

    /// Takes back what the journal says of the task `id`: its envelopes, in order. What is in memory
    /// stays as it is. When the id is that of a message of another task, gives that task's id: ask for
    /// it instead.
    pub fn recall<'h>(
        &mut self,
        id: &str,
        rows: impl IntoIterator<Item = (Timestamp, u64, &'h Header)>,
    ) -> Option<Box<str>> {
        let mut scratch = Self::bounded(Limits {
            open_max: usize::MAX,
            finished_max: usize::MAX,
        });
        for (at, sequence, header) in rows {
            // It was legal then; what was refused is no record.
            let _ = scratch.accept(at, sequence, header);
        }
        let mut by_event = scratch
            .tasks
            .iter()
            .filter(|(_, task)| task.request_id() == id);
        let by_name = scratch.by_name(Name::of(id)).map(|(key, _)| key);
        let key = by_name.or_else(|| by_event.next().map(|(key, _)| *key))?;
        let task = scratch.tasks.remove(&key)?;
        if *task.id != *id {
            return Some(task.id);
        }
        if !self.tasks.contains_key(&key) && !self.names.contains_key(&Name::of(id)) {
            self.adopt(key, *task);
            self.trim();
        }
        None
    }

    fn adopt(&mut self, key: u64, mut task: Task) {
        task.aliases.retain(|name| !self.names.contains_key(name));
        for name in [&task.name].into_iter().chain(&task.aliases) {
            self.names.insert(*name, key);
        }
        task.turn = None;
        self.qualified += usize::from(is_qualified(&task));
        let is_open = task.end.is_none();
        if is_open {
            if let (DialectName::Aee, Some(conversation)) = (task.dialect, &task.conversation) {
                self.conversations
                    .insert((conversation_key(conversation), key));
            }
            if let Some(moment) = task.due {
                self.due.insert((moment, key));
            }
        } else {
            self.finished.push_back(key);
        }
        self.tasks.insert(key, Box::new(task));
        self.give_turn(key);
    }

    /// Lets go of what is too much.
    pub(super) fn trim(&mut self) {
        while self.finished.len() > self.limits.finished_max
            && let Some(key) = self.finished.pop_front()
        {
            self.forget(key);
        }
        while self.open_count() > self.limits.open_max
            && let Some((_, key)) = self.turns.pop_first()
        {
            self.forget(key);
        }
    }

    fn forget(&mut self, key: u64) {
        let Some(task) = self.tasks.remove(&key) else {
            return;
        };
        for name in [&task.name].into_iter().chain(&task.aliases) {
            self.names.remove(name);
            self.forgotten.add(*name, task.last);
        }
        if let Some(conversation) = task.conversation.as_deref().filter(|_| task.end.is_none()) {
            self.conversations
                .remove(&(conversation_key(conversation), key));
        }
        self.qualified -= usize::from(is_qualified(&task));
    }

    /// A task that waits for nothing but its next envelope may leave memory, in its turn.
    pub(super) fn give_turn(&mut self, key: u64) {
        let turn = self.next_turn;
        let Some(task) = self.tasks.get_mut(&key) else {
            return;
        };
        let has_children = self.children.contains_key(&task.name);
        let waits = task.due.is_some() || task.parent.is_some() || has_children;
        if task.end.is_none() && task.turn.is_none() && !waits {
            task.turn = Some(turn);
            self.turns.insert(turn, key);
            self.next_turn += 1;
        }
    }

    /// Keeps a task in memory while something depends on it.
    pub(super) fn keep(&mut self, key: u64) {
        if let Some(turn) = self.tasks.get_mut(&key).and_then(|task| task.turn.take()) {
            self.turns.remove(&turn);
        }
    }
}
