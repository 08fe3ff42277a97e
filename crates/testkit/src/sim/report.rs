//! What happened in many runs, in numbers.

use std::collections::BTreeMap;
use std::fmt;

/// Counts by name.
#[derive(Clone, Debug, Default)]
pub struct Report(BTreeMap<&'static str, u64>);

impl Report {
    /// Counts one more.
    pub fn count(&mut self, what: &'static str) {
        self.add(what, 1);
    }

    /// Counts some more.
    pub fn add(&mut self, what: &'static str, count: u64) {
        *self.0.entry(what).or_default() += count;
    }

    /// Adds another run's counts.
    pub fn extend(&mut self, other: &Self) {
        for (what, count) in &other.0 {
            self.add(what, *count);
        }
    }

    /// One count.
    pub fn get(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or(0)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, count) in &self.0 {
            writeln!(f, "{count:>12}  {what}")?;
        }
        Ok(())
    }
}
