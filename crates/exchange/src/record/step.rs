//! What a message does to a task, in a record's bytes.

use super::RecordError;
use super::delivery::{put_signed, signed};
use super::wire::{Reader, put_text, put_varint};
use protocol::TaskState;
use protocol::task::{Opening, Step, Terms};

const OPEN: u8 = 0;
const REPORT: u8 = 1;
const REPLY: u8 = 2;
const ANSWER: u8 = 3;
const REQUEST_CANCEL: u8 = 4;

const HAS_PARENT: u8 = 1;
const HAS_TIMEOUT: u8 = 1 << 1;
const HAS_ASSIGNEES: u8 = 1 << 2;
const HAS_COPIES: u8 = 1 << 3;
const FLAGS_KNOWN: u8 = (1 << 4) - 1;

const OPENINGS: [Opening; 3] = [Opening::Submission, Opening::Handoff, Opening::Question];

pub(super) fn put_step(out: &mut Vec<u8>, step: &Step) {
    match step {
        Step::Open(terms) => {
            let mut flags = 0;
            for (flag, is_set) in [
                (HAS_PARENT, terms.parent.is_some()),
                (HAS_TIMEOUT, terms.timeout_ms.is_some()),
                (HAS_ASSIGNEES, !terms.assignees.is_empty()),
                (HAS_COPIES, terms.copies > 0),
            ] {
                flags |= if is_set { flag } else { 0 };
            }
            out.extend_from_slice(&[OPEN, number_of(&OPENINGS, &terms.opening), flags]);
            if let Some(parent) = &terms.parent {
                put_text(out, parent);
            }
            if let Some(timeout) = terms.timeout_ms {
                put_signed(out, timeout);
            }
            if !terms.assignees.is_empty() {
                put_varint(out, terms.assignees.len() as u64);
                for party in &terms.assignees {
                    put_text(out, party.as_str());
                }
            }
            if terms.copies > 0 {
                put_varint(out, u64::from(terms.copies));
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
            if flags & !FLAGS_KNOWN != 0 {
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
            let assignees = match flags & HAS_ASSIGNEES {
                0 => Vec::new(),
                _ => reader.list(Reader::party)?,
            };
            let copies = match flags & HAS_COPIES {
                0 => 0,
                _ => reader.small()?,
            };
            Step::Open(Box::new(Terms {
                opening,
                parent,
                timeout_ms,
                assignees,
                copies,
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
