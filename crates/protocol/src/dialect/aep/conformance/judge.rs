//! One fixture, judged (AEP 11.3).
//!
//! Stricter than the reference where the reference passes by saying nothing: an empty fixture fails,
//! and in a flow any refusal counts, not only `event.rejected`.

use super::{Expectation, Expected, Fixture, Level, Subject, strict_row};
use crate::dialect::aep::flow::Stats;
use crate::dialect::aep::words;
use crate::{Code, Rejection, Rules, decode};

/// What one event came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its line in the fixture, from 1.
    pub line: usize,
    /// Its type as written.
    pub kind: String,
    /// The AEP code and the code of ours it was refused with; `None` when it was accepted.
    pub refused: Option<(&'static str, Code)>,
}

/// How a fixture ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All as expected.
    Pass,
    /// Why not.
    Fail(String),
    /// Why it was not run.
    Skip(String),
}

/// What one fixture came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The path in the manifest.
    pub path: String,
    /// The level in the manifest.
    pub level: Level,
    /// Pass, fail or skip.
    pub outcome: Outcome,
    /// Every event, as the subject answered.
    pub events: Vec<Event>,
}

impl Verdict {
    pub(super) fn skipped(fixture: &Fixture, reason: String) -> Self {
        Self::of(fixture, Outcome::Skip(reason))
    }

    pub(super) fn failed(fixture: &Fixture, reason: String) -> Self {
        Self::of(fixture, Outcome::Fail(reason))
    }

    fn of(fixture: &Fixture, outcome: Outcome) -> Self {
        Self {
            path: fixture.path.clone(),
            level: fixture.level,
            outcome,
            events: Vec::new(),
        }
    }
}

impl std::fmt::Display for Verdict {
    /// The line that runners of other languages read: `PASS HARMOVELA-C1 fixtures/x.ndjson`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (word, reason) = match &self.outcome {
            Outcome::Pass => ("PASS", None),
            Outcome::Fail(reason) => ("FAIL", Some(reason)),
            Outcome::Skip(reason) => ("SKIP", Some(reason)),
        };
        write!(f, "{word} {} {}", self.level, self.path)?;
        reason.map_or(Ok(()), |reason| write!(f, " ({reason})"))
    }
}

/// Feeds a fixture to a fresh subject and judges what it answered. With `is_strict`, every event
/// must also come out as the strict table says.
#[must_use]
pub fn judge(
    fixture: &Fixture,
    bytes: &[u8],
    rules: &Rules,
    subject: &mut dyn Subject,
    is_strict: bool,
) -> Verdict {
    let mut events = Vec::new();
    let mut is_each_valid = true;
    for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let alone = decode(line, rules);
        is_each_valid &= alone.is_valid();
        events.push(Event {
            line: at + 1,
            kind: alone.label.unwrap_or_default(),
            refused: subject
                .handle(line)
                .err()
                .map(|rejection| words_of(&rejection)),
        });
    }
    let result = expected_types(fixture, &events)
        .and_then(|()| as_expected(fixture, &events, is_each_valid, subject.stats()))
        .and_then(|()| {
            if is_strict {
                as_strict(fixture, &events)
            } else {
                Ok(())
            }
        });
    let outcome = result.map_or_else(Outcome::Fail, |()| Outcome::Pass);
    Verdict {
        events,
        ..Verdict::of(fixture, outcome)
    }
}

fn words_of(rejection: &Rejection) -> (&'static str, Code) {
    (words::of_code(rejection.code()), rejection.code())
}

fn expected_types(fixture: &Fixture, events: &[Event]) -> Result<(), String> {
    if events.is_empty() {
        return Err("expected at least one event, got none".into());
    }
    let Some(expected) = &fixture.expected_types else {
        return Ok(());
    };
    if events.iter().map(|event| &event.kind).eq(expected) {
        Ok(())
    } else {
        Err(format!("expected the types {}", expected.join(", ")))
    }
}

fn as_expected(
    fixture: &Fixture,
    events: &[Event],
    is_each_valid: bool,
    stats: Stats,
) -> Result<(), String> {
    let refused = events.iter().find(|event| event.refused.is_some());
    match &fixture.expectation {
        Expectation::AcceptAll if is_each_valid => Ok(()),
        Expectation::AcceptAll => Err("expected every event to be valid by itself".into()),
        Expectation::RejectSome if refused.is_some() => Ok(()),
        Expectation::RejectSome => Err("expected at least one refusal, got none".into()),
        Expectation::StatefulFlow | Expectation::DeliveryE2e => match refused {
            Some(event) => Err(sentence(event, &Expected::Accept)),
            None if fixture.expectation == Expectation::DeliveryE2e => counters(fixture, stats),
            None => Ok(()),
        },
        Expectation::Unknown(word) => Err(format!("expected a known expectation, got {word:?}")),
    }
}

fn counters(fixture: &Fixture, stats: Stats) -> Result<(), String> {
    if fixture.expected_stats.is_empty() {
        return Err("expected `expected_stats` to name counters, got none".into());
    }
    for (name, expected) in &fixture.expected_stats {
        let got = match name.as_str() {
            "totalSequences" => stats.total_sequences,
            "pending" => stats.pending,
            "acknowledged" => stats.acknowledged,
            "deadLettered" => stats.dead_lettered,
            _ => return Err(format!("expected a known counter, got {name:?}")),
        };
        if got != *expected {
            return Err(format!("expected {name} to be {expected}, got {got}"));
        }
    }
    Ok(())
}

fn as_strict(fixture: &Fixture, events: &[Event]) -> Result<(), String> {
    let row =
        strict_row(&fixture.path).ok_or("expected the fixture in the strict table, got none")?;
    if row.events.len() != events.len() {
        return Err(format!(
            "expected {} events, got {}",
            row.events.len(),
            events.len()
        ));
    }
    let wrong = events
        .iter()
        .zip(row.events)
        .find(|(event, expected)| event.refused.map(|(word, _)| word) != expected.word());
    wrong.map_or(Ok(()), |(event, expected)| Err(sentence(event, expected)))
}

fn sentence(event: &Event, expected: &Expected) -> String {
    let got = match event.refused {
        Some((word, code)) => format!("{word} ({code})"),
        None => "accepted".into(),
    };
    format!(
        "line {} {}: expected {expected}, got {got}",
        event.line, event.kind
    )
}
