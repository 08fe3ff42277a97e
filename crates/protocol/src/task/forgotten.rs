//! Which names may belong to tasks that only the journal knows: a Bloom filter.
//!
//! It says "certainly not" or "perhaps"; perhaps costs a look-up. Its size is fixed. With a million
//! names about one new name in four hundred costs a look-up in vain, with five million one in five.

use super::kept::Name;
use crate::wire::{Reader, WireError, put_varint};

/// Two MiB.
const BITS: u32 = 1 << 24;

const WORDS: usize = BITS as usize / 64;

/// The names of forgotten tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Forgotten {
    /// Empty until the first name.
    bits: Vec<u64>,
    until: u64,
}

impl Forgotten {
    pub(super) fn is_empty(&self) -> bool {
        self.bits.is_empty()
    }

    /// Adds a name of a task whose last envelope has that sequence.
    pub(super) fn add(&mut self, name: Name, last: u64) {
        if self.bits.is_empty() {
            self.bits = vec![0; WORDS];
        }
        self.until = self.until.max(last);
        for (word, bit) in places(name) {
            if let Some(word) = self.bits.get_mut(word) {
                *word |= bit;
            }
        }
    }

    pub(super) fn may_hold(&self, name: Name) -> bool {
        places(name).all(|(word, bit)| self.bits.get(word).is_some_and(|word| word & bit != 0))
    }

    /// Appends its bytes.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.bits.len() as u64);
        put_varint(out, self.until);
        for word in &self.bits {
            out.extend_from_slice(&word.to_le_bytes());
        }
    }

    /// Reads a filter back.
    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let words = usize::try_from(reader.varint()?).unwrap_or(usize::MAX);
        if words != 0 && words != WORDS {
            return Err(WireError("expected a filter of the size of this build"));
        }
        let until = reader.varint()?;
        let (words, _) = reader.take(words * 8)?.as_chunks();
        let bits = words.iter().copied().map(u64::from_le_bytes).collect();
        Ok(Self { bits, until })
    }

    /// The newest envelope of any of these tasks.
    pub(super) fn until(&self) -> u64 {
        self.until
    }
}

/// Four places: a name is a digest already, so its own bytes are as good as four hashes.
fn places(Name(bytes): Name) -> impl Iterator<Item = (usize, u64)> {
    let number = u128::from_le_bytes(bytes);
    [0, 32, 64, 96].into_iter().map(move |shift| {
        let at = (number >> shift) as u32 % BITS;
        (at as usize / 64, 1_u64 << (at % 64))
    })
}

#[cfg(test)]
mod tests {
    use super::{Forgotten, Name};

    #[test]
    fn what_was_added_is_never_denied_and_little_else_is_held() {
        let mut forgotten = Forgotten::default();
        let name = |n: u32| Name::of(&n.to_string());
        assert!(forgotten.is_empty() && !forgotten.may_hold(name(1)));
        for n in 0..50_000 {
            forgotten.add(name(n), u64::from(n));
        }
        assert!((0..50_000).all(|n| forgotten.may_hold(name(n))));
        let wrong = (50_000..100_000).filter(|n| forgotten.may_hold(name(*n)));
        assert!(wrong.count() < 50);
        assert_eq!(forgotten.until(), 49_999);
    }
}
