//! SHA-256, the one digest used for fingerprints and canonical hashes.

use sha2::Digest as _;

/// 32 bytes of SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 32]);

/// SHA-256 of `bytes`.
#[must_use]
pub fn digest(bytes: &[u8]) -> Digest {
    Digest(sha2::Sha256::digest(bytes).into())
}

impl Digest {
    /// Lower-case hexadecimal, 64 characters.
    #[must_use]
    pub fn to_hex(&self) -> String {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let mut text = String::with_capacity(64);
        for byte in self.0 {
            for nibble in [byte >> 4, byte & 15] {
                text.push(char::from(
                    HEX.get(usize::from(nibble)).copied().unwrap_or(b'0'),
                ));
            }
        }
        text
    }
}

impl std::fmt::Debug for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.to_hex())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn digest_is_sha_256() {
        assert_eq!(
            super::digest(b"abc").to_hex(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
