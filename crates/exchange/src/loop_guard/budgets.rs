//! Turns counted in windows of time, for a bounded number of names.

use super::FixedHash;
use protocol::Timestamp;
use std::collections::{HashMap, VecDeque};

#[derive(Debug, Default, PartialEq)]
pub(super) struct Budgets {
    pub(super) windows: HashMap<u64, Window, FixedHash>,
    /// Names in the order they were first counted, so that the oldest goes first.
    pub(super) order: VecDeque<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) start: Timestamp,
    pub(super) turns: u32,
}

impl Budgets {
    /// Counts one more; the count in the present window.
    pub(super) fn count(&mut self, key: u64, now: Timestamp, window_ms: i64, max: usize) -> u32 {
        if !self.windows.contains_key(&key) {
            self.order.push_back(key);
            while self.order.len() > max.max(1) {
                if let Some(oldest) = self.order.pop_front() {
                    self.windows.remove(&oldest);
                }
            }
        }
        let fresh = Window {
            start: now,
            turns: 0,
        };
        let window = self.windows.entry(key).or_insert(fresh);
        if now >= window.start.plus_millis(window_ms) || now < window.start {
            *window = fresh;
        }
        window.turns = window.turns.saturating_add(1);
        window.turns
    }
}
