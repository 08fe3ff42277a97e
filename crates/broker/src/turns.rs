//! Whose turn it is: what waits for the loop, by connection, each in its own order.
//!
//! Connections take turns of a few requests each. One that sends a thousand at once is served as it
//! goes, and one that sends a single request waits for a few of every other, never for a thousand.

use std::collections::{HashMap, VecDeque};

/// Requests of one connection before the next has its turn.
const TURN: usize = 16;

/// What waits, by connection.
#[derive(Debug)]
pub(crate) struct Turns<T> {
    waiting: HashMap<u64, VecDeque<T>>,
    /// Connections with something that waits; the first has its turn.
    order: VecDeque<u64>,
    /// What is left of the first one's turn.
    left: usize,
    length: usize,
    /// Empty queues, kept for their memory.
    spare: Vec<VecDeque<T>>,
}

/// Empty queues that are kept.
const SPARE_MAX: usize = 16;

impl<T> Default for Turns<T> {
    fn default() -> Self {
        Self {
            waiting: HashMap::default(),
            order: VecDeque::new(),
            left: TURN,
            length: 0,
            spare: Vec::new(),
        }
    }
}

impl<T> Turns<T> {
    /// Adds requests of one connection behind its earlier ones.
    pub(crate) fn push(&mut self, number: u64, requests: impl IntoIterator<Item = T>) {
        let spare = &mut self.spare;
        let queue = self.waiting.entry(number);
        let queue = queue.or_insert_with(|| spare.pop().unwrap_or_default());
        let before = queue.len();
        queue.extend(requests);
        let added = queue.len() - before;
        self.length += added;
        if before == 0 && added > 0 {
            self.order.push_back(number);
        }
    }

    /// The next request.
    pub(crate) fn next(&mut self) -> Option<T> {
        let number = *self.order.front()?;
        let queue = self.waiting.get_mut(&number)?;
        let request = queue.pop_front()?;
        self.length -= 1;
        self.left -= 1;
        if queue.is_empty() {
            let emptied = self.waiting.remove(&number);
            if self.spare.len() < SPARE_MAX {
                self.spare.extend(emptied);
            }
            self.order.pop_front();
            self.left = TURN;
        } else if self.left == 0 {
            self.order.rotate_left(1);
            self.left = TURN;
        }
        Some(request)
    }

    pub(crate) fn len(&self) -> usize {
        self.length
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.length == 0
    }
}

#[cfg(test)]
mod tests {
    use super::{TURN, Turns};

    fn all(turns: &mut Turns<(u64, usize)>) -> Vec<(u64, usize)> {
        std::iter::from_fn(|| turns.next()).collect()
    }

    #[test]
    fn a_storm_of_one_lets_a_single_request_of_another_pass() {
        let mut turns = Turns::default();
        turns.push(1, (0..1_000).map(|n| (1, n)));
        turns.push(2, [(2, 0)]);
        let served = all(&mut turns);
        assert_eq!(served.len(), 1_001);
        assert_eq!(served.iter().position(|one| *one == (2, 0)), Some(TURN));
        assert!(turns.is_empty());
    }

    #[test]
    fn each_keeps_its_own_order_and_nobody_is_forgotten() {
        let mut turns = Turns::default();
        for round in 0..5 {
            for number in 0..7 {
                let from = round * 40;
                turns.push(number, (from..from + 40).map(|n| (number, n)));
            }
        }
        assert_eq!(turns.len(), 5 * 7 * 40);
        let served = all(&mut turns);
        for number in 0..7 {
            let own = served.iter().filter(|one| one.0 == number);
            let own: Vec<_> = own.map(|one| one.1).collect();
            assert_eq!(own, (0..200).collect::<Vec<_>>());
        }
        // No connection is ever more than one turn ahead of another.
        let mut counts = [0_usize; 7];
        for (number, _) in &served[..served.len() - 7 * TURN] {
            counts[usize::try_from(*number).unwrap()] += 1;
            let (least, most) = (counts.iter().min(), counts.iter().max());
            assert!(most.unwrap() - least.unwrap() <= TURN);
        }
    }

    #[test]
    fn a_connection_that_comes_back_waits_behind_the_others() {
        let mut turns = Turns::default();
        turns.push(1, (0..TURN).map(|n| (1, n)));
        turns.push(2, [(2, 0)]);
        for _ in 0..TURN {
            assert_eq!(turns.next().unwrap().0, 1);
        }
        turns.push(1, [(1, 99)]);
        assert_eq!(all(&mut turns), [(2, 0), (1, 99)]);
    }
}
