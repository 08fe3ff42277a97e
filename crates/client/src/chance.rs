//! Random bits without a dependency: for jitter and for ids, never for secrets.
//!
//! The standard library seeds every [`RandomState`] from the system and keys a hash function with
//! it, which makes its output unpredictable enough not to collide between processes.

use std::hash::{BuildHasher, Hasher, RandomState};

/// 64 random bits.
#[must_use]
pub fn bits() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// 128 random bits.
#[must_use]
pub fn wide_bits() -> u128 {
    (u128::from(bits()) << 64) | u128::from(bits())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    #[test]
    fn bits_do_not_repeat() {
        let drawn: HashSet<u128> = (0..1_000).map(|_| super::wide_bits()).collect();
        assert_eq!(drawn.len(), 1_000);
    }
}
