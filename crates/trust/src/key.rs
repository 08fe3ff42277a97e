//! Keys: what signs, and what a signature is checked with.

use crate::did::{did_key, read_did_key};
use ed25519_dalek::{Signer as _, SigningKey, VerifyingKey};
use protocol::base64;
use std::fmt;

/// Bytes of a shared secret, at least: as many as the hash gives (RFC 7518 3.2).
const SECRET_MIN: usize = 32;

/// How a key signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// Ed25519 (RFC 8032).
    Ed25519,
    /// HMAC with SHA-256. Both sides can sign, so it proves nothing to others.
    Hs256,
    /// ECDSA with P-256 and SHA-256: checked, never made here.
    Es256,
}

impl Algorithm {
    /// The word in key files and in AEE's `sig.alg`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ed25519 => "ed25519",
            Self::Hs256 => "HS256",
            Self::Es256 => "ES256",
        }
    }

    /// Reads that word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Ed25519, Self::Hs256, Self::Es256]
            .into_iter()
            .find(|one| one.as_str() == word)
    }
}

/// Why a key cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyError(pub &'static str);

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for KeyError {}

/// What a signature is checked with. For [`Algorithm::Hs256`] it is the secret itself, so it is never
/// shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub enum PublicKey {
    /// 32 bytes.
    Ed25519(VerifyingKey),
    /// The shared secret.
    Hs256(Box<[u8]>),
    /// An uncompressed point (SEC 1), 65 bytes.
    Es256(Box<[u8]>),
}

impl PublicKey {
    /// An Ed25519 key from its 32 bytes.
    ///
    /// # Errors
    /// For bytes that are no point, or one of small order, which would accept signatures of anything.
    pub fn ed25519(bytes: &[u8; 32]) -> Result<Self, KeyError> {
        let key = VerifyingKey::from_bytes(bytes)
            .map_err(|_| KeyError("expected the 32 bytes of an Ed25519 public key"))?;
        if key.is_weak() {
            return Err(KeyError(
                "expected an Ed25519 key that is not of small order",
            ));
        }
        Ok(Self::Ed25519(key))
    }

    /// From the text of a key file: standard base64, or for Ed25519 a `did:key`.
    ///
    /// # Errors
    /// When the text is no key of that algorithm.
    pub fn read(algorithm: Algorithm, text: &str) -> Result<Self, KeyError> {
        let bytes =
            || base64::decode(text).ok_or(KeyError("expected standard base64 (RFC 4648 4)"));
        match algorithm {
            Algorithm::Ed25519 => {
                let key = match read_did_key(text) {
                    Some(key) => key,
                    None => bytes()?.try_into().map_err(|_| {
                        KeyError("expected 32 bytes or a did:key of an Ed25519 key")
                    })?,
                };
                Self::ed25519(&key)
            }
            Algorithm::Hs256 => {
                let secret = bytes()?;
                if secret.len() < SECRET_MIN {
                    return Err(KeyError("expected a secret of at least 32 bytes"));
                }
                Ok(Self::Hs256(secret.into()))
            }
            Algorithm::Es256 => {
                let point = bytes()?;
                if point.len() != 65 || point.first() != Some(&4) {
                    return Err(KeyError("expected an uncompressed P-256 point of 65 bytes"));
                }
                Ok(Self::Es256(point.into()))
            }
        }
    }

    /// How it signs.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        match self {
            Self::Ed25519(_) => Algorithm::Ed25519,
            Self::Hs256(_) => Algorithm::Hs256,
            Self::Es256(_) => Algorithm::Es256,
        }
    }

    /// The `did:key` of an Ed25519 key.
    #[must_use]
    pub fn did(&self) -> Option<String> {
        match self {
            Self::Ed25519(key) => Some(did_key(key.as_bytes())),
            Self::Hs256(_) | Self::Es256(_) => None,
        }
    }

    /// Whether `signature` is this key's over `message`. Ed25519 is checked strictly: one message and
    /// one key have signatures that every checker agrees on.
    #[must_use]
    pub fn holds(&self, message: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Ed25519(key) => ed25519_dalek::Signature::from_slice(signature)
                .is_ok_and(|signature| key.verify_strict(message, &signature).is_ok()),
            Self::Hs256(secret) => {
                let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret);
                ring::hmac::verify(&key, message, signature).is_ok()
            }
            Self::Es256(point) => {
                let key = ring::signature::UnparsedPublicKey::new(
                    &ring::signature::ECDSA_P256_SHA256_FIXED,
                    point,
                );
                key.verify(message, signature).is_ok()
            }
        }
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.did() {
            Some(did) => f.write_str(&did),
            None => write!(f, "{} key", self.algorithm().as_str()),
        }
    }
}

/// What signs. Never shown by `Debug`.
#[derive(Clone)]
pub enum SecretKey {
    /// A seed of 32 bytes, expanded once.
    Ed25519(Box<SigningKey>),
    /// A shared secret.
    Hs256(Box<[u8]>),
}

impl SecretKey {
    /// An Ed25519 key from its seed, which must come from a good source of randomness.
    #[must_use]
    pub fn ed25519(seed: &[u8; 32]) -> Self {
        Self::Ed25519(Box::new(SigningKey::from_bytes(seed)))
    }

    /// From the text of a key file: standard base64 of a seed or a secret.
    ///
    /// # Errors
    /// When the text is no key of that algorithm, or the algorithm is only checked here.
    pub fn read(algorithm: Algorithm, text: &str) -> Result<Self, KeyError> {
        let bytes =
            base64::decode(text).ok_or(KeyError("expected standard base64 (RFC 4648 4)"))?;
        match algorithm {
            Algorithm::Ed25519 => {
                let seed = bytes
                    .as_slice()
                    .try_into()
                    .map_err(|_| KeyError("expected the 32 bytes of an Ed25519 seed"))?;
                Ok(Self::ed25519(seed))
            }
            Algorithm::Hs256 if bytes.len() >= SECRET_MIN => Ok(Self::Hs256(bytes.into())),
            Algorithm::Hs256 => Err(KeyError("expected a secret of at least 32 bytes")),
            Algorithm::Es256 => Err(KeyError("expected ed25519 or HS256: ES256 is only checked")),
        }
    }

    /// What its signatures are checked with.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        match self {
            Self::Ed25519(key) => PublicKey::Ed25519(key.verifying_key()),
            Self::Hs256(secret) => PublicKey::Hs256(secret.clone()),
        }
    }

    /// How it signs.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.public().algorithm()
    }

    /// The signature over `message`: 64 bytes, or 32 for [`Algorithm::Hs256`].
    #[must_use]
    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        match self {
            Self::Ed25519(key) => key.sign(message).to_bytes().to_vec(),
            Self::Hs256(secret) => {
                let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret);
                ring::hmac::sign(&key, message).as_ref().to_vec()
            }
        }
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "secret {} key", self.algorithm().as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::{Algorithm, PublicKey, SecretKey};

    #[test]
    fn the_first_vector_of_rfc_8032_is_made_and_checked() {
        let seed = [
            0x9d, 0x61, 0xb1, 0x9d, 0xef, 0xfd, 0x5a, 0x60, 0xba, 0x84, 0x4a, 0xf4, 0x92, 0xec,
            0x2c, 0xc4, 0x44, 0x49, 0xc5, 0x69, 0x7b, 0x32, 0x69, 0x19, 0x70, 0x3b, 0xac, 0x03,
            0x1c, 0xae, 0x7f, 0x60,
        ];
        let key = SecretKey::ed25519(&seed);
        let signature = key.sign(b"");
        assert_eq!(signature[..4], [0xe5, 0x56, 0x43, 0x00]);
        assert!(key.public().holds(b"", &signature));
        assert!(!key.public().holds(b"x", &signature));
        assert!(!key.public().holds(b"", &signature[..63]));
    }

    #[test]
    fn the_second_vector_of_rfc_4231_is_refused_for_its_short_key_and_a_long_one_holds() {
        assert!(SecretKey::read(Algorithm::Hs256, "SmVmZQ==").is_err());
        let key = SecretKey::read(
            Algorithm::Hs256,
            "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
        )
        .unwrap();
        let tag = key.sign(b"message");
        assert_eq!(tag.len(), 32);
        assert!(key.public().holds(b"message", &tag));
        assert!(!key.public().holds(b"message", &tag[..31]));
    }

    #[test]
    fn keys_of_small_order_and_texts_that_are_no_keys_are_refused() {
        let mut one = [0; 32];
        one[0] = 1;
        assert!(PublicKey::ed25519(&one).is_err());
        for text in ["", "AAAA", "not base64"] {
            for algorithm in [Algorithm::Ed25519, Algorithm::Hs256, Algorithm::Es256] {
                assert!(PublicKey::read(algorithm, text).is_err(), "{text}");
                assert!(SecretKey::read(algorithm, text).is_err(), "{text}");
            }
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let key = SecretKey::ed25519(&[7; 32]);
        assert_eq!(format!("{key:?}"), "secret ed25519 key");
        let shared = PublicKey::Hs256(vec![7; 32].into());
        assert_eq!(format!("{shared:?}"), "HS256 key");
    }
}
