//! The tasks as bytes, and back. What follows from the tasks themselves (names, children, deadlines) is
//! not written.

use super::TaskState;
use super::forgotten::Forgotten;
use super::kept::{Context, End, Name, Part, Task, conversation_key};
use super::step::Opening;
use super::tasks::{Limits, Tasks, is_qualified};
use crate::wire::{Reader, WireError, put_moment, put_text, put_varint};
use crate::{DialectName, Party, Priority};

const DIALECTS: [DialectName; 3] = [DialectName::Aee, DialectName::Aep, DialectName::Uai];
const OPENINGS: [Opening; 3] = [Opening::Submission, Opening::Handoff, Opening::Question];
const PRIORITIES: [Priority; 4] = [
    Priority::Low,
    Priority::Normal,
    Priority::High,
    Priority::Urgent,
];

const SHARED: u8 = 1;
const CANCEL_REQUESTED: u8 = 1 << 1;
const ASSIGNED: u8 = 1 << 2;

impl Tasks {
    /// Appends the bytes; equal states give equal bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.forgotten.encode(out);
        put_varint(out, self.tasks.len() as u64);
        for (key, task) in &self.tasks {
            put_varint(out, *key);
            put_task(out, task);
        }
        put_keys(out, self.finished.iter());
        put_keys(out, self.turns.values());
    }

    /// Reads the tasks back, to be kept within `limits` from now on.
    ///
    /// # Errors
    /// Says what is wrong, whatever the bytes.
    pub fn decode(reader: &mut Reader<'_>, limits: Limits) -> Result<Self, WireError> {
        let mut tasks = Self::bounded(limits);
        tasks.forgotten = Forgotten::decode(reader)?;
        reader.list(|reader| {
            let key = reader.varint()?;
            let task = task_from(reader)?;
            tasks.restore(key, task)
        })?;
        let finished = reader.list(Reader::varint)?;
        let is_ended = |key: &u64| tasks.tasks.get(key).is_some_and(|task| task.end.is_some());
        let ended = tasks.tasks.values().filter(|task| task.end.is_some());
        if finished.len() != ended.count() || !finished.iter().all(is_ended) {
            return Err(WireError("expected every ended task once"));
        }
        tasks.finished = finished.into();
        for key in reader.list(Reader::varint)? {
            tasks.give_turn(key);
        }
        Ok(tasks)
    }

    fn restore(&mut self, key: u64, task: Task) -> Result<(), WireError> {
        if self
            .tasks
            .last_key_value()
            .is_some_and(|(last, _)| *last >= key)
        {
            return Err(WireError("expected tasks in ascending order"));
        }
        for name in [&task.name].into_iter().chain(&task.aliases) {
            if self.names.insert(*name, key).is_some() {
                return Err(WireError("expected every name of a task once"));
            }
        }
        if task.end.is_none() {
            if let Some(moment) = task.due {
                self.due.insert((moment, key));
            }
            if let Some(parent) = &task.parent {
                self.children
                    .entry(Name::of(parent))
                    .or_default()
                    .insert(key);
            }
            if let (DialectName::Aee, Some(conversation)) = (task.dialect, &task.conversation) {
                self.conversations
                    .insert((conversation_key(conversation), key));
            }
        }
        self.qualified += usize::from(is_qualified(&task));
        self.tasks.insert(key, Box::new(task));
        Ok(())
    }
}

fn put_keys<'k>(out: &mut Vec<u8>, keys: impl ExactSizeIterator<Item = &'k u64>) {
    put_varint(out, keys.len() as u64);
    keys.for_each(|key| put_varint(out, *key));
}

fn put_task(out: &mut Vec<u8>, task: &Task) {
    let Task {
        id,
        request,
        dialect,
        opening,
        requester,
        conversation,
        parts,
        is_shared,
        is_assigned,
        opened_at,
        length_ms,
        deadline,
        due,
        parent,
        cancel_requested,
        last,
        last_at,
        end,
        context,
        name: _,
        aliases,
        turn: _,
    } = task;
    put_text(out, id);
    out.push(number_of(&DIALECTS, dialect));
    out.push(number_of(&OPENINGS, opening));
    let mut flags = 0;
    for (flag, is_set) in [
        (SHARED, is_shared),
        (CANCEL_REQUESTED, cancel_requested),
        (ASSIGNED, is_assigned),
    ] {
        flags |= if *is_set { flag } else { 0 };
    }
    out.push(flags);
    put_text(out, requester.as_str());
    for text in [request, conversation, parent] {
        put_optional(out, text.as_deref());
    }
    put_varint(out, parts.len() as u64);
    for part in parts {
        put_optional(out, part.party.as_ref().map(Party::as_str));
        out.push(number_of(&TaskState::ALL, &part.state));
    }
    put_moment(out, *opened_at);
    put_moment(out, *last_at);
    put_varint(out, *last);
    out.push(u8::from(length_ms.is_some()));
    // Never negative.
    let length = length_ms.map(i64::unsigned_abs);
    length.iter().for_each(|length| put_varint(out, *length));
    for moment in [deadline, due] {
        out.push(u8::from(moment.is_some()));
        moment.iter().for_each(|moment| put_moment(out, *moment));
    }
    put_varint(out, aliases.len() as u64);
    for Name(bytes) in aliases {
        out.extend_from_slice(bytes);
    }
    out.push(u8::from(end.is_some()));
    if let Some(end) = end {
        out.push(number_of(&TaskState::ALL, &end.state));
        put_varint(out, end.sequence);
        put_text(out, end.by.as_str());
        out.push(u8::from(end.may_be_confirmed));
    }
    out.push(u8::from(context.is_some()));
    if let Some(context) = context {
        for text in texts_of(context) {
            put_optional(out, text.as_deref());
        }
        out.push(number_of(&PRIORITIES, &context.priority));
    }
}

fn texts_of(context: &Context) -> [&Option<Box<str>>; 5] {
    let Context {
        correlation,
        session,
        intent,
        topic,
        priority: _,
        cancelled_by,
    } = context;
    [correlation, session, intent, topic, cancelled_by]
}

fn task_from(reader: &mut Reader<'_>) -> Result<Task, WireError> {
    let id: Box<str> = reader.text()?.into();
    let dialect = numbered(&DIALECTS, reader.byte()?)?;
    let opening = numbered(&OPENINGS, reader.byte()?)?;
    let flags = reader.byte()?;
    if flags > (SHARED | CANCEL_REQUESTED | ASSIGNED) {
        return Err(WireError("expected known flags of a task"));
    }
    let requester = reader.party()?;
    let [request, conversation, parent] = [optional(reader)?, optional(reader)?, optional(reader)?];
    let parts = reader.list(|reader| {
        let party = optional(reader)?.map(|text| Party::from_canonical(&text));
        let state = numbered(&TaskState::ALL, reader.byte()?)?;
        Ok(Part { party, state })
    })?;
    let (opened_at, last_at) = (reader.moment()?, reader.moment()?);
    let last = reader.varint()?;
    let length_ms = match is_there(reader)? {
        true => Some(length_from(reader)?),
        false => None,
    };
    let mut moment = || match is_there(reader)? {
        true => reader.moment().map(Some),
        false => Ok(None),
    };
    let [deadline, due] = [moment()?, moment()?];
    let aliases = reader.list(|reader| reader.array().map(Name))?;
    let end = match is_there(reader)? {
        false => None,
        true => Some(End {
            state: numbered(&TaskState::ALL, reader.byte()?)?,
            sequence: reader.varint()?,
            by: reader.party()?,
            may_be_confirmed: is_there(reader)?,
        }),
    };
    let context = match is_there(reader)? {
        false => None,
        true => Some(Box::new(Context {
            correlation: optional(reader)?,
            session: optional(reader)?,
            intent: optional(reader)?,
            topic: optional(reader)?,
            cancelled_by: optional(reader)?,
            priority: numbered(&PRIORITIES, reader.byte()?)?,
        })),
    };
    let is_open = parts.iter().any(|part| !part.state.is_terminal());
    if parts.is_empty() || is_open == end.is_some() {
        return Err(WireError("expected a task to end with its last part"));
    }
    Ok(Task {
        name: Name::of(&id),
        id,
        request,
        dialect,
        opening,
        requester,
        conversation,
        parts,
        is_shared: flags & SHARED != 0,
        is_assigned: flags & ASSIGNED != 0,
        opened_at,
        length_ms,
        deadline,
        due,
        parent,
        cancel_requested: flags & CANCEL_REQUESTED != 0,
        last,
        last_at,
        end,
        context,
        aliases,
        turn: None,
    })
}

fn length_from(reader: &mut Reader<'_>) -> Result<i64, WireError> {
    i64::try_from(reader.varint()?).map_err(|_| WireError("expected a length in milliseconds"))
}

fn put_optional(out: &mut Vec<u8>, text: Option<&str>) {
    out.push(u8::from(text.is_some()));
    text.iter().for_each(|text| put_text(out, text));
}

fn optional(reader: &mut Reader<'_>) -> Result<Option<Box<str>>, WireError> {
    match is_there(reader)? {
        true => Ok(Some(reader.text()?.into())),
        false => Ok(None),
    }
}

fn is_there(reader: &mut Reader<'_>) -> Result<bool, WireError> {
    match reader.byte()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(WireError("expected 0 or 1")),
    }
}

/// The stored number of a word: its position, which never changes.
fn number_of<T: PartialEq>(words: &[T], word: &T) -> u8 {
    let at = words.iter().position(|known| known == word);
    at.map_or(u8::MAX, |at| at as u8)
}

fn numbered<T: Copy>(words: &[T], number: u8) -> Result<T, WireError> {
    words
        .get(usize::from(number))
        .copied()
        .ok_or(WireError("expected the number of a known word"))
}
