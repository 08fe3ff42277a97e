//! Base64 (RFC 4648 4, with padding), for envelopes that cannot be carried as text.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Appends the encoding of `bytes`.
pub fn encode(out: &mut Vec<u8>, bytes: &[u8]) {
    for chunk in bytes.chunks(3) {
        let group = chunk
            .iter()
            .fold(0_u32, |group, byte| group << 8 | u32::from(*byte))
            << (8 * (3 - chunk.len()));
        for place in 0..4 {
            if place > chunk.len() {
                out.push(b'=');
            } else {
                let six = group >> (18 - 6 * place) & 63;
                out.extend(usize::try_from(six).ok().and_then(|six| ALPHABET.get(six)));
            }
        }
    }
}

/// The bytes that `text` stands for; `None` for anything but whole groups with right padding.
#[must_use]
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let body = text.trim_end_matches('=');
    let padding = text.len() - body.len();
    if !text.len().is_multiple_of(4) || padding > 2 {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut group, mut bits) = (0_u32, 0_u32);
    for byte in body.bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        group = (group << 6 | u32::from(six)) & 0xff_ffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push(u8::try_from(group >> bits & 0xff).ok()?);
        }
    }
    // Bits that belong to no byte must be zero, so that one text stands for one sequence of bytes.
    (group & ((1 << bits) - 1) == 0).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn the_published_vectors_hold() {
        // RFC 4648 section 10.
        let vectors = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (text, expected) in vectors {
            let mut out = Vec::new();
            encode(&mut out, text.as_bytes());
            assert_eq!(out, expected.as_bytes());
            assert_eq!(decode(expected).as_deref(), Some(text.as_bytes()));
        }
    }

    #[test]
    fn what_is_no_canonical_base64_is_refused() {
        for text in [
            "Z", "Zg", "Zg=", "Zg===", "Z===", "====", "Zh==", "Zm9=", "Zm9v\n", "Zm-v", "=Zg=",
        ] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
