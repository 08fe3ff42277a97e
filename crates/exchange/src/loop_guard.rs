//! Stops agents that answer each other for ever.
//!
//! A message that names its cause is a turn: somebody reacted. Its hops are one more than its cause's;
//! what nobody caused, what a human writes and what is played again has none. A chain that
//! reaches the hop limit is a loop, whoever takes part in it. Reactions to reactions are also counted
//! in a window of time, per pair that writes directly to each other and per conversation: a storm that
//! grows in breadth has no long chain.
//!
//! What is stopped is accepted and kept, and goes to nobody. Its sender is told why, once in a chain:
//! an agent that answers even that is stopped in silence.
//!
//! Everything here is a fold over the messages in journal order, so a rebuilt exchange stops what the
//! first would have. Memory is bounded: turns that are forgotten count as a beginning.

mod budgets;
mod snapshot;
mod speech;

use budgets::Budgets;
use foldhash::quality::FixedState;
use protocol::task::SERVICE;
use protocol::{Code, Fault, Header, Party, Timestamp};
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher as _;

pub(crate) use speech::{is_of_stop, sentence, stopped as speak_of_stop};

/// How far automatic turn-taking may go. Zero is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopLimits {
    /// A message with this many causes behind it, since a human wrote or since nobody caused
    /// anything, is stopped.
    pub hops_max: u32,
    /// Reactions to reactions between two parties in one window.
    pub pair_turns_max: u32,
    /// Reactions to reactions in one conversation in one window.
    pub conversation_turns_max: u32,
    /// Milliseconds of a window.
    pub window_ms: i64,
    /// Turns that are remembered.
    pub memory_max: usize,
}

impl Default for LoopLimits {
    /// 64 hops; in a minute 60,000 turns of a pair and 600,000 of a conversation; 65,536 turns
    /// remembered.
    fn default() -> Self {
        Self {
            hops_max: 64,
            pair_turns_max: 60_000,
            conversation_turns_max: 600_000,
            window_ms: 60_000,
            memory_max: 65_536,
        }
    }
}

/// Which limit a message met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the limit of that name")]
pub enum LoopLimit {
    Hops,
    Pair,
    Conversation,
}

impl LoopLimit {
    /// The word in dead letters, metrics and errors.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.code().as_str()
    }

    /// The code of the warning in the receipt and of the error to the sender.
    #[must_use]
    pub fn code(self) -> Code {
        match self {
            Self::Hops => Code::HopLimit,
            Self::Pair => Code::PairBudget,
            Self::Conversation => Code::ConversationBudget,
        }
    }
}

/// Why a message goes to nobody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The limit.
    pub limit: LoopLimit,
    /// What it is set to.
    pub max: u32,
    /// The chain of causes, oldest first, as far as it is remembered, at most the last 65; this message
    /// is the last.
    pub path: Vec<Step>,
    /// Whether the sender was told before, about this chain.
    pub(crate) was_told: bool,
}

impl Stop {
    /// The warning in the sender's receipt.
    #[must_use]
    pub fn warning(&self) -> Fault {
        Fault::new(self.limit.code(), "", "ARCHITECTURE loops", sentence(self))
    }
}

/// One message of a chain of causes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its id.
    pub id: Box<str>,
    /// Its sender; not known of the first, which nobody caused.
    pub sender: Option<Party>,
}

/// Longest path that is told; of a longer one its end.
const PATH_MAX: usize = 65;

/// One remembered reaction.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Turn {
    id: Box<str>,
    sender: Party,
    /// Its cause, when that is remembered too.
    parent: Option<u64>,
    /// The id of its cause.
    cause: Box<str>,
    hops: u32,
    /// Somebody was told that this chain was stopped.
    is_told: bool,
    /// Under which it is found: by conversation and id, and by id alone.
    keys: [u64; 2],
}

/// The turns and budgets of one space.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct LoopGuard {
    /// The number of the first of `turns`.
    first: u64,
    turns: VecDeque<Turn>,
    by_key: HashMap<u64, u64, FixedHash>,
    pairs: Budgets,
    conversations: Budgets,
}

/// The same hash on every machine and at every start.
#[derive(Clone, Debug)]
struct FixedHash(FixedState);

impl Default for FixedHash {
    fn default() -> Self {
        Self(FixedState::with_seed(0))
    }
}

impl std::hash::BuildHasher for FixedHash {
    type Hasher = <FixedState as std::hash::BuildHasher>::Hasher;

    fn build_hasher(&self) -> Self::Hasher {
        self.0.build_hasher()
    }
}

impl LoopGuard {
    /// Notes a message that is accepted at `now`; says so when it must go to nobody.
    pub(crate) fn observe(
        &mut self,
        limits: &LoopLimits,
        now: Timestamp,
        header: &Header,
    ) -> Option<Stop> {
        let cause = header.cause.as_deref()?;
        // Somebody wrote it, or has it played again.
        if header.sender.kind() == Some("human") || header.replay_of.is_some() {
            return None;
        }
        let is_own = header.sender.as_str() == SERVICE;
        let parent = self.find(header.conversation.as_deref(), cause);
        let (hops, is_told) = parent
            .and_then(|number| self.turn(number))
            .map_or((1, false), |parent| (parent.hops + 1, parent.is_told));
        let limit = self
            .limit(limits, now, header, hops)
            // The exchange's own words end a chain, they do not take part in it.
            .filter(|_| !is_own);
        let number = self.remember(header, cause, parent, hops, is_told);
        let stop = limit.map(|(limit, max)| Stop {
            limit,
            max,
            path: self.path(number),
            was_told: is_told,
        });
        if stop.is_some() {
            // Whatever else reacts to the same cause, or to this, is stopped in silence.
            for number in [Some(number), parent].into_iter().flatten() {
                if let Some(turn) = self.turn_mut(number) {
                    turn.is_told = true;
                }
            }
        }
        self.shrink(limits.memory_max);
        stop
    }

    fn limit(
        &mut self,
        limits: &LoopLimits,
        now: Timestamp,
        header: &Header,
        hops: u32,
    ) -> Option<(LoopLimit, u32)> {
        let is_over = |count: u32, max: u32| max > 0 && count >= max;
        if is_over(hops, limits.hops_max) {
            return Some((LoopLimit::Hops, limits.hops_max));
        }
        // The first reactions to what somebody began are work; reactions to those are a conversation
        // that runs by itself.
        if hops < 2 {
            return None;
        }
        let room = limits.memory_max;
        if let [recipient] = header.recipients.as_slice()
            && limits.pair_turns_max > 0
        {
            let mut pair = [header.sender.as_str(), recipient.as_str()];
            pair.sort_unstable();
            let turns = self.pairs.count(hash(&pair), now, limits.window_ms, room);
            if turns > limits.pair_turns_max {
                return Some((LoopLimit::Pair, limits.pair_turns_max));
            }
        }
        if let Some(conversation) = &header.conversation
            && limits.conversation_turns_max > 0
        {
            let key = hash(&[conversation]);
            let turns = self.conversations.count(key, now, limits.window_ms, room);
            if turns > limits.conversation_turns_max {
                return Some((LoopLimit::Conversation, limits.conversation_turns_max));
            }
        }
        None
    }

    fn remember(
        &mut self,
        header: &Header,
        cause: &str,
        parent: Option<u64>,
        hops: u32,
        is_told: bool,
    ) -> u64 {
        let keys = keys(header.conversation.as_deref(), &header.id);
        let number = self.first + self.turns.len() as u64;
        self.turns.push_back(Turn {
            id: header.id.clone(),
            sender: header.sender.clone(),
            parent,
            cause: cause.into(),
            hops,
            is_told,
            keys,
        });
        for key in keys {
            // Of several with one id the one with fewer hops: nobody is stopped for another's loop.
            let known = self.by_key.get(&key).and_then(|known| self.turn(*known));
            if known.is_none_or(|known| known.id != header.id || known.hops >= hops) {
                self.by_key.insert(key, number);
            }
        }
        number
    }

    /// The turn with this id, in this conversation or else in any.
    fn find(&self, conversation: Option<&str>, id: &str) -> Option<u64> {
        keys(conversation, id).into_iter().find_map(|key| {
            let number = *self.by_key.get(&key)?;
            self.turn(number)
                .filter(|turn| *turn.id == *id)
                .map(|_| number)
        })
    }

    fn path(&self, number: u64) -> Vec<Step> {
        let mut path = Vec::new();
        let mut next = Some(number);
        // A parent is older than its effect, so this would end without a limit, too.
        while path.len() < PATH_MAX
            && let Some(turn) = next.and_then(|number| self.turn(number))
        {
            path.push(Step {
                id: turn.id.clone(),
                sender: Some(turn.sender.clone()),
            });
            let is_first = turn.parent.and_then(|parent| self.turn(parent)).is_none();
            if is_first && path.len() < PATH_MAX {
                path.push(Step {
                    id: turn.cause.clone(),
                    sender: None,
                });
            }
            next = turn.parent;
        }
        path.reverse();
        path
    }

    fn turn(&self, number: u64) -> Option<&Turn> {
        let at = number.checked_sub(self.first)?;
        self.turns.get(usize::try_from(at).ok()?)
    }

    fn turn_mut(&mut self, number: u64) -> Option<&mut Turn> {
        let at = number.checked_sub(self.first)?;
        self.turns.get_mut(usize::try_from(at).ok()?)
    }

    fn shrink(&mut self, memory_max: usize) {
        while self.turns.len() > memory_max {
            let Some(turn) = self.turns.pop_front() else {
                return;
            };
            for key in turn.keys {
                if self.by_key.get(&key) == Some(&self.first) {
                    self.by_key.remove(&key);
                }
            }
            self.first += 1;
        }
    }
}

fn keys(conversation: Option<&str>, id: &str) -> [u64; 2] {
    let alone = hash(&[id]);
    let within = conversation.map_or(alone, |conversation| hash(&[conversation, id]));
    [within, alone]
}

fn hash(texts: &[&str]) -> u64 {
    FixedState::with_seed(0).hash_one(texts)
}
