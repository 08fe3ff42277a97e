//! A live channel: what matched one filter since somebody began to listen, as sequences.
//!
//! Readers with equal filters share one channel. It holds positions, never bytes, and at most
//! `matches_max` of them: a reader that falls behind reads the file instead. Publishers never wait
//! for readers.

use exchange::ChannelId;
use parking_lot::Mutex;
use protocol::Filter;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use tokio::sync::watch;

#[derive(Debug)]
pub(crate) struct Channel {
    pub id: ChannelId,
    pub filter: Filter,
    matches_max: usize,
    readers: AtomicUsize,
    matched: Mutex<Matched>,
    /// Bytes of all matches so far.
    bytes: AtomicU64,
    turn: watch::Sender<u64>,
}

#[derive(Debug)]
struct Matched {
    /// Every match after this sequence is in `sequences`.
    floor: u64,
    /// Matches that were forgotten: those up to the floor since somebody began to listen.
    forgotten: u64,
    sequences: VecDeque<u64>,
}

impl Matched {
    /// How many matches come up to `position`, counted from when somebody began to listen; none when
    /// it lies below what is remembered.
    fn ordinal(&self, position: u64) -> Option<u64> {
        (position >= self.floor).then(|| self.forgotten + self.up_to(position) as u64)
    }

    fn up_to(&self, position: u64) -> usize {
        self.sequences
            .partition_point(|sequence| *sequence <= position)
    }
}

/// Where a reader that may miss some goes on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Skip {
    /// The last sequence that is passed over.
    pub to: u64,
    /// Matches up to there, counted as [`Channel::ordinal`] counts.
    pub ordinal: u64,
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
                forgotten: 0,
                sequences: VecDeque::new(),
            }),
            bytes: AtomicU64::new(0),
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

    /// Notes a durable match and its size.
    pub(crate) fn push(&self, sequence: u64, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let mut matched = self.matched.lock();
        matched.sequences.push_back(sequence);
        if matched.sequences.len() > self.matches_max
            && let Some(oldest) = matched.sequences.pop_front()
        {
            matched.floor = oldest;
            matched.forgotten += 1;
        }
    }

    /// Nothing comes after `last`, whatever was to be expected.
    pub(crate) fn end_at(&self, last: u64) {
        let mut matched = self.matched.lock();
        matched.floor = matched.floor.min(last);
    }

    /// Bytes of everything that matched so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
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
        let skip = matched.up_to(position);
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

    /// Matches up to `position` since somebody began to listen; none below what is remembered.
    pub(crate) fn ordinal(&self, position: u64) -> Option<u64> {
        self.matched.lock().ordinal(position)
    }

    /// Matches after `position` and up to `to`, when all of them are remembered.
    pub(crate) fn count(&self, position: u64, to: u64) -> Option<u64> {
        let matched = self.matched.lock();
        Some(matched.ordinal(to)? - matched.ordinal(position)?)
    }

    /// Where to go on when more than `max` wait behind `position`, so that the newer half of `max`
    /// is left; none when no more wait. What is not remembered counts by its records.
    pub(crate) fn skip(&self, position: u64, max: usize) -> Option<Skip> {
        let matched = self.matched.lock();
        let waiting = matched.sequences.len() - matched.up_to(position);
        let unknown = matched.floor.saturating_sub(position);
        if waiting as u64 + unknown <= max as u64 {
            return None;
        }
        let passed = matched.sequences.len().saturating_sub(max.div_ceil(2));
        let to = match passed.checked_sub(1) {
            Some(last) => matched.sequences.get(last).copied(),
            None => None,
        };
        let to = to.unwrap_or(matched.floor).max(matched.floor);
        Some(Skip {
            to,
            ordinal: matched.ordinal(to)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Channel, Next, Skip};
    use exchange::ChannelId;
    use protocol::Filter;

    /// Matches 10, 20, ... after a floor of 5; the last four are remembered.
    fn channel(matches: u64) -> Channel {
        let channel = Channel::new(ChannelId(1), Filter::default(), 5, 4);
        (1..=matches).for_each(|n| channel.push(n * 10, 100));
        channel
    }

    #[test]
    fn matches_are_counted_as_far_as_they_are_remembered() {
        let channel = channel(6);
        assert_eq!(channel.bytes(), 600);
        assert_eq!(channel.ordinal(19), None);
        assert_eq!(channel.ordinal(20), Some(2));
        assert_eq!(channel.ordinal(99), Some(6));
        assert_eq!(channel.count(25, 50), Some(3));
        assert_eq!(channel.count(15, 50), None);
        assert!(matches!(channel.after(19, 9), Next::ReadFile { until: 20 }));
    }

    #[test]
    fn a_reader_that_may_miss_some_is_taken_to_the_newer_half() {
        let skip = |to, ordinal| Some(Skip { to, ordinal });
        assert_eq!(channel(3).skip(5, 3), None);
        assert_eq!(channel(3).skip(5, 2), skip(20, 2));
        assert_eq!(channel(6).skip(40, 2), None);
        assert_eq!(channel(6).skip(30, 2), skip(50, 5));
        // Fifteen records before the floor, of which nobody knows how many match.
        assert_eq!(channel(6).skip(5, 18), skip(20, 2));
        assert_eq!(channel(6).skip(5, 19), None);
        assert_eq!(channel(0).skip(1, 3), skip(5, 0));
    }
}
