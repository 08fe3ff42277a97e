//! One task as it is kept: who works on it, where it stands, how it ended.
//!
//! Only what is acted on. Everything else is in the journal, at the sequences that stand here.

use super::TaskState;
use super::step::{Opening, Terms};
use super::tasks::PARTS_MAX;
use crate::{DialectName, Digest, Header, Party, Priority, Timestamp, digest};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher};

/// What a task is found by: the first half of the digest of an id. Nobody can make two ids of one
/// name, and an entry costs the same whatever senders write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name(pub(super) [u8; 16]);

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.first_chunk().copied().map_or(0, u64::from_le_bytes));
    }
}

/// A name is a digest already: half of it is as good as any hash.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NameHasher(u64);

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Tasks by name.
pub(super) type Names<V> = HashMap<Name, V, BuildHasherDefault<NameHasher>>;

impl Name {
    pub(super) fn of(id: &str) -> Self {
        let Digest(bytes) = digest(id.as_bytes());
        Self(bytes.first_chunk().copied().unwrap_or_default())
    }
}

/// The name of a task by the AEP event that submitted it, where its id is another: who reads the event in
/// another dialect answers the message. No text has such a name, so it never stands for a task's id; and
/// an event's id is its sender's own.
pub(super) fn event_name(event: &str, sender: &Party) -> Name {
    let mut bytes = vec![0xff];
    bytes.extend_from_slice(event.as_bytes());
    bytes.push(0xff);
    bytes.extend_from_slice(sender.as_str().as_bytes());
    let Digest(bytes) = digest(&bytes);
    Name(bytes.first_chunk().copied().unwrap_or_default())
}

/// A conversation in 64 bits. Two of one number cost a report that names no task its effect, as two
/// tasks of one conversation do; whoever can make such a pair can open such a task.
pub(super) fn conversation_key(conversation: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(conversation.as_bytes());
    hasher.finish()
}

/// The id of a task whose own id already stands for another's: message ids belong to their sender,
/// so two parties may open tasks under one.
pub(super) fn qualified(id: &str, requester: &Party) -> String {
    format!("{id}@{requester}")
}

/// One task.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Task {
    /// Its id, alone of its kind in the space.
    pub(super) id: Box<str>,
    /// The id of the envelope that opened it; `None` when that is `id`.
    pub(super) request: Option<Box<str>>,
    pub(super) dialect: DialectName,
    pub(super) opening: Opening,
    pub(super) requester: Party,
    pub(super) conversation: Option<Box<str>>,
    /// Who works on it, in the order they were asked. Never empty: work addressed to nobody in
    /// particular has one part without a party.
    pub(super) parts: Vec<Part>,
    /// Whether it went to a channel or to nobody by name: whoever answers first ends it, and what
    /// others answer later is carried.
    pub(super) is_shared: bool,
    /// Whether some recipients were only told of it: what they say about it moves nothing.
    pub(super) is_assigned: bool,
    pub(super) opened_at: Timestamp,
    /// How long it may take, in milliseconds, where the request says so.
    pub(super) length_ms: Option<i64>,
    /// When it must have ended.
    pub(super) deadline: Option<Timestamp>,
    /// When that is looked at next.
    pub(super) due: Option<Timestamp>,
    /// The id of the task it is a part of.
    pub(super) parent: Option<Box<str>>,
    pub(super) cancel_requested: bool,
    /// The last envelope that moved it.
    pub(super) last: u64,
    pub(super) last_at: Timestamp,
    pub(super) end: Option<End>,
    /// What an envelope about it must say besides; kept only where the exchange may have to speak.
    pub(super) context: Option<Box<Context>>,
    /// The name of `id`.
    pub(super) name: Name,
    /// Other names it is found by.
    pub(super) aliases: Vec<Name>,
    /// Its turn to leave memory, while it may.
    pub(super) turn: Option<u64>,
}

/// One party's share of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Whose; `None` until somebody has taken it.
    pub(super) party: Option<Party>,
    pub(super) state: TaskState,
}

/// How a task ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) state: TaskState,
    pub(super) sequence: u64,
    pub(super) by: Party,
    /// It was cancelled by the exchange with its parent, and the worker, whose duty that is as the
    /// text has it, may still say so once (AEP 5).
    pub(super) may_be_confirmed: bool,
}

/// What the exchange needs to write an envelope about a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Context {
    pub(super) correlation: Option<Box<str>>,
    pub(super) session: Option<Box<str>>,
    pub(super) intent: Option<Box<str>>,
    pub(super) topic: Option<Box<str>>,
    pub(super) priority: Priority,
    /// The envelope that cancelled the parent, once one has.
    pub(super) cancelled_by: Option<Box<str>>,
}

impl Context {
    pub(super) fn of(header: &Header) -> Self {
        Self {
            correlation: header.correlation.clone(),
            session: header.session.clone(),
            intent: header.intent.clone(),
            topic: match header.dialect {
                DialectName::Aep => header.topics.first().cloned(),
                // UAI-1 allows topics only where they address.
                DialectName::Aee | DialectName::Uai => None,
            },
            priority: header.priority,
            cancelled_by: None,
        }
    }
}

impl Task {
    /// The task that `header` opens under `id`.
    pub(super) fn opened(
        id: Box<str>,
        name: Name,
        terms: &Terms,
        header: &Header,
        at: Timestamp,
        sequence: u64,
    ) -> Self {
        let has_channel = header.recipients.iter().any(Party::is_channel);
        let is_shared = header.dialect != DialectName::Aep
            && (has_channel || header.recipients.is_empty() || !header.topics.is_empty());
        let mut parts: Vec<Part> = Vec::new();
        if !is_shared {
            let workers = match terms.assignees.is_empty() {
                true => &header.recipients,
                false => &terms.assignees,
            };
            parts.extend(workers.iter().cloned().map(Part::asked));
            // The other copies are on their way; it does not end before them.
            let copies = usize::try_from(terms.copies).unwrap_or(PARTS_MAX);
            while parts.len() < copies.min(PARTS_MAX) {
                parts.push(Part::of_nobody());
            }
        }
        if parts.is_empty() {
            parts.push(Part::of_nobody());
        }
        Self {
            request: (*header.id != *id).then(|| header.id.clone()),
            id,
            dialect: header.dialect,
            opening: terms.opening,
            requester: header.sender.clone(),
            conversation: header.conversation.clone(),
            parts,
            is_shared,
            is_assigned: !terms.assignees.is_empty(),
            opened_at: at,
            length_ms: None,
            deadline: None,
            due: None,
            parent: None,
            cancel_requested: false,
            last: sequence,
            last_at: at,
            end: None,
            context: None,
            name,
            aliases: Vec::new(),
            turn: None,
        }
    }

    /// The id of the envelope that opened it.
    pub(super) fn request_id(&self) -> &str {
        self.request.as_deref().unwrap_or(&self.id)
    }

    /// Where it stands: its end; while any part is open, the least advanced open part (UAI 4 D10).
    pub(super) fn state(&self) -> TaskState {
        match &self.end {
            Some(end) => end.state,
            None => overall(&self.parts),
        }
    }

    /// Whether `party` asked for it or works on it.
    pub(super) fn involves(&self, party: &Party) -> bool {
        self.requester == *party || self.part_of(party).is_some()
    }

    /// The place of a party's part.
    pub(super) fn part_of(&self, party: &Party) -> Option<usize> {
        let is_theirs = |part: &Part| part.party.as_ref() == Some(party);
        self.parts.iter().position(is_theirs)
    }

    /// Whether an answer ends it.
    pub(super) fn ends_with_answer(&self) -> bool {
        match self.opening {
            Opening::Question => true,
            Opening::Submission | Opening::Handoff => false,
        }
    }
}

impl Part {
    fn of_nobody() -> Self {
        Self {
            party: None,
            state: TaskState::Submitted,
        }
    }

    pub(super) fn asked(party: Party) -> Self {
        Self {
            party: Some(party),
            state: TaskState::Submitted,
        }
    }
}

/// The state of the whole. When every part has ended, one failure makes the whole a failure, then
/// one time-out, then one cancellation.
pub(super) fn overall(parts: &[Part]) -> TaskState {
    let open = parts.iter().map(|part| part.state);
    let least = open.filter(|state| !state.is_terminal()).min();
    least.unwrap_or_else(|| {
        let worst = [
            TaskState::Failed,
            TaskState::TimedOut,
            TaskState::Cancelled,
            TaskState::Completed,
        ];
        let is_there = |state: &TaskState| parts.iter().any(|part| part.state == *state);
        worst
            .into_iter()
            .find(is_there)
            .unwrap_or(TaskState::Submitted)
    })
}
