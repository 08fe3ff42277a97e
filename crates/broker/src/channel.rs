//! A live channel: what matched one filter since somebody began to listen, as sequences.
//!
//! Readers with equal filters share one channel. It holds positions, never bytes, and at most
//! `matches_max` of them: a reader that falls behind reads the file instead. Publishers never wait
//! for readers.

use exchange::ChannelId;
use parking_lot::Mutex;
use protocol::Filter;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::watch;

#[derive(Debug)]
pub(crate) struct Channel {
    pub id: ChannelId,
    pub filter: Filter,
    matches_max: usize,
    readers: AtomicUsize,
    matched: Mutex<Matched>,
    turn: watch::Sender<u64>,
}

#[derive(Debug)]
struct Matched {
    /// Every match after this sequence is in `sequences`.
    floor: u64,
    sequences: VecDeque<u64>,
}

/// What a reader at some position finds.
pub(crate) enum Next {
    /// Positions of the next matches; none yet when empty.
    Matches(Vec<u64>),
    /// The channel does not reach back that far: read the file up to this sequence.
    ReadFile { until: u64 },
}

impl Channel {
    pub(crate) fn new(id: ChannelId, filter: Filter, floor: u64, matches_max: usize) -> Self {
        Self {
            id,
            filter,
            matches_max,
            readers: AtomicUsize::new(0),
            matched: Mutex::new(Matched {
                floor,
                sequences: VecDeque::new(),
            }),
            turn: watch::Sender::new(0),
        }
    }

    /// Counts one more reader.
    pub(crate) fn join(&self) {
        self.readers.fetch_add(1, Ordering::AcqRel);
    }

    /// Counts one reader less; true when it was the last.
    pub(crate) fn leave(&self) -> bool {
        self.readers.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Notes a durable match.
    pub(crate) fn push(&self, sequence: u64) {
        let mut matched = self.matched.lock();
        matched.sequences.push_back(sequence);
        if matched.sequences.len() > self.matches_max
            && let Some(oldest) = matched.sequences.pop_front()
        {
            matched.floor = oldest;
        }
    }

    /// Wakes all readers once.
    pub(crate) fn wake(&self) {
        self.turn.send_modify(|turn| *turn += 1);
    }

    /// Sees every [`Self::wake`] after this call.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.turn.subscribe()
    }

    /// What comes after `position`.
    pub(crate) fn after(&self, position: u64, max: usize) -> Next {
        let matched = self.matched.lock();
        if position < matched.floor {
            return Next::ReadFile {
                until: matched.floor,
            };
        }
        let skip = matched
            .sequences
            .partition_point(|sequence| *sequence <= position);
        Next::Matches(
            matched
                .sequences
                .iter()
                .skip(skip)
                .take(max)
                .copied()
                .collect(),
        )
    }
}
