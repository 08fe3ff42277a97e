//! Money-like amounts that add up exactly.

use std::fmt;

/// A non-negative amount in millionths of a unit. Doubles would drift: ten costs of 0.1 are one unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount(u128);

const PER_UNIT: f64 = 1_000_000.0;

impl Amount {
    /// From units, to the nearest millionth. Negative is nothing; anything positive is at least one
    /// millionth; what is too large is the largest amount.
    #[must_use]
    pub fn from_units(units: f64) -> Self {
        if units > 0.0 {
            Self(((units * PER_UNIT).round() as u128).max(1))
        } else {
            Self(0)
        }
    }

    pub(super) fn millionths(self) -> u128 {
        self.0
    }

    pub(super) fn from_millionths(millionths: u128) -> Self {
        Self(millionths)
    }

    /// True for nothing.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The sum, or the largest amount.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, or nothing.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (units, millionths) = (self.0 / 1_000_000, self.0 % 1_000_000);
        if millionths == 0 {
            return write!(f, "{units}");
        }
        write!(
            f,
            "{units}.{}",
            format!("{millionths:06}").trim_end_matches('0')
        )
    }
}
