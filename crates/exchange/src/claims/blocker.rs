//! Conflicts that nobody has resolved, found by their id, by the message that lost, and by who waits
//! for which resource.

use super::{Held, origin};
use protocol::coordination::Claim;
use protocol::{Header, Party, Timestamp, digest};
use std::collections::{BTreeMap, BTreeSet};

/// Most open blockers; beyond it the oldest is only in the journal.
const OPEN_MAX: usize = 100_000;

/// A claim that lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Blocker {
    pub(super) id: Box<str>,
    pub(super) at: Timestamp,
    pub(super) resource: Box<str>,
    /// The version that was claimed.
    pub(super) base: Box<str>,
    /// The version that stood, who had made it that and with which message; nobody when the resource
    /// was never claimed.
    pub(super) held: Option<Standing>,
    /// Who lost, with which message under which key, where.
    pub(super) loser: Party,
    pub(super) message: Box<str>,
    pub(super) key: Box<str>,
    pub(super) conversation: Box<str>,
    pub(super) correlation: Option<Box<str>>,
    /// Whether the loser knows the word `conflict`.
    pub(super) has_word: bool,
    /// Whether it wanted to give the resource up.
    pub(super) is_release: bool,
    /// Whether the journal has the message that says so.
    pub(super) is_told: bool,
}

/// What a claim lost against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(super) version: Box<str>,
    pub(super) by: Party,
    pub(super) message: Box<str>,
}

impl Blocker {
    pub(super) fn new(
        now: Timestamp,
        header: &Header,
        claim: &Claim,
        held: Option<&Held>,
        has_word: bool,
    ) -> Self {
        Self {
            id: id_of(header),
            at: now,
            resource: claim.resource.clone(),
            base: claim.base_version.clone(),
            held: held.map(|held| Standing {
                version: held.version.clone(),
                by: held.by.clone(),
                message: held.message.clone(),
            }),
            loser: header.sender.clone(),
            message: header.id.clone(),
            key: header.dedupe_key().into(),
            conversation: header.conversation.clone().unwrap_or_default(),
            correlation: header.correlation.clone(),
            has_word,
            is_release: claim.is_release,
            is_told: false,
        }
    }
}

/// The id of the blocker over a message; also the id of the message that says so. Copies of one message
/// have one.
pub(super) fn id_of(header: &Header) -> Box<str> {
    let key = header.idempotency_key.as_deref().unwrap_or(origin(header));
    id("blocker", &header.sender, key).into()
}

/// An id that follows from what it is about.
pub(super) fn id(kind: &str, party: &Party, of: &str) -> String {
    let hash = digest(format!("{kind}\n{party}\n{of}").as_bytes()).to_hex();
    format!("interwire-{kind}-{}", hash.get(..32).unwrap_or_default())
}

/// By what a blocker is found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Id(Box<str>),
    Message(Box<str>),
    Waits(Box<str>, Party),
    Untold,
}

/// Open blockers in the order they were opened.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Blockers {
    open: BTreeMap<u64, Blocker>,
    keys: BTreeSet<(Key, u64)>,
}

impl Blockers {
    pub(super) fn count(&self) -> usize {
        self.open.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Blocker> {
        self.open.values()
    }

    /// Adds one, unless it is open already.
    pub(super) fn add(&mut self, blocker: Blocker) {
        if self.by_id(&blocker.id).is_some() {
            return;
        }
        let number = self.open.last_key_value().map_or(0, |(last, _)| last + 1);
        self.keys.extend(keys(&blocker).map(|key| (key, number)));
        self.open.insert(number, blocker);
        if self.open.len() > OPEN_MAX
            && let Some(oldest) = self.open.first_key_value().map(|(first, _)| *first)
        {
            self.close(oldest);
        }
    }

    pub(super) fn by_id(&self, id: &str) -> Option<&Blocker> {
        self.numbers(Key::Id(id.into()))
            .find_map(|number| self.open.get(&number))
    }

    pub(super) fn take(&mut self, id: &str) -> Option<Blocker> {
        let number = self.numbers(Key::Id(id.into())).next()?;
        self.close(number)
    }

    /// Those over a message, which is the one that lost or the one that said so.
    pub(super) fn about(&self, message: &str) -> impl Iterator<Item = (u64, &Blocker)> {
        self.numbers(Key::Message(message.into()))
            .chain(self.numbers(Key::Id(message.into())))
            .filter_map(|number| Some((number, self.open.get(&number)?)))
    }

    /// Those over a resource, the oldest of each loser first.
    pub(super) fn of_resource(&self, resource: &str) -> impl Iterator<Item = &Blocker> {
        let first = Key::Waits(resource.into(), Party::from_canonical(""));
        self.keys
            .range((first, 0)..)
            .take_while(move |(key, _)| matches!(key, Key::Waits(of, _) if **of == *resource))
            .filter_map(|(_, number)| self.open.get(number))
    }

    pub(super) fn untold(&self) -> impl Iterator<Item = &Blocker> {
        self.numbers(Key::Untold)
            .filter_map(|number| self.open.get(&number))
    }

    /// The journal has the message that says so.
    pub(super) fn told(&mut self, id: &str) {
        let number = self.numbers(Key::Id(id.into())).next();
        if let Some(number) = number
            && let Some(open) = self.open.get_mut(&number)
        {
            open.is_told = true;
            self.keys.remove(&(Key::Untold, number));
        }
    }

    pub(super) fn close(&mut self, number: u64) -> Option<Blocker> {
        let blocker = self.open.remove(&number)?;
        for key in keys(&blocker) {
            self.keys.remove(&(key, number));
        }
        Some(blocker)
    }

    /// Ends what a party waits for at a resource.
    pub(super) fn close_of(&mut self, resource: &str, loser: &Party) {
        let key = Key::Waits(resource.into(), loser.clone());
        let ended: Vec<_> = self.numbers(key).collect();
        for number in ended {
            self.close(number);
        }
    }

    fn numbers(&self, key: Key) -> impl Iterator<Item = u64> {
        let range = (key.clone(), 0)..=(key, u64::MAX);
        self.keys.range(range).map(|(_, number)| *number)
    }
}

fn keys(blocker: &Blocker) -> impl Iterator<Item = Key> {
    let untold = (!blocker.is_told).then_some(Key::Untold);
    [
        Key::Id(blocker.id.clone()),
        Key::Message(blocker.message.clone()),
        Key::Waits(blocker.resource.clone(), blocker.loser.clone()),
    ]
    .into_iter()
    .chain(untold)
}
