//! A journal of envelopes and the tasks they make.

use crate::dialect::aee::{Aee, Builder};
use crate::dialect::aep::Aep;
use crate::dialect::uai::build::{Agent, Envelope, FinalReport, Handoff, Heading};
use crate::task::{Limits, PartView, TaskState, Tasks, history};
use crate::{Code, Fault, Header, Rules, Timestamp, decode};

pub(super) const NOW: Timestamp = Timestamp::from_millis(1_782_907_200_000);

/// A journal of envelopes and the tasks they make.
#[derive(Default)]
pub(super) struct World {
    pub(super) tasks: Tasks,
    pub(super) journal: Vec<(Timestamp, u64, Header)>,
}

impl World {
    pub(super) fn bounded(open_max: usize, finished_max: usize) -> Self {
        let limits = Limits {
            open_max,
            finished_max,
        };
        Self {
            tasks: Tasks::bounded(limits),
            ..Self::default()
        }
    }

    /// Publishes as an exchange does: asks the journal first, then judges, labels and moves.
    pub(super) fn publish(&mut self, text: &str) -> Result<(), Fault> {
        self.publish_at(NOW, text)
    }

    pub(super) fn publish_at(&mut self, at: Timestamp, text: &str) -> Result<(), Fault> {
        let reading = decode(text.as_bytes(), &Rules::at(NOW));
        assert_eq!(reading.faults, [], "{text}");
        let mut header = reading.header.unwrap();
        for id in self.tasks.missing(&header) {
            self.recall(&id);
        }
        let verdict = self.tasks.judge(&header)?;
        if let Some(label) = self.tasks.label(&header, &verdict) {
            header.task = Some(label);
        }
        let sequence = self.journal.len() as u64 + 1;
        self.tasks.perform(at, sequence, &header, verdict);
        self.journal.push((at, sequence, header));
        Ok(())
    }

    pub(super) fn rows(&self, id: &str) -> Vec<(Timestamp, u64, &Header)> {
        let speaks = |header: &Header| header.task.as_deref() == Some(id) || *header.id == *id;
        let rows = self.journal.iter().filter(|(_, _, header)| speaks(header));
        rows.map(|(at, sequence, header)| (*at, *sequence, header))
            .collect()
    }

    pub(super) fn recall(&mut self, id: &str) {
        let mut tasks = std::mem::take(&mut self.tasks);
        let mut id = Some(Box::from(id));
        while let Some(next) = id {
            id = tasks.recall(&next, self.rows(&next));
        }
        self.tasks = tasks;
    }

    pub(super) fn expire(&mut self, at: Timestamp) -> Vec<String> {
        let mut spoken = Vec::new();
        while self.tasks.next_due().is_some_and(|due| due <= at) {
            for text in self.tasks.expire(at) {
                self.publish_at(at, &text).unwrap();
                spoken.push(text);
            }
        }
        spoken
    }

    pub(super) fn refused(&mut self, text: &str) -> (Code, String) {
        let fault = self.publish(text).unwrap_err();
        (fault.code, fault.detail)
    }

    pub(super) fn state(&mut self, id: &str) -> Option<TaskState> {
        if self.tasks.is_missing(id) {
            self.recall(id);
        }
        self.tasks.get(id).map(|view| view.state)
    }

    pub(super) fn history(&self, id: &str) -> Vec<TaskState> {
        let history = history(id, self.rows(id)).unwrap();
        history.lines.into_iter().map(|line| line.state).collect()
    }

    pub(super) fn rebuilt(&self) -> Tasks {
        let mut tasks = Tasks::bounded(self.tasks.limits);
        for (at, sequence, header) in &self.journal {
            tasks.accept(*at, *sequence, header).unwrap();
        }
        tasks
    }
}

/// Every envelope gets an id of its own.
pub(super) fn fresh(prefix: &str) -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("{prefix}-{:08}", NEXT.fetch_add(1, Ordering::Relaxed))
}

pub(super) fn submit(task: &str, parent: Option<&str>, payload: &str) -> String {
    let event = Aep::event("task.submitted", "agent:a")
        .target("agent:w")
        .task(task);
    let event = match parent {
        Some(parent) => event.parent_task(parent),
        None => event,
    };
    event.payload_json(payload).build(&fresh("evt"), NOW)
}

pub(super) fn report(task: &str, word: &str) -> String {
    let event = Aep::event(&format!("task.{word}"), "agent:w").target("agent:a");
    event.task(task).build(&fresh("evt"), NOW)
}

pub(super) fn ask(from: &str, to: &str) -> Builder {
    Aee::task(from, to, "ops.check.run").corr("CONV_0001")
}

pub(super) fn aee(kind: fn(&Header) -> Builder, request: &str, from: &str) -> String {
    let header = decode(request.as_bytes(), &Rules::at(NOW)).header.unwrap();
    kind(&header).from(from).build(&fresh("aee-reply"), NOW)
}

pub(super) fn failed(cause: &Header) -> Builder {
    Aee::error_of(cause, "E_INTERNAL", "it broke")
}

pub(super) fn agent(id: &str) -> Agent {
    Agent::new("agent", id)
}

pub(super) fn heading(from: &str, to: &str) -> Heading {
    Heading {
        id: fresh("msg"),
        issued_at: NOW,
        source: agent(from),
        target: agent(to),
        conversation: "conv_1".into(),
    }
}

pub(super) fn handoff(task: &str, from: &str, to: &[&str]) -> Envelope {
    let (first, others) = to.split_first().unwrap();
    let mut envelope =
        Handoff::new(task, "context", "reason", "do it").envelope(heading(from, first));
    for other in others {
        envelope = envelope.also_to(agent(other));
    }
    envelope
}

pub(super) fn id_of(text: &str) -> String {
    decode(text.as_bytes(), &Rules::at(NOW)).id.unwrap()
}

pub(super) fn final_report(task: &str, outcome: &str, from: &str) -> String {
    let report = FinalReport::new(task, outcome, "all of the work is done", "urn:evidence:1");
    report.envelope(heading(from, "manager")).write().unwrap()
}

pub(super) fn parts(world: &World, id: &str) -> Vec<(String, TaskState)> {
    let view = world.tasks.get(id).unwrap();
    let part = |part: PartView| {
        (
            part.party.map_or("-".into(), |party| party.to_string()),
            part.state,
        )
    };
    view.parts.into_iter().map(part).collect()
}
