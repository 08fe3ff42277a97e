//! Signatures as Standard Webhooks has them: HMAC-SHA256 over id, time stamp and body.

use protocol::{Header, base64, digest};
use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};

/// What secrets begin with.
const PREFIX: &str = "whsec_";

/// Bytes of a secret's key.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// Why a text is no secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecretError;

impl std::fmt::Display for SecretError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "expected `whsec_` and {} to {} bytes in base64",
            KEY_BYTES.start(),
            KEY_BYTES.end()
        )
    }
}

/// A secret from 32 random bytes; `None` when the system has no randomness.
#[must_use]
pub fn new_secret() -> Option<String> {
    let mut key = [0; 32];
    SystemRandom::new().fill(&mut key).ok()?;
    let mut text = PREFIX.as_bytes().to_vec();
    base64::encode(&mut text, &key);
    String::from_utf8(text).ok()
}

/// Checks a secret that somebody brings.
///
/// # Errors
/// When it is none.
pub fn check_secret(text: &str) -> Result<(), SecretError> {
    key(text).map(drop).ok_or(SecretError)
}

fn key(text: &str) -> Option<Vec<u8>> {
    let bytes = base64::decode(text.strip_prefix(PREFIX)?)?;
    KEY_BYTES.contains(&bytes.len()).then_some(bytes)
}

/// The id of a message: the same for every attempt, also after a restart.
pub(super) fn message_id(header: &Header) -> String {
    let named = format!("{}\n{}", header.sender, header.id);
    let hex = digest(named.as_bytes()).to_hex();
    format!("msg_{}", hex.get(..32).unwrap_or(&hex))
}

/// The value of `webhook-signature`; `None` when the secret is none.
pub(super) fn signature(secret: &str, id: &str, timestamp: i64, body: &[u8]) -> Option<String> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, &key(secret)?);
    let mut context = hmac::Context::with_key(&key);
    context.update(format!("{id}.{timestamp}.").as_bytes());
    context.update(body);
    let mut text = b"v1,".to_vec();
    base64::encode(&mut text, context.sign().as_ref());
    String::from_utf8(text).ok()
}

#[cfg(test)]
mod tests {
    use super::{check_secret, new_secret, signature};

    #[test]
    fn a_signature_is_that_of_the_published_example() {
        // From the specification of Standard Webhooks.
        let made = signature(
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            b"{\"test\": 2432232314}",
        );
        assert_eq!(
            made.as_deref(),
            Some("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
        );
    }

    #[test]
    fn new_secrets_are_good_and_differ() {
        let (one, other) = (new_secret().unwrap(), new_secret().unwrap());
        assert_ne!(one, other);
        assert!(check_secret(&one).is_ok());
        for bad in [
            "",
            "whsec_",
            "whsec_c2hvcnQ=",
            "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "whsec_?",
        ] {
            assert!(check_secret(bad).is_err(), "{bad}");
        }
    }
}
