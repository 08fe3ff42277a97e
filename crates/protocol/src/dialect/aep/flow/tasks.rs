//! Open tasks, their states and their children (AEP 5).
//!
//! A submitted task is accepted at once, because published flows go from submission straight to the
//! start. A task that ends is forgotten, so its id may be used again. A task may not end before its
//! children, with one exception: when it is cancelled, its children are cancelled with it. Each child
//! may still report its own cancellation, once, as the text asks of producers.

use std::collections::{BTreeMap, BTreeSet};

use super::recent::{Key, Recent};
use crate::{Code, Fault, TaskState};

#[derive(Debug)]
struct Task {
    state: TaskState,
    parent: Option<Key>,
}

#[derive(Debug)]
pub struct Tasks {
    open: Recent<Task>,
    /// The open children of open tasks that have any.
    children: BTreeMap<Key, BTreeSet<Key>>,
    /// Cancelled with an ancestor, own report not yet seen.
    cancelled: Recent<()>,
}

impl Tasks {
    pub fn bounded(max: usize) -> Self {
        Self {
            open: Recent::bounded(max),
            children: BTreeMap::new(),
            cancelled: Recent::bounded(max),
        }
    }

    pub fn open(&self) -> usize {
        self.open.len()
    }

    pub fn state(&self, task: &str) -> Option<TaskState> {
        self.open.get(task).map(|task| task.state)
    }

    pub fn submit(&mut self, task: Key, parent: Option<Key>, shown: &str) -> Result<(), Fault> {
        if let Some(state) = self.state(&task) {
            return Err(refused(
                Code::DuplicateTask,
                format!(
                    "expected a new task, got {shown:?}, which is {}",
                    state.as_str()
                ),
            ));
        }
        self.cancelled.remove(&task);
        // A parent that is not open here cannot be held back, so there is nothing to remember.
        let parent = parent.filter(|parent| self.open.get(parent).is_some());
        if let Some(parent) = &parent {
            self.children
                .entry(parent.clone())
                .or_default()
                .insert(task.clone());
        }
        let entry = Task {
            state: TaskState::Accepted,
            parent,
        };
        if let Some((forgotten, entry)) = self.open.insert(task, entry) {
            self.unlink(&forgotten, entry.parent.as_deref());
            self.children.remove(&forgotten);
        }
        Ok(())
    }

    pub fn report(&mut self, task: &Key, state: TaskState, shown: &str) -> Result<(), Fault> {
        let Some(current) = self.state(task) else {
            return if state == TaskState::Cancelled && self.cancelled.remove(task).is_some() {
                Ok(())
            } else {
                Err(self.absent(task, shown))
            };
        };
        if !current.may_become(state) {
            let next: Vec<_> = current.next().iter().map(|state| state.as_str()).collect();
            return Err(refused(
                Code::IllegalTransition,
                format!(
                    "expected task {shown:?}, which is {}, to become {}, got {}",
                    current.as_str(),
                    next.join(", "),
                    state.as_str()
                ),
            ));
        }
        if !state.is_terminal() {
            if let Some(entry) = self.open.get_mut(task) {
                entry.state = state;
            }
            return Ok(());
        }
        if state != TaskState::Cancelled
            && let Some(open) = self.children.get(task)
        {
            return Err(refused(
                Code::ChildTasksOpen,
                format!(
                    "expected the {} open children of task {shown:?} to end first, got {}",
                    open.len(),
                    state.as_str()
                ),
            ));
        }
        self.end(task);
        Ok(())
    }

    pub fn request_cancel(&self, task: &Key, shown: &str) -> Result<(), Fault> {
        if self.open.get(task).is_some() {
            Ok(())
        } else {
            Err(self.absent(task, shown))
        }
    }

    /// Forgets a task and cancels everything below it.
    fn end(&mut self, task: &Key) {
        if let Some(entry) = self.open.remove(task) {
            self.unlink(task, entry.parent.as_deref());
        }
        let mut below: Vec<Key> = self.children.remove(task).into_iter().flatten().collect();
        while let Some(child) = below.pop() {
            below.extend(self.children.remove(&child).into_iter().flatten());
            self.open.remove(&child);
            self.cancelled.insert(child, ());
        }
    }

    fn unlink(&mut self, task: &str, parent: Option<&str>) {
        if let Some(parent) = parent
            && let Some(siblings) = self.children.get_mut(parent)
        {
            siblings.remove(task);
            if siblings.is_empty() {
                self.children.remove(parent);
            }
        }
    }

    fn absent(&self, task: &Key, shown: &str) -> Fault {
        if self.cancelled.get(task).is_some() {
            return refused(
                Code::IllegalTransition,
                format!(
                    "expected an open task, got {shown:?}, which was cancelled with its parent"
                ),
            );
        }
        refused(
            Code::UnknownTask,
            format!("expected an open task, got {shown:?}, which was never submitted or has ended"),
        )
    }
}

fn refused(code: Code, detail: String) -> Fault {
    Fault::new(code, "/task_id", "AEP 5", detail)
}
