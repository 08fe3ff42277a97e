//! What belongs to a trace.
//!
//! A trace begins with a conversation (or a task, a correlation, a message without any of them) and
//! takes in what is linked to it:
//!
//! - messages that name the conversation as their correlation, or one of its messages as their
//!   conversation; and the message after which the conversation is named;
//! - messages of no conversation that share a task or a correlation with it;
//! - causes and effects, whatever conversation they are in, as far as they lead.
//!
//! A message that says it belongs to another conversation is not taken in for sharing a task alone: a
//! name such as `task_42` is used again and again. Such conversations are listed as related.
//!
//! The caller asks [`Gather::ask`] what to look up, offers what it finds, and says
//! [`Gather::answered`], until nothing more is asked.

mod links;

use super::forest::Trace;
use super::look::{Hit, Hits, Home};
use super::node::{Node, Offered};
use super::query::{Ask, By, Found, Query};
use super::texts::{TextId, Texts};
use std::collections::{BTreeSet, HashMap, VecDeque};

/// Messages in one look-up.
const PAGE_MAX: usize = 4_096;
/// Messages looked at to learn what a name stands for.
const FIRST_MAX: usize = 1_024;
/// Messages looked at because they mention one name of the trace.
const MENTIONS_MAX: u64 = 65_536;
/// Messages that are considered as bearers of one id.
const BEARERS_MAX: usize = 64;
/// Conversations listed as related.
const RELATED_MAX: usize = 32;

/// A message of the trace bears this id.
const ID: u8 = 1;
/// The conversation of the trace.
const CONVERSATION: u8 = 1 << 1;
/// A correlation or task of the trace.
const SHARED: u8 = 1 << 2;
/// Its bearers were asked for.
const ASKED_ID: u8 = 1 << 3;
/// All its bearers were offered.
const KNOWN_ID: u8 = 1 << 4;
/// Its mentions were asked for, while it was this or that.
const ASKED_ID_MENTIONS: u8 = 1 << 5;
const ASKED_MENTIONS: u8 = 1 << 6;

/// Collects the messages of one trace.
#[derive(Debug)]
pub struct Gather {
    query: Query,
    pub(super) texts: Texts,
    roles: HashMap<TextId, u8>,
    pub(super) nodes: Vec<Node>,
    by_sequence: HashMap<u64, u32>,
    /// Every kept message by its id.
    bearers: BTreeSet<(TextId, u32)>,
    /// Kept messages by their cause, where it is not clear which message that is.
    waiting: BTreeSet<(TextId, u32)>,
    stage: Stage,
    hits: Hits,
    seed: Option<(By, TextId)>,
    /// Where the next page of the seed begins.
    page: Option<u64>,
    jobs: VecDeque<Job>,
    /// Ids whose meaning may have changed for everybody who waits for them, or for one.
    unclear: VecDeque<(TextId, Option<u32>)>,
    /// Candidates that the pending look-up had before, under the same name.
    seen: u64,
    seeds_left: usize,
    linked_left: usize,
    others_left: usize,
    first_seed: u64,
    last_seed: u64,
    pub(super) is_cut: bool,
    pub(super) related: Vec<(TextId, TextId)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Finding out what the name stands for.
    Looking,
    /// Reading the conversation.
    Seeds,
    /// Following links.
    Links,
}

#[derive(Clone, Copy, Debug)]
enum Job {
    Bearers(TextId),
    Mentions(TextId, u64, u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Seed,
    Linked,
}

impl Gather {
    /// Begins.
    #[must_use]
    pub fn new(query: Query) -> Self {
        let mut texts = Texts::default();
        let name = texts.keep(&query.text);
        let mut jobs = VecDeque::new();
        if matches!(query.by, None | Some(By::Message)) {
            jobs.push_back(Job::Bearers(name));
        }
        if query.by != Some(By::Message) {
            jobs.push_back(Job::Mentions(name, 0, 0));
        }
        let limit = query.limit.max(1);
        Self {
            query,
            texts,
            roles: HashMap::new(),
            nodes: Vec::new(),
            by_sequence: HashMap::new(),
            bearers: BTreeSet::new(),
            waiting: BTreeSet::new(),
            stage: Stage::Looking,
            hits: Hits::default(),
            seed: None,
            page: None,
            jobs,
            unclear: VecDeque::new(),
            seen: 0,
            seeds_left: limit,
            linked_left: limit,
            others_left: limit,
            first_seed: u64::MAX,
            last_seed: 0,
            is_cut: false,
            related: Vec::new(),
        }
    }

    /// What to look up next; none when the trace is complete.
    pub fn ask(&mut self) -> Option<Ask> {
        loop {
            match self.stage {
                Stage::Looking if self.jobs.is_empty() => {
                    let home = self.hits.home(&self.query, &mut self.texts)?;
                    self.begin(home);
                }
                Stage::Seeds => match (self.page.take(), self.seed) {
                    (Some(after), Some((_, text))) => {
                        return Some(Ask::Mention {
                            text: self.texts.share(text),
                            after,
                            // One more tells that there is more.
                            limit: PAGE_MAX.min(self.seeds_left + 1),
                        });
                    }
                    _ => self.stage = Stage::Links,
                },
                Stage::Looking | Stage::Links => match self.jobs.pop_front()? {
                    Job::Bearers(id) if self.is_clear(id) => {
                        // Asked again when somebody from elsewhere names it.
                        *self.roles.entry(id).or_default() &= !ASKED_ID;
                    }
                    Job::Bearers(id) => return Some(Ask::Id(self.texts.share(id))),
                    Job::Mentions(text, after, seen) => {
                        self.seen = seen;
                        return Some(Ask::Mention {
                            text: self.texts.share(text),
                            after,
                            limit: FIRST_MAX,
                        });
                    }
                },
            }
        }
    }

    /// Whether a message with this sequence was taken; it need not be read again.
    #[must_use]
    pub fn knows(&self, sequence: u64) -> bool {
        let at = self.by_sequence.get(&sequence);
        at.and_then(|at| self.node(*at))
            .is_some_and(|node| node.is_member)
    }

    /// A message that a look-up found.
    pub fn offer(&mut self, message: &Offered<'_>) {
        if self.stage == Stage::Looking {
            self.hits.note(&self.query, message, &mut self.texts);
            return;
        }
        let link = self.link(message).filter(|link| {
            let is_early = message.sequence <= self.query.after;
            match link {
                _ if is_early => false,
                Link::Seed if self.seeds_left == 0 => {
                    self.is_cut = true;
                    false
                }
                Link::Seed => true,
                Link::Linked => {
                    self.is_cut |= self.linked_left == 0;
                    self.linked_left > 0
                }
            }
        });
        match (self.by_sequence.get(&message.sequence).copied(), link) {
            (Some(at), Some(link)) => self.take(at, link),
            (Some(_), None) => {}
            (None, Some(link)) => {
                let at = self.keep(message);
                self.take(at, link);
            }
            (None, None) => self.consider(message),
        }
        self.clear_up();
    }

    /// Everything that this look-up found has been offered; `last` is the last sequence when more may
    /// follow it.
    pub fn answered(&mut self, ask: &Ask, last: Option<u64>) {
        match (self.stage, ask) {
            (Stage::Looking, _) => {}
            (Stage::Seeds, _) => self.page = last.filter(|_| !self.is_cut),
            (Stage::Links, Ask::Id(id)) => {
                if let Some(id) = self.texts.find(id) {
                    self.mark(id, KNOWN_ID);
                    self.unclear.push_back((id, None));
                    self.clear_up();
                }
            }
            (Stage::Links, Ask::Mention { text, .. }) => {
                let (Some(text), Some(last)) = (self.texts.find(text), last) else {
                    return;
                };
                let seen = self.seen + FIRST_MAX as u64;
                if self.linked_left > 0 && seen < MENTIONS_MAX {
                    self.jobs.push_back(Job::Mentions(text, last, seen));
                } else {
                    self.is_cut = true;
                }
            }
        }
    }

    /// The trace.
    #[must_use]
    pub fn finish(self) -> Found {
        if self.stage == Stage::Looking {
            return Found::Nothing;
        }
        let is_same = |hit: &Hit| {
            let seed = self.seed.map(|(by, text)| Home::All(by, text));
            Some(hit.home) == seed || self.knows(hit.sequence)
        };
        let is_named = matches!(self.query.by, Some(By::Task | By::Correlation));
        // A part of a trace cannot tell what belongs to the rest.
        let is_whole = self.query.after == 0 && !self.is_cut;
        if is_whole && !is_named && !self.hits.hits.iter().all(is_same) {
            return Found::Several(self.hits.candidates(&self.texts));
        }
        let next = self.is_cut.then_some(self.last_seed);
        Found::Trace(Box::new(Trace::grow(self, next)))
    }

    /// The name that was asked for.
    pub(super) fn query(&self) -> &Query {
        &self.query
    }

    /// What the trace began with.
    pub(super) fn seed(&self) -> Option<(By, TextId)> {
        self.seed
    }

    /// The kept messages that bear an id.
    pub(super) fn bearers_of(&self, id: TextId) -> impl Iterator<Item = (u32, &Node)> {
        let range = self.bearers.range((id, 0)..=(id, u32::MAX));
        range
            .filter_map(|(_, at)| Some((*at, self.node(*at)?)))
            .take(BEARERS_MAX)
    }

    fn begin(&mut self, home: Home) {
        self.jobs.clear();
        match home {
            Home::All(by, text) => {
                self.stage = Stage::Seeds;
                self.seed = Some((by, text));
                self.page = Some(self.query.after);
                if by == By::Conversation {
                    self.mark(text, CONVERSATION | ASKED_ID);
                    self.jobs.push_back(Job::Bearers(text));
                }
                // Its mentions are the pages of the seed.
                self.mark(text, ASKED_MENTIONS);
            }
            Home::Alone(sequence) => {
                self.stage = Stage::Links;
                let alone = std::mem::take(&mut self.hits.alone);
                for node in alone.into_iter().filter(|node| node.sequence == sequence) {
                    let at = self.insert(node);
                    self.take(at, Link::Seed);
                }
            }
        }
    }

    fn keep(&mut self, message: &Offered<'_>) -> u32 {
        let node = Node::new(message, &mut self.texts);
        self.insert(node)
    }

    fn insert(&mut self, node: Node) -> u32 {
        let at = self.nodes.len() as u32;
        self.by_sequence.insert(node.sequence, at);
        self.bearers.insert((node.id, at));
        self.nodes.push(node);
        at
    }

    /// Makes a kept message one of the trace.
    fn take(&mut self, at: u32, link: Link) {
        let Some(node) = self.nodes.get_mut(at as usize) else {
            return;
        };
        if node.is_member {
            return;
        }
        node.is_member = true;
        let (sequence, id, cause) = (node.sequence, node.id, node.cause);
        let (conversation, correlation, task) = (node.conversation, node.correlation, node.task);
        match link {
            Link::Seed => {
                self.seeds_left = self.seeds_left.saturating_sub(1);
                self.first_seed = self.first_seed.min(sequence);
                self.last_seed = self.last_seed.max(sequence);
            }
            Link::Linked => self.linked_left = self.linked_left.saturating_sub(1),
        }
        if self.role(id) & ASKED_ID_MENTIONS == 0 {
            // Even when they were asked for before: then nobody knew that this is a cause.
            self.jobs.push_back(Job::Mentions(id, 0, 0));
        }
        self.mark(id, ID | ASKED_ID_MENTIONS);
        let is_of_us = match self.seed {
            Some((By::Conversation, seed)) => conversation.is_none_or(|own| own == seed),
            Some(_) | None => true,
        };
        for shared in [correlation, task].into_iter().flatten() {
            if is_of_us {
                self.mark(shared, SHARED);
                self.ask_mentions(shared);
            }
        }
        if let Some(cause) = cause {
            self.wait_for(cause, at);
        }
        self.unclear.push_back((id, None));
    }

    fn ask_mentions(&mut self, text: TextId) {
        if self.role(text) & (ASKED_MENTIONS | ASKED_ID_MENTIONS) == 0 {
            self.mark(text, ASKED_MENTIONS);
            self.jobs.push_back(Job::Mentions(text, 0, 0));
        }
    }

    fn wait_for(&mut self, cause: TextId, at: u32) {
        self.waiting.insert((cause, at));
        if self.role(cause) & ASKED_ID == 0 {
            self.mark(cause, ASKED_ID);
            self.jobs.push_back(Job::Bearers(cause));
        }
    }

    fn node(&self, at: u32) -> Option<&Node> {
        self.nodes.get(at as usize)
    }

    fn role(&self, text: TextId) -> u8 {
        self.roles.get(&text).copied().unwrap_or_default()
    }

    fn mark(&mut self, text: TextId, role: u8) {
        *self.roles.entry(text).or_default() |= role;
    }
}
