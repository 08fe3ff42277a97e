//! A Bloom filter in blocks of one cache line: says for most keys that a file does not hold them.
//!
//! A key belongs to one block, chosen by its upper half, and sets six bits there, chosen by its lower
//! half: keys are digests, so their bits are as good as any hash. Blocks are in the order of the
//! keys, so that a file in that order writes its filter as it goes, and one block can be read alone.
//! Twelve bits a key let about one foreign key in two hundred pass.

/// Words of one block.
pub(super) const BLOCK_WORDS: usize = 8;
/// Bytes of one block.
pub(super) const BLOCK_BYTES: usize = BLOCK_WORDS * 8;
const BITS_PER_KEY: u64 = 12;
const BITS_PER_BLOCK: u64 = BLOCK_BYTES as u64 * 8;
const PROBES: u32 = 6;

/// One block.
pub(super) type Block = [u64; BLOCK_WORDS];

/// How many blocks so many keys need.
pub(super) fn blocks_for(keys: u64) -> u64 {
    (keys.saturating_mul(BITS_PER_KEY))
        .div_ceil(BITS_PER_BLOCK)
        .max(1)
}

/// Where in `0..parts` a key belongs; grows with the key.
pub(super) fn part_of(key: &[u8; 16], parts: u64) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *key;
    let upper = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
    ((u128::from(upper) * u128::from(parts)) >> 64) as u64
}

/// Adds a key to its block.
pub(super) fn set(block: &mut Block, key: &[u8; 16]) {
    for (word, bit) in probes(key) {
        if let Some(word) = block.get_mut(word) {
            *word |= bit;
        }
    }
}

/// Whether a key may have been added to its block.
pub(super) fn may_hold(block: &Block, key: &[u8; 16]) -> bool {
    probes(key).all(|(word, bit)| block.get(word).is_some_and(|word| word & bit != 0))
}

fn probes(key: &[u8; 16]) -> impl Iterator<Item = (usize, u64)> {
    let [.., a, b, c, d, e, f, g, h] = *key;
    let lower = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
    (0..PROBES).map(move |probe| {
        let bit = (lower >> (probe * 9)) & (BITS_PER_BLOCK - 1);
        ((bit >> 6) as usize, 1 << (bit & 63))
    })
}

#[cfg(test)]
mod tests {
    use super::{BLOCK_WORDS, Block, blocks_for, may_hold, part_of, set};

    fn key(n: u64) -> [u8; 16] {
        let mix = |n: u64| {
            let n = (n ^ (n >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (n ^ (n >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
        };
        let (a, b) = (mix(n + 1), mix(mix(n + 7)));
        let mut key = [0; 16];
        key[..8].copy_from_slice(&a.to_be_bytes());
        key[8..].copy_from_slice(&b.to_be_bytes());
        key
    }

    #[test]
    fn no_key_is_forgotten_and_few_strangers_pass() {
        let count = 50_000;
        let blocks = blocks_for(count);
        let mut filter: Vec<Block> = vec![[0; BLOCK_WORDS]; usize::try_from(blocks).unwrap()];
        let at = |n| usize::try_from(part_of(&key(n), blocks)).unwrap();
        for n in 0..count {
            set(&mut filter[at(n)], &key(n));
        }
        assert!((0..count).all(|n| may_hold(&filter[at(n)], &key(n))));
        let strangers = (count..count * 3).filter(|n| may_hold(&filter[at(*n)], &key(*n)));
        let passed = strangers.count();
        assert!(passed < 1_000, "{passed} of 100,000 strangers pass");
    }

    #[test]
    fn parts_follow_the_order_of_the_keys() {
        let mut keys: Vec<_> = (0..1_000).map(key).collect();
        keys.sort_unstable();
        let parts: Vec<_> = keys.iter().map(|key| part_of(key, 77)).collect();
        assert!(parts.is_sorted() && parts[0] == 0 && parts[999] == 76);
        assert_eq!(part_of(&[0xff; 16], 3), 2);
    }
}
