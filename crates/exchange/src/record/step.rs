//! What a message does to a task, in a record's bytes.

use super::RecordError;
use super::delivery::{put_signed, signed};
use super::wire::{Reader, put_text};
use protocol::TaskState;
use protocol::task::{Opening, Step, Terms};

const OPEN: u8 = 0;
const REPORT: u8 = 1;
const REPLY: u8 = 2;
const ANSWER: u8 = 3;
const REQUEST_CANCEL: u8 = 4;

const HAS_PARENT: u8 = 1;
const HAS_TIMEOUT: u8 = 1 << 1;

const OPENINGS: [Opening; 3] = [Opening::Submission, Opening::Handoff, Opening::Question];

pub(super) fn put_step(out: &mut Vec<u8>, step: &Step) {
    match step {
        Step::Open(terms) => {
            let flags = (u8::from(terms.parent.is_some()) * HAS_PARENT)
                | (u8::from(terms.timeout_ms.is_some()) * HAS_TIMEOUT);
            out.extend_from_slice(&[OPEN, number_of(&OPENINGS, &terms.opening), flags]);
            if let Some(parent) = &terms.parent {
                put_text(out, parent);
            }
            if let Some(timeout) = terms.timeout_ms {
                put_signed(out, timeout);
            }
        }
        Step::Report(state) => out.extend_from_slice(&[REPORT, number_of(&TaskState::ALL, state)]),
        Step::Reply(state) => out.extend_from_slice(&[REPLY, number_of(&TaskState::ALL, state)]),
        Step::Answer => out.push(ANSWER),
        Step::RequestCancel => out.push(REQUEST_CANCEL),
    }
}

pub(super) fn step_from(reader: &mut Reader<'_>) -> Result<Step, RecordError> {
    Ok(match reader.byte()? {
        OPEN => {
            let opening = numbered(&OPENINGS, reader.byte()?)?;
            let flags = reader.byte()?;
            if flags > (HAS_PARENT | HAS_TIMEOUT) {
                return Err(RecordError("expected known flags of a task"));
            }
            let parent = match flags & HAS_PARENT {
                0 => None,
                _ => Some(reader.text()?.into()),
            };
            let timeout_ms = match flags & HAS_TIMEOUT {
                0 => None,
                _ => Some(signed(reader)?),
            };
            Step::Open(Box::new(Terms {
                opening,
                parent,
                timeout_ms,
            }))
        }
        REPORT => Step::Report(numbered(&TaskState::ALL, reader.byte()?)?),
        REPLY => Step::Reply(numbered(&TaskState::ALL, reader.byte()?)?),
        ANSWER => Step::Answer,
        REQUEST_CANCEL => Step::RequestCancel,
        _ => return Err(RecordError("expected a known step of a task")),
    })
}

/// The stored number of a word: its position, which never changes.
fn number_of<T: PartialEq>(words: &[T], word: &T) -> u8 {
    let at = words.iter().position(|known| known == word);
    at.map_or(u8::MAX, |at| at as u8)
}

fn numbered<T: Copy>(words: &[T], number: u8) -> Result<T, RecordError> {
    words
        .get(usize::from(number))
        .copied()
        .ok_or(RecordError("expected the number of a known word"))
}
