//! Judges an implementation by a Harmovela conformance suite (AEP 11).
//!
//! The pure part: manifest, judgement, and what strictness expects of every event. Whoever calls it
//! brings the files (as a function from path to bytes) and the [`Subject`], which can be a whole
//! exchange. [`Engine`] is the smallest subject: the reader, a flow and the tasks.

mod expected;
mod judge;
mod manifest;

pub use expected::{Expected, StrictRow, strict_row, upstream_fixtures};
pub use judge::{Event, Outcome, Verdict, judge};
pub use manifest::{Expectation, Fixture, Level, Manifest, Profile};

use super::flow::{Flow, Stats};
use crate::{Header, Rejection, Rules, Tasks, decode};

/// What is judged: something that takes events one by one. Each fixture gets a fresh one.
pub trait Subject {
    /// Takes the bytes of one event.
    ///
    /// # Errors
    /// Why the event is refused.
    fn handle(&mut self, event: &[u8]) -> Result<(), Rejection>;

    /// The delivery tracker's counters.
    fn stats(&self) -> Stats;
}

/// The reader, a flow and the tasks: no storage, no delivery.
#[derive(Debug)]
pub struct Engine {
    rules: Rules,
    flow: Flow,
    tasks: Tasks,
    sequence: u64,
}

impl Engine {
    /// A fresh engine with these rules.
    #[must_use]
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            flow: Flow::default(),
            tasks: Tasks::default(),
            sequence: 0,
        }
    }

    fn accept(&mut self, header: &Header) -> Result<(), Rejection> {
        let verdict = self.tasks.judge(header)?;
        if let Some(facts) = &header.flow {
            self.flow.accept(&header.id, facts)?;
        }
        self.sequence += 1;
        self.tasks
            .perform(self.rules.now, self.sequence, header, verdict);
        Ok(())
    }
}

impl Subject for Engine {
    fn handle(&mut self, event: &[u8]) -> Result<(), Rejection> {
        let (header, _) = decode(event, &self.rules).into_result()?;
        self.accept(&header)?;
        // What the exchange itself has to say: children that are cancelled with their parent.
        while self
            .tasks
            .next_due()
            .is_some_and(|due| due <= self.rules.now)
        {
            for spoken in self.tasks.expire(self.rules.now) {
                let (header, _) = decode(spoken.as_bytes(), &self.rules).into_result()?;
                self.accept(&header)?;
            }
        }
        Ok(())
    }

    fn stats(&self) -> Stats {
        self.flow.stats()
    }
}

/// Which fixtures to run and how.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Fixtures above this level are skipped.
    pub target: Level,
    /// Only these profiles, besides the fixtures of no profile; empty means every fixture.
    pub profiles: Vec<String>,
    /// Judge every single event by the strict table, too.
    pub is_strict: bool,
}

/// What a run found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// One verdict per fixture, in the order of the manifest.
    pub verdicts: Vec<Verdict>,
}

impl Report {
    /// True when at least one fixture ran and none failed.
    #[must_use]
    pub fn is_pass(&self) -> bool {
        let ran = |verdict: &Verdict| !matches!(verdict.outcome, Outcome::Skip(_));
        self.verdicts.iter().any(ran)
            && !self
                .verdicts
                .iter()
                .any(|verdict| matches!(verdict.outcome, Outcome::Fail(_)))
    }
}

/// Runs the selected fixtures. `load` gives the bytes behind a path that is relative to the folder of
/// the manifest; `fresh` makes a subject. The suite refuses unknown event types, so `rules` and the
/// subject should be strict.
///
/// # Errors
/// When nothing is selected, a profile is unknown, or a profile names a fixture that is not listed:
/// such a run would pass by saying nothing.
pub fn run(
    manifest: &Manifest,
    selection: &Selection,
    rules: &Rules,
    load: &dyn Fn(&str) -> Result<Vec<u8>, String>,
    fresh: &mut dyn FnMut() -> Box<dyn Subject>,
) -> Result<Report, String> {
    let selected = manifest.select(&selection.profiles)?;
    let mut report = Report::default();
    for fixture in selected {
        let verdict = if fixture.level > selection.target {
            Verdict::skipped(fixture, format!("above target {}", selection.target))
        } else {
            match load(&fixture.path) {
                Ok(bytes) => judge(
                    fixture,
                    &bytes,
                    rules,
                    fresh().as_mut(),
                    selection.is_strict,
                ),
                Err(reason) => Verdict::failed(fixture, format!("cannot be read: {reason}")),
            }
        };
        report.verdicts.push(verdict);
    }
    if report
        .verdicts
        .iter()
        .all(|verdict| matches!(verdict.outcome, Outcome::Skip(_)))
    {
        return Err(format!(
            "expected at least one fixture up to {}, got none",
            selection.target
        ));
    }
    Ok(report)
}
