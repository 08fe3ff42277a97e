//! Base64 with the alphabet for URLs and without padding (RFC 4648 5), as JOSE writes it.

use protocol::base64;

/// The text for `bytes`.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut out = Vec::with_capacity(bytes.len() / 3 * 4 + 4);
    base64::encode(&mut out, bytes);
    let text = String::from_utf8(out).unwrap_or_default();
    text.trim_end_matches('=')
        .replace('+', "-")
        .replace('/', "_")
}

/// The bytes that `text` stands for; `None` for padding, the other alphabet, or left-over bits.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    if text.contains(['+', '/', '=']) {
        return None;
    }
    let mut padded = text.replace('-', "+").replace('_', "/");
    while !padded.len().is_multiple_of(4) {
        padded.push('=');
    }
    base64::decode(&padded)
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn what_is_encoded_is_decoded_and_nothing_else_is() {
        for bytes in [&b""[..], b"f", b"fo", b"foo", b"\xff\xfe\xfd\xfc"] {
            assert_eq!(decode(&encode(bytes)).as_deref(), Some(bytes));
        }
        assert_eq!(encode(b"\xff\xff\xfe"), "___-");
        for text in ["Zg==", "Zh", "__+_", "Z", "Zm9v\n"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
