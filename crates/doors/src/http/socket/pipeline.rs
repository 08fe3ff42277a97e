//! Publishes of one socket between their frame and their receipt.

use super::frame::Reference;
use broker::{Published, Submission};
use std::collections::VecDeque;
use tokio::sync::mpsc;

/// One publish that was handed to the exchange.
#[derive(Debug)]
pub(crate) struct Pending {
    pub reference: Reference,
    pub dialect: &'static str,
}

/// The pipeline: numbers out, results in.
#[derive(Debug)]
pub(crate) struct Pipeline {
    /// Number of the first slot.
    first: u64,
    /// `None` where the result has come but an earlier one has not.
    slots: VecDeque<Option<Pending>>,
    open: usize,
    /// Publishes that arrived together and are handed over together.
    pub together: Vec<Submission>,
    pub results: mpsc::UnboundedReceiver<(u64, Published)>,
    pub submit: mpsc::UnboundedSender<(u64, Published)>,
}

impl Pipeline {
    pub(crate) fn new() -> Self {
        let (submit, results) = mpsc::unbounded_channel();
        Self {
            first: 0,
            slots: VecDeque::new(),
            open: 0,
            together: Vec::new(),
            results,
            submit,
        }
    }

    /// Publishes without a result yet.
    pub(crate) fn open(&self) -> usize {
        self.open
    }

    /// The number that the next publish will have.
    pub(crate) fn next(&self) -> u64 {
        self.first + self.slots.len() as u64
    }

    /// Notes a publish under [`Self::next`].
    pub(crate) fn push(&mut self, pending: Pending) {
        self.slots.push_back(Some(pending));
        self.open += 1;
    }

    /// Takes the publish whose result has come.
    pub(crate) fn take(&mut self, number: u64) -> Option<Pending> {
        let at = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let pending = self.slots.get_mut(at)?.take()?;
        self.open -= 1;
        while let Some(None) = self.slots.front() {
            self.slots.pop_front();
            self.first += 1;
        }
        Some(pending)
    }
}

#[cfg(test)]
mod tests {
    use super::{Pending, Pipeline};

    #[test]
    fn results_find_their_publish_in_any_order_and_only_once() {
        let mut pipeline = Pipeline::new();
        for name in ["a", "b", "c"] {
            assert_eq!(
                pipeline.next(),
                ["a", "b", "c"].iter().position(|n| *n == name).unwrap() as u64
            );
            pipeline.push(Pending {
                reference: name.into(),
                dialect: "aee",
            });
        }
        let mut take = |number| {
            pipeline
                .take(number)
                .map(|pending| pending.reference.to_string())
        };
        assert_eq!(take(1).as_deref(), Some("b"));
        assert_eq!(take(1), None);
        assert_eq!(take(0).as_deref(), Some("a"));
        assert_eq!(take(9), None);
        assert_eq!(take(2).as_deref(), Some("c"));
        assert_eq!((pipeline.open(), pipeline.next()), (0, 3));
    }
}
